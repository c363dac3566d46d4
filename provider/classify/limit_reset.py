"""The reset headers of rate limits: the one among them that says how long to wait.

Source: the rate limit pages of platform.claude.com, platform.openai.com, console.groq.com,
inference-docs.cerebras.ai and openrouter.ai, and github.com/openai/codex (rate limit snapshot),
read on 2026-11-29; captures anthropic_429_*, openai_429_*, groq_429, cerebras_429_*.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from .time_text import duration, http_date, instant, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FAMILIES = ("ratelimit", "rate-limit", "anthropic-priority", "x-codex-")
_UNKNOWN = 1.0  # assumed share that is left of a limit, if unknown


@dataclass(frozen=True, slots=True)
class Reset:
    """When one limit resets: in *seconds*, or at an instant.

    Args:
        left: Share of the limit that is left, from 0 to 1; None: unknown.
    """

    seconds: float | None
    at: datetime | None
    left: float | None


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
    resets = [reset for reset in _resets(headers) if _wait(reset, sent_at) > 0]
    exhausted = [reset for reset in resets if reset.left == 0]
    if exhausted:
        return max(exhausted, key=lambda reset: _wait(reset, sent_at))
    if exhausted_only:
        return resets[0] if len(resets) == 1 and resets[0].left is None else None
    return min(resets, default=None, key=lambda reset: (_share(reset), _wait(reset, sent_at)))


def _share(reset: Reset) -> float:
    return _UNKNOWN if reset.left is None else reset.left


def _wait(reset: Reset, sent_at: datetime | None) -> float:
    """Return the seconds until *reset*, for comparison; without a date, instants come last."""
    if reset.seconds is not None:
        return reset.seconds
    at = reset.at or datetime.fromtimestamp(0, UTC)
    return at.timestamp() if sent_at is None else (at - sent_at).total_seconds()


def _resets(headers: Mapping[str, str]) -> Iterator[Reset]:
    for name, value in headers.items():
        lower = name.lower()
        if "reset" not in lower or not any(family in lower for family in _FAMILIES):
            continue
        at = instant(value)
        seconds = duration(value) if at is None else None
        if at is not None or seconds is not None:
            yield Reset(seconds, at, _left(lower, headers))


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
