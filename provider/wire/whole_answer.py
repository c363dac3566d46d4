"""An answer that was not streamed, as the events that a stream would have brought.

Source: the response types of openai 3.57, anthropic 2.14 and google-genai 2.34.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..json_value import listed, mapping, string

if TYPE_CHECKING:
    from ..wire_name import Wire

Value = Mapping[str, Any]

_TERMINAL = {"incomplete": "response.incomplete", "failed": "response.failed"}
_UNFINISHED = frozenset({"queued", "in_progress"})


def is_in_background(value: Value, wire: Wire) -> bool:
    """True if *value* reports that the answer still runs in the background, as requested."""
    return wire == "openai-responses" and value.get("status") in _UNFINISHED


def events_of(value: Value, wire: Wire) -> Iterator[Value]:
    """Yield the events for *value*, a whole answer; an error is an event as it is."""
    if value.get("error"):
        yield value
        return
    match wire:
        case "anthropic":
            yield from _anthropic(value)
        case "openai-chat":
            yield from _chat(value)
        case "openai-responses":
            yield from _responses(value)
        case "gemini":
            yield value


def _anthropic(value: Value) -> Iterator[Value]:
    if value.get("type") == "error":
        yield value
        return
    yield {"type": "message_start", "message": {**value, "content": []}}
    for index, block in enumerate(listed(value.get("content"))):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": value, "usage": value.get("usage")}
    if value.get("stop_reason"):
        yield {"type": "message_stop"}


def _chat(value: Value) -> Iterator[Value]:
    choices = [mapping(choice) for choice in listed(value.get("choices"))]
    deltas = [{**choice, "delta": _delta(mapping(choice.get("message")))} for choice in choices]
    yield {**value, "choices": deltas}


def _delta(message: Value) -> Value:
    """Return *message* with a number for each call, as in a stream."""
    calls = listed(message.get("tool_calls"))
    numbered = [{**mapping(call), "index": index} for index, call in enumerate(calls)]
    return {**message, "tool_calls": numbered}


def _responses(value: Value) -> Iterator[Value]:
    for index, item in enumerate(listed(value.get("output"))):
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    kind = _TERMINAL.get(string(value.get("status")), "response.completed")
    yield {"type": kind, "response": value}
