"""The events that a client gets, in the order and with the words of each provider."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from sidestep.provider.conversation import Part, Text, ToolCall
from sidestep.provider.delta import (
    Delta,
    ReasoningDelta,
    TextDelta,
    ToolCallEnded,
    ToolCallStarted,
)
from sidestep.provider.wire.answer import Answer
from sidestep.provider.wire.registry import writer_of
from sidestep.provider.wire_name import WIRES, Wire

DELTAS: list[Delta] = [
    ReasoningDelta("Hm"),
    TextDelta("Hel"),
    TextDelta("lo"),
    ToolCallStarted("call_1", "read"),
    ToolCallStarted("call_2", "now"),
    ToolCallEnded("call_1", "read", {"path": "a.py"}),
    ToolCallEnded("call_2", "now", {}),
]
PARTS: list[Part] = [
    Text("Hello"),
    ToolCall("call_1", "read", {"path": "a.py"}),
    ToolCall("call_2", "now", {}),
]


def stream(wire: Wire) -> bytes:
    writer = writer_of(wire)(model="m", answer_id="id_1", created=5)
    answer = Answer(parts=PARTS, wire="gemini", stop="STOP")
    return writer.start() + writer.feed(DELTAS[:2]) + writer.feed(DELTAS[2:]) + writer.end(answer)


def events(written: bytes) -> list[dict[str, Any]]:
    """Return the JSON of every event; its name must be its type."""
    found = []
    for block in re.split(rb"\r?\n\r?\n", written):
        name = re.match(rb"event: (.*)\n", block)
        data = block.partition(b"data: ")[2]
        if data and data != b"[DONE]":
            value = json.loads(data)
            assert name is None or name[1].decode() == value["type"]
            found.append(value)
    return found


def test_blocks_of_anthropic_are_opened_and_closed_one_after_the_other() -> None:
    found = events(stream("anthropic"))

    kinds = [(event["type"].removeprefix("content_block_"), event.get("index")) for event in found]
    assert kinds == [
        ("message_start", None),
        *(("start", 0), ("delta", 0), ("stop", 0)),
        *(("start", 1), ("delta", 1), ("delta", 1), ("stop", 1)),
        *(("start", 2), ("delta", 2), ("stop", 2)),
        *(("start", 3), ("delta", 3), ("stop", 3)),
        *(("message_delta", None), ("message_stop", None)),
    ]
    blocks = [event["content_block"]["type"] for event in found if "content_block" in event]
    assert blocks == ["thinking", "text", "tool_use", "tool_use"]


def test_chunks_of_chat_number_their_calls_and_end_with_done() -> None:
    written = stream("openai-chat")

    found = events(written)
    deltas = [event["choices"][0]["delta"] for event in found if event["choices"]]
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    assert [call["index"] for call in calls] == [0, 0, 1, 1]
    assert [call.get("id") for call in calls] == ["call_1", None, "call_2", None]
    assert [call["function"]["arguments"] for call in calls] == ["", '{"path":"a.py"}', "", "{}"]
    assert {event["id"] for event in found} == {"id_1"}
    assert {event["created"] for event in found} == {5}
    assert written.endswith(b"data: [DONE]\n\n")
    assert found[-1]["choices"] == []
    assert found[-1]["usage"]["total_tokens"] == 0


def test_events_of_responses_are_numbered_and_end_with_the_whole_output() -> None:
    found = events(stream("openai-responses"))

    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    done = [event["item"] for event in found if event["type"] == "response.output_item.done"]
    assert [item["type"] for item in done] == ["reasoning", "message", *["function_call"] * 2]
    assert found[-1]["type"] == "response.completed"
    assert found[-1]["response"]["output"] == done
    assert done[1]["content"][0]["text"] == "Hello"
    ids = {event["output_index"]: event["item"]["id"] for event in found if "item" in event}
    assert [ids[event["output_index"]] for event in found if "item_id" in event] == [
        event["item_id"] for event in found if "item_id" in event
    ]


def test_chunks_of_gemini_hold_whole_calls_and_end_with_a_reason() -> None:
    written = stream("gemini")

    found = events(written)
    parts = [event["candidates"][0]["content"]["parts"][0] for event in found]
    assert [next(iter(part)) for part in parts] == [
        *("thought", "text", "text", "functionCall", "functionCall", "text")
    ]
    reasons = [event["candidates"][0].get("finishReason") for event in found]
    assert reasons == [*[None] * 5, "STOP"]
    assert {event["responseId"] for event in found} == {"id_1"}
    assert written.count(b"\r\n\r\n") == len(found)


@pytest.mark.parametrize(
    ("wire", "ping"),
    [
        ("anthropic", b'event: ping\ndata: {"type":"ping"}\n\n'),
        ("openai-chat", b": keep-alive\n\n"),
        ("openai-responses", b": keep-alive\n\n"),
        ("gemini", b"\r\n"),  # google-genai takes a comment for JSON that is broken
    ],
)
def test_an_idle_stream_is_kept_alive_by_what_clients_ignore(wire: Wire, ping: bytes) -> None:
    assert writer_of(wire)(model="m").ping() == ping


WORDS: dict[Wire, tuple[str, str, str]] = {
    "anthropic": ("end_turn", "tool_use", "max_tokens"),
    "openai-chat": ("stop", "tool_calls", "length"),
    "openai-responses": ("completed", "completed", "max_output_tokens"),
    "gemini": ("STOP", "STOP", "MAX_TOKENS"),
}
"""The words of each wire for an answer that ended, that calls tools, and that was cut."""
ENDS = [
    pytest.param([Text("Hello")], ("end_turn", "stop", "completed", "STOP"), 0, id="ended"),
    pytest.param(PARTS, ("tool_use", "tool_calls", "completed", "STOP"), 1, id="calls"),
    pytest.param(
        [Text("Hello")], ("max_tokens", "length", "max_output_tokens", "MAX_TOKENS"), 2, id="cut"
    ),
]


def stop_in(value: dict[str, Any], wire: Wire) -> object:
    match wire:
        case "anthropic":
            return value["stop_reason"]
        case "openai-chat":
            return value["choices"][0]["finish_reason"]
        case "openai-responses":
            return (value["incomplete_details"] or {"reason": value["status"]})["reason"]
        case "gemini":
            return value["candidates"][0]["finishReason"]


@pytest.mark.parametrize(("parts", "stops", "number"), ENDS)
@pytest.mark.parametrize("wire", WIRES)
def test_the_reason_for_the_end_is_in_the_word_of_the_wire(
    wire: Wire, parts: list[Part], stops: tuple[str, ...], number: int
) -> None:
    for came_from, stop in zip(WIRES, stops, strict=True):
        answer = Answer(parts=parts, wire=came_from, stop=stop)

        whole = json.loads(writer_of(wire)(model="m").whole(answer))

        assert stop_in(whole, wire) == WORDS[wire][number]
