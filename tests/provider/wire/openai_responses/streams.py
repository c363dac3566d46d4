"""What the tests of decode share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sidestep.provider.catalog.provider import Provider
from sidestep.provider.wire.openai_responses.decode import ResponsesDecoder

if TYPE_CHECKING:
    from sidestep.provider.delta import Delta


Event = dict[str, Any]


def event(name: str, **fields: Any) -> Event:
    return {"type": f"response.{name}", **fields}


def added(index: int, **item: Any) -> Event:
    return event("output_item.added", output_index=index, item=item)


def done(index: int, **item: Any) -> Event:
    return event("output_item.done", output_index=index, item=item)


def text(piece: str, index: int = 0) -> Event:
    return event("output_text.delta", output_index=index, content_index=0, delta=piece)


def content(said: str) -> list[Event]:
    return [{"type": "output_text", "text": said, "annotations": []}]


def summary(*texts: str) -> list[Event]:
    return [{"type": "summary_text", "text": text} for text in texts]


def thought(piece: str, section: int = 0, index: int = 0) -> Event:
    return event(
        "reasoning_summary_text.delta", output_index=index, summary_index=section, delta=piece
    )


def arguments(piece: str, index: int = 1) -> Event:
    return event("function_call_arguments.delta", output_index=index, delta=piece)


def ended(name: str = "completed", **response: Any) -> Event:
    return event(name, response={"id": "resp_1", "model": "m", "status": name, **response})


def incomplete(reason: str | None) -> Event:
    details = None if reason is None else {"reason": reason}
    return ended("incomplete", incomplete_details=details)


MESSAGE = {"type": "message", "id": "msg_1"}
THINKING = {"type": "reasoning", "id": "rs_1", "summary": []}
CALLING = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read"}
SAID = [added(0, **MESSAGE), text("Hi"), done(0, **MESSAGE, content=content("Hi"))]

CALL = [
    added(1, **CALLING, arguments=""),
    arguments('{"path": '),
    arguments('"a.py"}'),
    done(1, **CALLING, arguments='{"path": "a.py"}'),
]


def decoder() -> ResponsesDecoder:
    return ResponsesDecoder(Provider("openai", "openai-responses", "http://h", None))


def read(reader: ResponsesDecoder, events: list[Event]) -> list[Delta]:
    return [delta for event in events for delta in reader.decode(json.dumps(event).encode())]
