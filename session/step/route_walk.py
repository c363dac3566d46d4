"""The routes of one step: where it is, where it has been, and where it may go."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING

from ..plan.chain_entry import too_small
from ..plan.keyed_route import keyed
from ..plan.sibling_map import reachable
from ..skip_reason import TEMPORARY_REASONS
from .key_choice import due_key, first_key, next_key
from .swap_target import NOTHING, SwapTarget

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...provider.route import Route
    from ..plan.keyed_route import HealthUnit, KeyedRoute, KeyRing
    from ..plan.plan import RouteOptions
    from ..skip_reason import PassedOver, Unfit
    from .cold_cache import ColdCache
    from .degraded import DegradedRoutes
    from .hooks import Hooks
    from .move_policy import MoveHistory
    from .reporter import StepReporter
    from .return_policy import KeptRoute
    from .step_state import Swap

_NO_COUNTS: dict[Route, int] = {}
_NO_ROUTES: Mapping[Route, str] = {}
_NO_KEYS: Mapping[str | None, int] = {}
"""The values in most steps; nothing is added to them."""


class RouteWalk:
    """The way of one step from route to route.

    Attributes:
        route: Where the step is.
        key: The route, with the key that the step uses there.
        left_keys: The variables of the keys that the step left on this route, each with the retries
            that were made with it.
        skipped: Routes that were passed over, with the reason against each.
        too_long: Routes that could take a shorter step.
        uncounted: Routes that need `resolve_size` before anything is sent there, each with its
            window in tokens.
    """

    __slots__ = (
        "_degraded",
        "_estimated",
        "_hooks",
        "_is_kept",
        "_keys",
        "_options",
        "_own",
        "_passed_over",
        "_reporter",
        "_tried",
        "key",
        "left_keys",
        "route",
        "skipped",
        "too_long",
        "uncounted",
    )

    key: KeyedRoute

    def __init__(
        self,
        options: RouteOptions,
        degraded: DegradedRoutes,
        keys: KeyRing,
        reporter: StepReporter,
        hooks: Hooks,
        own: KeyedRoute | None = None,
    ) -> None:
        self._degraded = degraded
        self._keys = keys
        self._own = own
        self._reporter = reporter
        self._hooks = hooks
        self._estimated: Mapping[Route, str] = {}
        self.uncounted = _NO_COUNTS
        self.too_long = options.too_long
        if options.uncounted and hooks.can_count:
            self.uncounted = dict(options.uncounted)
            unfit = dict(options.unfit)
            self._estimated = {
                route: unfit.pop(route) for route in self.uncounted if route in unfit
            }
            options = replace(options, unfit=unfit)
            self.too_long -= self._estimated.keys()
        self._options = options
        self.route = options.requested
        self._tried: frozenset[Route] | None = None
        self._passed_over: PassedOver = ()
        self._is_kept = False
        self.left_keys = _NO_KEYS
        self.skipped = _NO_ROUTES
        if options.usual_start is not None:
            self.key = options.usual_start

    def start(self, kept: KeptRoute | None = None) -> bool:
        """Start on the first route that is fit and healthy; False: no route can take the step.

        Args:
            kept: The route that comes first, if the step may go there.
        """
        self._is_kept = kept is not None and self._start_kept(kept)
        if self._is_kept:
            return True
        route, self._passed_over = start_route(
            self._options, self._degraded, self._unfit, self._own
        )
        if route is not None:
            self.route = route
            return True
        self._skip_all(self._passed_over)
        return False

    def restart(self) -> None:
        """Forget which routes were tried."""
        self.route = self._options.requested
        self._tried = None

    def usable(self) -> list[Route]:
        """Return the routes that can take the step, whatever their health."""
        options = self._options
        starts = (options.requested, self.route)
        walks = ((start, *reachable(start, options.siblings)) for start in starts)
        routes = dict.fromkeys(chain.from_iterable(walks))
        return [route for route in routes if self._unfit(route) is None]

    def _start_kept(self, kept: KeptRoute) -> bool:
        """Start on *kept* if it is a sibling of the requested route, and fit and healthy."""
        options, route = self._options, kept.route
        requested = options.requested
        is_sibling = route != requested and route in reachable(requested, options.siblings)
        if not is_sibling or self._why_not(route) is not None:
            return False
        self.route = route
        self._passed_over = ((requested, self._why_not(requested) or kept.why),)
        return True

    def start_pinned(self, route: Route) -> bool:
        """Start on *route*, whatever its health; False: it cannot take the step."""
        self.route = route
        why = self._options.unfit.get(route)
        if why is not None:
            self._skip(route, why)
        return why is None

    def take_key(self, history: MoveHistory | None) -> None:
        """Choose the key for the route where the step is.

        Args:
            history: If this route answered last, the key of that answer is taken if it is healthy.
        """
        self.left_keys = _NO_KEYS
        if self._own is not None and self._own.route == self.route:
            self.key = self._own
            return
        keys = self._keys.known.get(self.route) or self._keys.of(self.route)
        self.key = keys[0]  # of most routes the only one
        if len(keys) > 1:
            is_same = history is not None and history.route == self.route
            preferred = history.api_key_env if is_same and history is not None else None
            self.key = first_key(self._keys, self._degraded, self.route, preferred)

    def resolve_size(self, route: Route, tokens: int | None) -> bool:
        """Record how many *tokens* the step takes on *route*; True if it fits there.

        Args:
            tokens: None: nobody could count, and the estimate is used.
        """
        window = self.uncounted.pop(route)
        why = self._estimated.get(route)
        if tokens is not None:
            why = too_small(tokens, window, by=route.provider) if tokens > window else None
        if why is not None:
            self._options = replace(self._options, unfit={**self._options.unfit, route: why})
            self.too_long |= {route}
        return why is None

    def report_start(self, *, pinned: str | None, cold: ColdCache) -> None:
        """Report the start, and the routes that were passed over before it.

        Args:
            pinned: Why the conversation stays where it is, so that only the requested route is
                passed over; None: it is not pinned.
            cold: What the route has no prompt cache of.
        """
        requested = self._options.requested
        passed_over: PassedOver = ()
        if self.route != requested:
            passed_over = self._passed_over if pinned is None else ((requested, pinned),)
        if self._reporter.has_listeners:
            why = dict(passed_over).get(requested)
            self._reporter.step_started(requested, self.route, why, cold)
        self._skip_all(passed_over)

    def report_restart(self) -> None:
        """Report the routes that were passed over before a further round."""
        if self.route != self._options.requested:
            self._skip_all(self._passed_over)

    def swap_target(self, without: Mapping[HealthUnit, str] = NOTHING) -> SwapTarget:
        """Return where the step would go from here; *without*: as in `why_unavailable`.

        If the step started on a kept route, the requested route comes first, also in a chain,
        because this step has not tried it.
        """
        options = self._options
        is_new = self._is_kept and self._tried is None
        if is_new and self._why_not(options.requested, without) is None:
            return SwapTarget(options.requested, is_available=True)
        return self._degraded.candidate(
            self.route,
            options.siblings,
            origin=options.requested,
            tried=self._tried or (self.route,),
            unfit=self._unfit,
            returns=not options.is_chain,
            without=without,
            own=self._own,
        )

    def move(self, swap: Swap, history: MoveHistory | None) -> None:
        """Go to the sibling of *swap*, and report the routes that were passed over.

        Args:
            history: As in `take_key`.
        """
        self._skip_all(swap.passed_over)
        self._tried = (self._tried or frozenset((self.route,))) | {swap.sibling}
        self.route = swap.sibling
        self.take_key(history)

    def keys_to_try(self) -> tuple[KeyedRoute | None, tuple[KeyedRoute, float] | None]:
        """Return the next healthy key that was not tried here, and the tried one due back first.

        None for either: there is none.
        """
        route, present = self.route, self.key.api_key_env
        if present is None or self.key.is_clients:
            return None, None
        untried = next_key(self._keys, self._degraded, route, {present, *self.left_keys})
        tried = self.left_keys.keys() - {present}
        return untried, due_key(self._keys, self._degraded, route, tried) if tried else None

    def has_keys(self) -> bool:
        """True if several keys of the provider are set."""
        if self.key.api_key_env is None or self.key.is_clients:
            return False
        return len(list(islice(self._keys.usable(self.route), 2))) > 1

    def keys_of(self, route: Route) -> Iterable[KeyedRoute]:
        """Return *route* with each key that the step may use there."""
        own = self._own
        return (own,) if own is not None and own.route == route else self._keys.usable(route)

    def change_key(self, api_key_env: str, retries: int) -> int:
        """Use another key on this route; return the retries that the step made with it.

        Args:
            retries: The retries that the step made with the present key.
        """
        made = self.left_keys.get(api_key_env, 0)
        self.left_keys = {**self.left_keys, self.key.api_key_env: retries}
        self.key = next(key for key in self._keys.of(self.route) if key.api_key_env == api_key_env)
        return made

    def report_unfit(self, passed_over: PassedOver) -> None:
        """Report the routes of *passed_over* that cannot take the step at all."""
        self._skip_all((route, why) for route, why in passed_over if why not in TEMPORARY_REASONS)

    def passed_over_as_too_long(self) -> list[Route]:
        """Return the routes that were passed over and could take a shorter step."""
        return [route for route in self.skipped if route in self.too_long]

    def _why_not(self, route: Route, without: Mapping[HealthUnit, str] = NOTHING) -> str | None:
        """Return why the step cannot start on *route* now; None: it can."""
        return self._unfit(route) or self._degraded.why_unavailable(
            keyed(route, self._own), without=without
        )

    def _unfit(self, route: Route) -> str | None:
        """Return why *route* cannot take this step; None: it can.

        Without a chain `serves` is not called for the requested route, which fails as it would
        without sidestep.
        """
        options = self._options
        why = options.unfit.get(route)
        if why is None:
            if route == options.requested and not options.is_chain:
                return None
            verdict = self._hooks.serves(route)
            why = verdict if isinstance(verdict, str) else None if verdict else "not served"
        return why

    def _skip_all(self, passed_over: Iterable[tuple[Route, str]]) -> None:
        for route, why in passed_over:
            self._skip(route, why)

    def _skip(self, route: Route, why: str) -> None:
        if self.skipped.get(route) == why:
            return  # it was reported
        self.skipped = {**self.skipped, route: why}
        if self._reporter.has_listeners:
            self._reporter.skipped(route, why)


def start_route(
    options: RouteOptions, degraded: DegradedRoutes, unfit: Unfit, own: KeyedRoute | None = None
) -> tuple[Route | None, PassedOver]:
    """Return where a step with *options* starts, and the routes before it that it passes over.

    None: no route can take the step.

    Args:
        own: As in `DegradedRoutes.candidate`.
    """
    requested = options.requested
    is_open = not options.unfit and not options.is_chain
    if is_open and degraded.is_available(keyed(requested, own)):
        return requested, ()  # nearly every step
    passed_over: list[tuple[Route, str]] = []
    for route in chain((requested,), reachable(requested, options.siblings)):
        why = unfit(route) or degraded.why_unavailable(keyed(route, own))
        if why is None:
            return route, tuple(passed_over)
        passed_over.append((route, why))
    # If no fit route is available, start on the first one although it is degraded.
    for place, (route, why) in enumerate(passed_over):
        if why in TEMPORARY_REASONS:
            return route, tuple(passed_over[:place])
    return None, tuple(passed_over)
