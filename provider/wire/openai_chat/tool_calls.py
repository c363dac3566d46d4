"""Tool calls, put together from the fragments that Chat Completions streams."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...conversation import ToolCall
from ...delta import Delta, ToolCallEnded, ToolCallStarted
from ...json_value import mapping, string, write_json
from ..call_arguments import read_objects
from ..protocol import new_call_id
from ..seen_calls import SeenCalls

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class Call:
    """One call while it arrives."""

    id: str = ""
    name: str = ""
    signature: str | None = None
    pieces: list[str] = field(default_factory=list)
    input: dict[str, Any] | None = None

    @property
    def is_complete(self) -> bool:
        """True if the arguments are a whole JSON object, so that no more of them can follow."""
        if not self.pieces or not self.pieces[-1].rstrip().endswith(("}", '"')):
            return False
        return read_objects("".join(self.pieces)) is not None

    @property
    def has_no_arguments(self) -> bool:
        """True if nothing of the arguments has come."""
        return not any(piece and not piece.isspace() for piece in self.pieces)


class CallAssembler:
    """Puts the fragments of calls together.

    A fragment belongs to the call with its ``index``; without an index to the call with its ``id``;
    without either to the last call. A new ``id`` without a name also goes on with the last call.

    Some servers number every call 0. Another name therefore starts another call, and so does the
    same name after whole arguments, unless the id is the same too. Some servers change the id
    within a call, and repeat its name. Some put the arguments of several calls of one tool into
    one: they become several calls.

    Source: captures compat_stream_tools_without_index; for Gemini's signatures,
    ai.google.dev/gemini-api/docs/thought-signatures, read on 2026-11-30.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._seen = SeenCalls()
        self._at: dict[int, Call] = {}
        self._of: dict[str, Call] = {}  # by every id of its fragments

    def add(self, fragment: object) -> Iterator[Delta]:
        """Add one fragment; yield the start of a call once its name is known."""
        fields = mapping(fragment)
        function = mapping(fields.get("function"))
        proof = mapping(mapping(fields.get("extra_content")).get("google"))
        if not (function or proof or "id" in fields):
            return
        id_, name = string(fields.get("id")), string(function.get("name"))
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            arguments = write_json(arguments).decode()
        call = self._call(fields.get("index"), id_, name, has_arguments=bool(arguments))
        call.signature = string(proof.get("thought_signature")) or call.signature
        if arguments and isinstance(arguments, str) and not self._is_repeat(call, name, arguments):
            call.pieces.append(arguments)
        if name and not call.name:
            call.id, call.name = call.id or id_ or new_call_id(), name
            yield ToolCallStarted(call.id, name)
        elif id_ and not call.id:
            call.id = id_

    def close(self, *, is_cut: bool) -> Iterator[Delta]:
        """Yield the end of each call with whole arguments; only once if a server sends it twice.

        Args:
            is_cut: See `end`.
        """
        for call in list(self.calls):
            is_open = call.input is None and bool(call.name) and call.is_complete
            if is_open and not (is_cut and self._may_lack_arguments(call)):
                yield from self._close(call)

    def end(self, *, is_cut: bool) -> Iterator[Delta]:
        """Yield the end of the other calls, except those with cut arguments.

        Args:
            is_cut: The answer lacks its end, so that a call without arguments may have some that
                did not come. Some servers write ``{}`` in their place.
        """
        for call in list(self.calls):
            if is_cut and self._may_lack_arguments(call):
                call.input = None
            elif call.input is None and call.name:
                yield from self._close(call)

    def _may_lack_arguments(self, call: Call) -> bool:
        """True if a cut took the arguments of *call*: it has none, or it is the last one, empty."""
        if call.has_no_arguments:
            return True
        return call is self.calls[-1] and read_objects("".join(call.pieces)) == [{}]

    @property
    def looks_cut(self) -> bool:
        """True if the last call has no arguments, or none that can be read."""
        if not self.calls:
            return False
        last = self.calls[-1]
        return last.has_no_arguments or read_objects("".join(last.pieces)) in (None, [{}])

    def _close(self, call: Call) -> Iterator[Delta]:
        """Yield the end of *call*, and the calls of the same tool that came in its place."""
        objects = read_objects("".join(call.pieces))
        if objects is None:
            return
        call.input, *further = objects
        if self._seen.is_repeat(call.id, call.name, call.input):
            self.calls = [other for other in self.calls if other is not call]
        else:
            yield ToolCallEnded(call.id, call.name, call.input)
        for arguments in further:
            beside = Call(new_call_id(), call.name, input=arguments)
            self.calls.append(beside)
            yield ToolCallStarted(beside.id, beside.name)
            yield ToolCallEnded(beside.id, beside.name, arguments)

    @property
    def lacks_arguments(self) -> bool:
        """True if there is a call without any arguments yet."""
        return any(call.input is None and call.has_no_arguments for call in self.calls)

    @property
    def parts(self) -> list[ToolCall]:
        """The closed calls."""
        return [
            ToolCall(call.id, call.name, call.input, signature=call.signature)
            for call in self.calls
            if call.input is not None
        ]

    def _call(self, index: object, id_: str, name: str, *, has_arguments: bool) -> Call:
        if isinstance(index, int):
            call = self._at.get(index)
        else:
            call = self._of.get(id_) or self._last(id_, name, has_arguments=has_arguments)
        if call is None or self._starts_new_call(call, id_, name):
            call = Call()
            self.calls.append(call)
            if isinstance(index, int):
                self._at[index] = call
        if id_:
            self._of[id_] = call
        return call

    def _last(self, id_: str, name: str, *, has_arguments: bool) -> Call | None:
        """Return the last call; None: a fragment with a new id cannot belong to it."""
        last = self.calls[-1] if self.calls else None
        if last is None or not id_:
            return last
        return None if name or (has_arguments and last.is_complete) else last

    @staticmethod
    def _is_repeat(call: Call, name: str, arguments: str) -> bool:
        """True if the fragment repeats a call: some servers send a whole call twice."""
        return call.input is not None or bool(name and call.name and call.pieces == [arguments])

    @staticmethod
    def _starts_new_call(call: Call, id_: str, name: str) -> bool:
        if not (name and call.name):
            return False
        return name != call.name or (call.id != id_ and call.is_complete)


def is_of_other_kind(fragment: object) -> bool:
    """True if *fragment* belongs to a call of no function, such as a custom tool.

    Source: ``ChatCompletionMessageCustomToolCall`` in the openai package 3.57.
    """
    fields = mapping(fragment)
    if "function" in fields:
        return False
    kind = string(fields.get("type"))
    return bool(kind and (kind != "function")) or "custom" in fields
