"""One route of a chain, and whether it can take a step."""

from __future__ import annotations

from dataclasses import dataclass

from ...provider.catalog.provider import Provider
from ...provider.route import Route
from .needs import Needs

_DOUBT = 2
"""An estimate of tokens may be wrong by this factor, as for code and most languages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainEntry:
    """One route of a chain, and what is known of it.

    Args:
        capabilities: What the route can do; None: unknown, and then it can do everything.
        context_window: Tokens that a request and its answer may take together; None: unknown.
        boundary: Where data sent to the route goes; None: unknown.
    """

    route: Route
    capabilities: frozenset[str] | None = None
    context_window: int | None = None
    boundary: str | None = None

    def why_unfit(self, needs: Needs) -> str | None:
        """Return why no step with *needs* can go here, however short it is; None: it can."""
        if self.capabilities is not None:
            missing = sorted(needs.capabilities - self.capabilities)
            if missing:
                return f"it has no {', no '.join(missing)}"
        return self.why_out_of_bounds(needs)

    def why_out_of_bounds(self, needs: Needs) -> str | None:
        """Return why the data of a step with *needs* may not go here; None: it may."""
        if needs.boundary is None or self.boundary == needs.boundary:
            return None
        where = "is unknown" if self.boundary is None else f"is {self.boundary!r}"
        return f"its boundary {where}, and the step must stay in {needs.boundary!r}"

    def why_too_small(self, needs: Needs) -> str | None:
        """Return why the step is too long for this route; None: it fits, as far as is known."""
        window, counted = self.context_window, needs.counted.get(self.route)
        tokens = needs.tokens if counted is None else counted
        if window is None or tokens is None or tokens <= window:
            return None
        return too_small(tokens, window, by=None if counted is None else self.route.provider)

    def needs_count(self, needs: Needs) -> bool:
        """True if only a count of tokens can tell whether the step fits."""
        window, tokens = self.context_window, needs.tokens
        if window is None or tokens is None or self.route in needs.counted:
            return False
        return window / _DOUBT < tokens <= window * _DOUBT


def too_small(tokens: int, window: int, *, by: str | None) -> str:
    """Return the reason that *tokens* exceed *window*.

    Args:
        by: The provider that counted the tokens; None: they are an estimate.
    """
    amount = f"about {tokens} tokens" if by is None else f"{tokens} tokens, as {by} counts,"
    return f"{amount} do not fit into its {window}"


def entry_at(
    route: Route,
    provider: Provider | None,
    *,
    capabilities: frozenset[str] | None = None,
    context_window: int | None = None,
    boundary: str | None = None,
) -> ChainEntry:
    """Return the entry of *route*; its *provider* supplies whatever is None."""
    if provider is not None:
        capabilities = provider.capabilities if capabilities is None else capabilities
        context_window = provider.context_window if context_window is None else context_window
        boundary = provider.boundary if boundary is None else boundary
    return ChainEntry(
        route=route, capabilities=capabilities, context_window=context_window, boundary=boundary
    )
