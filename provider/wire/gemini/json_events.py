"""Gemini's bodies to events: server-sent ones, and JSON that stands between them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..sse import SseParser

if TYPE_CHECKING:
    from ..sse import Event

_BOM = b"\xef\xbb\xbf"
_STARTS = (b"{", b"[", b"]", b",")
"""How a line of raw JSON begins, outside an object: no field of an event does."""
_FIELD = b"data:"
"""How no line inside an object begins."""
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.?)*+(?:"|$)|[{}]', re.DOTALL)
"""A whole string, whose braces do not count, or a brace."""


class RawJsonParser:
    """Cut one response body into its events, in whatever pieces it arrives; an `SseParser` to use.

    Errors break into Gemini's stream as JSON over several lines without ``data:``, and a server
    that was not asked for events sends one JSON array. Every object of either is an event
    without a name; all other bytes go through the `SseParser` as they are.

    Source: the stream reader of the google-genai package 2.34, read on 2026-11-29; capture
        gemini_stream_raw_json_error.
    """

    __slots__ = ("_depth", "_line", "_object", "_sse")

    def __init__(self) -> None:
        self._sse = SseParser()
        self._line: list[bytes] = []  # pieces of a line that has not ended
        self._object: list[bytes] = []  # lines of an object that has not ended
        self._depth = 0  # how many of its braces are open

    @property
    def comments(self) -> int:
        """How many comment lines came."""
        return self._sse.comments

    def feed(self, block: bytes) -> list[Event]:
        """Take the next *block* of the body; give the events that it completes."""
        if b"\n" not in block and b"\r" not in block:
            self._line.append(block)
            return []
        # Of bytes this splits at CR, LF and CRLF only.
        lines = b"".join((*self._line, block)).splitlines(keepends=True)
        self._line = [] if lines[-1].endswith((b"\n", b"\r")) else [lines.pop()]
        return self._read(lines)

    def flush(self) -> list[Event]:
        """Give the events that the end of the body left unfinished; half an object is none."""
        rest, self._line = b"".join(self._line), []
        return [*self._read([rest] if rest else []), *self._sse.flush()]

    def _read(self, lines: list[bytes]) -> list[Event]:
        events: list[Event] = []
        plain: list[bytes] = []
        for line in lines:
            if not self._is_raw(line):
                plain.append(line)
                continue
            events += self._sse.feed(b"".join(plain))
            events += self._sse.flush()  # a blank line before the JSON may be missing
            plain = []
            events += self._balance(line)
        return events + self._sse.feed(b"".join(plain))

    def _is_raw(self, line: bytes) -> bool:
        """Say whether *line* is no line of an event; one of the next event drops half an object."""
        if self._depth and not line.startswith(_FIELD):
            return True
        self._depth, self._object = 0, []
        return line.removeprefix(_BOM).lstrip().startswith(_STARTS)

    def _balance(self, line: bytes) -> list[Event]:
        """Count the braces of *line*, and give the objects that it completes."""
        events: list[Event] = []
        start = 0
        for token in _TOKEN.finditer(line):
            brace = token[0]
            if brace == b"{":
                if not self._depth:
                    start = token.start()
                self._depth += 1
            elif brace == b"}" and self._depth:
                self._depth -= 1
                if not self._depth:
                    events.append((b"", b"".join((*self._object, line[start : token.end()]))))
                    self._object = []
        if self._depth:
            self._object.append(line[start:])
        return events
