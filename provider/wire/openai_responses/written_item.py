"""One output item as `ResponsesWriter` writes it, from its announcement to its end.

Source: see `write.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from ...conversation import Reasoning, Text, ToolCall
from ...delta import ReasoningDelta, TextDelta
from ...json_value import write_json
from ..answer import new_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...conversation import ModelPart

Json = dict[str, Any]
Event = tuple[str, Json]
"""The type of an event, and its fields."""

COMPLETED = "completed"


class WrittenItem:
    """A message or reasoning that is written delta by delta.

    Attributes:
        head: The bytes of an event with a delta, up to its number.
        pieces: The text so far.
    """

    __slots__ = ("_id", "_index", "_item", "delta_type", "head", "pieces")

    def __init__(self, delta_type: type[TextDelta] | type[ReasoningDelta], index: int) -> None:
        self.delta_type = delta_type
        self.pieces: list[str] = []
        self._index = index
        self._item = _message("") if delta_type is TextDelta else _thought("")
        kind = _DELTAS[self._item["type"]]
        at = {"type": kind, "item_id": self._item["id"], "output_index": index, **_at(self._item)}
        if delta_type is TextDelta:
            at["logprobs"] = []
        self.head = b'event: %s\ndata: %s,"sequence_number":' % (kind.encode(), write_json(at)[:-1])

    def begin(self) -> Iterator[Event]:
        """Yield the announcement of the item."""
        yield from _begin(self._item, self._index)

    def finish(self) -> Iterator[Event]:
        """Yield the end of the item."""
        yield from _finish(self.whole(), self._index)

    def whole(self) -> Json:
        """Return the item with its text so far."""
        text = "".join(self.pieces)
        made = _message(text) if self.delta_type is TextDelta else _thought(text)
        return {**made, "id": self._item["id"]}

    @staticmethod
    def events_of(item: Json, index: int) -> Iterator[Event]:
        """Yield all events of a whole *item*."""
        yield from _begin(item, index)
        text = _text_in(item)
        if text:
            at = {"item_id": item["id"], "output_index": index, **_at(item)}
            more: Json = {"logprobs": []} if item["type"] == "message" else {}
            yield _DELTAS[item["type"]], {**at, "delta": text, **more}
        yield from _finish(item, index)


_DELTAS = {
    "message": "response.output_text.delta",
    "reasoning": "response.reasoning_summary_text.delta",
    "function_call": "response.function_call_arguments.delta",
}


def item_of(part: ModelPart, *, is_own: bool) -> Json | None:
    """Return *part* as an item; None: it is reasoning that only another wire can show.

    Args:
        is_own: The answer is of this wire, so that its ids and its encrypted thinking can be shown.
    """
    match part:
        case Text():
            phase = {"phase": part.phase} if is_own and part.phase else {}
            item = {**_message(part.text), **phase} if part.text else None
        case Reasoning():
            encrypted = part.encrypted if is_own else None
            item = _thought(part.text, encrypted) if part.text or encrypted else None
        case ToolCall():
            item = call_item(part.id, part.name, part.input)
        case _:
            assert_never(part)
    if item is not None and is_own and part.item_id:
        item["id"] = part.item_id
    return item


def call_item(id_: str, name: str, arguments: Json) -> Json:
    """Return a call as an item."""
    text = write_json(arguments).decode()
    item = {"id": new_id("fc_"), "type": "function_call", "status": COMPLETED}
    return {**item, "call_id": id_, "name": name, "arguments": text}


def _message(text: str) -> Json:
    item = {"id": new_id("msg_"), "type": "message", "status": COMPLETED, "role": "assistant"}
    return {**item, "content": [_part(text)]}


def _part(text: str) -> Json:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _thought(text: str, encrypted: str | None = None) -> Json:
    summary = [{"type": "summary_text", "text": text}] if text else []
    item: Json = {"id": new_id("rs_"), "type": "reasoning", "summary": summary}
    return item if encrypted is None else {**item, "encrypted_content": encrypted}


def _text_in(item: Json) -> str:
    match item["type"]:
        case "message":
            text = item["content"][0]["text"]
        case "reasoning":
            text = item["summary"][0]["text"] if item["summary"] else ""
        case _:
            text = item["arguments"]
    return str(text)


def _at(item: Json) -> Json:
    """Return the index inside *item* that its deltas have."""
    return {"message": {"content_index": 0}, "reasoning": {"summary_index": 0}}.get(
        item["type"], {}
    )


def _begin(item: Json, index: int) -> Iterator[Event]:
    """Yield the events before the text of *item*."""
    empty = {"content": [], "summary": [], "arguments": ""}
    begun = {**item, **{name: value for name, value in empty.items() if name in item}}
    if "status" in begun:
        begun["status"] = "in_progress"
    yield "response.output_item.added", {"output_index": index, "item": begun}
    at = {"item_id": item["id"], "output_index": index, **_at(item)}
    if item["type"] == "message":
        yield "response.content_part.added", {**at, "part": _part("")}
    elif item["type"] == "reasoning" and _has_summary(item):
        part = {"type": "summary_text", "text": ""}
        yield "response.reasoning_summary_part.added", {**at, "part": part}


def _has_summary(item: Json) -> bool:
    return bool(item["summary"]) or "encrypted_content" not in item


def _finish(item: Json, index: int) -> Iterator[Event]:
    """Yield the events after the text of *item*."""
    at = {"item_id": item["id"], "output_index": index, **_at(item)}
    text = _text_in(item)
    match item["type"]:
        case "message":
            yield "response.output_text.done", {**at, "text": text, "logprobs": []}
            yield "response.content_part.done", {**at, "part": item["content"][0]}
        case "reasoning":
            if item["summary"]:
                yield "response.reasoning_summary_text.done", {**at, "text": text}
                part = item["summary"][0]
                yield "response.reasoning_summary_part.done", {**at, "part": part}
        case _:
            yield "response.function_call_arguments.done", {**at, "arguments": text}
    yield "response.output_item.done", {"output_index": index, "item": item}
