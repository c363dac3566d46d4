"""The states of the routes and keys that failed, behind one lock, also after a fork."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from weakref import WeakValueDictionary

from cachetools import Cache

from ...provider.fork import after_fork
from ...provider.route import Route
from ..plan.keyed_route import ClientKey, HealthUnit, KeyedRoute, KeyRing, TallyUnit
from .cooldown import Cooling, Outage, PastCooldown, Probe, State, bounded_map
from .swap_target import NOTHING
from .wake_up import WakeUps

_ONE_KEY_EACH = KeyRing()


class CoolingMap:
    """Hold the states of routes and keys, and answer what they say of a route; see its subclass.

    Attributes:
        changes: How many failures were recorded so far, of any route.
        keys: The keys of each route.
        is_empty: No route and no key failed lately. An attribute, because every step reads it.
        wake_ups: Wakes the steps that wait for a route when the map changes.
    """

    def __init__(
        self, *, timer: Callable[[], float] = time.monotonic, max_routes: int = 16_384
    ) -> None:
        self._timer = timer
        # A reentrant lock, because the garbage collector may end a step, and so a probe, while this
        # thread holds the lock.
        self._lock = threading.RLock()
        self._cooling = bounded_map(timer, max_routes)
        self._retried: WeakValueDictionary[HealthUnit, Probe] = WeakValueDictionary()
        self.changes = 0
        self.wake_ups = WakeUps()
        self.keys = _ONE_KEY_EACH
        # What the map may hold, because a set says much sooner what it does not hold.
        self._held: set[HealthUnit] = set()
        # Usually the map is empty, and then a question costs nearly nothing.
        self.is_empty = True
        self._forgotten_at = -math.inf  # from this instant on nothing in it counts any more
        after_fork(self, CoolingMap._outlive_fork)

    def state_of(self, key: KeyedRoute) -> tuple[State, float]:
        """Return the state of a route with this key, and the seconds of cooldown left."""
        with self._lock:
            now = self._timer()
            states = [state for unit in self._units_of(key) if (state := self._state(unit))]
            left = self._healthy_at(key, now) - now
            if left > 0:
                return "degraded", left
            if any(state.is_probed() for state in states):
                return "probed", 0.0
            return ("due for a probe" if states else "healthy"), 0.0

    def is_planned(self, unit: HealthUnit | TallyUnit) -> bool:
        """True if *unit* is about what the configuration names, with a key of ours."""
        return self.keys.is_planned(unit)

    def routes(self) -> list[Route]:
        """Return the routes that failed lately, with any key."""
        named = [unit if isinstance(unit, str) else unit[0] for unit in self._units()]
        return [Route(each) for each in named if "/" in each]

    def cooldowns(self) -> dict[HealthUnit, PastCooldown]:
        """Return the cooldowns that run, and those that have ended without a probe since.

        Those of clients' keys are left out, because no other process knows such a key.
        """
        with self._lock:
            now = self._timer()
            return {
                unit: PastCooldown(state.healthy_at - now, state.cooldowns, state.kind)
                for unit, state in self._cooling.items()
                if state.cooldowns and _client_of(unit) is None
            }

    def clients_keys(self) -> dict[str, list[ClientKey]]:
        """Return the clients' keys that failed lately, by the provider or the route."""
        found: dict[str, list[ClientKey]] = {}
        for unit in self._units():
            if (key := _client_of(unit)) is not None:
                found.setdefault(unit[0], []).append(key)
        return found

    def _units(self) -> list[HealthUnit]:
        """Return what failed lately; the map's own iterator reads the clock for each unit."""
        with self._lock:
            self._cooling.expire()
            return list(Cache.__iter__(self._cooling))

    def restore(self, unit: HealthUnit, past: PastCooldown) -> None:
        """Degrade *unit* as it was in another process, unless it failed in this one as well."""
        with self._lock:
            if unit not in self._cooling:
                healthy_at = self._timer() + past.seconds
                self._remember(unit, Cooling(healthy_at, past.cooldowns, kind=past.kind))

    def clear(self) -> None:
        """Forget every route and key."""
        with self._lock:
            self._cooling.clear()
            self._note_empty()
            self.wake_ups.wake()

    def _state(self, unit: HealthUnit) -> Cooling | None:
        """Return the state of *unit*; None: nothing is recorded against it."""
        if unit not in self._held:
            return None
        try:
            return self._cooling[unit]
        except KeyError:  # it was forgotten meanwhile; `get` would look it up twice
            return None

    def _drop(self, unit: HealthUnit) -> None:
        """Forget *unit*."""
        self._cooling.pop(unit, None)
        self._held.discard(unit)

    def _note_empty(self) -> None:
        self.is_empty = True
        self._forgotten_at = -math.inf
        self._held.clear()

    def _outlive_fork(self) -> None:
        """Make the map of a forked child usable, because only the forking thread lives on in it.

        Another thread may have held the lock and stopped in the middle of a change, so the lock
        is replaced and every unit that can be read is copied. No attempt that probes lives on.
        """
        before = self._cooling
        self._lock = threading.RLock()
        self._retried = WeakValueDictionary()
        self.wake_ups = WakeUps()
        self._cooling = bounded_map(self._timer, int(before.maxsize))
        for unit in list(before):
            with suppress(KeyError):
                self._remember(unit, before[unit])

    def _make_room(self, unit: HealthUnit) -> None:
        """Forget what was least recently used, if *unit* is new and the map is full.

        What the configuration names is kept, as long as there is something else to forget.
        """
        if unit in self._cooling or self._cooling.currsize < self._cooling.maxsize:
            return
        planned: list[tuple[HealthUnit, Cooling]] = []
        while self._cooling.currsize:
            oldest, state = self._cooling.popitem()
            if not self.is_planned(oldest):
                break
            planned.append((oldest, state))
        else:
            del planned[:1]
        for each, state in planned:
            self._cooling[each] = state

    def _remember(self, unit: HealthUnit, cooling: Cooling) -> None:
        cooling.probe = None
        self._make_room(unit)
        self._cooling[unit] = cooling
        self._held.add(unit)
        if len(self._held) > 2 * self._cooling.maxsize:
            self._held = set(self._cooling)
        self._forgotten_at = max(self._forgotten_at, cooling.forgotten_at)
        self.is_empty = False

    def _keys_at(self, route: Route | KeyedRoute) -> Iterable[KeyedRoute]:
        """Return *route* with each key that a request there may have."""
        return (route,) if isinstance(route, KeyedRoute) else self.keys.usable(route)

    def _units_at(self, route: Route | KeyedRoute) -> Iterable[HealthUnit]:
        if isinstance(route, KeyedRoute):
            return self._units_of(route)
        return dict.fromkeys(unit for key in self.keys.of(route) for unit in key.health_units)

    def _units_of(self, key: KeyedRoute) -> tuple[HealthUnit, ...]:
        """Return what keeps steps with *key* away; no key of ours keeps a client's away."""
        if key.is_clients and (state := self._state(key.route)) and state.is_of_key:
            return tuple(unit for unit in key.health_units if unit != key.route)
        return key.health_units

    def _healthy_at(self, key: KeyedRoute, now: float) -> float:
        """Return when the last cooldown of *key* ends; *now* if it has none."""
        states = (self._state(unit) for unit in self._units_of(key))
        return max((state.healthy_at for state in states if state is not None), default=now)

    def _why_unavailable(self, key: KeyedRoute, without: Mapping[HealthUnit, str]) -> str | None:
        now, why = self._timer(), None
        for unit in self._units_of(key):
            if without and unit in without:
                return without[unit]
            if (state := self._state(unit)) is None:
                continue
            found = state.why_unavailable(unit, now)
            if found is not None and (why is None or why == "probed"):
                why = found
        return why

    def _why_no_key(
        self, keys: Sequence[KeyedRoute], without: Mapping[HealthUnit, str]
    ) -> str | None:
        """Return why none of *keys*, which are of one route, can be used; None: one can."""
        state = self._state(keys[0].route)
        if state is not None and state.healthy_at > self._timer():
            return "degraded"  # whatever the key
        reasons = set[str]()
        for key in self.keys.usable(keys[0].route):
            why = self._why_unavailable(key, without)
            if why is None:
                return None
            reasons.add(why)
        return reasons.pop() if len(reasons) == 1 else "degraded"

    def _outage_of(self, key: KeyedRoute) -> Outage | None:
        now = self._timer()
        states = [state for unit in self._units_of(key) if (state := self._state(unit))]
        why = self._why_unavailable(key, NOTHING)
        if why is None:
            return None
        last = max(states, key=lambda state: state.healthy_at)
        resets_in = max(state.resets_at for state in states) - now
        return Outage(
            why=why,
            seconds=max(0.0, last.healthy_at - now),
            kind=last.kind,
            api_key_env=key.api_key_env,
            resets_in=resets_in if resets_in > 0 else None,
        )


def _client_of(unit: HealthUnit) -> ClientKey | None:
    """Return the client's key that *unit* is about; None: it is about none."""
    key = None if isinstance(unit, str) else unit[1]
    return key if isinstance(key, ClientKey) else None
