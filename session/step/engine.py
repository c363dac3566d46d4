"""What all steps of a `Sidestep` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping
    from itertools import count

    from ...provider.catalog.provider import Provider
    from ...provider.failure import Failure
    from ...provider.route import Route
    from ..clock import Clock
    from ..deadline import Deadline
    from ..event import Listener
    from ..journal.journal import Journal
    from ..observation import Observers
    from ..plan.active_plan import ActivePlan
    from ..plan.retry import RetryPolicy
    from .degraded import DegradedRoutes
    from .tally import AttemptTally


class Engine(Protocol):
    """The `Sidestep`, as far as a step uses it.

    Attributes:
        numbers: The number of each step.
        no_deadline: What a step without a deadline has.
    """

    clock: Clock
    degraded: DegradedRoutes
    tally: AttemptTally
    observers: Observers | None
    policy: RetryPolicy
    rng: random.Random
    on_event: Listener | None
    journal: Journal | None
    numbers: count[int]
    no_deadline: Deadline

    @property
    def active(self) -> ActivePlan:
        """The configuration that is in force, as one snapshot."""
        ...

    def failure_of(
        self, exc: Exception, route: Route, providers: Mapping[str, Provider]
    ) -> Failure:
        """Return the failure behind *exc*, which an attempt on *route* raised."""
        ...
