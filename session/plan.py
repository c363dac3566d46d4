"""Where one step may go: the one form that every way of saying it comes to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..provider.route import Route
from .degraded import reachable
from .need import Needs as Needs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ..provider.catalog import Provider
    from .config import ConfigWarning, FallbackConfig

    Unfit = Callable[[Route], str | None]
    """Says why a route cannot take a step, in half a sentence; None: it can."""


HINT = "hint"
"""By which a step asks for the chain of a hint; its head's route does as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One route of a chain, and what is said of it.

    Args:
        capabilities: What it has; None says nothing, and then it has everything.
        context_window: Tokens that a request and its answer may take; None is unknown.
        boundary: Where data that is sent there goes; None is unknown.
    """

    route: Route
    capabilities: frozenset[str] | None = None
    context_window: int | None = None
    boundary: str | None = None

    def why_unfit(self, needs: Needs) -> str | None:
        """Say why a step with those *needs* cannot be taken here; None: it can."""
        if self.capabilities is not None:
            missing = sorted(needs.capabilities - self.capabilities)
            if missing:
                return f"it has no {', no '.join(missing)}"
        if needs.boundary is not None and self.boundary != needs.boundary:
            where = "is said nowhere" if self.boundary is None else f"is {self.boundary!r}"
            return f"its boundary {where}, and the step must stay in {needs.boundary!r}"
        too_long = (
            needs.tokens is not None
            and self.context_window is not None
            and needs.tokens > self.context_window
        )
        if too_long:
            return f"about {needs.tokens} tokens do not fit into its {self.context_window}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Where one step may go.

    Args:
        requested: Where it begins while that is healthy and fit.
        siblings: Where it may go from each route.
        unfit: Routes that cannot take it, and why.
        swaps: Moves that it may make.
        returns: It may take a route again that it has tried.
    """

    requested: Route
    siblings: Mapping[Route, Sequence[Route]] = field(default_factory=dict)
    unfit: Mapping[Route, str] = field(default_factory=dict)
    swaps: int = 0
    returns: bool = True


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
        known: Providers of which a map of siblings says what they can hold, and where they are.
        boundary: Where data may go, whatever a step asks for; None: anywhere.
        boundaries: Where the data of a chain may go, beside that.
        is_any_failure: Every failure moves a step, but for what no route is to blame for.
    """

    source: str
    config: FallbackConfig
    chains: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)
    providers: Mapping[str, Provider] = field(default_factory=dict)
    served: Mapping[str, Provider] | None = None
    known: Mapping[str, Provider] = field(default_factory=dict)
    boundary: str | None = None
    boundaries: Mapping[str, str] = field(default_factory=dict)
    is_any_failure: bool = False
    warnings: tuple[ConfigWarning, ...] = field(default=())

    def course(
        self, asked: str, needs: Needs | None = None, *, held: Route | None = None
    ) -> Course:
        """Return where a step may go that asks for *asked*: a route, or the name of a chain.

        Args:
            held: Where the conversation stays if it may not move; it has to be fit as well.

        Raises:
            ValueError: It is neither, or a chain without a route.
        """
        config = self.config
        if not self.chains:
            requested = Route(asked)
            return Course(
                requested=requested,
                siblings=config.fallback_models_by_model,
                unfit=self._unfit_siblings(requested, needs),
                swaps=config.max_fallback_attempts,
            )
        chain = self.chains.get(asked)
        known = self._pinned(asked_route(asked, self.chains)) if chain is None else chain
        if not known:
            raise ValueError(f"{asked!r} has no route to go to: name one in {self.source}")
        judged = known if held is None else (*known, *self._pinned(held))
        unfit = self._unfit(judged, self._demands(asked, needs or Needs()))
        if chain is None:
            return Course(requested=known[0].route, unfit=unfit)
        routes = [entry.route for entry in chain]
        return Course(
            requested=routes[0],
            siblings={route: routes[place + 1 :] for place, route in enumerate(routes)},
            unfit=unfit,
            swaps=min(config.max_fallback_attempts, len(routes) - 1),
            returns=False,
        )

    @property
    def asks_needs(self) -> bool:
        """What a step needs makes a difference to where it may go."""
        return bool(self.chains or self.known)

    def _unfit_siblings(self, requested: Route, needs: Needs | None) -> dict[Route, str]:
        """Say which siblings cannot take a step; the requested route says so itself."""
        if needs is None or not self.known:
            return {}
        siblings = reachable(requested, self.config.fallback_models_by_model)
        entries = [entry_at(route, self.known.get(route.provider)) for route in siblings]
        return self._unfit(entries, self._demands(requested, needs))

    def _pinned(self, route: Route) -> tuple[Entry, ...]:
        """Return what is said of *route* anywhere; each of it has to let a step through."""
        said = [entry for chain in self.chains.values() for entry in chain if entry.route == route]
        provider = (self.served or {}).get(route.provider)
        return tuple(said) or (entry_at(route, provider),)

    def _demands(self, asked: str, needs: Needs) -> tuple[Needs, ...]:
        """Return *needs* once for each boundary that is declared, since all of them hold."""
        declared = (needs.boundary, self.boundary, self.boundaries.get(asked))
        named = dict.fromkeys(each for each in declared if each is not None)
        return tuple(replace(needs, boundary=each) for each in named) or (needs,)

    def _unfit(self, chain: Sequence[Entry], demands: Sequence[Needs]) -> dict[Route, str]:
        unfit: dict[Route, str] = {}
        for entry in chain:
            name = entry.route.provider
            if self.served is not None and name not in self.served:
                unfit[entry.route] = f"this process has no provider {name!r}"
                continue
            reasons = (entry.why_unfit(needs) for needs in demands)
            if why := next(filter(None, reasons), None):
                unfit[entry.route] = why
        return unfit


def entry_at(
    route: Route,
    provider: Provider | None,
    *,
    capabilities: frozenset[str] | None = None,
    context_window: int | None = None,
    boundary: str | None = None,
) -> Entry:
    """Return the entry of *route*; what is None of it is taken from its *provider*."""
    if provider is not None:
        context_window = provider.context_window if context_window is None else context_window
        boundary = provider.boundary if boundary is None else boundary
    return Entry(
        route=route, capabilities=capabilities, context_window=context_window, boundary=boundary
    )


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
