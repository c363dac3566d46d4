"""The cooldown of one route, and the right to probe or to retry the route."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from weakref import ReferenceType

from cachetools import TLRUCache

from ...provider.route import Route

FORGET_AFTER = 3600.0
"""Seconds after its cooldown until a route that no step probed is forgotten."""


class Probe:
    """The right to probe or to retry a route, while other steps stay away from it.

    One attempt at a time may probe a route after its cooldown, and one step at a time holds the
    right to retry it. The map refers to a right weakly, so that the right ends if nothing else
    refers to it.
    """

    __slots__ = ("__weakref__",)


@dataclass(slots=True)
class Cooling:
    """The state of a route that failed.

    Args:
        cooldowns: Consecutive cooldowns; 0: another step retries the route.
        change: `DegradedRoutes.changes` after the last failure.
    """

    healthy_at: float
    cooldowns: int
    change: int = 0
    probe: ReferenceType[Probe] | None = None

    def is_probed(self) -> bool:
        return self.probe is not None and self.probe() is not None


def bounded_map(timer: Callable[[], float], max_routes: int) -> TLRUCache[Route, Cooling]:
    """Return an empty map; it forgets each route `FORGET_AFTER` seconds after the cooldown."""
    return TLRUCache(
        maxsize=max_routes,
        ttu=lambda _route, cooling, _now: cooling.healthy_at + FORGET_AFTER,
        timer=timer,
    )


def grown(cooldown: float, growth: float, cooldowns: int) -> float:
    """Return the seconds of the *cooldowns*-th consecutive cooldown."""
    try:
        return cooldown * growth ** (cooldowns - 1)
    except OverflowError:
        return math.inf
