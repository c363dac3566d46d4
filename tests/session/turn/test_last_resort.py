"""A step that is refused in words that nobody knows, or that several cures must follow."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from sidestep import Image, ProviderError, Route
from sidestep.provider.conversation import AttemptRecord, Message, Text, ToolCall
from sidestep.provider.handover.plain_text import message_digest
from sidestep.session.turn.refused import filtered_messages

from .test_no_session_is_stuck import POISONED, history, session_before

ROUTE = Route("house/a-model")
UNKNOWN = "The request could not be understood."


def refusals(message: str) -> tuple[list[httpx.Response], Any]:
    """Return the refusals so far, and what makes one more."""
    made: list[httpx.Response] = []

    def refusal() -> httpx.Response:
        made.append(httpx.Response(400, json={"error": {"message": message}}))
        return made[-1]

    return made, refusal


@pytest.mark.asyncio
@pytest.mark.parametrize("poison", ["a proof", "an image", "an id", "a long field"])
@pytest.mark.parametrize("vendor", ["anthropic", "openai", "gemini", "house", "openrouter"])
async def test_a_refusal_in_unknown_words_is_answered_with_plain_text(
    vendor: str, poison: str
) -> None:
    made, refusal = refusals(UNKNOWN)
    session, store, route = session_before(vendor, refusal, POISONED[poison])
    for message in history(route):
        await store.append(message)

    assert (await session.turn("One.")).text == "Done."
    refused = len(made)
    assert (await session.turn("Two.")).text == "Done."
    assert len(made) == refused <= 2  # the cure stays in force
    stored = str(await store.load())
    assert "POISON" in stored
    assert "call_2" in stored


@pytest.mark.asyncio
async def test_a_template_that_takes_only_roles_in_turn_gets_them_so() -> None:
    """As vllm-project/vllm#6862 has it; such a template knows no results of tools."""
    made, refusal = refusals("Conversation roles must alternate user/assistant/user/assistant/...")

    def poisoned(body: Any) -> bool:
        roles = [m["role"] for m in body["messages"] if m["role"] != "system"]
        return roles != ["user", "assistant"] * (len(roles) // 2) + ["user"]

    session, store, route = session_before("house", refusal, poisoned)
    call = ToolCall("call_1", "ls", {"path": "."}, "completed", "a.py")
    for message in (
        *history(route),
        Message("assistant", [call], route),
        Message("user", [Text("Stop.")]),
        Message("user", [Text("And now?")]),
    ):
        await store.append(message)

    assert (await session.turn("One.")).text == "Done."
    refused = len(made)
    assert (await session.turn("Two.")).text == "Done."
    assert len(made) == refused <= 2


@pytest.mark.asyncio
async def test_what_plain_text_does_not_cure_is_raised_and_changes_nothing() -> None:
    sent: list[Any] = []
    made, refusal = refusals(UNKNOWN)

    def poisoned(body: Any) -> bool:
        sent.append(body)
        return len(sent) <= 2

    session, store, route = session_before("house", refusal, poisoned)
    for message in history(route):
        await store.append(message)

    with pytest.raises(ProviderError, match=UNKNOWN):
        await session.turn("One.")

    assert len(made) == 2
    assert "tool_calls" in json.dumps(sent[0])
    assert "tool_calls" not in json.dumps(sent[1])
    assert (await session.turn("Two.")).text == "Done."
    assert "tool_calls" in json.dumps(sent[2])


@pytest.mark.asyncio
async def test_a_conversation_that_is_plain_text_already_is_refused_once() -> None:
    made, refusal = refusals(UNKNOWN)
    session, _, _ = session_before("house", refusal, lambda body: True)

    with pytest.raises(ProviderError, match=UNKNOWN):
        await session.turn("One.")

    assert len(made) == 1


@pytest.mark.asyncio
async def test_pictures_that_are_refused_one_after_another_are_all_left_out_in_one_turn() -> None:
    pictures = [f"UE9J{n}000" for n in range(5)]
    named: list[str] = []

    def place(body: Any) -> int | None:
        content = body["messages"][0]["content"]
        blocks = [b for b in content if b["type"] == "image"]
        bad = next((b for b in blocks if b["source"]["data"] in pictures), None)
        return None if bad is None else content.index(bad)

    def poisoned(body: Any) -> bool:
        index = place(body)
        if index is not None:
            named.append(f"messages.0.content.{index}.image.source.base64.data")
        return index is not None

    def refusal() -> httpx.Response:
        words = "At least one of the image dimensions exceed max allowed size: 2000 pixels"
        error = {"type": "invalid_request_error", "message": f"{named[-1]}: {words}"}
        return httpx.Response(400, json={"type": "error", "error": error})

    session, store, route = session_before("anthropic", refusal, poisoned)
    good = Image("image/png", "R09PRA==")
    await store.append(Message("user", [*(Image("image/png", p) for p in pictures), good]))
    await store.append(Message("assistant", [Text("I see.")], route))

    assert (await session.turn("One.")).text == "Done."
    assert len(named) == 5


FILTERED = {"error": {"code": "data_inspection_failed", "message": "Inappropriate content."}}


@pytest.mark.asyncio
@pytest.mark.parametrize("vendor", ["house", "openai", "anthropic", "gemini"])
async def test_words_that_a_filter_refused_are_left_out_from_the_next_turn_on(vendor: str) -> None:
    sent: list[str] = []

    def poisoned(body: Any) -> bool:
        sent.append(json.dumps(body))
        return "POISON" in sent[-1]

    body = FILTERED
    if vendor == "anthropic":
        message = "Output blocked by content filtering policy"
        body = {"error": {"type": "invalid_request_error", "message": message}}
    if vendor in {"openai", "gemini"}:
        body = {"error": {"code": "content_policy_violation", "message": "No."}}
    if vendor == "gemini":
        body = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
    status = 200 if vendor == "gemini" else 400
    headers = {"content-type": "text/event-stream" if status == 200 else "application/json"}
    content = json.dumps(body).encode()
    content = b"data: %s\n\n" % content if status == 200 else content

    session, store, _ = session_before(
        vendor, lambda: httpx.Response(status, headers=headers, content=content), poisoned
    )
    assert (await session.turn("Hello.")).text == "Done."
    with pytest.raises(ProviderError):
        await session.turn("Say POISON.")

    assert len(sent) == 2  # the filter's word counts at once
    assert (await session.turn("And now?")).text == "Done."
    assert "content filter refused it" in sent[-1]
    assert "Hello." in sent[-1]
    assert (await session.turn("Go on.")).text == "Done."
    assert len(sent) == 5
    assert "POISON" in str(await store.load())


@pytest.mark.asyncio
async def test_a_filter_that_refuses_what_is_new_ends_the_turn() -> None:
    made: list[int] = []

    def poisoned(body: Any) -> bool:
        made.append(1)
        return "POISON" in json.dumps(body)

    session, _, _ = session_before("house", lambda: httpx.Response(400, json=FILTERED), poisoned)

    for _ in range(3):
        with pytest.raises(ProviderError):
            await session.turn("Say POISON.")

    assert (await session.turn("Say hello.")).text == "Done."
    assert len(made) <= 9


def test_what_was_answered_with_nothing_was_not_refused() -> None:
    def answered(*parts: Any, kind: str | None = None) -> Message:
        record = AttemptRecord(route=ROUTE, number=1, kind=kind)
        return Message("assistant", [*parts], ROUTE, ROUTE, attempts=(record,))

    first, second = Message("user", [Text("One.")]), Message("user", [Text("Two.")])
    called = answered(ToolCall("1", "look", {}, "completed", "seen"))
    refused = answered(kind="content_filter")
    last = answered(kind="content_filter")

    names = filtered_messages([first, called, answered(), second, refused, last])

    assert names == [message_digest(second)]
