"""Gemini's events: server-sent events, and plain JSON between them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .. import stream_error
from ..sse import MAX_EVENT, SseParser

if TYPE_CHECKING:
    from ..sse import Event

_BOM = b"\xef\xbb\xbf"
_STARTS = (b"{", b"[", b"]", b",")
"""The start of a line of raw JSON outside an object; no field of an event starts so."""
_FIELD = b"data:"
"""The start of an event's line; no line inside an object starts so."""
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.?)*+(?:"|$)|[{}]', re.DOTALL)
"""A whole string, because braces inside it do not count, or a brace."""


class RawJsonParser:
    """Cuts one response body into events, with the methods of `SseParser`.

    An error in Gemini's stream is JSON over several lines without ``data:``, and a server that was
    not asked for events sends one JSON array. Every object in them is an event without a name. All
    other bytes go through an `SseParser`.

    Source: the stream reader of the google-genai package 2.34, read on 2026-11-29; capture
        gemini_stream_raw_json_error.
    """

    __slots__ = ("_depth", "_held", "_line", "_object", "_sse")

    def __init__(self) -> None:
        self._sse = SseParser()
        self._line: list[bytes] = []  # pieces of a line that has not ended
        self._object: list[bytes] = []  # lines of an object that has not ended
        self._depth = 0  # how many of its braces are open
        self._held = 0  # bytes of a line or an object that has not ended

    @property
    def comments(self) -> int:
        """The number of comment lines."""
        return self._sse.comments

    def feed(self, block: bytes) -> list[Event]:
        """Return the events that the next *block* of the body completes.

        Raises:
            ProviderError: An event has more than `MAX_EVENT` bytes.
        """
        if b"\n" not in block and b"\r" not in block:
            self._line.append(block)
            self._hold(len(block))
            return []
        # On bytes, this splits only at CR, LF and CRLF.
        lines = b"".join((*self._line, block)).splitlines(keepends=True)
        self._line = [] if lines[-1].endswith((b"\n", b"\r")) else [lines.pop()]
        events = self._read(lines)
        if events or not self._depth:
            self._held = 0
        self._hold(len(block) - block.rfind(b"\n") - 1 if events else len(block))
        return events

    def _hold(self, size: int) -> None:
        self._held += size
        if self._held > MAX_EVENT:
            raise stream_error.too_large("an event", MAX_EVENT)

    def flush(self) -> list[Event]:
        """Return the events that the end of the body left unfinished, except half an object."""
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
        """True if *line* is raw JSON; a line of an event drops an unfinished object."""
        if self._depth and not line.startswith(_FIELD):
            return True
        self._depth, self._object = 0, []
        return line.removeprefix(_BOM).lstrip().startswith(_STARTS)

    def _balance(self, line: bytes) -> list[Event]:
        """Count the braces of *line*, and return the objects that it completes."""
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
