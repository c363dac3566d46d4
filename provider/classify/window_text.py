"""When a used-up window opens again, as the sentences of coding agents and their providers say it.

A time without a zone is the client's own, because Codex and Claude Code print local times; an ISO
time without a zone is UTC, because only servers write it. A zone that is unknown, a date that has
passed or is more than a year ahead, and other languages are ignored.

Source, read on 2026-11-30. Codex, ``format_retry_timestamp`` of openai/codex codex-rs/core/src/
error.rs: "try again at 3:05 PM" and "try again at Sep 26th, 2026 3:05 PM", in local time;
openai/codex#3899: "or try again in 5 days 22 hours 11 minutes". Claude Code, anthropics/claude-code
#74079, terryso/claude-auto-resume#27 and maxritter/pilot-shell#89: "resets 12:50am
(America/Los_Angeles)"; its older versions: "Claude AI usage limit reached|1749924000". MiniMax,
MiniMax-AI/MiniMax-M2.7#36: "resets at 2026-05-15T15:00:00Z". OpenCode: "Resets in 19hr". Gemini's
code assistant: "Your quota will reset after 13h19m1s".
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as clock_time
from functools import cache

from .limit_reset import Reset
from .time_text import WAIT, duration, instant

_READ = 1_000  # characters of a message
_LONGEST = timedelta(days=400)
_LONGEST_WITHOUT_YEAR = timedelta(days=45)  # no window is longer than a month
_JUST_PASSED = timedelta(minutes=10)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_UNIVERSAL = frozenset({"UTC", "GMT"})

_LEAD = (
    r"\b(?:resets?|renews?|refresh(?:es|ed)?|restored|available|try again|regain access)\b"
    r"(?: again| time| date)?:?(?: (?:at|on|in|after|by))? {0,2}"
)
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"
_MONTH_AFTER = _MONTH.replace("<month>", "<month_after>")
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_DAY_BEFORE = _DAY.replace("<day>", "<day_before>")
_DATE = (
    rf"(?:(?:{_MONTH} {_DAY}|{_DAY_BEFORE} {_MONTH_AFTER})\b(?:,? (?P<year>2\d\d\d)\b)?"
    rf"|(?P<word>tomorrow|today|(?:{'|'.join(_DAYS)})[a-z]{{0,6}})\b)"
)
_CLOCK = (
    r"(?:(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>[ap])\.?m\b\.?"
    r"|(?P<hour_of_24>\d{1,2}):(?P<minute_of_24>\d\d)\b)"
)
_ZONE = (
    r"(?: ?\((?P<zone>[a-z][a-z_]{1,30}(?:[/+-][\w+-]{1,30}){0,2})\)"
    r"| (?P<short_zone>(?-i:[A-Z]{2,5}))\b)?"
)
_ISO = r"(?P<iso>\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?)"
_WINDOW = (
    rf"\|(?P<epoch>\d{{10}}(?:\d{{3}})?)\b"
    rf"|{_LEAD}(?:{WAIT}|{_ISO}|(?:{_DATE}(?:,? (?:at )?)?)?(?:{_CLOCK})?{_ZONE})"
)


def window_reset(message: str, *, sent_at: datetime | None) -> Reset | None:
    """Return when the window that *message* calls used up opens again; None: it does not say.

    Args:
        sent_at: When the message was written; None: unknown, so that only a whole date counts.
    """
    for found in _window().finditer(message[:_READ]):
        reset = _read(found, sent_at)
        if reset is not None and _is_ahead(reset, sent_at):
            return reset
    return None


@cache
def _window() -> re.Pattern[str]:
    """Return the pattern, compiled at its first use, because that takes 3 ms."""
    return re.compile(_WINDOW, re.IGNORECASE)


def _read(found: re.Match[str], sent_at: datetime | None) -> Reset | None:
    if found["wait"]:
        return Reset(duration(found["wait"]), None)
    if found["epoch"] or found["iso"]:
        return _at(instant(found["epoch"] or found["iso"]))
    try:
        return _at(_local_instant(found, sent_at))
    except (ValueError, OverflowError, OSError):  # no such day, hour or zone
        return None


def _at(at: datetime | None) -> Reset | None:
    return None if at is None else Reset(None, at)


def _is_ahead(reset: Reset, sent_at: datetime | None) -> bool:
    if reset.at is None:
        return 0 < (reset.seconds or 0) <= _LONGEST.total_seconds()
    return sent_at is None or timedelta() < reset.at - sent_at <= _LONGEST


def _local_instant(found: re.Match[str], sent_at: datetime | None) -> datetime | None:
    """Return the instant of a date, a time of day, or both, in the zone that they name."""
    zone, clock = _zone(found), _clock(found)
    year, now = found["year"], None if sent_at is None else sent_at.astimezone(zone)
    month, day = _month(found), int(found["day"] or found["day_before"] or 0)
    if month is not None and year:
        return _utc(date(int(year), month, day), clock, zone)
    if now is None:
        return None
    if month is not None:
        years = (now.year, now.year + 1)
        return _first_after(now, [_utc(date(y, month, day), clock, zone) for y in years])
    if found["word"]:
        return _of_word(found["word"].lower(), now, clock, zone)
    return None if clock is None else _next(now, clock, zone)


def _of_word(
    word: str, now: datetime, clock: clock_time | None, zone: tzinfo | None
) -> datetime | None:
    """Return the instant of *clock* on the day that *word* names, such as "tomorrow"."""
    if word in {"today", "tomorrow"}:
        days = [int(word == "tomorrow")]
    else:
        ahead = (_DAYS.index(word[:3]) - now.weekday()) % 7
        days = [ahead, ahead + 7]
    at = [_utc(now.date() + timedelta(days=number), clock, zone) for number in days]
    return _first_after(now, at)


def _next(now: datetime, clock: clock_time, zone: tzinfo | None) -> datetime | None:
    """Return the next time at which it is *clock*; None: it just was."""
    today = _utc(now.date(), clock, zone)
    if today > now:
        return today
    is_over = now - today < _JUST_PASSED
    return None if is_over else _utc(now.date() + timedelta(days=1), clock, zone)


def _first_after(now: datetime, instants: list[datetime]) -> datetime | None:
    ahead = (at for at in instants if timedelta() < at - now <= _LONGEST_WITHOUT_YEAR)
    return next(ahead, None)


def _utc(day: date, clock: clock_time | None, zone: tzinfo | None) -> datetime:
    """Return the instant in UTC; without a zone it is in the time of this machine."""
    local = datetime.combine(day, clock or clock_time())
    return (local.astimezone() if zone is None else local.replace(tzinfo=zone)).astimezone(UTC)


def _month(found: re.Match[str]) -> int | None:
    name = found["month"] or found["month_after"]
    return None if name is None else _MONTHS.index(name.lower()) + 1


def _clock(found: re.Match[str]) -> clock_time | None:
    if found["hour_of_24"]:
        return clock_time(int(found["hour_of_24"]), int(found["minute_of_24"]))
    if not found["hour"]:
        return None
    hour = int(found["hour"])
    if not 1 <= hour <= 12:
        raise ValueError(hour)
    is_afternoon = found["half"].lower() == "p"
    return clock_time(hour % 12 + 12 * is_afternoon, int(found["minute"] or 0))


def _zone(found: re.Match[str]) -> tzinfo | None:
    """Return the zone that the text names; None: none.

    Raises:
        ValueError: The zone is unknown.
    """
    name = found["zone"] or found["short_zone"]
    if name is None:
        return None
    if name.upper() in _UNIVERSAL:
        return UTC
    from zoneinfo import ZoneInfo  # takes 5 ms, and is rarely needed

    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # unknown, a folder of zones, or no name at all
        raise ValueError(name) from None
