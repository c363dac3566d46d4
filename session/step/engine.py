"""What all steps of a `Sidestep` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from ...provider.catalog.provider import Provider
    from ...provider.failure import Failure
    from ...provider.route import Route
    from ..clock import Clock
    from ..event import Listener
    from ..plan.retry import RetryPolicy
    from .degraded import DegradedRoutes


class Engine(Protocol):
    """The `Sidestep`, as far as a step uses it."""

    clock: Clock
    degraded: DegradedRoutes
    policy: RetryPolicy
    rng: random.Random
    on_event: Listener | None

    def failure_of(
        self, exc: Exception, route: Route, providers: Mapping[str, Provider]
    ) -> Failure:
        """Return the failure behind *exc*, which an attempt on *route* raised."""
