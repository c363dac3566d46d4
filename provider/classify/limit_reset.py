"""The reset headers of rate limits: the one among them that says how long to wait.

Source: the rate limit pages of platform.claude.com, platform.openai.com, console.groq.com,
inference-docs.cerebras.ai and openrouter.ai, and github.com/openai/codex (rate limit snapshot),
read on 2026-11-29; captures anthropic_429_*, openai_429_*, groq_429, cerebras_429_*. For a Claude
subscription router-for-me/CLIProxyAPI#5915 and #5920, for Codex earendil-works/pi#4172, for
Copilot's quota caozhiyuan/copilot-api#110, read on 2026-11-30.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from .time_text import duration, first_value, http_date, instant, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LIMITS = re.compile(r".*(?:ratelimit|rate-limit|anthropic-priority)")
_WINDOWS = re.compile(r"anthropic-ratelimit-unified-(?!overage)|x-codex-(?:primary|secondary)-")
"""The windows of a plan; money beyond it is none, nor are other models' windows, as in Codex."""
_NO_LIMITS = re.compile(r"anthropic-ratelimit-unified-overage|x-codex-")

_SNAPSHOTS = ("x-quota-snapshot-", "x-usage-ratelimit-")
_UNKNOWN = 1.0  # assumed share that is left of a limit, if unknown


@dataclass(frozen=True, slots=True)
class Reset:
    """When one limit resets: in *seconds*, or at an instant.

    Args:
        left: Share of the limit that is left, from 0 to 1; None: unknown.
        is_window: It is a window of a plan, which holds up nobody until it is used up.
    """

    seconds: float | None
    at: datetime | None
    left: float | None = None
    is_window: bool = False


def governing_reset(headers: Mapping[str, str], *, exhausted_only: bool = False) -> Reset | None:
    """Return the reset in *headers* to wait for; None: there is none.

    This is the last reset of all exhausted limits. If none is exhausted, it is the limit with the
    smallest share left; if no share is known, the first to reset.

    Args:
        headers: With names in lower case.
        exhausted_only: If no limit is exhausted, return a reset only if it is the only one and its
            share is unknown.
    """
    sent_at = http_date(headers.get("date"))
    resets = [reset for reset in _resets(headers) if wait_of(reset, sent_at) > 0]
    last = last_of((reset for reset in resets if reset.left == 0), sent_at)
    if last is not None:
        return last
    resets = [reset for reset in resets if not (reset.is_window and reset.left)]
    if exhausted_only:
        return resets[0] if len(resets) == 1 and resets[0].left is None else None
    return min(resets, default=None, key=lambda reset: (_share(reset), wait_of(reset, sent_at)))


def used_up(headers: Mapping[str, str]) -> list[Reset]:
    """Return the resets in *headers* of the limits and quotas that are exhausted."""
    resets = [*_resets(headers), *_snapshots(headers)]
    return [reset for reset in resets if reset.left == 0]


def last_of(resets: Iterable[Reset], sent_at: datetime | None) -> Reset | None:
    """Return the reset that comes last; None: there is none."""
    return max(resets, default=None, key=lambda reset: wait_of(reset, sent_at))


def _share(reset: Reset) -> float:
    return _UNKNOWN if reset.left is None else reset.left


def wait_of(reset: Reset, sent_at: datetime | None) -> float:
    """Return the seconds until *reset*, for comparison; without a date, instants come last."""
    if reset.seconds is not None:
        return reset.seconds
    at = reset.at or datetime.fromtimestamp(0, UTC)
    return at.timestamp() if sent_at is None else (at - sent_at).total_seconds()


def _resets(headers: Mapping[str, str]) -> Iterator[Reset]:
    for name, value in headers.items():
        lower = name.lower()
        is_window = _WINDOWS.match(lower) is not None
        is_limit = _LIMITS.match(lower) is not None and not _NO_LIMITS.match(lower)
        if "reset" not in lower or not (is_window or is_limit):
            continue
        first = first_value(value)
        at = instant(first)
        seconds = duration(first) if at is None else None
        if at is not None or seconds is not None:
            yield Reset(seconds, at, _left(lower, headers), is_window)


def _snapshots(headers: Mapping[str, str]) -> Iterator[Reset]:
    """Return the resets of Copilot's quotas: ``ent=300&rem=0.0&rst=2026-04-01T00%3A00%3A00Z``."""
    for name, value in headers.items():
        if name.lower().startswith(_SNAPSHOTS):
            fields = dict(parse_qsl(value[:500]))
            at, percent = instant(fields.get("rst", "")), number(fields.get("rem"))
            if at is not None and percent is not None and fields.get("ovPerm") != "true":
                yield Reset(None, at, percent / 100)


def _left(name: str, headers: Mapping[str, str]) -> float | None:
    """Return the share that is left of the limit with the reset header *name*."""
    status = headers.get(name.replace("reset", "status"))
    if status is not None:
        return 0.0 if status.strip().lower() == "rejected" else 1.0
    used = number(headers.get(name.replace("reset", "utilization")))
    percent = number(headers.get(f"{name.partition('-reset')[0]}-used-percent"))
    if used is not None or percent is not None:
        return max(0.0, 1.0 - (used if used is not None else (percent or 0.0) / 100))
    remaining = number(headers.get(name.replace("reset", "remaining")))
    limit = number(headers.get(name.replace("reset", "limit")))
    if remaining is None or remaining == 0:
        return remaining
    return min(1.0, remaining / limit) if limit else 0.5
