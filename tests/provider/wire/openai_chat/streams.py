"""What the tests of decode share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.wire.openai_chat.decode import ChatDecoder

if TYPE_CHECKING:
    from sidestep.provider.delta import Delta


Event = dict[str, Any]


def chunk(finish: str | None = None, **delta: Any) -> Event:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "gen-1", "model": "m", "choices": [choice]}


def fragment(arguments: object = "", **fields: Any) -> Event:
    name = fields.pop("name", None)
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return {"function": function, **fields}


def calls(*fragments: Event) -> Event:
    return chunk(tool_calls=list(fragments))


def decoder(provider: str = "openrouter") -> ChatDecoder:
    return ChatDecoder(catalog()[provider])


def read(reader: ChatDecoder, events: list[Event]) -> list[Delta]:
    return [delta for event in events for delta in reader.decode(json.dumps(event).encode())]


READ = {"name": "read"}
