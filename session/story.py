"""What happened in a step, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .attempt import Attempt
    from .degraded import DegradedRoutes


def tell(attempts: Sequence[Attempt], why: str, degraded: DegradedRoutes) -> str:
    """Name every attempt, say why there is no other, and when a route is due back."""
    count = len(attempts)
    story = f"{count} attempt{'s' * (count != 1)} failed ({'; '.join(_runs(attempts))}); {why}"
    left = {attempt.route: degraded.seconds_left(attempt.route) for attempt in attempts}
    waits = sorted((seconds, route) for route, seconds in left.items() if seconds > 0)
    if waits:
        seconds, route = waits[0]
        story += f"; {route} is due back in {seconds:.0f} s"
    return story


def _runs(attempts: Iterable[Attempt]) -> Iterable[str]:
    """Tell attempts that failed alike in a row together: "1-4. a/b server_error 503: ..."."""
    told = ""
    first = last = 0
    for attempt in attempts:
        this = f"{attempt.route} {attempt.failure}"
        if this != told and told:
            yield _run(first, last, told)
        if this != told:
            told, first = this, attempt.number
        last = attempt.number
    if told:
        yield _run(first, last, told)


def _run(first: int, last: int, told: str) -> str:
    return f"{first}. {told}" if first == last else f"{first}-{last}. {told}"
