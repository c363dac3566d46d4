"""Durations and instants as providers write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "millisecond": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "m": 60.0,
    "min": 60.0,
    "minute": 60.0,
    "h": 3600.0,
    "hr": 3600.0,
    "hour": 3600.0,
    "d": 86_400.0,
    "day": 86_400.0,
}
_PIECE = r"\d{1,9}(?:\.\d{0,12})?(?:ms|[hmsd])"
_WORDS = (
    r"\d{1,9}(?:\.\d{1,12})? ?(?:milliseconds?|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?)"
)
WAIT = (
    rf"(?P<wait>{_PIECE}(?: ?{_PIECE}){{0,3}}|{_WORDS}(?:,?(?: and)? {_WORDS}){{0,3}})(?!\w|\.\d)"
)
"""Pattern of a duration inside a sentence, which is the group ``wait``."""

_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+", re.ASCII)
_PIECES = re.compile(r"(?:,?(?: and)? )?(\d+(?:\.\d*)?|\.\d+) ?([a-zµ]+)", re.ASCII)
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:(?:[T ]| at )(\d\d:\d\d(?::\d\d)?))?", re.ASCII)
_CHINESE = re.compile(
    r"(\d{4})年(\d{1,2})月(\d{1,2})日 ?(?:(\d{1,2})[:时](\d{1,2})(?:[:分](?:(\d{1,2})秒?)?)?)?"
)
CHINESE_DATE = r"\d{4}年\d{1,2}月\d{1,2}日(?: ?\d{1,2}[:时]\d{1,2}(?:[:分](?:\d{1,2}秒?)?)?)?"
"""Pattern of a Chinese date inside a sentence, with or without the time of day."""

_DATE_FIRST = re.compile(r"\s*(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},[^,]{1,40}")
"""An HTTP date at the start of a header: the comma in it separates no values."""
EPOCH = 1e9  # less than the epoch seconds of any reset, and more than any wait
_EPOCH_MS = 1e12
_LAST_YEAR = 2100


def number(text: str | None) -> float | None:
    """Return *text* as a plain number that is not negative; None: it is not one."""
    text = (text or "").strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def duration(text: str) -> float | None:
    """Return the seconds of ``34.07s``, ``1m42.653s``, ``120ms``, ``2 seconds`` or a plain number.

    Several words in a row are added, as in ``3 days, 2 hours and 5 minutes``.

    None: *text* is not a duration.
    """
    plain = number(text)
    if plain is not None:
        return plain
    text = text.strip().casefold()
    seconds, end = 0.0, 0
    for piece in _PIECES.finditer(text[:100]):
        unit = _UNITS.get(piece[2]) or _UNITS.get(piece[2].removesuffix("s"))
        if piece.start() != end or unit is None or (not end and piece.start(1)):
            return None
        seconds, end = seconds + float(piece[1]) * unit, piece.end()
    return round(seconds, 9) if end and end == len(text) else None


def first_value(header: str) -> str:
    """Return the first value of *header*, which is a list if proxies added it again.

    >>> first_value("120, 120")
    '120'
    >>> first_value("Wed, 21 Oct 2026 07:28:00 GMT, Wed, 21 Oct 2026 07:28:00 GMT")
    'Wed, 21 Oct 2026 07:28:00 GMT'
    """
    dated = _DATE_FIRST.match(header)
    return (dated[0] if dated else header.partition(",")[0]).strip()


def http_date(text: str | None) -> datetime | None:
    """Return an HTTP date; None: *text* is not one."""
    from email.utils import parsedate_to_datetime  # slow to import, and rarely needed

    try:
        at = parsedate_to_datetime(text or "")
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def instant(text: str, *, utc_offset: int = 0) -> datetime | None:
    """Return the instant of an RFC 3339 time, epoch seconds or milliseconds, or an HTTP date.

    None: *text* is none of them.

    Args:
        utc_offset: Hours by which a time without a zone is ahead of UTC.
    """
    text = _in_digits(text.strip()[:100])
    at = number(text)
    if at is not None:
        return _of_epoch(at)
    found = _DATE.fullmatch(text)
    try:
        if found is not None:
            local = datetime.fromisoformat(f"{found[1]}T{found[2] or '00:00'}+00:00")
            return _plausible(local - timedelta(hours=utc_offset))
        if _DATE.match(text):
            stamp = datetime.fromisoformat(text)
            return _plausible(stamp if stamp.tzinfo is not None else stamp.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None
    return http_date(text)


def _in_digits(text: str) -> str:
    """Return *text*, or a Chinese date in it as ``2026-12-15 09:21:11``."""
    found = _CHINESE.fullmatch(text)
    if found is None:
        return text
    year, month, day, *time = (int(piece or 0) for piece in found.groups())
    hour, minute, second = time
    return f"{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"


def _of_epoch(at: float) -> datetime | None:
    seconds = at / 1000 if at >= _EPOCH_MS else at
    if seconds < EPOCH:
        return None
    try:
        return _plausible(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return None


def _plausible(at: datetime) -> datetime | None:
    return at if at.year < _LAST_YEAR else None


def seconds_until(instant: datetime | None) -> float | None:
    """Return the seconds from now to *instant*, below 0 once it is past; None stays None."""
    if instant is None:
        return None
    zoned = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return (zoned - datetime.now(UTC)).total_seconds()
