"""The routes of one step: where it is, where it has been, and where it may go."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .degraded import reachable
from .plan import too_small

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..provider.route import Route
    from .degraded import Candidate, DegradedRoutes
    from .herald import Herald
    from .hooks import Hooks
    from .plan import Course


class Walk:
    """Where one step goes, from route to route.

    Attributes:
        route: Where it is.
        skipped: Routes that were passed over, and why.
        doubtful: Those that `settle` is to be called for before anything is sent there.
    """

    __slots__ = (
        "_course",
        "_degraded",
        "_estimated",
        "_herald",
        "_serves",
        "_tried",
        "doubtful",
        "route",
        "skipped",
    )

    def __init__(
        self, course: Course, degraded: DegradedRoutes, herald: Herald, hooks: Hooks
    ) -> None:
        self._degraded = degraded
        self._herald = herald
        self._serves = hooks.serves
        self._estimated: Mapping[Route, str] = {}
        self.doubtful: dict[Route, int] = {}
        if course.doubtful and hooks.counts:
            self.doubtful = dict(course.doubtful)
            unfit = dict(course.unfit)
            self._estimated = {route: unfit.pop(route) for route in self.doubtful if route in unfit}
            course = replace(course, unfit=unfit)
        self._course = course
        self.route = course.requested
        self._tried = {course.requested}
        self.skipped: dict[Route, str] = {}

    def start(self) -> bool:
        """Begin on the requested route, unless another would do better; False: none can at all."""
        course = self._course
        if not course.unfit:
            self._begin(self._degraded.healthy(course.requested, course.siblings, self._unfit))
            return True
        unfit = {route: self._unfit(route) for route in self._all()}
        fit = [route for route, why in unfit.items() if why is None]
        if fit:
            # Failing an available one it is the first, degraded as it is.
            self._begin(next(filter(self._degraded.is_available, fit), fit[0]))
            return True
        for route, why in unfit.items():
            self._skip(route, why or "")
        return False

    def stay(self, route: Route) -> bool:
        """Begin on *route*, whatever its health; False: it cannot take the step."""
        self._begin(route)
        why = self._course.unfit.get(route)
        if why is not None:
            self._skip(route, why)
        return why is None

    def settle(self, route: Route, tokens: int | None) -> bool:
        """Take what a step would take on *route*; say whether that can hold it.

        Args:
            tokens: None: nobody has counted, and the estimate stands.
        """
        window = self.doubtful.pop(route)
        why = self._estimated.get(route)
        if tokens is not None:
            why = too_small(tokens, window, by=route.provider) if tokens > window else None
        if why is not None:
            self._course = replace(self._course, unfit={**self._course.unfit, route: why})
        return why is None

    def tell_start(self, *, is_held: bool) -> None:
        """Tell what was passed over before the start; of a step that is held only the first."""
        if self.route == self._course.requested:
            return
        for route in [self._course.requested] if is_held else self._all():
            if route == self.route:
                break
            is_degraded = self._degraded.is_degraded(route)
            self._skip(route, self._unfit(route) or ("degraded" if is_degraded else "probed"))

    def candidate(self) -> Candidate:
        """Return where the step would go from here."""
        course = self._course
        return self._degraded.candidate(
            self.route,
            course.siblings,
            origin=course.requested,
            tried=self._tried,
            unfit=self._unfit,
            returns=course.returns,
        )

    def move(self, route: Route) -> Route:
        """Go on at *route*, and tell what was passed over; return where it was."""
        for other, why in self.candidate().skipped:
            self._skip(other, why)
        left, self.route = self.route, route
        self._tried.add(route)
        return left

    def end(self) -> None:
        """Tell which routes that were left could not have taken the step."""
        for route, why in self.candidate().skipped:
            if route in self._course.unfit:
                self._skip(route, why)

    def _begin(self, route: Route) -> None:
        self.route = route
        self._tried = {route}

    def _all(self) -> list[Route]:
        requested = self._course.requested
        return [requested, *reachable(requested, self._course.siblings)]

    def _unfit(self, route: Route) -> str | None:
        """Say why *route* cannot take this step; None: it can."""
        why = self._course.unfit.get(route)
        if why is None and self._serves is not None:
            said = self._serves(route)
            why = said if isinstance(said, str) else None if said else "not served"
        return why

    def _skip(self, route: Route, why: str) -> None:
        self.skipped[route] = why
        if self._herald.is_heard:
            self._herald.skipped(route, why)
