"""A route with one of its provider's keys, and the keys that each route has."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

from ...provider.failure import Scope
from ...provider.route import Route

HealthUnit = Route | tuple[str, str | None]
"""What health is kept for: a route, a route and the variable of a key, or a provider and the
variable of a key, which is None if the provider has one key or none."""

TallyUnit = Route | tuple[Route, str]
"""What attempts are counted for: a route, or with several keys a route and the variable of one."""
CLIENTS_KEY = "the client's own key"
"""Stands for the variable of a key that a client of the local address has sent."""
_MOST_ROUTES = 16_384
"""How many routes are cached: as many as the health map remembers."""
_POSITIONS = {Scope.KEY: 0, Scope.KEY_ON_ROUTE: 1, Scope.ROUTE: -1}


class ClientKey(str):
    """A hash that is the same for each request with one client's key, and holds no key.

    It stands in a `HealthUnit` where the variable of a key of ours would stand.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class KeyedRoute:
    """A route, with the key that a request there is sent with.

    Args:
        api_key_env: The variable of the key; None: the provider has one key or none.
        health_units: The key, the key on this route, and the route. With one key the last two are
            the same. If one of them is degraded, no step starts here.
        tally_unit: The route; with several keys the key on this route.
    """

    route: Route
    api_key_env: str | None
    health_units: tuple[HealthUnit, ...]
    tally_unit: TallyUnit

    @classmethod
    def of(cls, route: Route, api_key_env: str | None = None) -> Self:
        """Return *route* with the key in the variable *api_key_env*."""
        key = (route.provider, api_key_env)
        if api_key_env is None:
            return cls(route, None, (key, route), route)
        on_route = (route, api_key_env)
        return cls(route, api_key_env, (key, on_route, route), on_route)

    @classmethod
    def of_client(cls, route: Route, key: ClientKey) -> Self:
        """Return *route* with the *key* of a client.

        Health is kept for each such key; the attempts of all clients are counted together.
        """
        on_route = (route, key)
        units = ((route.provider, key), on_route, route)
        return cls(route, CLIENTS_KEY, units, (route, CLIENTS_KEY))

    @property
    def is_clients(self) -> bool:
        """True if the key is a client's own."""
        return self.api_key_env == CLIENTS_KEY

    def health_unit(self, scope: Scope) -> HealthUnit:
        """Return what a failure of *scope* degrades."""
        return self.health_units[_POSITIONS[scope]]


def keyed(route: Route, own: KeyedRoute | None) -> Route | KeyedRoute:
    """Return *own* if it is about *route*, else *route*, which stands for any key of ours."""
    return route if own is None or own.route != route else own


class KeyRing:
    """The keys of every route, as one configuration names them.

    Args:
        variables: The variables of each provider that has several keys.
        environ: Where the keys are.
        planned: The routes and the providers that the configuration names.

    Attributes:
        known: The routes that were asked for, each with its keys.
    """

    __slots__ = ("_environ", "_planned", "_variables", "known")

    def __init__(
        self,
        variables: Mapping[str, Sequence[str]] = MappingProxyType({}),
        environ: Mapping[str, str] = MappingProxyType({}),
        planned: Collection[str] = (),
    ) -> None:
        self._variables = variables
        self._environ = environ
        self._planned = planned
        self.known: dict[Route, tuple[KeyedRoute, ...]] = {}

    def of(self, route: Route) -> tuple[KeyedRoute, ...]:
        """Return *route* with each key of its provider, in order, those that are not set as well.

        There is always one at least.
        """
        keys = self.known.get(route)
        if keys is None:
            route = Route(route)
            variables = self._variables.get(route.provider) or (None,)
            keys = tuple(KeyedRoute.of(route, each) for each in variables)
            if len(self.known) < _MOST_ROUTES or route in self._planned:
                self.known[route] = keys
        return keys

    def usable(self, route: Route) -> Iterator[KeyedRoute]:
        """Yield *route* with each key that is set, in order; with the first one if none is."""
        keys = self.of(route)
        is_any = False
        for key in keys:
            if self.is_set(key):
                is_any = True
                yield key
        if not is_any:
            yield keys[0]

    def is_set(self, key: KeyedRoute) -> bool:
        """True if the variable of *key* holds a key, or if its provider has no other key.

        A text that cannot be sent in a header, such as one with a line break, is no key.
        """
        name = key.api_key_env
        if name is None:
            return True
        text = self._environ.get(name, "").strip()
        return bool(text) and text.isascii() and text.isprintable()

    def is_planned(self, unit: HealthUnit | TallyUnit) -> bool:
        """True if *unit* is about what the configuration names, with a key of ours.

        Anyone may ask with other names, so that these must not push the planned ones out of a
        bounded map.
        """
        name, key = (unit, None) if isinstance(unit, str) else unit
        return name in self._planned and not isinstance(key, ClientKey)

    def routes(self) -> list[Route]:
        """Return the routes that were asked for."""
        return list(self.known)
