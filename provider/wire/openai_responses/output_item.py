"""One output item of a Responses stream: what is announced and told of it, to a part.

Source: as for `openai_responses.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...conversation import Part, Reasoning, Text, ToolCall
from ...delta import Delta, ReasoningDelta, TextDelta, ToolCallEnded, ToolCallStarted
from ...json_value import mapping, read_arguments, string
from ..protocol import new_call_id

if TYPE_CHECKING:
    from collections.abc import Mapping

_BETWEEN = "\n\n"
"""What stands between two summaries of one item."""


@dataclass(slots=True)
class Item:
    """One output item while it comes; what its own end says of it counts.

    Args:
        kind: Its type: ``message``, ``reasoning``, ``function_call``; nothing is kept of others.
        pieces: The text, the thinking or the arguments, as they came.
        refusal: What the model said in place of an answer.
        phase: What a message is, between or at the end of the work; empty where nobody says.
        input: The arguments of a call that is closed.
        has_no_arguments: It is a call of whose arguments nothing came, though its end did.
    """

    kind: str
    id: str = ""
    call_id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    refusal: str = ""
    encrypted: str = ""
    phase: str = ""
    input: dict[str, Any] | None = None
    is_done: bool = False
    has_no_arguments: bool = False
    _section: object = None

    def is_of(self, fields: Mapping[str, Any]) -> bool:
        """Say whether *fields* are about this item: of its type, and after its end of its ids."""
        if fields.get("type") != self.kind:
            return False
        ids = string(fields.get("id")), string(fields.get("call_id"))
        return not self.is_done or ids == (self.id, self.call_id)

    def announce(self, fields: Mapping[str, Any]) -> list[Delta]:
        """Take what the beginning of the item says; a call can be told of by then."""
        self.id = string(fields.get("id"))
        self.phase = string(fields.get("phase")) or self.phase
        if self.kind != "function_call" or self.name:
            return []
        self.name = string(fields.get("name"))
        self.call_id = string(fields.get("call_id")) or new_call_id()
        return [ToolCallStarted(self.call_id, self.name)] if self.name else []

    def think(self, text: str, section: object) -> list[Delta]:
        """Take a further piece of thinking, of the summary that has the number *section*."""
        if self.pieces and section != self._section:
            text = _BETWEEN + text
        self._section = section
        self.pieces.append(text)
        return [ReasoningDelta(text)]

    def close(self, fields: Mapping[str, Any]) -> list[Delta]:
        """Take the whole item, and tell what was not told of it."""
        deltas = self.announce(fields)
        self.is_done = True
        if self.kind == "function_call":
            return deltas + self._call(fields)
        if self.kind == "message":
            self.refusal = _joined("", fields.get("content"), "refusal") or self.refusal
            return [TextDelta(rest) for rest in self._rest(_joined("", fields.get("content")))]
        if self.kind == "reasoning":
            self.encrypted = string(fields.get("encrypted_content"))
            thinking = _joined(_BETWEEN, fields.get("summary"))
            thinking = thinking or _joined(_BETWEEN, fields.get("content"))
            return [ReasoningDelta(rest) for rest in self._rest(thinking)]
        return []

    def end(self) -> list[Delta]:
        """Take note that the answer is at its end, and not cut.

        A call of whose arguments nothing came has none then. Before, they may be what is cut off.
        """
        return self._called({}) if self.has_no_arguments and self.input is None else []

    def part(self) -> Part | None:
        """Return what came of it; None where that is nothing that can be kept."""
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
        # Without text as well: the item after it is good only with this one's id before it.
        return Reasoning(text, encrypted=self.encrypted or None, item_id=item_id)

    def _call(self, fields: Mapping[str, Any]) -> list[Delta]:
        arguments = fields.get("arguments")
        is_whole = fields.get("status") != "incomplete"
        if not isinstance(arguments, dict):
            text = string(arguments) or "".join(self.pieces)
            self.has_no_arguments = is_whole and (not text or text.isspace())
            arguments = None if self.has_no_arguments else read_arguments(text)
        return self._called(arguments) if is_whole else []

    def _called(self, arguments: dict[str, Any] | None) -> list[Delta]:
        if arguments is None or not self.name:
            return []
        self.input = arguments
        return [ToolCallEnded(self.call_id, self.name, arguments)]

    def _rest(self, whole: str) -> list[str]:
        """Keep the *whole* text in place of its pieces; return what they lack of it."""
        told = "".join(self.pieces)
        if not whole or whole == told:
            return []
        self.pieces = [whole]
        return [whole.removeprefix(told)] if whole.startswith(told) else []


def _joined(between: str, entries: object, name: str = "text") -> str:
    """Join the texts of a list of content parts."""
    if not isinstance(entries, list):
        return ""
    return between.join(filter(None, (string(mapping(entry).get(name)) for entry in entries)))
