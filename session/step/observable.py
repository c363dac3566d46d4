"""What a `Sidestep` shows of its steps: its status, and every event to observers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..observation import Observer, Observers
from ..plan.active_plan import ActivePlan
from .degraded import DegradedRoutes
from .status import Status, status_of
from .tally import AttemptTally


class Observable:
    """The part of a `Sidestep` that shows what happens in it, beside its listener.

    Attributes:
        observers: Who gets every observation; None: nobody.
        tally: How the attempts on each route ended.
    """

    degraded: DegradedRoutes
    tally: AttemptTally
    observers: Observers | None = None

    @property
    def active(self) -> ActivePlan:
        """The configuration that is in force, as one snapshot."""
        raise NotImplementedError

    def status(self, *, most: int | None = None) -> Status:
        """Return the state of each route and key, with its last failure and its counts.

        Args:
            most: How many, at most, those of the configuration first; None: all.
        """
        return status_of(self.active, self.degraded, self.tally, most=most)

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call *observer* with every event of the steps that begin from now on.

        Also with what ``session/observation.py`` adds to the events, such as the first output.
        Exceptions of *observer* are logged.

        Returns:
            A function that ends this, for the steps that begin afterwards.
        """
        present = () if self.observers is None else self.observers.all
        self.observers = Observers((*present, observer))

        return partial(self.unobserve, observer)

    def unobserve(self, observer: Observer) -> None:
        """Call *observer* no more, for the steps that begin from now on."""
        if self.observers is not None:
            rest = tuple(each for each in self.observers.all if each is not observer)
            self.observers = Observers(rest) if rest else None
