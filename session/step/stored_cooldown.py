"""Keep the cooldowns that run beside a message, so that a session that is resumed knows them."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

from ...provider.conversation import Cooldown
from ...provider.failure import FailureKind
from ...provider.route import Route
from .cooldown import FORGET_AFTER, PastCooldown
from .status import planned_routes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ..plan.active_plan import ActivePlan
    from ..plan.keyed_route import HealthUnit
    from .cooling_map import CoolingMap
    from .tally import AttemptTally

_MOST = 64
"""How many routes and keys a message may name; those that are due last are kept."""
_MOST_COOLDOWNS = 100


def cooldowns_at(degraded: CoolingMap, now: float) -> tuple[Cooldown, ...]:
    """Return the cooldowns of *degraded*, also those that have ended without a probe since.

    Args:
        now: In seconds since 1970.
    """
    if degraded.is_empty:
        return ()  # nearly always
    past = sorted(degraded.cooldowns().items(), key=lambda item: item[1].seconds)
    return tuple(
        Cooldown(
            name=name,
            until=now + each.seconds,
            cooldowns=each.cooldowns,
            kind=None if each.kind is None else str(each.kind),
            api_key_env=variable,
        )
        for (name, variable), each in ((_named(unit), each) for unit, each in past[-_MOST:])
    )


def restore_cooldowns(
    stored: Iterable[Cooldown],
    degraded: CoolingMap,
    *,
    active: ActivePlan,
    requested: Route,
    tally: AttemptTally,
    now: float,
) -> None:
    """Add the cooldowns *stored* by an earlier process to *degraded*; shorten none there.

    A route or key that is not in the configuration is left out, and so is one that this process has
    asked, because it knows better. Without a map that is in force only keys are restored, of a
    provider that has several, because nothing else is degraded then. No cooldown lasts longer than
    `maxCooldownSeconds`, whatever the clocks say.

    Args:
        now: In seconds since 1970.
    """
    longest = float(active.cooldowns.longest)
    known = {
        _named(unit): unit
        for route in (requested, *planned_routes(active))
        for key in active.keys.of(route)
        for unit in key.health_units
        if active.plan is not None or _is_of_several(unit)
    }
    asked = {(each, None) if isinstance(each, Route) else each for each in tally.snapshot()}
    for each in stored:
        unit, past = known.get((each.name, each.api_key_env)), _past(each, now, longest)
        if unit is not None and past is not None and not _was_asked(unit, asked):
            degraded.restore(unit, past)


def _named(unit: HealthUnit) -> tuple[str, str | None]:
    """Return the name of *unit*, and the variable of its key."""
    return (unit, None) if isinstance(unit, str) else unit


def _is_of_several(unit: HealthUnit) -> bool:
    """True if *unit* is one of several keys."""
    return not isinstance(unit, str) and unit[1] is not None


def _past(stored: Cooldown, now: float, longest: float) -> PastCooldown | None:
    """Return what is left of *stored*; None: it ended too long ago, or is no time."""
    seconds = stored.until - now
    if not math.isfinite(seconds) or seconds <= -FORGET_AFTER:
        return None
    kind = None
    with suppress(ValueError):
        kind = None if stored.kind is None else FailureKind(stored.kind)
    cooldowns = min(max(stored.cooldowns, 1), _MOST_COOLDOWNS)
    return PastCooldown(min(seconds, longest), cooldowns, kind)


def _was_asked(unit: HealthUnit, asked: Collection[tuple[Route, str | None]]) -> bool:
    """True if this process has made an attempt with *unit*."""
    if isinstance(unit, Route):
        return any(route == unit for route, _ in asked)
    name, variable = unit
    return any(key == variable and name in (route, route.provider) for route, key in asked)
