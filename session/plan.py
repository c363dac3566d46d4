"""Where one step may go: the one form that every way of saying it comes to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..provider.route import Route

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..provider.catalog import Provider
    from .config import ConfigWarning, FallbackConfig

    Unfit = Callable[[Route], str | None]
    """Says why a route cannot take a step, in half a sentence; None: it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a step needs of a route.

    Args:
        capabilities: Words such as ``tool_calling``, ``images``, ``reasoning``.
        tokens: How large the request and its answer will be, about; None is unknown.
        boundary: Where its data may go; None: anywhere.
    """

    capabilities: frozenset[str] = frozenset()
    tokens: int | None = None
    boundary: str | None = None


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
            where = "nowhere that is said" if self.boundary is None else repr(self.boundary)
            return f"its boundary is {where}, and the step must stay in {needs.boundary!r}"
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
        chains: What an agent may ask for beside routes, each with its routes in order; a chain is
            never walked back.
        providers: Those that it brings along, beside the catalog.
        boundary: Where data may go, whatever a step asks for; None: anywhere.
        is_any_failure: Every failure moves a step, but for what no route is to blame for.
    """

    source: str
    config: FallbackConfig
    chains: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)
    providers: Mapping[str, Provider] = field(default_factory=dict)
    boundary: str | None = None
    is_any_failure: bool = False
    warnings: tuple[ConfigWarning, ...] = field(default=())

    def course(self, asked: str, needs: Needs | None = None) -> Course:
        """Return where a step may go that asks for *asked*: a route, or the name of a chain.

        Raises:
            ValueError: It is neither.
        """
        chain = self.chains.get(asked)
        config = self.config
        if chain is None and self.chains:
            return Course(requested=_route(asked, self.chains))  # one that is pinned stays alone
        if chain is None:
            return Course(
                requested=Route(asked),
                siblings=config.fallback_models_by_model,
                swaps=config.max_fallback_attempts,
            )
        needs = Needs() if needs is None else needs
        if self.boundary is not None and needs.boundary is None:
            needs = Needs(
                capabilities=needs.capabilities, tokens=needs.tokens, boundary=self.boundary
            )
        routes = [entry.route for entry in chain]
        unfit = {entry.route: why for entry in chain if (why := entry.why_unfit(needs))}
        return Course(
            requested=routes[0],
            siblings={route: routes[place + 1 :] for place, route in enumerate(routes)},
            unfit=unfit,
            swaps=min(config.max_fallback_attempts, len(routes) - 1),
            returns=False,
        )


def _route(asked: str, chains: Mapping[str, object]) -> Route:
    try:
        return Route(asked)
    except ValueError:
        raise ValueError(
            f"{asked!r} is neither a route nor one of {', '.join(sorted(chains))}: ask for one "
            'of these, or write "provider/model"'
        ) from None
