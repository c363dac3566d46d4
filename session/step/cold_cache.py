"""The input tokens that a move sends to a route without a prompt cache of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from ...provider.route import Route
    from ..plan.needs import Needs


class ColdCache(NamedTuple):
    """The part of a request that its route has no cache of.

    Args:
        tokens: Input tokens; None: unknown.
        money: Their price in US dollars; None: not known.
    """

    tokens: int | None = None
    money: float | None = None


NOT_COLD = ColdCache()
"""What an event reports if the conversation has not moved."""


class PromptCaches(Protocol):
    """The prompt caches of one conversation, before a step.

    Attributes:
        before: The route of the step before; None: there was none, or it is not known.
    """

    @property
    def before(self) -> Route | None: ...

    def move_to(self, route: Route) -> ColdCache:
        """Return what *route* has no cache of, because the conversation moves there now."""
        ...


class UnknownCaches(NamedTuple):
    """The caches of a conversation that only the agent knows: what a step needs is all cold."""

    before: Route | None
    needs: Needs | None

    def move_to(self, route: Route) -> ColdCache:
        """Return the estimate of the agent, which includes the longest answer."""
        if self.needs is None:
            return NOT_COLD
        return ColdCache(self.needs.counted.get(route, self.needs.tokens))


NO_CACHES = UnknownCaches(None, None)
"""Shared by all steps of which nothing is known."""
