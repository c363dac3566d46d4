"""Where one step may go: the one form that every way of saying it comes to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ...provider.route import Route
from .needs import Needs as Needs
from .sibling_map import reachable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ...provider.catalog.catalog import Provider
    from ...provider.failure import FailureKind
    from .config import ConfigWarning, FallbackConfig

_DOUBT = 2
"""How far the estimate may be off, as a factor: code and most languages take more than it says."""

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

    def why_barred(self, needs: Needs) -> str | None:
        """Say why no step with those *needs* may be taken here, however short; None: it may."""
        if self.capabilities is not None:
            missing = sorted(needs.capabilities - self.capabilities)
            if missing:
                return f"it has no {', no '.join(missing)}"
        return self.why_outside(needs)

    def why_outside(self, needs: Needs) -> str | None:
        """Say why the data of a step with those *needs* may not go here; None: it may."""
        if needs.boundary is None or self.boundary == needs.boundary:
            return None
        where = "is said nowhere" if self.boundary is None else f"is {self.boundary!r}"
        return f"its boundary {where}, and the step must stay in {needs.boundary!r}"

    def why_too_small(self, needs: Needs) -> str | None:
        """Say why what a step sends cannot be held here; None: it can, as far as is known."""
        window, counted = self.context_window, needs.counted.get(self.route)
        tokens = needs.tokens if counted is None else counted
        if window is None or tokens is None or tokens <= window:
            return None
        return too_small(tokens, window, by=None if counted is None else self.route.provider)

    def is_doubtful(self, needs: Needs) -> bool:
        """Say whether the estimate leaves open if this holds what a step sends."""
        window, tokens = self.context_window, needs.tokens
        if window is None or tokens is None or self.route in needs.counted:
            return False
        return window / _DOUBT < tokens <= window * _DOUBT


def too_small(tokens: int, window: int, *, by: str | None) -> str:
    """Say that *tokens* are too many, and whether a provider counted them or nobody did."""
    told = f"about {tokens} tokens" if by is None else f"{tokens} tokens, as {by} counts,"
    return f"{told} do not fit into its {window}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Where one step may go.

    Args:
        requested: Where it begins while that is healthy and fit.
        siblings: Where it may go from each route.
        unfit: Routes that cannot take it, and why.
        doubtful: Those of which only a count can tell whether they hold it, and how many tokens
            they take; meanwhile the estimate stands.
        swaps: Moves that it may make.
        is_chain: Its routes are candidates: each is judged before it is asked, the first one as
            well, and none is taken twice.
    """

    requested: Route
    siblings: Mapping[Route, Sequence[Route]] = field(default_factory=dict)
    unfit: Mapping[Route, str] = field(default_factory=dict)
    doubtful: Mapping[Route, int] = field(default_factory=dict)
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
        unmoved: Kinds of failure that move no step, whatever their status.
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
    unmoved: frozenset[FailureKind] = frozenset()
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
            unfit, doubtful = self._judged_siblings(requested, needs)
            return Course(
                requested=requested,
                siblings=config.fallback_models_by_model,
                unfit=unfit,
                doubtful=doubtful,
                swaps=config.max_fallback_attempts,
            )
        chain = self.chains.get(asked)
        known = self._pinned(asked_route(asked, self.chains)) if chain is None else chain
        if not known:
            raise ValueError(f"{asked!r} has no route to go to: name one in {self.source}")
        judged = known if held is None else (*known, *self._pinned(held))
        unfit, doubtful = self._judged(judged, self._demands(asked, needs or Needs()))
        if chain is None:
            # Its failure degrades it, as it would on a chain.
            swaps = config.max_fallback_attempts
            return Course(requested=known[0].route, unfit=unfit, doubtful=doubtful, swaps=swaps)
        routes = [entry.route for entry in chain]
        return Course(
            requested=routes[0],
            siblings={route: routes[place + 1 :] for place, route in enumerate(routes)},
            unfit=unfit,
            doubtful=doubtful,
            swaps=min(config.max_fallback_attempts, len(routes) - 1),
            is_chain=True,
        )

    @property
    def asks_needs(self) -> bool:
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
        unfit, doubtful = self._judged(entries, self._demands(requested, needs))
        if why := head.why_outside(needs):
            unfit[requested] = why
        return unfit, doubtful

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

    def _judged(
        self, chain: Sequence[Entry], demands: Sequence[Needs]
    ) -> tuple[dict[Route, str], dict[Route, int]]:
        """Return `unfit` and `doubtful` of a `Course`; *demands* differ in the boundary alone."""
        needs = demands[0]
        barred = {each.route: why for each in chain if (why := self._why_barred(each, demands))}
        unfit, doubtful = dict(barred), dict[Route, int]()
        for entry in chain:
            route, window = entry.route, entry.context_window
            if route in barred or window is None:
                continue
            if why := entry.why_too_small(needs):
                unfit[route] = why
            if entry.is_doubtful(needs):
                doubtful[route] = min(window, doubtful.get(route, window))
        return unfit, doubtful

    def _why_barred(self, entry: Entry, demands: Sequence[Needs]) -> str | None:
        name = entry.route.provider
        if self.served is not None and name not in self.served:
            return f"this process has no provider {name!r}"
        return next(filter(None, map(entry.why_barred, demands)), None)


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
        capabilities = provider.capabilities if capabilities is None else capabilities
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
