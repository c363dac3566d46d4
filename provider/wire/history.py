"""The messages of a conversation, put together from a client's body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ..conversation import Message, ToolCall
from ..json_value import read_json
from .read_request import Fields, RequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..conversation import Output, Part


class History:
    """Collects messages, and puts the results of tools into the calls that they belong to."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._open: dict[str, list[ToolCall]] = {}  # by id: the calls of the latest message with it

    def add(self, role: Literal["system", "user", "assistant"], parts: Sequence[Part]) -> None:
        """Add a message; nothing if it has no parts."""
        if not parts:
            return
        self.messages.append(Message(role, [*parts]))
        calls = [part for part in parts if isinstance(part, ToolCall)]
        for call in calls:
            self._open[call.id] = []
        for call in calls:
            self._open[call.id].append(call)

    def check(self, fields: Fields, name: str, *, system: int = 0) -> None:
        """Check that the list *name* of *fields* had a message in it, and how it ends.

        Args:
            system: How many messages come from somewhere else.

        Raises:
            RequestError: It is empty, or each of its messages is.
        """
        if len(self.messages) <= system and not fields.report.unreadable:
            raise RequestError(fields.place(name), "is empty: write at least one message")
        last = self.messages[-1] if self.messages else None
        if last is not None and last.role == "assistant" and not last.has_calls:
            what = "the beginning of an answer that the model must continue"
            fields.report.cannot_move(what, fields.place(name))

    def add_result(self, fields: Fields, id_: str, output: Output, *, is_error: bool) -> None:
        """Put a result, which stands in *fields*, into the first open call with its id."""
        calls = self._open.get(id_)
        if not calls:
            fields.cannot_move("a result without a call before it")
            return
        call = calls.pop(0)
        call.output, call.is_error = output, is_error
        call.state = "error" if is_error else "completed"

    def is_open(self, id_: str) -> bool:
        """True if a call with this id has no result yet."""
        return bool(self._open.get(id_))

    def open_id(self, name: str) -> str | None:
        """Return the id of the first call of the tool *name* without a result; None: there is none.

        Args:
            name: Gemini's older models name the tool in a result, and have no ids.
        """
        for calls in self._open.values():
            if calls and calls[0].name == name:
                return calls[0].id
        return None


def arguments_in(fields: Fields, name: str = "arguments") -> dict[str, Any]:
    """Return the arguments of a call, which are JSON in a string; empty text means none.

    If the model wrote something else, only the provider that was asked can read it.
    """
    text = fields.string(name)
    if text is None or not text.strip():
        return {}
    try:
        value = read_json(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value
    fields.cannot_move("arguments of a call that are not a JSON object")
    return {}
