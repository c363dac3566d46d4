"""The health map: which routes failed lately, and which attempt may probe one."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from itertools import filterfalse
from weakref import ref

from ...provider.failure import FailureKind
from ...provider.route import Route
from ..plan.keyed_route import HealthUnit, KeyedRoute, keyed
from ..plan.sibling_map import reachable
from ..skip_reason import Unfit
from .cooldown import Cooling, Outage, Probe, nth_cooldown
from .cooling_map import CoolingMap
from .swap_target import NOTHING, SwapTarget, find_target


class DegradedRoutes(CoolingMap):
    """Remember which routes and keys failed lately, in this process only.

    A route is degraded until its cooldown ends. From then on one attempt at a time may
    probe it, until one succeeds or it is degraded again. The same holds for a key, and for a key on
    one route. If a provider has several keys, a route is degraded while none of them can be used
    there. May be shared by threads. A forked child starts with a copy of the map, in which no route
    is being probed.

    Args:
        timer: Clock to read, in seconds.
        max_routes: How many routes and keys to remember at once. The least recently used is dropped
            beyond that, so it must stay above any real map.

    Attributes:
        changes: How many failures were recorded so far, of any route.
        keys: The keys of each route. A `Sidestep` sets it, with its configuration.
    """

    def degrade(
        self,
        route: HealthUnit,
        *,
        cooldown: float,
        at_least: float = 0.0,
        growth: float = 1.0,
        max_cooldown: float = 3600.0,
        kind: FailureKind | None = None,
        is_of_key: bool = False,
    ) -> float:
        """Degrade *route*, and return the seconds until its cooldown ends.

        Calling this during a cooldown never shortens it and does not count as another failure.
        It also ends a probe of the route.

        Args:
            route: The route, or the key, or the key on one route.
            cooldown: Seconds from now.
            at_least: Seconds that the provider asked for; the cooldown is not shorter. Above
                *max_cooldown* they are remembered, and every cooldown until then is the longest.
            growth: Factor by which each consecutive cooldown grows.
            max_cooldown: Cap on the cooldown, in seconds, whatever the others say.
            kind: The kind of the failure, for `outage_of`.
            is_of_key: It is the key's on this route, so that a client's own key is not degraded.

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
            cooling = self._state(route)
            if cooling is None:
                cooling = Cooling(healthy_at=now, cooldowns=0)
            if now >= cooling.healthy_at:
                cooling.cooldowns += 1
            if at_least > max_cooldown:
                cooling.resets_at = max(cooling.resets_at, now + at_least)
            asked = max(at_least, cooling.resets_at - now)
            own = nth_cooldown(cooldown, growth, cooling.cooldowns)
            seconds = min(max(own, asked), max_cooldown)
            cooling.healthy_at = max(cooling.healthy_at, now + seconds)
            cooling.change = self.changes = self.changes + 1
            cooling.kind, cooling.is_of_key = kind, is_of_key
            cooling.probe = None
            if cooling.healthy_at > now:
                self._remember(route, cooling)
            self.wake_ups.wake()
            return cooling.healthy_at - now

    def recover(self, route: Route | KeyedRoute, *, since: int | None = None) -> bool:
        """Forget the failures of *route*, because it has just answered.

        Args:
            route: The route, with the key of the request; without a key, every key is meant.
            since: `changes` when the request was made. A failure that was recorded afterwards is
                kept, because an answer does not disprove a failure that is younger than its
                request. None: forget every failure.

        Returns:
            True if nothing is recorded against the route any more.
        """
        if self.is_empty or self._timer() >= self._forgotten_at:
            return True
        with self._lock:
            is_forgotten = True
            for unit in self._units_at(route):
                cooling = self._state(unit)
                if cooling is not None and since is not None and cooling.change > since:
                    is_forgotten = False
                    continue
                self._drop(unit)
            if not self._cooling:
                self._note_empty()
            self.wake_ups.wake()
            return is_forgotten

    def begin_retry(self, route: HealthUnit) -> Probe | None:
        """Return the right to retry *route*, until `release`; None: another step has it."""
        with self._lock:
            if route in self._retried:
                return None
            right = self._retried[route] = Probe()
            return right

    def is_retried(self, route: HealthUnit) -> bool:
        """True while a step has the right to retry *route*."""
        return route in self._retried

    def await_retry(self, route: HealthUnit) -> None:
        """Keep steps from starting on *route* until another step has finished its retries there.

        They stay away as from a route that is probed. The route is not degraded.
        """
        with self._lock:
            right = self._retried.get(route)
            now = self._timer()
            cooling = self._state(route) or Cooling(healthy_at=now, cooldowns=0)
            if right is None or cooling.healthy_at > now or cooling.is_probed():
                return
            cooling.change = self.changes = self.changes + 1
            self._remember(route, cooling)
            cooling.probe = ref(right)

    def probe(self, route: Route | KeyedRoute) -> Probe | None:
        """Return the right to probe *route*, until `recover`, `degrade` or `release`.

        With the route its key is probed, and the key on the route, if they are due.

        None: no probe is due, because the route is healthy, still degraded, or being probed.
        """
        if self.is_empty or self._timer() >= self._forgotten_at:
            return None
        with self._lock:
            probe: Probe | None = None
            for unit in self._units_at(route):
                cooling = self._state(unit)
                if cooling is None or cooling.is_probed() or self._timer() < cooling.healthy_at:
                    continue
                probe = probe or Probe()
                cooling.probe = ref(probe)
            return probe

    def release(self, route: Route | KeyedRoute, right: Probe) -> None:
        """End *right* without a result, so that another step may probe or retry *route*."""
        with self._lock:
            for unit in self._units_at(route):
                if self._retried.get(unit) is right:
                    del self._retried[unit]
                cooling = self._state(unit)
                if cooling is None or cooling.probe is None or cooling.probe() is not right:
                    continue
                cooling.probe = None
                if not cooling.cooldowns:
                    self._drop(unit)
            self.wake_ups.wake()

    def is_degraded(self, route: Route | KeyedRoute) -> bool:
        """True while *route* is cooling down."""
        return self.seconds_left(route) > 0

    def is_available(self, route: Route | KeyedRoute) -> bool:
        """True if *route* is healthy and no attempt is probing it."""
        if self.is_empty or self._timer() >= self._forgotten_at:
            return True
        return self.why_unavailable(route) is None

    def why_unavailable(
        self, route: Route | KeyedRoute, *, without: Mapping[HealthUnit, str] = NOTHING
    ) -> str | None:
        """Return why no step starts on *route*; None: steps do.

        ``degraded``, ``probed``, or if it is so for each key ``out of quota`` or ``key refused``.

        Args:
            without: What is about to be degraded, each with the reason.
        """
        with self._lock:
            keys = (route,) if isinstance(route, KeyedRoute) else self.keys.of(route)
            if len(keys) == 1:
                return self._why_unavailable(keys[0], without)
            return self._why_no_key(keys, without)

    def outage_of(self, route: Route | KeyedRoute) -> Outage | None:
        """Return what keeps steps from *route*, for the key that is due first; None: nothing."""
        if self.is_available(route):
            return None
        with self._lock:
            outages = [self._outage_of(key) for key in self._keys_at(route)]
        kept_out = [outage for outage in outages if outage is not None]
        if len(kept_out) < len(outages):
            return None
        return min(kept_out, key=lambda outage: outage.seconds)

    def seconds_left(self, route: Route | KeyedRoute) -> float:
        """Return the seconds until *route* is healthy, with the first of its keys; 0 if it is."""
        with self._lock:
            now = self._timer()
            return max(0.0, min(self._healthy_at(key, now) - now for key in self._keys_at(route)))

    def snapshot(self) -> dict[Route, float]:
        """Return the degraded routes, each with the seconds left of its cooldown.

        If all keys of a provider are degraded, so are those of its routes that were asked for.
        """
        if self.is_empty:
            return {}
        with self._lock:
            routes = [unit for unit in self._cooling if isinstance(unit, Route)]
            routes += (route for route in self.keys.routes() if route not in routes)
            left = {route: self.seconds_left(route) for route in routes}
        return {route: seconds for route, seconds in left.items() if seconds > 0}

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
        without: Mapping[HealthUnit, str] = NOTHING,
        own: KeyedRoute | None = None,
    ) -> SwapTarget:
        """Return the route that a step on *route* would swap to.

        This is its nearest sibling that is available and not *tried*; if there is none, the
        nearest available one; if there is none, the nearest one although it is degraded.

        Args:
            origin: The requested route. An available sibling of *origin* that was not tried comes
                before any that was.
            returns: A route that was tried may be used again.
            without: As in `why_unavailable`.
            own: A route, with the one key that the step has there; None: every key of ours.
        """
        return find_target(
            route,
            siblings,
            lambda sibling: (
                (None if unfit is None else unfit(sibling))
                or self.why_unavailable(keyed(sibling, own), without=without)
            ),
            origin=origin,
            tried=tried,
            returns=returns,
        )
