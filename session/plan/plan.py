"""The plan: the one form that every configuration is read into, and the options of a step."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypedDict

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
    from .keyed_route import KeyedRoute

IN_RULES = "[limits]"
"""The place of the limits in rules, in snake_case; other forms have them in camelCase."""

HINT = "hint"
"""The name of the hint's chain; a step may also ask for the chain by its first route."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteOptions:
    """Where one step may go.

    Args:
        requested: The route to start on if it is healthy and fit.
        siblings: The routes to swap to, from each route.
        unfit: Routes that cannot take the step, and why.
        too_long: The routes of *unfit* that could take a shorter step.
        uncounted: Routes that need a count of tokens to tell whether the step fits, with
            their windows in tokens. Without a count the estimate is used.
        swaps: How many swaps are allowed.
        is_chain: The routes are a chain: each must be fit, the first one as well, and none is
            used twice.
        usual_start: The requested route with its first key, if a step starts there unless their
            health or the history of its conversation forbids it; `ActivePlan` sets it. None: other
            reasons may forbid it too.
    """

    requested: Route
    siblings: Mapping[Route, Sequence[Route]] = field(default_factory=dict)
    unfit: Mapping[Route, str] = field(default_factory=dict)
    too_long: frozenset[Route] = frozenset()
    uncounted: Mapping[Route, int] = field(default_factory=dict)
    swaps: int = 0
    is_chain: bool = False
    usual_start: KeyedRoute | None = None


