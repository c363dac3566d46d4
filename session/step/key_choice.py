"""Which key of its provider a step uses on a route."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...provider.failure import FailureKind

if TYPE_CHECKING:
    from collections.abc import Collection

    from ...provider.route import Route
    from ..plan.keyed_route import KeyedRoute, KeyRing
    from .degraded import DegradedRoutes


def first_key(
    ring: KeyRing, health: DegradedRoutes, route: Route, preferred: str | None = None
) -> KeyedRoute:
    """Return *route* with the first healthy key; if none is healthy, with the one due back first.

    Args:
        preferred: The variable of the key that is taken if it is healthy.
    """
    if preferred is not None:
        for key in ring.of(route):
            if key.api_key_env == preferred and ring.is_set(key) and health.is_available(key):
                return key
    usable: list[KeyedRoute] = []
    for key in ring.usable(route):
        if health.is_available(key):
            return key
        usable.append(key)
    return min(usable, key=health.seconds_left)


def next_key(
    ring: KeyRing, health: DegradedRoutes, route: Route, tried: Collection[str | None]
) -> KeyedRoute | None:
    """Return *route* with the first healthy key that is not *tried*; None: there is none."""
    untried = (key for key in ring.usable(route) if key.api_key_env not in tried)
    return next(filter(health.is_available, untried), None)


def due_key(
    ring: KeyRing, health: DegradedRoutes, route: Route, tried: Collection[str | None]
) -> tuple[KeyedRoute, float] | None:
    """Return *route* with the *tried* key that is due back first, and the seconds until then.

    None: each of them failed for another reason than a limit on its rate.
    """
    due: list[tuple[KeyedRoute, float]] = []
    for key in ring.usable(route):
        if key.api_key_env not in tried:
            continue
        outage = health.outage_of(key)
        if outage is None:
            due.append((key, 0.0))
        elif outage.kind is FailureKind.RATE_LIMIT and outage.why == "degraded":
            due.append((key, outage.seconds))
    return min(due, key=lambda each: each[1], default=None)
