"""OpenAI Responses: writing an answer for a client.

Codex compacts only from an event with the code ``context_length_exceeded``, never from a status.

Source: the types of the openai package 3.57, and github.com/openai/codex
codex-rs/codex-api/src/sse/responses.rs, read on 2026-11-30.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ...delta import ReasoningDelta, TextDelta, ToolCallEnded
from ...failure import FailureKind
from ...json_value import write_json_line
from ..answer import new_id
from ..openai_error import error_of
from ..refusal import EVENTS_TYPE, Refusal, headers_of, status_of
from .written_item import WrittenItem, call_item, item_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...delta import Delta
    from ...failure import Failure
    from ...wire_name import Wire
    from ..answer import Answer

Json = dict[str, Any]

PING = b": keep-alive\n\n"


class ResponsesWriter:
    """The `Writer` of Responses."""

    wire: ClassVar[Wire] = "openai-responses"

    def __init__(
        self,
        *,
        model: str,
        answer_id: str = "",
        created: int = 0,
        wants_usage: bool = True,
        is_array: bool = False,
    ) -> None:
        self._model = model
        self._id = answer_id or new_id("resp_")
        self._created = created
        self._number = 0
        self._items: list[Json] = []  # the finished ones
        self._open: WrittenItem | None = None

    def start(self) -> bytes:
        """Return the beginning of a stream."""
        response = self._response("in_progress")
        created = self._event("response.created", response=response)
        return created + self._event("response.in_progress", response=response)

    def feed(self, deltas: Sequence[Delta]) -> bytes:
        """Return the events for *deltas*; a call is written when its arguments are whole."""
        pieces: list[bytes] = []
        item = self._open
        for delta in deltas:
            if isinstance(delta, TextDelta | ReasoningDelta):
                if item is None or item.delta_type is not type(delta):
                    pieces += self._close()
                    item = self._begin(type(delta))
                    pieces += self._events(item.begin())
                item.pieces.append(delta.text)
                text = write_json_line(delta.text)
                pieces.append(b'%s%d,"delta":%s}\n\n' % (item.head, self._number, text))
                self._number += 1
            elif isinstance(delta, ToolCallEnded):
                call = call_item(delta.id, delta.name, delta.input)
                pieces += (*self._close(), *self._whole_item(call))
                item = None
        return b"".join(pieces)

    def end(self, answer: Answer) -> bytes:
        """Return the rest of a stream, with the terminal marker."""
        pieces = list(self._close())
        if not self._items:
            for part in answer.model_parts:
                if item := item_of(part, is_own=answer.wire == self.wire):
                    pieces += self._whole_item(item)
        response = self._finished(answer, self._items)
        pieces.append(self._event(f"response.{response['status']}", response=response))
        return b"".join(pieces)

    def error(self, failure: Failure) -> bytes:
        """Return the event that ends a stream which fails."""
        error = error_of(failure)
        named = {"code": error["code"] or error["type"], "message": error["message"]}
        response = {**self._response("failed"), "error": named}
        return self._event("response.failed", response=response)

    def ping(self) -> bytes:
        """Return a comment."""
        return PING

    def whole(self, answer: Answer) -> bytes:
        """Return *answer* as one response."""
        is_own = answer.wire == self.wire
        items = (item_of(part, is_own=is_own) for part in answer.model_parts)
        return write_json_line(self._finished(answer, [item for item in items if item is not None]))

    @staticmethod
    def refusal(failure: Failure, *, is_streamed: bool = False) -> Refusal:
        """Return the response to a request that failed before a byte was sent.

        An overflow of a stream is a stream with an error in it.
        """
        if is_streamed and failure.kind is FailureKind.CONTEXT_OVERFLOW:
            writer = ResponsesWriter(model="")
            body = writer.start() + writer.error(failure)
            return Refusal(200, headers_of(failure, EVENTS_TYPE), body)
        body = write_json_line({"error": error_of(failure)})
        return Refusal(status_of(failure), headers_of(failure), body)

    def _event(self, kind: str, **fields: object) -> bytes:
        value = {"type": kind, **fields, "sequence_number": self._number}
        self._number += 1
        return b"event: %s\ndata: %s\n\n" % (kind.encode(), write_json_line(value))

    def _events(self, events: Iterator[tuple[str, Json]]) -> Iterator[bytes]:
        for kind, fields in events:
            yield self._event(kind, **fields)

    def _begin(self, kind: type[TextDelta] | type[ReasoningDelta]) -> WrittenItem:
        """Open an item for deltas of *kind*, and return it."""
        self._open = WrittenItem(kind, len(self._items))
        return self._open

    def _close(self) -> Iterator[bytes]:
        """Yield the end of the open item."""
        if self._open is not None:
            item, self._open = self._open, None
            yield from self._events(item.finish())
            self._items.append(item.whole())

    def _whole_item(self, item: Json) -> Iterator[bytes]:
        """Yield the events of *item*, which is whole."""
        index = len(self._items)
        for kind, fields in WrittenItem.events_of(item, index):
            yield self._event(kind, **fields)
        self._items.append(item)

    def _finished(self, answer: Answer, output: list[Json]) -> Json:
        is_cut = answer.end == "cut"
        return {
            **self._response("incomplete" if is_cut else "completed"),
            "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
            "output": output,
            "usage": _usage(answer),
        }

    def _response(self, status: str) -> Json:
        """Return the response without its output; it repeats the defaults of parameters."""
        return {
            "id": self._id,
            "object": "response",
            "created_at": self._created,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "max_output_tokens": None,
            "metadata": {},
            "model": self._model,
            "output": [],
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None},
            "store": False,
            "temperature": None,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "truncation": "disabled",
            "usage": None,
        }


def _usage(answer: Answer) -> Json:
    """Return the tokens; in this wire the input includes what was cached."""
    counts = answer.counts
    cached = {"cached_tokens": counts.cache_read, "cache_write_tokens": counts.cache_write}
    return {
        "input_tokens": counts.prompt,
        "input_tokens_details": cached,
        "output_tokens": counts.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": counts.total,
    }
