"""The health map: which routes failed lately, and which attempt may probe one."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, filterfalse
from weakref import WeakSet, WeakValueDictionary, ref

from ...provider.fork import finish_imports
from ...provider.route import Route
from ..plan.sibling_map import reachable
from ..skip_reason import Unfit
from .cooldown import FORGET_AFTER, Cooling, Probe, bounded_map, grown


@dataclass(frozen=True, slots=True)
class SwapTarget:
    """The route that a swap would take.

    Args:
        route: None: there is no route to swap to.
        is_available: False: every sibling is degraded, and this one is used anyway.
        skipped: The nearer siblings, each with the reason against it: ``degraded``, ``probed``,
            ``tried``, or why it cannot take the step.
    """

    route: Route | None
    is_available: bool
    skipped: tuple[tuple[Route, str], ...] = ()


_EMPTY = -math.inf
"""The instant from which an empty map is empty."""
NO_TARGET = SwapTarget(None, is_available=False)


class DegradedRoutes:
    """Remember which routes failed lately, in this process only.

    A route is degraded until its cooldown ends. From then on one attempt at a time may
    probe it, until one succeeds or it is degraded again. May be shared by threads. A forked
    child starts with a copy of the map, in which no route is being probed.

    Args:
        timer: Clock to read, in seconds.
        max_routes: How many routes to remember at once. The least recently used is dropped
            beyond that, so it must stay above any real map.

    Attributes:
        changes: How many failures were recorded so far, of any route.
    """

    def __init__(
        self, *, timer: Callable[[], float] = time.monotonic, max_routes: int = 16_384
    ) -> None:
        self._timer = timer
        # A reentrant lock, because the garbage collector may end a step, and so a probe, while this
        # thread holds the lock.
        self._lock = threading.RLock()
        self._cooling = bounded_map(timer, max_routes)
        self._retried: WeakValueDictionary[Route, Probe] = WeakValueDictionary()
        self.changes = 0
        # From this instant on the map is empty. Usually it is, and then a question costs nearly
        # nothing.
        self._forgotten_at = _EMPTY
        _MAPS.add(self)

    def degrade(
        self,
        route: Route,
        *,
        cooldown: float,
        at_least: float = 0.0,
        growth: float = 1.0,
        max_cooldown: float = 3600.0,
    ) -> float:
        """Degrade *route*, and return the seconds until its cooldown ends.

        Calling this during a cooldown never shortens it and does not count as another failure.
        It also ends a probe of the route.

        Args:
            cooldown: Seconds from now.
            at_least: Seconds that the provider asked for; the cooldown is not shorter.
            growth: Factor by which each consecutive cooldown grows.
            max_cooldown: Cap on the cooldown, in seconds, whatever the others say.

        Raises:
            ValueError: *cooldown* is negative or not finite.
        """
        if not (math.isfinite(cooldown) and cooldown >= 0):
            raise ValueError(
                f"`cooldown` must be a finite number of seconds of 0 or more, got {cooldown!r}; "
                "to stop using a route for good, leave it out of the map"
            )
        with self._lock:
            now = self._timer()
            cooling = self._cooling.get(route)
            if cooling is None:
                cooling = Cooling(healthy_at=now, cooldowns=0)
            if now >= cooling.healthy_at:
                cooling.cooldowns += 1
            seconds = min(max(grown(cooldown, growth, cooling.cooldowns), at_least), max_cooldown)
            cooling.healthy_at = max(cooling.healthy_at, now + seconds)
            cooling.change = self.changes = self.changes + 1
            cooling.probe = None
            if cooling.healthy_at > now:
                self._remember(route, cooling)
            return cooling.healthy_at - now

    def recover(self, route: Route, *, since: int | None = None) -> bool:
        """Forget the failures of *route*, because it has just answered.

        Args:
            since: `changes` when the request was made. A failure that was recorded afterwards is
                kept, because an answer does not disprove a failure that is younger than its
                request. None: forget every failure.

        Returns:
            True if nothing is recorded against the route any more.
        """
        if self._forgotten_at is _EMPTY or self._timer() >= self._forgotten_at:
            return True
        with self._lock:
            cooling = self._cooling.get(route)
            if cooling is not None and since is not None and cooling.change > since:
                return False
            self._cooling.pop(route, None)
            if not self._cooling:
                self._forgotten_at = _EMPTY
            return True

    def begin_retry(self, route: Route) -> Probe | None:
        """Return the right to retry *route*, until `release`; None: another step has it."""
        with self._lock:
            if route in self._retried:
                return None
            right = self._retried[route] = Probe()
            return right

    def is_retried(self, route: Route) -> bool:
        """True while a step has the right to retry *route*."""
        return route in self._retried

    def await_retry(self, route: Route) -> None:
        """Keep steps from starting on *route* until another step has finished its retries there.

        They stay away as from a route that is probed. The route is not degraded.
        """
        with self._lock:
            right = self._retried.get(route)
            now = self._timer()
            cooling = self._cooling.get(route) or Cooling(healthy_at=now, cooldowns=0)
            if right is None or cooling.healthy_at > now or cooling.is_probed():
                return
            cooling.change = self.changes = self.changes + 1
            self._remember(route, cooling)
            cooling.probe = ref(right)

    def probe(self, route: Route) -> Probe | None:
        """Return the right to probe *route*, until `recover`, `degrade` or `release`.

        None: no probe is due, because the route is healthy, still degraded, or being probed.
        """
        if self._forgotten_at is _EMPTY or self._timer() >= self._forgotten_at:
            return None
        with self._lock:
            cooling = self._cooling.get(route)
            if cooling is None or cooling.is_probed() or self._timer() < cooling.healthy_at:
                return None
            probe = Probe()
            cooling.probe = ref(probe)
            return probe

    def release(self, route: Route, right: Probe) -> None:
        """End *right* without a result, so that another step may probe or retry *route*."""
        with self._lock:
            if self._retried.get(route) is right:
                del self._retried[route]
            cooling = self._cooling.get(route)
            if cooling is None or cooling.probe is None or cooling.probe() is not right:
                return
            cooling.probe = None
            if not cooling.cooldowns:
                del self._cooling[route]

    def is_degraded(self, route: Route) -> bool:
        """True while *route* is cooling down."""
        return self.seconds_left(route) > 0

    def is_available(self, route: Route) -> bool:
        """True if *route* is healthy and no attempt is probing it."""
        if self._forgotten_at is _EMPTY or self._timer() >= self._forgotten_at:
            return True
        return self.why_unavailable(route) is None

    def why_unavailable(self, route: Route) -> str | None:
        """Return why no step starts on *route*, ``degraded`` or ``probed``; None: steps do."""
        with self._lock:
            cooling = self._cooling.get(route)
            if cooling is None:
                return None
            if self._timer() < cooling.healthy_at:
                return "degraded"
            return "probed" if cooling.is_probed() else None

    def seconds_left(self, route: Route) -> float:
        """Return the seconds until *route* is healthy; 0 if it is."""
        with self._lock:
            cooling = self._cooling.get(route)
            return 0.0 if cooling is None else max(0.0, cooling.healthy_at - self._timer())

    def snapshot(self) -> dict[Route, float]:
        """Return the degraded routes, each with the seconds left of its cooldown."""
        with self._lock:
            now = self._timer()
            left = {route: cooling.healthy_at - now for route, cooling in self._cooling.items()}
        return {route: seconds for route, seconds in left.items() if seconds > 0}

    def clear(self) -> None:
        """Forget every route."""
        with self._lock:
            self._cooling.clear()
            self._forgotten_at = _EMPTY

    def healthy(
        self,
        route: Route,
        siblings: Mapping[Route, Sequence[Route]],
        unfit: Unfit | None = None,
    ) -> Route:
        """Return the route on which a step that asks for *route* should start.

        This is *route* if it is available, else its nearest available sibling; *route* again if
        no sibling is available.

        Args:
            unfit: Returns why a sibling cannot take the step; None: every sibling can.
        """
        if self.is_available(route):
            return route
        available = filter(self.is_available, reachable(route, siblings))
        return next(available if unfit is None else filterfalse(unfit, available), route)

    def candidate(
        self,
        route: Route,
        siblings: Mapping[Route, Sequence[Route]],
        *,
        origin: Route | None = None,
        tried: Container[Route] = (),
        unfit: Unfit | None = None,
        returns: bool = True,
    ) -> SwapTarget:
        """Return the route that a step on *route* would swap to.

        This is its nearest sibling that is available and not *tried*; if there is none, the
        nearest available one; if there is none, the nearest one although it is degraded.

        Args:
            origin: The requested route. An available sibling of *origin* that was not tried comes
                before any that was.
            returns: A route that was tried may be used again.
        """
        skipped: list[tuple[Route, str]] = []
        seen = {route}
        starts = (route,) if origin is None else (route, origin)
        for sibling in chain.from_iterable(reachable(start, siblings) for start in starts):
            if sibling in seen:
                continue
            seen.add(sibling)
            obstacle = self._obstacle(sibling, tried, unfit)
            if obstacle is None:
                return SwapTarget(sibling, is_available=True, skipped=tuple(skipped))
            skipped.append((sibling, obstacle))
        own = set(reachable(route, siblings))
        for wanted in ({"tried"}, {"degraded", "probed"}):
            for at, (sibling, obstacle) in enumerate(skipped):
                may_return = sibling in own and (returns or sibling not in tried)
                if obstacle in wanted and may_return:
                    return SwapTarget(sibling, "tried" in wanted, tuple(skipped[:at]))
        return SwapTarget(None, is_available=False, skipped=tuple(skipped))

    def _outlive_fork(self) -> None:
        """Make the map of a forked child usable, because only the forking thread lives on in it.

        Another thread may have held the lock and stopped in the middle of a change, so the lock
        is replaced and every entry that can be read is copied. No attempt that probes lives on.
        """
        before = self._cooling
        self._lock = threading.RLock()
        self._retried = WeakValueDictionary()
        self._cooling = bounded_map(self._timer, int(before.maxsize))
        for route in list(before):
            with suppress(KeyError):
                self._remember(route, before[route])

    def _remember(self, route: Route, cooling: Cooling) -> None:
        cooling.probe = None
        self._cooling[route] = cooling
        self._forgotten_at = max(self._forgotten_at, cooling.healthy_at + FORGET_AFTER)

    def _obstacle(self, route: Route, tried: Container[Route], unfit: Unfit | None) -> str | None:
        why = (None if unfit is None else unfit(route)) or self.why_unavailable(route)
        return why or ("tried" if route in tried else None)


_MAPS: WeakSet[DegradedRoutes] = WeakSet()
"""Every map of this process, for a child that is forked."""


def _after_fork() -> None:
    for each in list(_MAPS):
        each._outlive_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(before=finish_imports, after_in_child=_after_fork)
