"""A collector for a registry of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from weakref import WeakKeyDictionary

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from ...provider.route import Route
from ..plan.keyed_route import CLIENTS_KEY
from ..step.middleware import Sidestep
from ..step.status import clients_key_at
from .counts import FAMILIES, Counts, Key, counts_of

_PREFIX = "sidestep"
_COOLDOWN = "sidestep_cooldown_seconds_left", "Seconds until a degraded route is healthy."


class SidestepCollector(Collector):
    """The counts of one `Sidestep` or of several together, for any registry.

    Register it once: ``registry.register(collector)``.

    Args:
        most_routes: How many routes have a name of their own in the labels, in each `Sidestep`;
            every further one is ``other``.
    """

    def __init__(self, middlewares: Iterable[Sidestep], *, most_routes: int) -> None:
        self._most_routes = most_routes
        self._middlewares: list[Sidestep] = []
        self._counts: list[Counts] = []
        for middleware in middlewares:
            self.add(middleware)

    def add(self, middleware: Sidestep) -> None:
        """Count what happens in *middleware* from now on as well."""
        if middleware in self._middlewares:
            return
        self._middlewares.append(middleware)
        self._counts.append(counts_of(middleware, middleware.clock, most_routes=self._most_routes))

    def describe(self) -> Iterator[Metric]:
        """Yield the name of each metric, which a registry refuses to have twice."""
        for name, (words, labels) in FAMILIES.items():
            yield CounterMetricFamily(f"{_PREFIX}_{name}", words, labels=labels)
        yield GaugeMetricFamily(*_COOLDOWN, labels=("route",))

    def collect(self) -> Iterator[Metric]:
        """Yield every metric with its present values."""
        values = _sum(map(_values, self._middlewares, self._counts))
        for name, (words, labels) in FAMILIES.items():
            family = CounterMetricFamily(f"{_PREFIX}_{name}", words, labels=labels)
            for key, value in sorted(values[name].items()):
                family.add_metric(key, value)
            yield family
        gauge = GaugeMetricFamily(*_COOLDOWN, labels=("route",))
        for route, seconds in sorted(self._cooldowns().items()):
            gauge.add_metric((route,), seconds)
        yield gauge

    def _cooldowns(self) -> dict[str, float]:
        left: dict[str, float] = {}
        for middleware, counts in zip(self._middlewares, self._counts, strict=True):
            for label, seconds in counts.cooldowns(middleware.degraded.snapshot()).items():
                left[label] = max(seconds, left.get(label, 0.0))
        return left


def collector(
    *middlewares: Sidestep, registry: CollectorRegistry | None = None, most_routes: int = 100
) -> SidestepCollector:
    """Return a collector of what happens in *middlewares*, for any registry of Prometheus.

    The listeners of the middlewares stay as they are.

    Args:
        registry: Where the collector is registered at once. If this function has registered one
            there already, the middlewares are added to that one, because a registry takes no
            metric twice. None: register the collector yourself, once.
        most_routes: See `SidestepCollector`.

    Raises:
        TypeError: No middleware is given.
    """
    if not middlewares:
        raise TypeError("`collector` needs a `Sidestep`: write `collector(middleware)`")
    if registry is None:
        return SidestepCollector(middlewares, most_routes=most_routes)
    registered = _REGISTERED.get(registry)
    if registered is None:
        made = SidestepCollector(middlewares, most_routes=most_routes)
        registry.register(made)
        _REGISTERED[registry] = made
        return made
    for middleware in middlewares:
        registered.add(middleware)
    with suppress(ValueError):  # it is registered, unless somebody has taken it out
        registry.register(registered)
    return registered


_REGISTERED: WeakKeyDictionary[CollectorRegistry, SidestepCollector] = WeakKeyDictionary()
"""The collector that `collector` has registered in each registry."""


def _values(middleware: Sidestep, counts: Counts) -> dict[str, dict[Key, float]]:
    return counts.values(partial(_seconds_left, middleware))


def _seconds_left(middleware: Sidestep, route: Route, api_key_env: str | None) -> float:
    """Return what is left of a cooldown; 0 if the key is no longer configured."""
    degraded, keys = middleware.degraded, middleware.active.keys.of(route)
    if api_key_env == CLIENTS_KEY:
        keys = (clients_key_at(route, degraded, degraded.clients_keys()),)
    left = (degraded.state_of(key)[1] for key in keys if key.api_key_env == api_key_env)
    return next(left, 0.0)


def _sum(each: Iterable[dict[str, dict[Key, float]]]) -> dict[str, dict[Key, float]]:
    found: dict[str, dict[Key, float]] = {name: {} for name in FAMILIES}
    for values in each:
        for name, family in values.items():
            for key, value in family.items():
                found[name][key] = found[name].get(key, 0.0) + value
    for name, (_, labels) in FAMILIES.items():
        if not labels:
            found[name].setdefault((), 0.0)
    return found
