"""The client tells the decoder how long an answer may be, so that a call that was cut is known."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sidestep import Route
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import Conversation, Message, Settings, Text, ToolCall

from .answers import STREAM, mocked

if TYPE_CHECKING:
    from types import ModuleType

    import httpx

    from sidestep.provider.wire_name import Wire

LIMIT = 64
CALL = {"index": 0, "id": "1", "function": {"name": "delete_all", "arguments": "{}"}}
CHAT = [
    {"choices": [{"index": 0, "delta": {"tool_calls": [CALL]}, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
]
ITEM = {"type": "function_call", "id": "fc", "call_id": "1", "name": "delete_all"}


def chat(output: int) -> list[dict[str, Any]]:
    return [*CHAT, {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": output}}]


def responses(output: int) -> list[dict[str, Any]]:
    usage = {"input_tokens": 9, "output_tokens": output}
    done = {"type": "response.output_item.done", "output_index": 0}
    return [
        {**done, "item": {**ITEM, "arguments": "{}", "status": "completed"}},
        {"type": "response.completed", "response": {"status": "completed", "usage": usage}},
    ]


def claude(output: int) -> list[dict[str, Any]]:
    block = {"type": "tool_use", "id": "1", "name": "delete_all", "input": {}}
    ended = {"delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": output}}
    return [
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", **ended},
        {"type": "message_stop"},
    ]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("wire", "answer"),
    [("openai-chat", chat), ("openai-responses", responses), ("anthropic", claude)],
    ids=["chat", "responses", "anthropic"],
)
@pytest.mark.parametrize(
    ("output", "parts"),
    [(LIMIT, []), (LIMIT - 1, [ToolCall("1", "delete_all", {})])],
    ids=["cut", "whole"],
)
async def test_a_call_that_ends_at_the_limit_of_the_request_was_cut(
    wire: Wire, answer: Any, output: int, parts: list[ToolCall], library: ModuleType
) -> None:
    def handler(_: httpx.Request) -> httpx.Response:
        body = b"".join(b"data: %s\n\n" % json.dumps(e).encode() for e in answer(output))
        response: httpx.Response = library.Response(200, headers=STREAM, content=body)
        return response

    hello = Conversation(
        [Message("user", [Text("Hello")])], settings=Settings(max_output_tokens=LIMIT)
    )
    client = mocked(library, handler, providers={"vllm": Provider("vllm", wire, "http://h", None)})

    async with client.stream(Route("vllm/m"), hello) as reply:
        async for _ in reply:
            pass

    made = [part for part in reply.parts if isinstance(part, ToolCall)]
    assert [(part.name, part.input) for part in made] == [(p.name, p.input) for p in parts]
    assert (reply.stop == "length") is (not parts)
