"""How long, or until when, a failed response asks us to wait: from headers, body, then text."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from datetime import time as clock_time
from typing import TYPE_CHECKING

from ..failure import FailureKind
from .limit_reset import governing_reset
from .time_text import EPOCH, duration, http_date, instant, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..fact import FactTable
    from .fact_lookup import Reading
    from .limit_reset import Reset
    from .report import Report

LONGEST = 86_400.0
"""The longest wait in seconds, one day: a hint that asks for more is a mistake."""

_DATE_FIRST = re.compile(r"\s*(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},[^,]{1,40}")
"""An HTTP date at the start of a header: the comma in it separates no values."""
_TEXT = 4_000  # characters of a message in which a wait is looked for
_TEMPORARY = frozenset(
    {
        FailureKind.RATE_LIMIT,
        FailureKind.OVERLOADED,
        FailureKind.SERVER_ERROR,
        FailureKind.TIMEOUT,
    }
)
"""Kinds that end by themselves, so that a wait in their body or text is credible."""


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Return the seconds that a response's *headers* ask us to wait.

    None: they do not say, or the value is zero, negative, or an instant that has passed.

    Args:
        headers: With names in lower case, or a mapping that ignores case.
        now: Epoch seconds. An HTTP date is counted from the response's own ``date``, or else from
            this.

    Source: the order of the anthropic 2.14 and openai 3.57 packages.
    """
    milliseconds = number(first_value(headers.get("retry-after-ms", "")))
    if milliseconds:
        return min(milliseconds / 1000, LONGEST)
    header = first_value(headers.get("retry-after", "")).partition(";")[0].strip(' "')
    seconds = duration(header)
    if seconds is None or seconds >= EPOCH:  # some servers write an instant
        at = instant(header)
        seconds = seconds if at is None else _until(at, headers, now)
    return _usable(seconds)


def first_value(header: str) -> str:
    """Return the first value of *header*, which is a list if proxies added it again.

    >>> first_value("120, 120")
    '120'
    >>> first_value("Wed, 21 Oct 2026 07:28:00 GMT, Wed, 21 Oct 2026 07:28:00 GMT")
    'Wed, 21 Oct 2026 07:28:00 GMT'
    """
    dated = _DATE_FIRST.match(header)
    return (dated[0] if dated else header.partition(",")[0]).strip()


def read_wait(
    kind: FailureKind,
    headers: Mapping[str, str],
    readings: Sequence[Reading],
    *,
    now: float | None = None,
) -> tuple[float | None, datetime | None]:
    """Return the seconds to wait, and when a quota resets; None for each that is unknown.

    Headers with a wait come first, then the body, the text, and the resets of single limits. An
    instant becomes seconds only if the response has a ``date`` to count from. A short wait in the
    body of an exhausted quota is ignored.

    Args:
        readings: The reports, and the tables to read them by.
    """
    headers = {name.lower(): value for name, value in headers.items()}
    hint = retry_after(headers, now=now)
    if kind is FailureKind.QUOTA:
        return _until_reset(headers, readings, hint, now)
    if hint is not None or kind not in _TEMPORARY:
        return hint, None
    for report, tables in readings:
        hint = retry_after(report.hints, now=now) or _delay(report) or _text_wait(report, tables)
        if hint is not None:
            return hint, None
    at = _named_reset(headers, readings)
    if at is None and kind is FailureKind.RATE_LIMIT:
        reset = _limit_reset(headers, readings)
        if reset is not None and reset.seconds is not None:
            return _usable(reset.seconds), None
        at = None if reset is None else reset.at
    return (None if at is None else _usable(_since(at, headers))), at


def _until_reset(
    headers: Mapping[str, str],
    readings: Sequence[Reading],
    hint: float | None,
    now: float | None,
) -> tuple[float | None, datetime | None]:
    at = _named_reset(headers, readings)
    if at is not None:
        return hint, at
    for report, _ in readings:
        hint = hint or _usable(duration(report.hints.get("resets-in", "")))
    reset = _limit_reset(headers, readings, exhausted_only=True)
    if reset is None:
        return hint, _midnight(headers, readings, now)
    return hint or _usable(reset.seconds), reset.at


def _midnight(
    headers: Mapping[str, str],
    readings: Sequence[Reading],
    now: float | None,
) -> datetime | None:
    """Return when the daily quota that *readings* name starts afresh; None: they name none."""
    zones = (
        table.daily[1]
        for report, tables in readings
        for table in tables
        if table.daily
        and any(re.match(table.daily[0], q) for q in report.words.get("quota_id", ()))
    )
    zone = next(zones, None)
    sent_at = http_date(headers.get("date"))
    if sent_at is None and now is not None:
        sent_at = datetime.fromtimestamp(now, UTC)
    if zone is None or sent_at is None:
        return None
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # takes 5 ms, and is rarely needed

    try:
        local = sent_at.astimezone(ZoneInfo(zone))
    except ZoneInfoNotFoundError:  # a system without a database of time zones
        return None
    tomorrow = local.date() + timedelta(days=1)
    return datetime.combine(tomorrow, clock_time(), local.tzinfo).astimezone(UTC)


def _named_reset(headers: Mapping[str, str], readings: Sequence[Reading]) -> datetime | None:
    """Return the instant of a reset that a body or a text names, unless it has passed."""
    for report, tables in readings:
        at = instant(report.hints.get("resets-at", "")) or _text_instant(report, tables)
        since = None if at is None else _since(at, headers)
        if at is not None and (since is None or since > 0):
            return at
    return None


def _limit_reset(
    headers: Mapping[str, str],
    readings: Sequence[Reading],
    *,
    exhausted_only: bool = False,
) -> Reset | None:
    for named in (headers, *(report.hints for report, _ in readings)):
        reset = governing_reset(named, exhausted_only=exhausted_only)
        if reset is not None:
            return reset
    return None


def _delay(report: Report) -> float | None:
    hints = report.hints
    return _usable(duration(hints.get("delay", "") or hints.get("resets-in", "")))


def _text_wait(report: Report, tables: tuple[FactTable, ...]) -> float | None:
    found = _search(report, tables, "wait")
    return None if found is None else _usable(duration(found[0]))


def _text_instant(report: Report, tables: tuple[FactTable, ...]) -> datetime | None:
    found = _search(report, tables, "at")
    return None if found is None else instant(found[0], utc_offset=found[1])


def _search(report: Report, tables: tuple[FactTable, ...], group: str) -> tuple[str, int] | None:
    """Return a wait in the text, and the hours by which its clock is ahead of UTC."""
    for table in tables:
        for pattern in table.waits:
            if f"(?P<{group}>" in pattern:
                found = re.search(pattern, report.message[:_TEXT], re.IGNORECASE)
                if found is not None:
                    return found[group], table.utc_offset
    return None


def _usable(seconds: float | None) -> float | None:
    return min(seconds, LONGEST) if seconds and seconds > 0 else None


def _since(at: datetime, headers: Mapping[str, str]) -> float | None:
    sent_at = http_date(headers.get("date"))
    return None if sent_at is None else (at - sent_at).total_seconds()


def _until(at: datetime | None, headers: Mapping[str, str], now: float | None) -> float | None:
    sent_at = http_date(headers.get("date"))
    start = now if sent_at is None else sent_at.timestamp()
    return None if at is None or start is None else at.timestamp() - start
