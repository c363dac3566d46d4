"""The route that a swap would take."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType

from ...provider.route import Route
from ..plan.keyed_route import HealthUnit
from ..plan.sibling_map import reachable
from ..skip_reason import KEY_REASONS


@dataclass(frozen=True, slots=True)
class SwapTarget:
    """The route that a swap would take.

    Args:
        route: None: there is no route to swap to.
        is_available: False: every sibling is degraded, and this one is used anyway.
        skipped: The nearer siblings, each with the reason against it: ``degraded``, ``probed``,
            ``out of quota``, ``key refused``, ``tried``, or why it cannot take the step.
    """

    route: Route | None
    is_available: bool
    skipped: tuple[tuple[Route, str], ...] = ()


NOTHING: Mapping[HealthUnit, str] = MappingProxyType({})
NO_TARGET = SwapTarget(None, is_available=False)

_LAST_CHOICES = (frozenset({"tried"}), frozenset({"degraded", "probed"}), KEY_REASONS)
"""The reasons of the routes that are taken if none is available and untried, in this order."""


def find_target(
    route: Route,
    siblings: Mapping[Route, Sequence[Route]],
    obstacle: Callable[[Route], str | None],
    *,
    origin: Route | None,
    tried: Container[Route],
    returns: bool,
) -> SwapTarget:
    """Return the route that a step on *route* would swap to; see `DegradedRoutes.candidate`.

    Args:
        obstacle: Returns the reason against a route; None: there is none.
    """
    skipped: list[tuple[Route, str]] = []
    seen = {route}
    starts = (route,) if origin is None else (route, origin)
    for sibling in chain.from_iterable(reachable(start, siblings) for start in starts):
        if sibling in seen:
            continue
        seen.add(sibling)
        why = obstacle(sibling) or ("tried" if sibling in tried else None)
        if why is None:
            return SwapTarget(sibling, is_available=True, skipped=tuple(skipped))
        skipped.append((sibling, why))
    own = set(reachable(route, siblings))
    for wanted in _LAST_CHOICES:
        for at, (sibling, why) in enumerate(skipped):
            may_return = sibling in own and (returns or sibling not in tried)
            if why in wanted and may_return:
                return SwapTarget(sibling, "tried" in wanted, tuple(skipped[:at]))
    return SwapTarget(None, is_available=False, skipped=tuple(skipped))
