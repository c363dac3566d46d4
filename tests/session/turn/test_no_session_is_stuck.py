"""Whatever a route refuses for good, a stored conversation is never stuck.

For every fact about a refusal of what the conversation holds, a server refuses a request as long
as it holds one poisoned thing. The third turn must end well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sidestep import Client, Image, MemoryStore, Route, Session, Sidestep, Summary
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.classify.classify import classify_response
from sidestep.provider.classify.fact_tables import tables_of
from sidestep.provider.conversation import Message, Reasoning, Text, ToolCall
from sidestep.provider.fact import Fact
from sidestep.provider.failure import FailureKind
from sidestep.provider.wire_name import Wire

from ...virtual import VirtualClock

K = FailureKind
LONG = "long " * 2_000
POISON = "UE9JU09O"
PROOF: dict[str, Any] = {"signature": POISON, "item_id": "rs_1", "encrypted": POISON}
DETAILS = ({"type": "reasoning.text", "text": "Hm.", "signature": POISON},)

WIRES: Mapping[str, Wire] = {
    "anthropic": "anthropic",
    "gemini": "gemini",
    "openai": "openai-responses",
    **dict.fromkeys(
        ("openrouter", "groq", "cerebras", "mistral", "deepseek", "moonshot", "zai", "minimax"),
        "openai-chat",
    ),
    "house": "openai-chat",
}
REFUSALS = {K.HISTORY_REJECTED, K.REQUEST_TOO_LARGE, K.CONTEXT_OVERFLOW}


def _events(*events: Any) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)


ITEM = {"type": "message", "id": "msg_1"}
SAID = [{"type": "output_text", "text": "Done.", "annotations": []}]
ANSWERS: Mapping[Wire, bytes] = {
    "openai-chat": _events(
        {"choices": [{"delta": {"content": "Done."}, "finish_reason": "stop"}]},
    )
    + b"data: [DONE]\n\n",
    "anthropic": _events(
        {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 4}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "Done."},
        },
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 1},
        },
        {"type": "message_stop"},
    ),
    "gemini": _events(
        {"candidates": [{"content": {"parts": [{"text": "Done."}]}, "finishReason": "STOP"}]}
    ),
    "openai-responses": _events(
        {"type": "response.output_item.added", "output_index": 0, "item": ITEM},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0}
        | {"delta": "Done."},
        {"type": "response.output_item.done", "output_index": 0, "item": ITEM | {"content": SAID}},
        {"type": "response.completed", "response": {"id": "r", "status": "completed"}},
    ),
}


def history(route: Route) -> list[Message]:
    """Return a conversation of three steps, the first of which holds what is refused."""
    seen: list[Text | Image] = [Text("The screen:"), Image("image/png", POISON)]
    look = ToolCall("call_POISON", "look", {"at": LONG}, "completed", seen)
    read = ToolCall("call_2", "read", {"path": "a.py"}, "completed", "print(1)")
    thought = Reasoning("Hm.", details=DETAILS, **PROOF)
    return [
        Message("user", [Text("Look."), Image("image/png", POISON)]),
        Message("assistant", [thought, Text("I look."), look], route),
        Message("assistant", [Text("I read."), read], route),
        Message("assistant", [Text("It is fine.")], route),
    ]


def _texts(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, name)


def _holds(*names: str) -> Callable[[Any], bool]:
    return lambda body: any(POISON in text for name, text in _texts(body) if name in names)


LENGTH = "its length"
POISONED: Mapping[str, Callable[[Any], bool]] = {
    "a proof": _holds("signature", "thoughtSignature", "encrypted_content"),
    "an image": _holds("data", "url", "image_url"),
    "an id": lambda body: "call_POISON" in json.dumps(body),
    "a long field": lambda body: any(len(text) > 6_000 for _, text in _texts(body)),
    LENGTH: lambda body: len(json.dumps(body)) > 9_000,
}


def session_before(
    vendor: str,
    refusal: Callable[[], httpx.Response],
    poisoned: Callable[[Any], bool],
    *,
    compact: Summary | None = None,
) -> tuple[Session, MemoryStore, Route]:
    """Return a session on *vendor*, whose server refuses what is *poisoned*."""
    wire = WIRES[vendor]
    provider = Provider(vendor, wire, "http://h", None)
    route = Route(f"{vendor}/a-model")

    def answer(request: httpx.Request) -> httpx.Response:
        if poisoned(json.loads(request.content)):
            return refusal()
        headers = {"content-type": "text/event-stream"}
        return httpx.Response(200, headers=headers, content=ANSWERS[wire])

    http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    client = Client(http=http, providers={vendor: provider}, environ={})
    store = MemoryStore()
    session = Session(
        route,
        middleware=Sidestep(clock=VirtualClock()),
        client=client,
        store=store,
        max_output_tokens=32_000,
        reasoning="xhigh",
        compact=compact,
    )
    return session, store, route


async def third_turn(
    vendor: str,
    refusal: Callable[[], httpx.Response],
    poisoned: Callable[[Any], bool],
    *,
    compact: Summary | None,
) -> str:
    """Return the text of the third turn; the first two may fail."""
    session, store, route = session_before(vendor, refusal, poisoned, compact=compact)
    for message in history(route):
        await store.append(message)
    for prompt in ("One.", "Two."):
        try:
            await session.turn(prompt)
        except Exception:  # noqa: BLE001, S112 - only the third turn must end well
            continue
    return (await session.turn("Three.")).text


def _asks_for_more(name: str, most: int) -> Callable[[Any], bool]:
    return lambda body: body.get(name, 0) > most


CURED = [
    pytest.param(
        "anthropic",
        "messages.2.content.0.tool_result.content.1.image.source.base64: image exceeds 5 MB "
        "maximum: 6291456 bytes > 5242880 bytes",
        POISONED["an image"],
        id="an image, by its place",
    ),
    pytest.param("anthropic", "Could not process image", POISONED["an image"], id="an image"),
    pytest.param(
        "house",
        "The attached image or document is too large to send natively",
        POISONED["an image"],
        id="an attached image",
    ),
    pytest.param(
        "openai", "You uploaded an unsupported image.", POISONED["an image"], id="OpenAI's image"
    ),
    pytest.param(
        "house",
        "<400> InternalError.Algo.DataInspectionFailed: Input image data may contain inappropriate "
        "content.",
        POISONED["an image"],
        id="a filter of images",
    ),
    pytest.param(
        "openai",
        "Invalid 'input[3].arguments': string too long. Expected a string with maximum length "
        "6000, but got a string with length 10000 instead.",
        POISONED["a long field"],
        id="long arguments",
    ),
    pytest.param(
        "house",
        "String value length (10000) exceeds the maximum allowed (6000, from "
        "`StreamReadConstraints.getMaxStringLength()`)",
        POISONED["a long field"],
        id="a long string",
    ),
    pytest.param(
        "house",
        "The maximum tokens you requested exceeds the model limit of 8192. Try again with a "
        "maximum tokens value that is lower than 8192.",
        _asks_for_more("max_tokens", 8_192),
        id="the longest answer",
    ),
    pytest.param(
        "anthropic",
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
        _asks_for_more("max_tokens", 11_760),
        id="an answer that does not fit beside the prompt",
    ),
    pytest.param(
        "anthropic",
        "This model does not support effort level 'xhigh'. Supported levels: high, low, medium.",
        lambda body: body.get("output_config", {}).get("effort") == "xhigh",
        id="an effort",
    ),
]


@pytest.mark.asyncio
@pytest.mark.parametrize(("vendor", "message", "poisoned"), CURED)
async def test_a_bad_request_with_a_cure_is_cured_in_its_own_turn(
    vendor: str, message: str, poisoned: Callable[[Any], bool]
) -> None:
    is_filter = "DataInspectionFailed" in message
    code = {"code": "data_inspection_failed"} if is_filter else {}
    body = {"error": {"type": "invalid_request_error", "message": message, **code}}
    refused: list[httpx.Response] = []

    def refusal() -> httpx.Response:
        refused.append(httpx.Response(400, json=body))
        return refused[-1]

    session, store, route = session_before(vendor, refusal, poisoned, compact=Summary())
    for each in history(route):
        await store.append(each)
    before = len(await store.load())

    assert (await session.turn("One.")).text == "Done."
    assert (await session.turn("Two.")).text == "Done."
    assert refused
    assert len(await store.load()) == before + 4  # nothing was compacted


def facts() -> Iterator[Any]:
    for vendor, wire in WIRES.items():
        for table in tables_of(vendor, wire):
            for fact in (*table.overflow, *table.history, *table.filter, *table.other):
                if fact.kind not in REFUSALS or fact.lacks_capacity:
                    continue
                is_history = fact.kind is K.HISTORY_REJECTED
                for poison in sorted(POISONED.keys() - {LENGTH}) if is_history else [LENGTH]:
                    yield pytest.param(
                        vendor, fact, poison, id=f"{vendor}: {_name(fact)}, {poison}"
                    )


def _name(fact: Fact) -> str:
    words = (word for words in fact.exact.values() for word in sorted(words))
    return fact.text or " ".join((*words, *fact.patterns.values()))


def refusal_of(fact: Fact, draw: Callable[[st.SearchStrategy[Any]], Any]) -> tuple[int, bytes]:
    """Return a status and a body that *fact* recognises."""
    words: dict[str, str] = {name: min(each) for name, each in fact.exact.items()}
    for name, pattern in fact.patterns.items():
        words[name] = draw(st.from_regex(pattern))
    statuses = sorted(fact.exact.get("status", {"400"}) - {"none"})
    if "form" in words:
        return int(statuses[0]), b""
    message = draw(st.from_regex(fact.text, fullmatch=False)) if fact.text else "No."
    error = {
        "message": message,
        "type": words.get("type"),
        "code": words.get("code"),
        "param": words.get("param"),
        "status": words.get("rpc"),
        "details": {"error_code": words.get("error_code")},
        "metadata": {
            name: words[name] for name in ("error_type", "provider_name") if name in words
        },
    }
    return int(statuses[0]), json.dumps({"error": error}).encode()


@pytest.mark.asyncio
@pytest.mark.parametrize(("vendor", "fact", "poison"), list(facts()))
async def test_the_third_turn_after_a_refusal_ends_well(
    vendor: str, fact: Fact, poison: str
) -> None:
    drawn: list[tuple[int, bytes]] = []

    @settings(max_examples=1, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def draw(data: st.DataObject) -> None:
        status, body = refusal_of(fact, data.draw)
        failure = classify_response(status, {}, body, provider=vendor, wire=WIRES[vendor])
        assume(failure.kind is fact.kind)
        drawn.append((status, body))

    draw()
    status, body = drawn[0]

    def refusal() -> httpx.Response:
        return httpx.Response(status, headers={"content-type": "application/json"}, content=body)

    compacts = [Summary()] if poison == LENGTH else [Summary(), None]
    for compact in compacts:
        assert await third_turn(vendor, refusal, POISONED[poison], compact=compact) == "Done."
