"""What the deltas of a stream have in common, so that only their text has to be parsed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Callable

_PROBE = "?"
_TRIES = 8


class EventTemplate:
    """The bytes of one event, but for the text in it.

    The deltas of a stream differ in little else. What begins and ends in the same bytes as an
    event that was read whole, with one JSON string between, is that event with another text;
    to parse the string alone costs a fraction of the whole.

    Args:
        text_in: Says where the text of a parsed event stands; it may raise `LookupError` or
            `TypeError`.
    """

    __slots__ = ("_after", "_before", "_from", "_text_in", "_till", "_tries")

    def __init__(self, text_in: Callable[[Any], object]) -> None:
        self._text_in = text_in
        self._before = b"\0"  # which begins no event
        self._from = 1
        self._after = b""
        self._till = 0
        self._tries = _TRIES

    def text_of(self, data: bytes) -> str | None:
        """Return the text of *data*; None where it has to be read whole."""
        start, end = self._from, self._till
        if data[:start] != self._before or data[end:] != self._after:
            return None
        try:
            text = from_json(data[start:end])
        except ValueError:
            return None
        return text if isinstance(text, str) else None

    def learn(self, data: bytes, text: str) -> None:
        """Take *data*, which was read whole, and whose text is *text*, as what others are like.

        In a stream whose events differ in more, this is given up after a few.
        """
        if not self._tries:
            return
        self._tries -= 1
        before, found, after = data.rpartition(to_json(text))
        if found and after and self._stands_between(before, after):
            self._before, self._from = before, len(before)
            self._after, self._till = after, -len(after)

    def _stands_between(self, before: bytes, after: bytes) -> bool:
        """Make sure that it is the text which was found, and not the same word elsewhere."""
        try:
            return self._text_in(from_json(before + to_json(_PROBE) + after)) == _PROBE
        except (ValueError, LookupError, TypeError):
            return False
