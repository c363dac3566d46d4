"""One output item of a Responses stream, from its announcement to a part.

Source: see `decode.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...conversation import Part, Reasoning, Text, ToolCall
from ...delta import Delta, ReasoningDelta, TextDelta, ToolCallEnded, ToolCallStarted
from ...json_value import mapping, string
from ..call_arguments import read_arguments
from ..protocol import new_call_id

if TYPE_CHECKING:
    from collections.abc import Mapping

KEPT = frozenset({"message", "reasoning", "function_call"})
"""The types of items that become parts; items of other types are only counted."""
_BETWEEN = "\n\n"
"""The separator between two summaries of one item."""


@dataclass(slots=True)
class Item:
    """One output item while it arrives; the content of its own end counts.

    Args:
        kind: Its type: ``message``, ``reasoning`` or ``function_call``; other types are not kept.
        pieces: The text, the thinking or the arguments, as they came.
        refusal: The model's text in place of an answer.
        phase: Whether a message stands between or at the end of the work; empty: unknown.
        field_name: The field that thinking came in, unless it is a summary.
        input: The arguments of a closed call.
        has_no_arguments: It is a call that ended without any arguments.
    """

    kind: str
    id: str = ""
    call_id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    refusal: str = ""
    encrypted: str = ""
    phase: str = ""
    field_name: str | None = None
    input: dict[str, Any] | None = None
    is_done: bool = False
    has_no_arguments: bool = False
    _section: object = None

    def is_of(self, fields: Mapping[str, Any]) -> bool:
        """True if *fields* describe this item: the same type and, after its end, the same ids."""
        if fields.get("type") != self.kind:
            return False
        ids = string(fields.get("id")), string(fields.get("call_id"))
        return not self.is_done or ids == (self.id, self.call_id)

    def announce(self, fields: Mapping[str, Any]) -> list[Delta]:
        """Take the announcement of the item, and return the start of a call."""
        self.id = string(fields.get("id"))
        self.phase = string(fields.get("phase")) or self.phase
        if self.kind != "function_call" or self.name:
            return []
        self.name = string(fields.get("name"))
        self.call_id = string(fields.get("call_id")) or new_call_id()
        return [ToolCallStarted(self.call_id, self.name)] if self.name else []

    def think(self, text: str, section: object) -> list[Delta]:
        """Add a piece of thinking, which belongs to the summary with the number *section*."""
        if self.pieces and section != self._section:
            text = _BETWEEN + text
        self._section = section
        self.pieces.append(text)
        return [ReasoningDelta(text)]

    def close(self, fields: Mapping[str, Any]) -> list[Delta]:
        """Take the whole item, and return the deltas of what is new in it."""
        deltas = self.announce(fields)
        self.is_done = True
        if self.kind == "function_call":
            return deltas + self._take_arguments(fields)
        if self.kind == "message":
            self.refusal = _join_texts("", fields.get("content"), "refusal") or self.refusal
            return [TextDelta(rest) for rest in self._rest(_join_texts("", fields.get("content")))]
        if self.kind == "reasoning":
            self.encrypted = string(fields.get("encrypted_content"))
            thinking = _join_texts(_BETWEEN, fields.get("summary"))
            if not thinking and (thinking := _join_texts(_BETWEEN, fields.get("content"))):
                self.field_name = "content"
            return [ReasoningDelta(rest) for rest in self._rest(thinking)]
        return []

    def end(self) -> list[Delta]:
        """Return the end of a call without arguments, once the answer has ended and is not cut.

        Before that, its arguments may still be missing.
        """
        return self._end_call({}) if self.has_no_arguments and self.input is None else []

    def part(self) -> Part | None:
        """Return the part so far; None: there is nothing to keep."""
        item_id = self.id or None if self.is_done else None
        if self.kind == "function_call":
            if self.input is None:
                return None
            return ToolCall(self.call_id, self.name, self.input, item_id=item_id)
        text = "".join(self.pieces)
        if self.kind == "message":
            return Text(text, item_id=item_id, phase=self.phase or None) if text else None
        if self.kind != "reasoning":
            return None
        if not self.is_done:
            return Reasoning(text, complete=False) if text else None
        # Kept even without text, because the next item is valid only with this id before it.
        encrypted = self.encrypted or None
        return Reasoning(text, encrypted=encrypted, item_id=item_id, field_name=self.field_name)

    def _take_arguments(self, fields: Mapping[str, Any]) -> list[Delta]:
        arguments = fields.get("arguments")
        is_whole = fields.get("status") != "incomplete"
        if not isinstance(arguments, dict):
            text = string(arguments) or "".join(self.pieces)
            self.has_no_arguments = is_whole and (not text or text.isspace())
            arguments = None if self.has_no_arguments else read_arguments(text)
        return self._end_call(arguments) if is_whole else []

    def _end_call(self, arguments: dict[str, Any] | None) -> list[Delta]:
        if arguments is None or not self.name:
            return []
        self.input = arguments
        return [ToolCallEnded(self.call_id, self.name, arguments)]

    def _rest(self, whole: str) -> list[str]:
        """Replace the pieces by the *whole* text, and return what they lacked."""
        text = "".join(self.pieces)
        if not whole or whole == text:
            return []
        self.pieces = [whole]
        return [whole.removeprefix(text)] if whole.startswith(text) else []


def _join_texts(between: str, entries: object, name: str = "text") -> str:
    """Join the texts of a list of content parts."""
    if not isinstance(entries, list):
        return ""
    return between.join(filter(None, (string(mapping(entry).get(name)) for entry in entries)))
