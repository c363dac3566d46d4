"""The headers that ask us to wait, to seconds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST = 86_400.0
"""Seconds that a hint is capped at, one day: what asks for more is a mistake or a joke."""

_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+", re.ASCII)


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Return for how many seconds an answer's *headers* ask us to wait.

    None where they do not say, or say nothing usable: zero, a negative number, an instant that
    has passed.

    Args:
        headers: With names in lower case, or a mapping that does not care.
        now: Epoch seconds. An HTTP date is counted from the answer's own ``date``, and from
            this where it has none.

    Source: the order is that of the anthropic 2.14 and openai 3.57 packages.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds:
        return min(milliseconds / 1000, LONGEST)
    header = headers.get("retry-after")
    seconds = _number(header)
    if seconds is None:
        seconds = _until(_instant(header), _instant(headers.get("date")), now)
    return min(seconds, LONGEST) if seconds and seconds > 0 else None


def _number(text: str | None) -> float | None:
    text = (text or "").strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def _until(at: float | None, sent_at: float | None, now: float | None) -> float | None:
    start = now if sent_at is None else sent_at
    return None if at is None or start is None else at - start


def _instant(text: str | None) -> float | None:
    """Read an HTTP date as epoch seconds."""
    from email.utils import parsedate_to_datetime  # slow to import, and rarely needed

    try:
        return parsedate_to_datetime(text or "").timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
