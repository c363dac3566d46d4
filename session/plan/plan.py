"""Where one step may go: the one form that every way of saying it comes to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ...provider.route import Route
from .chain_entry import ChainEntry, entry_at
from .needs import Needs as Needs
from .sibling_map import reachable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ...provider.catalog.provider import Provider
    from ...provider.failure import FailureKind
    from .config import FallbackConfig
    from .config_warning import ConfigWarning

HINT = "hint"
"""By which a step asks for the chain of a hint; its head's route does as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteOptions:
    """Where one step may go.

    Args:
        requested: Where it begins while that is healthy and fit.
        siblings: Where it may go from each route.
        unfit: Routes that cannot take it, and why.
        uncounted: Those of which only a count can tell whether they hold it, and how many tokens
            they take; meanwhile the estimate stands.
        swaps: Moves that it may make.
        is_chain: Its routes are candidates: each is judged before it is asked, the first one as
            well, and none is taken twice.
    """

    requested: Route
    siblings: Mapping[Route, Sequence[Route]] = field(default_factory=dict)
    unfit: Mapping[Route, str] = field(default_factory=dict)
    uncounted: Mapping[Route, int] = field(default_factory=dict)
    swaps: int = 0
    is_chain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a configuration comes to, whichever way it was written.

    Args:
        source: What it was read from, as a person would call it.
        config: The limits, and for a map of siblings the map.
        chains: What an agent may ask for beside routes, each with its routes in order, none of
            them twice; a chain is never walked back. A route that is asked for by its own name is
            a chain of one.
        providers: Those that it brings along, beside the catalog.
        served: Providers that this process has; None: that is unknown, and then it has every one.
        known: Providers of which it is said what they have and hold and where they are, where
            there are no chains, whose entries say it themselves.
        boundary: Where data may go, whatever a step asks for; None: anywhere.
        boundaries: Where the data of a chain may go, beside that.
        never_swap_on: Kinds of failure that move no step, whatever their status.
        swap_on_any_failure: Every failure moves a step, but for what no route is to blame for.
    """

    source: str
    config: FallbackConfig
    chains: Mapping[str, tuple[ChainEntry, ...]] = field(default_factory=dict)
    providers: Mapping[str, Provider] = field(default_factory=dict)
    served: Mapping[str, Provider] | None = None
    known: Mapping[str, Provider] = field(default_factory=dict)
    boundary: str | None = None
    boundaries: Mapping[str, str] = field(default_factory=dict)
    never_swap_on: frozenset[FailureKind] = frozenset()
    swap_on_any_failure: bool = False
    warnings: tuple[ConfigWarning, ...] = field(default=())

    def options_for(
        self, asked: str, needs: Needs | None = None, *, pinned: Route | None = None
    ) -> RouteOptions:
        """Return where a step may go that asks for *asked*: a route, or the name of a chain.

        Args:
            pinned: Where the conversation stays if it may not move; it must be fit as well.

        Raises:
            ValueError: It is neither, or a chain without a route.
        """
        config = self.config
        if not self.chains:
            requested = Route(asked)
            unfit, uncounted = self._judged_siblings(requested, needs)
            return RouteOptions(
                requested=requested,
                siblings=config.fallback_models_by_model,
                unfit=unfit,
                uncounted=uncounted,
                swaps=config.max_fallback_attempts,
            )
        chain = self.chains.get(asked)
        known = self._entries_of(asked_route(asked, self.chains)) if chain is None else chain
        if not known:
            raise ValueError(f"{asked!r} has no route to go to: name one in {self.source}")
        judged = known if pinned is None else (*known, *self._entries_of(pinned))
        unfit, uncounted = self._judged(judged, self._demands(asked, needs or Needs()))
        if chain is None:
            # Its failure degrades it, as it would on a chain.
            swaps = config.max_fallback_attempts
            return RouteOptions(
                requested=known[0].route, unfit=unfit, uncounted=uncounted, swaps=swaps
            )
        routes = [entry.route for entry in chain]
        return RouteOptions(
            requested=routes[0],
            siblings={route: routes[place + 1 :] for place, route in enumerate(routes)},
            unfit=unfit,
            uncounted=uncounted,
            swaps=min(config.max_fallback_attempts, len(routes) - 1),
            is_chain=True,
        )

    @property
    def depends_on_needs(self) -> bool:
        """What a step needs makes a difference to where it may go."""
        return bool(self.chains or self.known)

    def _judged_siblings(
        self, requested: Route, needs: Needs | None
    ) -> tuple[dict[Route, str], dict[Route, int]]:
        """Say which siblings cannot take a step, or may be unable to.

        The requested route says itself what it cannot take; not so where its data may not go.
        """
        if needs is None or not (self.known or needs.boundary):
            return {}, {}
        siblings = reachable(requested, self.config.fallback_models_by_model)
        head, *entries = (
            entry_at(route, self.known.get(route.provider)) for route in (requested, *siblings)
        )
        unfit, uncounted = self._judged(entries, self._demands(requested, needs))
        if why := head.why_out_of_bounds(needs):
            unfit[requested] = why
        return unfit, uncounted

    def _entries_of(self, route: Route) -> tuple[ChainEntry, ...]:
        """Return what is said of *route* anywhere; each of it has to let a step through."""
        said = [entry for chain in self.chains.values() for entry in chain if entry.route == route]
        provider = (self.served or {}).get(route.provider)
        return tuple(said) or (entry_at(route, provider),)

    def _demands(self, asked: str, needs: Needs) -> tuple[Needs, ...]:
        """Return *needs* once for each boundary that is declared, since all of them hold."""
        declared = (needs.boundary, self.boundary, self.boundaries.get(asked))
        named = dict.fromkeys(each for each in declared if each is not None)
        return tuple(replace(needs, boundary=each) for each in named) or (needs,)

    def _judged(
        self, chain: Sequence[ChainEntry], demands: Sequence[Needs]
    ) -> tuple[dict[Route, str], dict[Route, int]]:
        """Return the unfit and the uncounted routes; *demands* differ in the boundary alone."""
        needs = demands[0]
        barred = {each.route: why for each in chain if (why := self._why_never_fit(each, demands))}
        unfit, uncounted = dict(barred), dict[Route, int]()
        for entry in chain:
            route, window = entry.route, entry.context_window
            if route in barred or window is None:
                continue
            if why := entry.why_too_small(needs):
                unfit[route] = why
            if entry.needs_count(needs):
                uncounted[route] = min(window, uncounted.get(route, window))
        return unfit, uncounted

    def _why_never_fit(self, entry: ChainEntry, demands: Sequence[Needs]) -> str | None:
        name = entry.route.provider
        if self.served is not None and name not in self.served:
            return f"this process has no provider {name!r}"
        return next(filter(None, map(entry.why_unfit, demands)), None)


def asked_route(asked: str, chains: Collection[str]) -> Route:
    """Return the route that *asked* is.

    Raises:
        ValueError: It is none, and none of *chains* either.
    """
    try:
        return Route(asked)
    except ValueError:
        raise ValueError(
            f"{asked!r} is neither a route nor one of {', '.join(sorted(chains))}: ask for one "
            'of these, or write "provider/model"'
        ) from None
