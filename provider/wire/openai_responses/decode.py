"""OpenAI Responses: decoding a stream.

Source: the types of the openai package 3.57 and codex (codex-rs/codex-api/src/sse/responses.rs),
read on 2026-11-29; captures responses_*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ...classify.classify import has_error_object
from ...conversation import Part, Text, ToolCall, Usage
from ...delta import Delta, TextDelta
from ...failure import FailureKind
from ...json_value import integer, mapping, string
from .. import stream_error
from ..base_decoder import BaseDecoder
from ..seen_calls import SeenCalls
from ..stop_word import CUT, is_cut, native_words
from .output_item import KEPT, Item

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...catalog.provider import Provider
    from ...wire_name import Wire

_NOTHING: tuple[Delta, ...] = ()
_TERMINAL = frozenset(
    f"response.{status}" for status in ("completed", "incomplete", "failed", "cancelled", "done")
)
CANCELLED = "cancelled"
"""The status of an answer in the background that the program or a gateway stopped."""
_OWNERS = {
    "response.refusal.delta": "message",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
    "response.function_call_arguments.delta": "function_call",
    "response.function_call_arguments.done": "function_call",
}
"""The type of the item that an event belongs to."""


class ResponsesDecoder(BaseDecoder):
    """The `Decoder` of Responses."""

    wire: ClassVar[Wire] = "openai-responses"

    def __init__(self, provider: Provider) -> None:
        super().__init__(provider)
        self._order: list[Item] = []
        self._seen = SeenCalls()
        self._at: dict[object, Item] = {}
        self._is_cut = False

    @property
    def parts(self) -> list[Part]:
        """The parts so far; an item is finished, and a call counts, when its own end has come."""
        parts = (item.part() for item in self._order)
        return [part for part in parts if part is not None]

    def _event(self, value: Any, name: bytes, data: bytes) -> Sequence[Delta]:
        kind = value.get("type") or name.decode("utf-8", "replace")
        if kind == "response.output_text.delta":  # nearly every event
            text = value["delta"]
            if not text or not isinstance(text, str):
                return _NOTHING
            item = self._at.get(_key(value))
            if item is None or item.kind != "message" or item.is_done:
                item = self._open(value, Item("message"))
            item.pieces.append(text)
            return (TextDelta(text),)
        return self._other(kind, value)

    def end(self, *, is_clean: bool = True) -> Sequence[Delta]:
        """Check the stream at the end of the body.

        Raises:
            ProviderError: The terminal event is missing, or means failure.
        """
        stop = self._stop
        if stop is None:
            raise stream_error.truncated()
        kind = self._failure_of(stop)
        if kind is not None:
            raise stream_error.failed_stop(kind, stop)
        refusal = "".join(item.refusal for item in self._order)
        if refusal:
            raise stream_error.failed_stop(FailureKind.REFUSAL, "refusal", refusal)
        deltas: list[Delta] = []
        if self._drops_last_call():
            stop = self._stop
        elif not self._is_cut:
            deltas = [
                d for item in list(self._order) for d in self._without_repeat(item, item.end())
            ]
            self._check_calls(stop)
        has_output = any(isinstance(part, Text | ToolCall) for part in self.parts)
        if not (is_cut(stop) or has_output or self.unread):
            self._refuse_empty(stop)
        return deltas

    def _drops_last_call(self) -> bool:
        """True if the answer was cut; a last call without arguments is then dropped."""
        last = self._order[-1] if self._order else None
        is_open = last is not None and last.kind == "function_call" and not last.input
        if is_open and self.has_reached_limit and not self._is_cut:
            self._is_cut, self._stop = True, CUT
        if last is None or not is_open or not is_cut(self._stop):
            return False
        last.input = None
        return True

    def _check_calls(self, stop: str) -> None:
        for item in self._order:
            if item.kind != "function_call" or item.input is not None:
                continue
            if item.is_done:
                raise stream_error.malformed_call(item.name)
            raise stream_error.failed_stop(
                FailureKind.TOOL_CALL_MALFORMED, stop, f"the call of {item.name!r} was not closed"
            )

    def _other(self, kind: str, value: Mapping[str, Any]) -> Sequence[Delta]:
        if kind in _OWNERS:
            return self._continue_item(kind, value)
        if kind == "response.output_item.added":
            return self._start_item(value)
        if kind == "response.output_item.done":
            return self._done(value)
        if kind in _TERMINAL:
            self._finish(kind, value)
        elif kind == "error" or has_error_object(value):
            raise self._error(value)
        elif kind.endswith(".delta"):
            self.silent_output += 1  # of an item that is not kept
        else:
            self._note(mapping(value.get("response")))
        return _NOTHING

    def _open(self, value: Mapping[str, Any], item: Item) -> Item:
        self._at[_key(value)] = item
        self._order.append(item)
        return item

    def _continue_item(self, kind: str, value: Mapping[str, Any]) -> Sequence[Delta]:
        item = self._at.get(_key(value))
        if item is None or item.kind != _OWNERS[kind]:
            item = self._open(value, Item(_OWNERS[kind]))
        elif item.is_done:
            return _NOTHING  # its own end had everything
        if kind.endswith(".done"):
            item.pieces = [string(value.get("arguments")) or "".join(item.pieces)]
            return _NOTHING
        text = value["delta"]
        if not text or not isinstance(text, str):
            return _NOTHING
        if item.kind == "reasoning":
            return item.think(text, value.get("summary_index"))
        self.silent_output += 1
        if item.kind == "message":
            item.refusal += text
        else:
            item.pieces.append(text)
        return _NOTHING

    def _start_item(self, value: Mapping[str, Any]) -> Sequence[Delta]:
        fields = value["item"]
        existing = self._at.get(_key(value))
        if existing is not None and not existing.is_done and existing.is_of(fields):
            return _NOTHING
        item = self._open(value, Item(string(fields.get("type"))))
        if item.kind not in KEPT:
            self._skip()
        return item.announce(fields)

    def _done(self, value: Mapping[str, Any]) -> Sequence[Delta]:
        fields = value["item"]
        item = self._at.get(_key(value))
        if item is None or not item.is_of(fields):
            item = self._open(value, Item(string(fields.get("type"))))
            if item.kind not in KEPT:
                self._skip()
        if item.is_done:
            return _NOTHING
        deltas = self._without_repeat(item, item.close(fields))
        if item.encrypted and not deltas:
            self.silent_output += 1
        return deltas

    def _without_repeat(self, item: Item, deltas: Sequence[Delta]) -> Sequence[Delta]:
        """Return *deltas*, which close *item*; none if it is a call that came before."""
        if not deltas or item.input is None:
            return deltas
        if self._seen.is_repeat(item.call_id, item.name, item.input):
            self._order = [other for other in self._order if other is not item]
            return _NOTHING
        return deltas

    def _finish(self, kind: str, value: Mapping[str, Any]) -> None:
        """Take the terminal event; the status in it can be worse than its name.

        Raises:
            ProviderError: The event reports a failure.
        """
        fields = mapping(value.get("response"))
        self._note(fields)
        status = string(fields.get("status"))
        if kind == "response.failed" or status in {"failed", CANCELLED}:
            failed = self._error(value)
            if status == CANCELLED and not fields.get("error"):
                failed.failure.code = CANCELLED
            raise failed
        words = (*native_words(fields), string(fields.get("finish_reason")))
        reason = next(filter(is_cut, words), "")
        reason = string(mapping(fields.get("incomplete_details")).get("reason")) or reason
        is_incomplete = "incomplete" in (kind.rpartition(".")[2], status)
        self._is_cut = is_incomplete or is_cut(reason)
        self._stop = (reason or "incomplete") if self._is_cut else "completed"
        self.is_done = True
        # Azure sends the encrypted thinking only here.
        for entry in map(mapping, fields.get("output") or ()):
            for item in self._order:
                if item.is_done and item.id and item.is_of(entry):
                    item.encrypted = item.encrypted or string(entry.get("encrypted_content"))

    def _note(self, response: Mapping[str, Any]) -> None:
        self.model = string(response.get("model")) or self.model
        self.request_id = string(response.get("id")) or self.request_id
        usage = response.get("usage")
        if isinstance(usage, dict) and usage:
            self._take_usage(_usage(usage))


def _key(value: Mapping[str, Any]) -> object:
    """Return the key of the item of an event: its index, because some gateways change its id."""
    index = value.get("output_index")
    if isinstance(index, int):
        return index
    return string(value.get("item_id")) or string(mapping(value.get("item")).get("id"))


def _usage(usage: Mapping[str, Any]) -> Usage:
    details = mapping(usage.get("input_tokens_details"))
    return Usage(
        input=integer(usage.get("input_tokens")),
        output=integer(usage.get("output_tokens")),
        cache_read=integer(details.get("cached_tokens")),
        cache_write=integer(details.get("cache_write_tokens")),
    )
