"""What the tests of decode share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.wire.anthropic.decode import AnthropicDecoder

if TYPE_CHECKING:
    from sidestep.provider.delta import Delta


Event = dict[str, Any]
START: Event = {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 4}}}
STOP: Event = {"type": "message_stop"}


def ended(reason: str | None = "end_turn", **more: Any) -> Event:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": reason, **more},
        "usage": {"output_tokens": 7},
    }


def began(index: int, **block: Any) -> Event:
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index: int, type_: str, text: str) -> Event:
    name = {"input_json": "partial_json"}.get(type_, type_)
    return {
        "type": "content_block_delta",
        "index": index,
        "delta": {"type": f"{type_}_delta", name: text},
    }


def closed(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


TEXT = [began(0, type="text", text=""), piece(0, "text", "Hel"), piece(0, "text", "lo"), closed(0)]

CALL = [
    began(1, type="tool_use", id="toolu_1", name="read", input={}),
    piece(1, "input_json", ""),
    piece(1, "input_json", '{"path": "a'),
    piece(1, "input_json", '.py"}'),
    closed(1),
]

THINKING = [
    began(0, type="thinking", thinking="", signature=""),
    piece(0, "thinking", "Hm"),
    piece(0, "signature", "sig"),
    closed(0),
]


def decoder() -> AnthropicDecoder:
    return AnthropicDecoder(catalog()["anthropic"])


def read(reader: AnthropicDecoder, events: list[Event]) -> list[Delta]:
    return [delta for event in events for delta in reader.decode(json.dumps(event).encode())]
