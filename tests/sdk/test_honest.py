"""What users of the official SDKs can ask for is no failure, and what fails beside it is one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import httpx2
import pytest

import sidestep
from sidestep import Client, FailureKind, Route
from sidestep.provider.conversation import Conversation, Message, Text
from sidestep.provider.recording.recorded_answer import Recorded, read
from sidestep.provider.wire.reading import Reading

from ..provider.watch.answered import JSON, LIBRARIES, Answered
from .call import package
from .honest import (
    CALL,
    CHECKS,
    CUSTOM,
    PATHS,
    PROVIDERS,
    STREAM_PATHS,
    Honest,
    chat,
    claude,
    gemini,
    honest,
    responses,
)

K = FailureKind
HELLO = Conversation([Message("user", [Text("Hello")])])
EVENTS = {"content-type": "text/event-stream"}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "a"}
STREAMED = [each for each in honest() if each.events]
WHOLE = [each for each in honest() if each.whole is not None]


def named(answers: list[Honest]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("answer", answers, ids=lambda answer: answer.name)


@named(WHOLE)
def test_each_answer_is_of_the_official_type(answer: Honest) -> None:
    if "image" in answer.name and answer.wire == "openai-chat":
        pytest.skip("a vendor's own, which has no package")
    module, name = CHECKS[answer.wire]
    root = package("google.genai").types if answer.wire == "gemini" else package(module)
    getattr(root, name).model_validate_json(answer.body)


@named(WHOLE)
def test_a_whole_answer_is_no_failure(answer: Honest) -> None:
    reading = Reading(answer.provider)

    reading.whole(answer.body)

    assert (reading.failed, reading.is_whole) == (None, True)


@named(STREAMED)
def test_explain_takes_a_stream_for_no_failure(answer: Honest) -> None:
    recorded = Recorded(
        provider=answer.provider.name, status=200, headers=EVENTS, blocks=tuple(answer.blocks)
    )

    assert read(recorded, answer.provider, Reading(answer.provider)).failure is None


@pytest.mark.asyncio
@named(STREAMED)
async def test_our_client_takes_a_stream_for_no_failure(answer: Honest) -> None:
    async def body() -> AsyncIterator[bytes]:
        for block in answer.blocks:
            yield block

    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=EVENTS, content=body()))
    async with httpx.AsyncClient(transport=transport) as http:
        client = Client(http=http, environ=dict.fromkeys(answer.provider.key_variables, "k"))
        async with client.stream(Route(f"{answer.provider.name}/m"), HELLO) as reply:
            async for _ in reply:
                pass


BASES = {
    "anthropic": "https://api.anthropic.com",
    "openai-chat": "https://api.openai.com",
    "openai-responses": "https://api.openai.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
BLAMELESS = [
    chat("a filter", {"content": "x"}, finish="content_filter"),
    chat("a refusal", {"content": None, "refusal": "I cannot"}),
    chat("nothing after results", {"content": ""}, messages=[{"role": "tool", "content": "a"}]),
    chat("nothing before a word", {"content": ""}, stop="END"),
    claude("a refusal", stop="refusal"),
    claude("nothing after results", messages=[{"role": "user", "content": [RESULT]}]),
    responses("nothing after results", input=[{"type": "function_call_output", "output": "a"}]),
    responses("stopped in the background", status="cancelled", background=True),
    gemini("a filter", [{"text": "x"}], finish="SAFETY"),
    gemini("nothing after results", [], contents=[{"parts": [{"functionResponse": {}}]}]),
]
"""What our own client calls failures, but an agent sees the end of itself, or asked for it."""


def asked(answer: Honest, *, is_stream: bool) -> tuple[str, dict[str, Any]]:
    paths = STREAM_PATHS if is_stream else PATHS
    history = {"messages": [], "input": "Hello", "contents": []}
    body = {"model": "m", **history, **answer.asked, **({"stream": True} if is_stream else {})}
    return BASES[answer.wire] + paths[answer.wire], body


@pytest.mark.asyncio
@pytest.mark.parametrize("library", LIBRARIES.values(), ids=list(LIBRARIES))
@named([*STREAMED, *BLAMELESS])
async def test_a_watched_client_passes_a_stream_untouched(answer: Honest, library: Any) -> None:
    url, body = asked(answer, is_stream=True)
    answered = Answered([*answer.blocks])
    async with (
        sidestep.watched(answered.client(library)) as http,
        http.stream("POST", url, json=body) as response,
    ):
        assert [block async for block in response.aiter_raw()] == answer.blocks
    with (
        sidestep.watched(answered.blocking_client(library)) as http,
        http.stream("POST", url, json=body) as response,
    ):
        assert list(response.iter_raw()) == answer.blocks


@pytest.mark.asyncio
@named([*WHOLE, *BLAMELESS])
async def test_a_watched_client_passes_a_whole_answer_untouched(answer: Honest) -> None:
    url, body = asked(answer, is_stream=False)
    answered = Answered([answer.body[:50], answer.body[50:]], headers=JSON)
    async with sidestep.watched(answered.client(httpx2)) as http:
        assert (await http.post(url, json=body)).content == answer.body
    with sidestep.watched(answered.blocking_client(httpx)) as http:
        assert http.post(url, json=body).content == answer.body


HALF = {**CALL, "function": {"name": "ls", "arguments": '{"pa'}}
HALF_CUSTOM = {**CUSTOM, "custom": {"name": "sql", "input": ""}}
THINKING = {"type": "thinking", "thinking": "Hm", "signature": "s"}
FAILED = [
    pytest.param(chat("", {"content": ""}), K.EMPTY_RESPONSE, id="chat, nothing"),
    pytest.param(chat("", {"content": ""}, {"content": ""}), K.EMPTY_RESPONSE, id="nothing twice"),
    pytest.param(
        chat("", {"content": None, "tool_calls": [HALF]}), K.TOOL_CALL_MALFORMED, id="chat, a call"
    ),
    pytest.param(
        chat("", {"content": None, "tool_calls": [CUSTOM, HALF]}),
        K.TOOL_CALL_MALFORMED,
        id="chat, beside a custom tool",
    ),
    pytest.param(chat("", {"content": None, "audio": None}), K.EMPTY_RESPONSE, id="chat, no audio"),
    pytest.param(
        chat("", {"content": "x"}, finish="content_filter"), K.CONTENT_FILTER, id="filter"
    ),
    pytest.param(chat("", {"content": "x"}, finish="error"), K.SERVER_ERROR, id="chat, an error"),
    pytest.param(claude(""), K.EMPTY_RESPONSE, id="anthropic, nothing"),
    pytest.param(claude("", THINKING), K.EMPTY_RESPONSE, id="anthropic, thinking"),
    pytest.param(claude("", stop="tool_use"), K.EMPTY_RESPONSE, id="anthropic, no call"),
    pytest.param(claude("", stop="refusal"), K.REFUSAL, id="anthropic, a refusal"),
    pytest.param(responses(""), K.EMPTY_RESPONSE, id="responses, nothing"),
    pytest.param(
        responses("", {"type": "reasoning", "id": "r", "summary": []}),
        K.EMPTY_RESPONSE,
        id="responses, thinking",
    ),
    pytest.param(
        responses("", {"type": "function_call", "call_id": "c", "name": "ls", "arguments": '{"pa'}),
        K.TOOL_CALL_MALFORMED,
        id="responses, a call",
    ),
    pytest.param(responses("", status="failed"), K.SERVER_ERROR, id="responses, failed"),
    pytest.param(responses("", status="cancelled"), K.SERVER_ERROR, id="responses, cancelled"),
    pytest.param(gemini("", []), K.EMPTY_RESPONSE, id="gemini, nothing"),
    pytest.param(
        gemini("", [{"text": "Hm", "thought": True}]), K.EMPTY_RESPONSE, id="gemini, thinking"
    ),
    pytest.param(
        gemini("", [{"text": "x"}], finish="SAFETY"), K.CONTENT_FILTER, id="gemini, filter"
    ),
    pytest.param(
        gemini("", [], finish="MALFORMED_FUNCTION_CALL"), K.TOOL_CALL_MALFORMED, id="gemini, a call"
    ),
]


@pytest.mark.parametrize(("answer", "kind"), FAILED)
def test_a_failure_beside_them_is_one_whole_and_streamed(answer: Honest, kind: K) -> None:
    whole, streamed = Reading(answer.provider), Reading(answer.provider)

    whole.whole(answer.body)
    for block in answer.blocks:
        streamed.feed(block)
    streamed.end()

    for reading in (whole, streamed):
        assert (reading.failed and reading.failed.kind, reading.is_whole) == (kind, False)


UNREADABLE = [
    pytest.param(b"", K.TRUNCATED, id="nothing"),
    pytest.param(b" \n", K.TRUNCATED, id="blank"),
    pytest.param(chat("", {"content": "Hello"}).body[:-9], K.TRUNCATED, id="cut"),
    pytest.param(b"<html><body>Bad gateway</body></html>", K.SERVER_ERROR, id="a page"),
    pytest.param(b'"ok"', K.SERVER_ERROR, id="a text"),
    pytest.param(b"[]", K.SERVER_ERROR, id="an empty list"),
    pytest.param(b'{"error": {"code": 503, "message": "down"}}', K.OVERLOADED, id="an error"),
    pytest.param(b'{"object": "chat.completion", "choices": []}', K.TRUNCATED, id="no choice"),
    pytest.param(b'{"choices": [{"message": {"content": "x"}}]}', K.TRUNCATED, id="no reason"),
    pytest.param(b'{"choices": 7}', K.TRUNCATED, id="another shape"),
]


@pytest.mark.parametrize(("body", "kind"), UNREADABLE)
def test_a_body_in_place_of_an_answer(body: bytes, kind: K) -> None:
    reading = Reading(chat("").provider)

    reading.whole(body)

    assert (reading.failed and reading.failed.kind, reading.is_whole) == (kind, False)


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_cut_stream_is_one_on_every_wire(wire: Any) -> None:
    answers = [each for each in STREAMED if each.wire == wire]
    for answer in answers:
        cut = [each for each in answer.blocks if b"[DONE]" not in each][:-1]
        reading = Reading(answer.provider)
        if wire == "openai-chat" and len(answer.whole["choices"]) > 1:  # type: ignore[index]
            continue  # the first choice has its end
        for block in cut:
            reading.feed(block)
        reading.end()

        is_paused = answer.wire == "anthropic" and b'stop_reason": "' in b"".join(cut)
        assert (reading.failed is None) == is_paused, answer.name
