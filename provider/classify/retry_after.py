"""How long, or until when, a failed response asks us to wait: from headers, body, then text."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from datetime import time as clock_time
from typing import TYPE_CHECKING

from ..failure import FailureKind
from .limit_reset import Reset, governing_reset, last_of, used_up, wait_of
from .time_text import EPOCH, duration, first_value, http_date, instant, number
from .window_text import window_reset

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..fact import FactTable
    from .fact_lookup import Reading
    from .report import Report

LONGEST = 86_400.0
"""The longest wait in seconds, one day: a hint that asks for more is a mistake."""

LONGEST_WINDOW = 35 * LONGEST
"""The longest wait for a quota: a plan's windows are as long as a month."""

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


def retry_after(
    headers: Mapping[str, str], *, now: float | None = None, longest: float = LONGEST
) -> float | None:
    """Return the seconds that a response's *headers* ask us to wait.

    None: they do not say, or the value is zero, negative, or an instant that has passed.

    Args:
        headers: With names in lower case, or a mapping that ignores case.
        now: Epoch seconds. An HTTP date is counted from the response's own ``date``, or else from
            this.
        longest: The longest wait that is believed.

    Source: the order of the anthropic 2.14 and openai 3.57 packages.
    """
    milliseconds = number(first_value(headers.get("retry-after-ms", "")))
    if milliseconds:
        return min(milliseconds / 1000, longest)
    header = first_value(headers.get("retry-after", "")).partition(";")[0].strip(' "')
    seconds = duration(header)
    if seconds is None or seconds >= EPOCH:  # some servers write an instant
        at = instant(header)
        seconds = seconds if at is None else _until(at, headers, now)
    return _usable(seconds, longest)


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
    body of an exhausted quota is ignored. Of several windows that are used up the last to open
    counts.

    Args:
        readings: The reports, and the tables to read them by.
    """
    headers = {name.lower(): value for name, value in headers.items()}
    if kind is FailureKind.QUOTA:
        return _until_reset(headers, readings, now)
    hint = retry_after(headers, now=now)
    if hint is not None or kind not in _TEMPORARY:
        return hint, None
    for report, tables in readings:
        hint = retry_after(report.hints, now=now) or _delay(report) or _text_wait(report, tables)
        if hint is not None:
            return hint, None
    at = _named_reset(headers, readings)
    if at is None and kind is FailureKind.RATE_LIMIT:
        reset = _limit_reset(headers, readings) or _text_reset(readings, _sent_at(headers, now))
        if reset is not None and reset.seconds is not None:
            return _usable(reset.seconds), None
        at = None if reset is None else reset.at
    return (None if at is None else _usable(_since(at, headers))), at


def _until_reset(
    headers: Mapping[str, str], readings: Sequence[Reading], now: float | None
) -> tuple[float | None, datetime | None]:
    """Return how long, or until when, a quota is used up: until its last used-up window opens."""
    hint, sent_at = retry_after(headers, now=now, longest=LONGEST_WINDOW), _sent_at(headers, now)
    windows = [each for each in _windows(headers, readings, sent_at) if wait_of(each, sent_at) > 0]
    last = last_of(windows, sent_at) or _limit_reset(headers, readings, exhausted_only=True)
    if last is None:
        return hint, _midnight(headers, readings, now)
    seconds = _usable(last.seconds, LONGEST_WINDOW)
    at = max((window.at for window in windows if window.at is not None), default=last.at)
    return max(filter(None, (hint, seconds)), default=None), at


def _windows(
    headers: Mapping[str, str], readings: Sequence[Reading], sent_at: datetime | None
) -> Iterator[Reset]:
    """Return the resets of all windows that an answer calls used up."""
    yield from used_up(headers)
    for report, tables in readings:
        yield from used_up(report.hints)
        named = instant(report.hints.get("resets-at", "")), _text_instant(report, tables)
        yield from (Reset(None, at, 0.0) for at in named if at is not None)
        seconds = duration(report.hints.get("resets-in", ""))
        if seconds is not None:
            yield Reset(seconds, None, 0.0)
        if named[1] is None:
            reset = window_reset(report.message, sent_at=sent_at)
            if reset is not None:
                yield reset


def _text_reset(readings: Sequence[Reading], sent_at: datetime | None) -> Reset | None:
    """Return the instant that a text names; a number of seconds only a provider's table reads."""
    resets = (window_reset(report.message, sent_at=sent_at) for report, _ in readings)
    return next((reset for reset in resets if reset is not None and reset.at is not None), None)


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
    sent_at = _sent_at(headers, now)
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


def _usable(seconds: float | None, longest: float = LONGEST) -> float | None:
    return min(seconds, longest) if seconds and seconds > 0 else None


def _sent_at(headers: Mapping[str, str], now: float | None) -> datetime | None:
    sent_at = http_date(headers.get("date"))
    return datetime.fromtimestamp(now, UTC) if sent_at is None and now is not None else sent_at


def _since(at: datetime, headers: Mapping[str, str]) -> float | None:
    sent_at = http_date(headers.get("date"))
    return None if sent_at is None else (at - sent_at).total_seconds()


def _until(at: datetime | None, headers: Mapping[str, str], now: float | None) -> float | None:
    sent_at = http_date(headers.get("date"))
    start = now if sent_at is None else sent_at.timestamp()
    return None if at is None or start is None else at.timestamp() - start
