"""An answer with neither text nor a call: after results of tools it says that the work is done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from sidestep import (
    Client,
    Conversation,
    FailureKind,
    Image,
    Message,
    ProviderError,
    Reasoning,
    Route,
    Text,
    ToolCall,
)
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.wire_name import WIRES, Wire

pytestmark = pytest.mark.asyncio

ASKED = Message("user", [Text("Mend it.")])
CALLED = Message("assistant", [Text("So."), ToolCall("call_1", "do", {}, "completed", "ok")])
BROKEN = Message("assistant", [ToolCall("call_1", "do", {}, "interrupted", None, is_error=True)])
THOUGHT = Message("assistant", [Reasoning("Hm.")])
FAILED = Message("assistant", [])
STEERED = Message("user", [Text("Hurry.")])
SAID = Message("assistant", [Text("Done.")])
SEEN = Message("user", [Image("image/png", "iVBORw0KGgo=")])

PROPER: Mapping[Wire, tuple[str, ...]] = {
    "anthropic": ("end_turn",),
    "openai-chat": ("stop", "STOP", "end_turn"),
    "openai-responses": ("completed",),
    "gemini": ("STOP",),
}
OTHER: Mapping[Wire, tuple[str, ...]] = {
    "anthropic": ("tool_use",),  # an empty `stop_sequence` is what its user asked for
    "openai-chat": ("tool_calls", "eos"),
    "openai-responses": (),
    "gemini": (),
}


def _events(*events: Any) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)


def empty(wire: Wire, stop: str, *, thinks: bool) -> bytes:
    """Return the body of an answer that ends with *stop*; *thinks*: with thinking before it."""
    if wire == "anthropic":
        block = {"type": "thinking", "thinking": "", "signature": ""}
        delta = {"type": "thinking_delta", "thinking": "Hm."}
        thinking: list[Any] = [
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
        ]
        return _events(
            {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 4}}},
            *(thinking if thinks else ()),
            {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {}},
            {"type": "message_stop"},
        )
    if wire == "gemini":
        parts = [{"text": "Hm.", "thought": True}] if thinks else []
        return _events({"candidates": [{"content": {"parts": parts}, "finishReason": stop}]})
    if wire == "openai-responses":
        item = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text"}]}
        return _events(
            *([{"type": "response.output_item.added", "item": item}] if thinks else ()),
            {"type": "response.completed", "response": {"id": "r", "status": stop}},
        )
    delta = {"reasoning_content": "Hm."} if thinks else {}
    choices = [{"index": 0, "delta": delta, "finish_reason": stop}]
    return _events({"choices": choices}) + b"data: [DONE]\n\n"


async def read(wire: Wire, body: bytes, messages: list[Message]) -> str:
    """Return "ok" with the text, or the kind of failure."""
    headers = {"content-type": "text/event-stream"}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, content=body))
    providers = {"house": Provider("house", wire, "http://h", None)}
    client = Client(http=httpx.AsyncClient(transport=transport), providers=providers, environ={})
    try:
        async with client.stream(Route("house/model"), Conversation(messages)) as reply:
            async for _ in reply:
                pass
    except ProviderError as error:
        return str(error.failure.kind)
    return "ok " + "".join(part.text for part in reply.parts if isinstance(part, Text))


EMPTY = str(FailureKind.EMPTY_RESPONSE)
CONVERSATIONS = [
    pytest.param([ASKED, CALLED], "ok ", id="after results"),
    pytest.param([ASKED, BROKEN], "ok ", id="after a call that was interrupted"),
    pytest.param([ASKED, CALLED, FAILED], "ok ", id="after results and a step that failed"),
    pytest.param([ASKED, CALLED, THOUGHT], "ok ", id="after results and thinking"),
    pytest.param([ASKED], EMPTY, id="after a prompt"),
    pytest.param([ASKED, CALLED, STEERED], EMPTY, id="after results and a word of the user"),
    pytest.param([ASKED, CALLED, SEEN], EMPTY, id="after results and a picture"),
    pytest.param([ASKED, CALLED, SAID], EMPTY, id="after an answer"),
    pytest.param([ASKED, CALLED, SAID, STEERED], EMPTY, id="in the next turn"),
]


@pytest.mark.parametrize(("messages", "expected"), CONVERSATIONS)
@pytest.mark.parametrize("thinks", [False, True], ids=["nothing", "thinking only"])
@pytest.mark.parametrize(
    ("wire", "stop"), [(wire, stop) for wire in WIRES for stop in PROPER[wire]]
)
async def test_an_empty_answer_that_ends_properly(
    wire: Wire, stop: str, messages: list[Message], expected: str, *, thinks: bool
) -> None:
    assert await read(wire, empty(wire, stop, thinks=thinks), messages) == expected


@pytest.mark.parametrize(("wire", "stop"), [(wire, stop) for wire in WIRES for stop in OTHER[wire]])
async def test_an_empty_answer_that_ends_otherwise_is_empty_after_results_as_well(
    wire: Wire, stop: str
) -> None:
    assert await read(wire, empty(wire, stop, thinks=False), [ASKED, CALLED]) == EMPTY


UNENDED: Mapping[Wire, Any] = {
    "anthropic": {"type": "message_start", "message": {"model": "m"}},
    "openai-chat": {"choices": [{"index": 0, "delta": {"role": "assistant"}}]},
    "openai-responses": {"type": "response.created", "response": {"id": "r"}},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "Hm.", "thought": True}]}}]},
}


@pytest.mark.parametrize("wire", WIRES)
async def test_an_answer_without_an_end_is_cut_after_results_as_well(wire: Wire) -> None:
    assert await read(wire, _events(UNENDED[wire]), [ASKED, CALLED]) == "truncated"


async def test_what_only_looks_whole_is_empty() -> None:
    """Without a finish_reason nothing says that the model had no more to say."""
    usage = {"choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 0}}
    body = _events({"choices": [{"delta": {"role": "assistant"}}]}, usage) + b"data: [DONE]\n\n"

    assert await read("openai-chat", body, [ASKED, CALLED]) == EMPTY
