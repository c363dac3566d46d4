"""The cooldown of one route or key, and the right to probe or to retry it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple
from weakref import ReferenceType

from cachetools import TLRUCache

from ...provider.failure import FailureKind
from ..plan.keyed_route import HealthUnit

State = Literal["healthy", "degraded", "due for a probe", "probed"]

FORGET_AFTER = 3600.0
"""Seconds after its cooldown until a route that no step probed is forgotten."""
KEY_WORDS = {FailureKind.QUOTA: "out of quota", FailureKind.AUTH: "key refused"}
"""The reasons against a key that is out with all routes of its provider."""


class Probe:
    """The right to probe or to retry a route, while other steps stay away from it.

    One attempt at a time may probe a route after its cooldown, and one step at a time holds the
    right to retry it. The map refers to a right weakly, so that the right ends if nothing else
    refers to it.
    """

    __slots__ = ("__weakref__",)


@dataclass(slots=True)
class Cooling:
    """The state of a route or key that failed.

    Args:
        cooldowns: Consecutive cooldowns; 0: another step retries the route.
        change: `DegradedRoutes.changes` after the last failure.
        kind: The kind of the last failure; None: it is not known.
        resets_at: When the provider's limit resets, if that is later than any cooldown may end.
        is_of_key: The one key of ours failed on this route, so that a client's own key may not.
    """

    healthy_at: float
    cooldowns: int
    change: int = 0
    probe: ReferenceType[Probe] | None = None
    kind: FailureKind | None = None
    resets_at: float = -math.inf
    is_of_key: bool = False

    def is_probed(self) -> bool:
        return self.probe is not None and self.probe() is not None

    @property
    def forgotten_at(self) -> float:
        """The instant at which this state is forgotten."""
        return max(self.healthy_at + FORGET_AFTER, self.resets_at)

    def why_unavailable(self, unit: HealthUnit, now: float) -> str | None:
        """Return why no step starts with *unit*, which is in this state; None: steps do."""
        if now < self.healthy_at:
            if self.kind is None or isinstance(unit, str) or "/" in unit[0]:
                return "degraded"
            return KEY_WORDS.get(self.kind, "degraded")
        return "probed" if self.is_probed() else None


class PastCooldown(NamedTuple):
    """The cooldown of a route or key, as it can be restored.

    Args:
        seconds: Seconds until it ends; negative: since it ended, and no probe has been made.
        cooldowns: Consecutive cooldowns so far.
        kind: The kind of the last failure; None: it is not known.
    """

    seconds: float
    cooldowns: int
    kind: FailureKind | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """What keeps steps from a route.

    Args:
        why: The reason, as in `CandidateSkipped`.
        seconds: Seconds until the first of its keys is due back, or due for a probe. 0: the route
            is being probed.
        kind: The kind of the failure that keeps this key out so long; None: it is not known.
        api_key_env: The variable of this key; None: the provider has one key or none.
        resets_in: Seconds until the provider's limit resets, if that is longer than a cooldown may
            be, so that the route is probed meanwhile. None: no such reset is known.
    """

    why: str
    seconds: float
    kind: FailureKind | None
    api_key_env: str | None = None
    resets_in: float | None = None


def bounded_map(timer: Callable[[], float], max_routes: int) -> TLRUCache[HealthUnit, Cooling]:
    """Return an empty map; it forgets each state at its `forgotten_at`."""
    return TLRUCache(
        maxsize=max_routes,
        ttu=lambda _unit, cooling, _now: cooling.forgotten_at,
        timer=timer,
    )


def nth_cooldown(cooldown: float, growth: float, n: int) -> float:
    """Return the seconds of the *n*-th consecutive cooldown, counted from 1."""
    try:
        return cooldown * growth ** (n - 1)
    except OverflowError:
        return math.inf
