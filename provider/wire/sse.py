"""Server-sent events: from bytes to events."""

from __future__ import annotations

import re
from typing import TypeAlias

from ..json_value import mapping, read_json
from . import stream_error

Event: TypeAlias = tuple[bytes, bytes]
"""The event's name, empty if it has none, and its data."""

MAX_EVENT = 16 * 1_048_576
"""The largest number of bytes of one event; the largest that we know have pictures in them."""

_BOM = b"\xef\xbb\xbf"
_JSON = (b"{", b"[")
_FIELDS = frozenset({b"", b"id", b"retry"})
_SIMPLE = re.compile(rb"(?:event: ([^\n]*)\n)?data: \{")
"""The start of an event that is one line of JSON, with or without a name."""


class SseParser:
    """Cuts one response body into events, in whatever pieces it arrives.

    Lines end only at CR, LF or CRLF, because providers send U+2028, U+2029 and U+0085 unescaped
    inside their JSON. Every byte is read a bounded number of times, even if a line arrives one byte
    at a time.

    Source: the HTML standard, section 9.2, with two exceptions. An event that the end of the body
        cuts before its blank line is kept, because it may be the terminal one. JSON in place of an
        event is an event without a name, because gateways answer so with an error.
    """

    __slots__ = ("_held", "_is_after_cr", "_is_first", "_line", "_lines", "_run", "comments")

    def __init__(self) -> None:
        self.comments = 0
        """The number of comment lines; some providers keep a connection alive with them."""
        self._line: list[bytes] = []  # pieces of a line that has not ended
        self._lines: list[bytes] = []  # whole lines of an event that has not ended
        self._held = 0  # bytes of an event that has not ended
        self._is_first = True
        self._is_after_cr = False
        # The start of the last simple event: its name, the bytes up to its brace, and their length.
        self._run = b"", b"data: {", 7

    def feed(self, block: bytes) -> list[Event]:
        """Return the events that the next *block* of the body completes.

        Raises:
            ProviderError: An event has more than `MAX_EVENT` bytes.
        """
        is_inside = self._line or self._lines or self._is_first or self._is_after_cr
        if not is_inside and block.endswith(b"\n\n") and b"\r" not in block:
            name, head, size = self._run
            if block.startswith(head) and block.find(b"\n", size) == len(block) - 2:
                return [(name, block[size - 1 : -2])]  # nearly every block of a slow stream
            return self._split(block)
        if self._is_after_cr or b"\r" in block:
            block = self._with_newlines(block)
        end = block.rfind(b"\n") + 1
        if not end:
            if block:
                self._line.append(block)
                self._hold(len(block))
            return []
        lines = self._whole_lines(block, end)
        events = self._whole_events(lines)
        self._hold(len(block) - block.rfind(b"\n\n") - 1)
        return events

    def _hold(self, size: int) -> None:
        self._held += size
        if self._held > MAX_EVENT:
            raise stream_error.too_large("an event", MAX_EVENT)

    def flush(self) -> list[Event]:
        """Return the event that the end of the body left without its blank line, if any."""
        rest = b"".join((*self._lines, *self._line))
        self._lines, self._line = [], []
        if self._is_first:
            rest = rest.removeprefix(_BOM)
        return self._split(rest)

    def _with_newlines(self, block: bytes) -> bytes:
        """Return *block* with every line end as LF; a CRLF may be cut between two blocks."""
        if not block:
            return block
        if self._is_after_cr and block.startswith(b"\n"):
            block = block[1:]
            if not block:
                self._is_after_cr = False
                return block
        self._is_after_cr = block.endswith(b"\r")
        return block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _whole_lines(self, block: bytes, end: int) -> bytes:
        lines, rest = (block, b"") if end == len(block) else (block[:end], block[end:])
        if self._line:
            self._line.append(lines)
            lines = b"".join(self._line)
        self._line = [rest] if rest else []
        if self._is_first:
            self._is_first = False
            lines = lines.removeprefix(_BOM)
        return lines

    def _whole_events(self, lines: bytes) -> list[Event]:
        end = lines.rfind(b"\n\n") + 2
        if end == 1:  # no blank line inside; but the first line may be one
            end = 1 if lines.startswith(b"\n") else 0
        if not end:
            self._lines.append(lines)
            return []
        rest = lines[end:]
        self._held = 0
        if self._lines:
            self._lines.append(lines[:end])
            events = self._split(b"".join(self._lines))
        else:
            events = self._split(lines[:end])
        self._lines = [rest] if rest else []
        return events

    def _split(self, text: bytes) -> list[Event]:
        """Return the events in *text*, which holds only whole events.

        Nearly every event is one line of JSON after the same name as the event before it.
        """
        events: list[Event] = []
        name, head, size = self._run
        for lines in text.split(b"\n\n"):
            if lines[:size] != head:
                if not lines:
                    continue
                begins = _SIMPLE.match(lines)
                if begins is None:
                    events += self._parse(lines)
                    continue
                self._run = name, head, size = begins[1] or b"", begins[0], len(begins[0])
            if lines.find(b"\n", size) < 0:
                events.append((name, lines[size - 1 :]))
            else:
                events += self._parse(lines)
        return events

    def _parse(self, lines: bytes) -> list[Event]:
        """Return one event, read line by line; no event if its data is missing or blank.

        An error in a field of its own, such as ``error: {…}``, is an event after it.
        """
        if lines.startswith(_JSON):
            return [(b"", lines.rstrip())]
        name = b""
        data: list[bytes] = []
        errors: list[Event] = []
        for line in lines.split(b"\n"):
            field, _, value = line.partition(b":")
            if field == b"data":
                data.append(value.removeprefix(b" "))
            elif field == b"event":
                name = value.removeprefix(b" ")
            elif line and not field:
                self.comments += 1
            elif field not in _FIELDS and (error := _error_in(field, value)) is not None:
                errors.append((b"error", error))
        text = b"\n".join(data)
        return [(name, text), *errors] if text.strip() else errors


def _error_in(field: bytes, value: bytes) -> bytes | None:
    """Return the JSON of the error that is the *value* of a *field* of its own; None: it is none.

    Source: llama.cpp until the end of 2025, as in coddy-project/coddy-agent#106 on GitHub.
    """
    from ..classify.classify import has_error_object  # such a field is rare

    try:
        read = read_json(value)
    except ValueError:
        return None
    if field == b"error" and read and not mapping(read).get("error"):
        return b'{"error":%s}' % value.strip()
    return value.strip() if has_error_object(read) else None