class _Verdicts(TypedDict, total=False):
    """The facts about the routes of a step, as in `RouteOptions`."""

    unfit: Mapping[Route, str]
    too_long: frozenset[Route]
    uncounted: Mapping[Route, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a configuration allows, in any of its forms.

    Args:
        source: Name of its source in messages.
        config: The limits, and the map of siblings if there is one.
        chains: Chains by the name an agent asks for. Each has its routes in order, none twice; a
            step never goes back in a chain. With chains, a route asked for by its own name is
            a chain of one.
        providers: Providers that the configuration defines, beside the catalog.
        configured_providers: Providers configured in this process; None: unknown, and every
            provider is assumed.
        provider_facts: Capabilities, context window and boundary per provider. Unused with
            chains, because each `ChainEntry` has its own.
        boundary: Boundary for the data of every step; None: anywhere.
        boundaries: A boundary per chain, in addition to *boundary*.
        swap_on: Kinds of failure that swap, whatever their status.
        never_swap_on: Kinds of failure that never swap, whatever their status.
        swap_on_any_failure: Every failure of a route swaps.
        limits_in: The place where the limits are set, for messages; empty: the map itself.
    """

    source: str
    config: FallbackConfig
    chains: Mapping[str, tuple[ChainEntry, ...]] = field(default_factory=dict)
    providers: Mapping[str, Provider] = field(default_factory=dict)
    configured_providers: Mapping[str, Provider] | None = None
    provider_facts: Mapping[str, Provider] = field(default_factory=dict)
    boundary: str | None = None
    boundaries: Mapping[str, str] = field(default_factory=dict)
    swap_on: frozenset[FailureKind] = frozenset()
    never_swap_on: frozenset[FailureKind] = frozenset()
    swap_on_any_failure: bool = False
    limits_in: str = ""
    warnings: tuple[ConfigWarning, ...] = field(default=())

    def options_for(
        self, asked: str, needs: Needs | None = None, *, pinned: Route | None = None
    ) -> RouteOptions:
        """Return where a step that asks for *asked*, a route or the name of a chain, may go.

        Args:
            pinned: The route that a conversation stays on if it may not move; it is checked too.

        Raises:
            ValueError: *asked* is neither, or it is a chain without routes.
        """
        config = self.config
        if not self.chains:
            requested = Route(asked)
            return RouteOptions(
                requested=requested,
                siblings=config.fallback_models_by_model,
                swaps=config.max_fallback_attempts,
                **self._judge_siblings(requested, needs, pinned),
            )
        chain = self.chains.get(asked)
        entries = self._entries_of(asked_route(asked, self.chains)) if chain is None else chain
        if not entries:
            raise ValueError(f"{asked!r} has no route to go to: name one in {self.source}")
        to_judge = entries if pinned is None else (*entries, *self._entries_of(pinned))
        declared = {entry.boundary for entry in (entries if chain is None else entries[:1])}
        demands = self._demands(asked, needs or Needs(), declared)
        verdicts = self._judge(to_judge, demands)
        if chain is None:
            # Swaps above 0 let a failure degrade the route, as it would in a chain.
            swaps = config.max_fallback_attempts
            return RouteOptions(requested=entries[0].route, swaps=swaps, **verdicts)
        routes = [entry.route for entry in chain]
        return RouteOptions(
            requested=routes[0],
            siblings={route: routes[place + 1 :] for place, route in enumerate(routes)},
            swaps=min(config.max_fallback_attempts, len(routes) - 1),
            is_chain=True,
            **verdicts,
        )

    def entries_for(self, asked: str) -> tuple[ChainEntry, ...]:
        """Return the route on which a step that asks for *asked* starts, and all its links."""
        if self.chains:
            chain = self.chains.get(asked)
            return self._entries_of(asked_route(asked, self.chains))[:1] if chain is None else chain
        siblings = reachable(Route(asked), self.config.fallback_models_by_model)
        return tuple(map(self._map_entry, (Route(asked), *siblings)))

    def window_of(self, route: Route) -> int | None:
        """Return the least window in tokens that is declared for *route*; None: unknown."""
        facts = (self.provider_facts.get(route.provider), self.providers.get(route.provider))
        windows = [each.context_window for each in facts if each is not None]
        if self.chains:
            windows = [entry.context_window for entry in self._entries_of(route)]
        return min((window for window in windows if window is not None), default=None)

    def spelled(self, key: str) -> str:
        """Return how the setting *key* is written in the source of this plan, for messages."""
        if not self.limits_in:
            return f"`{key}`"
        from pydantic.alias_generators import to_snake  # imported by now, to read the plan

        return f"`{to_snake(key) if self.limits_in == IN_RULES else key}` of {self.limits_in}"

    @property
    def depends_on_needs(self) -> bool:
        """True if other needs of a step than its boundary can change where it may go."""
        return bool(self.chains or self.provider_facts)

    def _judge_siblings(
        self, requested: Route, needs: Needs | None, pinned: Route | None
    ) -> _Verdicts:
        """Return which siblings of *requested* cannot take the step.

        The route itself and *pinned* are only checked for their boundary, because their providers
        report the rest.
        """
        if not self.provider_facts and (needs is None or needs.boundary is None):
            return _Verdicts()
        head = self._map_entry(requested)
        (needs,) = self._demands(requested, needs or Needs(), {head.boundary})
        siblings = reachable(requested, self.config.fallback_models_by_model)
        verdicts = self._judge([self._map_entry(each) for each in siblings], (needs,))
        for entry in (head, head if pinned is None else self._map_entry(pinned)):
            if why := entry.why_out_of_bounds(needs):
                verdicts["unfit"] = {**verdicts["unfit"], entry.route: why}
        return verdicts

    def _map_entry(self, route: Route) -> ChainEntry:
        return entry_at(route, self.provider_facts.get(route.provider))

    def _entries_of(self, route: Route) -> tuple[ChainEntry, ...]:
        """Return every entry of *route* in a chain; a step must fit all of them."""
        entries = [
            entry for chain in self.chains.values() for entry in chain if entry.route == route
        ]
        provider = (self.configured_providers or {}).get(route.provider)
        return tuple(entries) or (entry_at(route, provider),)

    def _demands(
        self, asked: str, needs: Needs, declared: Collection[str | None]
    ) -> tuple[Needs, ...]:
        """Return *needs* once for each boundary that applies, because all must be kept.

        Args:
            declared: The boundaries of the route that the step asks for. One counts if nothing
                else sets a boundary.
        """
        boundaries = (needs.boundary, self.boundary, self.boundaries.get(asked))
        set_ = tuple(dict.fromkeys(each for each in boundaries if each is not None))
        if not set_ and len(declared) == 1:
            set_ = tuple(each for each in declared if each is not None)
        return tuple(replace(needs, boundary=each) for each in set_) or (needs,)

    def _judge(self, chain: Sequence[ChainEntry], demands: Sequence[Needs]) -> _Verdicts:
        """Return the routes that cannot take the step; *demands* differ only in the boundary."""
        needs = demands[0]
        never_fit = {
            each.route: why for each in chain if (why := self._why_never_fit(each, demands))
        }
        too_long, uncounted = dict[Route, str](), dict[Route, int]()
        for entry in chain:
            route, window = entry.route, entry.context_window
            if route in never_fit or window is None:
                continue
            if why := entry.why_too_small(needs):
                too_long[route] = why
            if entry.needs_count(needs):
                uncounted[route] = min(window, uncounted.get(route, window))
        return _Verdicts(
            unfit=never_fit | too_long, too_long=frozenset(too_long), uncounted=uncounted
        )

    def _why_never_fit(self, entry: ChainEntry, demands: Sequence[Needs]) -> str | None:
        name = entry.route.provider
        if self.configured_providers is not None and name not in self.configured_providers:
            return f"this process has no provider {name!r}"
        return next(filter(None, map(entry.why_unfit, demands)), None)


def asked_route(asked: str, chains: Collection[str]) -> Route:
    """Return *asked* as a route.

    Raises:
        ValueError: *asked* is neither a route nor one of *chains*.
    """
    try:
        return Route(asked)
    except ValueError:
        raise ValueError(
            f"{asked!r} is neither a route nor one of {', '.join(sorted(chains))}: ask for one "
            'of these, or write "provider/model"'
        ) from None
