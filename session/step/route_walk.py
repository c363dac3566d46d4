"""The routes of one step: where it is, where it has been, and where it may go."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..plan.plan import too_small
from ..plan.sibling_map import reachable
from ..skip_reason import PASSING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...provider.route import Route
    from ..plan.plan import Course
    from ..skip_reason import Unfit
    from .degraded import Candidate, DegradedRoutes
    from .hooks import Hooks
    from .reporter import Herald


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
        route = choose_start(self._course, self._degraded, self._unfit)
        if route is not None:
            self._begin(route)
            return True
        for each in _routes_of(self._course):
            self._skip(each, self._unfit(each) or "")
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

    def tell_start(self, *, held: str | None) -> None:
        """Tell what was passed over before the start.

        Args:
            held: Why the conversation stays where it is, so that only what was asked for is
                passed over; None: it does not.
        """
        if self.route == self._course.requested:
            return
        if held is not None:
            self._skip(self._course.requested, held)
            return
        for route in _routes_of(self._course):
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
            returns=not course.is_chain,
        )

    def move(self, route: Route) -> Route:
        """Go on at *route*, and tell what was passed over; return where it was."""
        for other, why in self.candidate().skipped:
            if other != route:
                self._skip(other, why)
        left, self.route = self.route, route
        self._tried.add(route)
        return left

    def end(self) -> None:
        """Tell of the routes that are left why none of them can take the step."""
        for route, why in self.candidate().skipped:
            if why not in PASSING:
                self._skip(route, why)

    def _begin(self, route: Route) -> None:
        self.route = route
        self._tried = {route}

    def _unfit(self, route: Route) -> str | None:
        """Say why *route* cannot take this step; None: it can.

        Beside a chain the requested route is not judged by the agent: it fails as it would alone.
        """
        course = self._course
        why = course.unfit.get(route)
        if why is None and self._serves is not None:
            if route == course.requested and not course.is_chain:
                return None
            said = self._serves(route)
            why = said if isinstance(said, str) else None if said else "not served"
        return why

    def _skip(self, route: Route, why: str) -> None:
        self.skipped[route] = why
        if self._herald.is_heard:
            self._herald.skipped(route, why)


def choose_start(course: Course, degraded: DegradedRoutes, unfit: Unfit) -> Route | None:
    """Return where a step on *course* starts; None where no route can take it."""
    if not course.unfit and not course.is_chain:
        return degraded.healthy(course.requested, course.siblings, unfit)
    fit = [route for route in _routes_of(course) if unfit(route) is None]
    # Failing an available one it is the first, degraded as it is.
    return next(filter(degraded.is_available, fit), fit[0] if fit else None)


def _routes_of(course: Course) -> list[Route]:
    return [course.requested, *reachable(course.requested, course.siblings)]
