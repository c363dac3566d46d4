"""`Sidestep`, the object that an agent embeds."""

from __future__ import annotations

import os
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Self

from ...provider.catalog.provider import Provider
from ...provider.failure import Failure, FailureKind
from ...provider.route import Route
from ..callback import is_own_error, log_callback_error, wrong_value
from ..clock import Clock, SystemClock, wait_of
from ..deadline import Deadline
from ..error import StepFailed
from ..event import Listener
from ..journal.journal import Journal
from ..plan.active_plan import ActivePlan
from ..plan.limits import Limits
from ..plan.needs import Needs
from ..plan.plan import Plan
from ..plan.retry import RetryPolicy
from ..plan.unknown_variable import log_unknown_variables
from ..plan.watcher import PlanWatcher, plan_of
from .base_step import BaseStep
from .careless_use import CARELESS_USE
from .checked_failure import check_failure, failure_behind
from .degraded import DegradedRoutes
from .hooks import NO_HOOKS, NO_SYNC_HOOKS, Hooks, refuse_asynchronous
from .move_policy import MoveHistory
from .observable import Observable
from .route_walk import start_route
from .step import Step
from .sync_step import SyncStep
from .tally import FULL, AttemptTally
from .waiter import BLOCKING, IN_LOOP

if TYPE_CHECKING:
    from ..plan.config import FallbackConfig

Classify = Callable[[Exception], Failure | FailureKind | None]


class Sidestep(Observable):
    """Retry a failing model call, then move it to a sibling route, and remember what failed.

    Share one between all sessions of a process, because what a session learns about a route helps
    the others. Without a configuration it only retries.

    Args:
        config: Where a step may go; None: steps only retry.
        policy: The retry schedule; a configuration may replace its retries and its longest wait.
        clock: Reads the time and sleeps.
        rng: Source of the jitter.
        on_event: Called with every event of every step. Its exceptions are logged.
        classify: Returns the failure behind an exception, or its kind. If it returns None,
            sidestep classifies the exception; it knows the exceptions of the usual SDKs.
        journal: File to append every event to, or a `Journal` that nothing else uses; None:
            nothing is written.

    Raises:
        ConfigError: The journal cannot be opened, or *config* has a wrong setting of a provider.
        TypeError: *config* is no configuration.
    """

    def __init__(
        self,
        config: FallbackConfig | Plan | PlanWatcher | None = None,
        *,
        policy: RetryPolicy | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        on_event: Listener | None = None,
        classify: Classify | None = None,
        journal: str | os.PathLike[str] | Journal | None = None,
    ) -> None:
        self.policy = policy or RetryPolicy()
        self.clock: Clock = clock or SystemClock()
        self.rng = rng or random.Random()  # noqa: S311 - jitter keeps no secret
        self.on_event = on_event
        if journal is not None and not isinstance(journal, Journal):
            journal = Journal(journal, clock=self.clock)
        self.journal = journal
        self.degraded = DegradedRoutes(timer=self.clock.time)
        self.tally = AttemptTally(is_kept=self.degraded.is_planned)
        self._can_block = False
        self._classify = classify
        self.numbers = count(1)
        self.no_deadline = Deadline(self.clock, None)
        self._watcher: PlanWatcher | None = None
        self._environ: Mapping[str, str] = os.environ
        if isinstance(config, PlanWatcher):
            self._watcher, self._environ, config = config, config.environ, None
        self._active = ActivePlan.of(plan_of(config, self._environ), self.policy, self._environ)
        self.degraded.keys = self._active.keys

    @classmethod
    def from_env(
        cls,
        environ: Mapping[str, str] | None = None,
        *,
        policy: RetryPolicy | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        on_event: Listener | None = None,
        classify: Classify | None = None,
        journal: str | os.PathLike[str] | Journal | None = None,
    ) -> Self:
        """Return a `Sidestep` that follows the configuration in *environ* when it changes.

        A wrong configuration is logged as an error, and ignored. So is ``SIDESTEP_JOURNAL`` if its
        file cannot be opened; the variable is read only without *journal*.

        Args:
            environ: None: `os.environ`.

        Raises:
            ConfigError: *journal* cannot be opened.
        """
        environ = os.environ if environ is None else environ
        if journal is None:
            journal = Journal.from_env(environ, clock=clock)
        log_unknown_variables(environ)
        return cls(
            PlanWatcher(environ), policy=policy, clock=clock, rng=rng, on_event=on_event,
            classify=classify, journal=journal,
        )  # fmt: skip

    @property
    def active(self) -> ActivePlan:
        """The configuration that is in force, as one snapshot.

        Looks at the environment again. If the configuration there has changed, the snapshot is
        replaced and every cooldown is cleared.
        """
        watcher = self._watcher
        active = self._active
        if watcher is None or (watcher.is_as_read() and watcher.plan is active.configured):
            return active
        with watcher.lock:
            is_first = not watcher.is_read
            watcher.has_changed()
            if watcher.plan is not self._active.configured:
                self._active = ActivePlan.of(watcher.plan, self.policy, self._environ)
                self.degraded.keys = self._active.keys
                if not is_first:
                    self.degraded.clear()
            return self._active

    @property
    def config(self) -> FallbackConfig | None:
        """The configuration in force; None: there is none, or its `maxFallbackAttempts` is 0."""
        return self.active.config

    @property
    def plan(self) -> Plan | None:
        """The plan that the configuration describes; None: no configuration is in force."""
        return self.active.plan

    @property
    def limits(self) -> Limits:
        """What one step may do."""
        return self.active.limits

    @property
    def providers(self) -> dict[str, Provider]:
        """The catalog, changed by the environment and the configuration: pass it to a `Client`.

        A map counts also if its `maxFallbackAttempts` is 0.

        Raises:
            ConfigError: A setting of a provider is wrong.
        """
        return self.active.all_providers()

    def requested(self, asked: str) -> Route:
        """Return the requested route of a step that asks for *asked*.

        Args:
            asked: A route, or the name of a chain.

        Raises:
            ValueError: *asked* is neither.
        """
        return self.active.options_for(asked).requested

    def healthy(self, route: str) -> Route:
        """Return the route on which a step that asks for *route* would start now.

        Args:
            route: A route, or the name of a chain.

        Raises:
            ValueError: *route* is neither.
        """
        options = self.active.options_for(route)
        return start_route(options, self.degraded, options.unfit.get)[0] or options.requested

    def step(
        self,
        route: str,
        *,
        needs: Needs | None = None,
        deadline: float | None = None,
        serves: Callable[[Route], bool | str] | None = None,
        repair: Callable[[Failure], str | None] | None = None,
        history: MoveHistory | None = None,
        check_move: Callable[[], Awaitable[str | None]] | None = None,
        before_attempt: Callable[[Route], None] | None = None,
        count: Callable[[Route], Awaitable[int | None]] | None = None,
        on_event: Listener | None = None,
        journal: Listener | None = None,
    ) -> Step:
        """Return the attempts of one step, to iterate over.

        Args:
            route: The route that the agent asks for, ``provider/model``, or the name of a chain
                if the configuration has chains.
            needs: What the step needs of a route; None: any route will do.
            deadline: Seconds from now after which the step raises `TimeoutError`, which degrades
                no route; None: no deadline.
            serves: Returns whether the agent can send requests to a route, or a text why not;
                None: it can to every route.
            repair: Called at most once for each route, if `Failure.cure` says what has to change
                in the request. Returns what it changed for the next attempt; None: nothing, so
                the step moves or ends. Without *repair* no request is changed.
            history: What `movePolicy` needs to know of the conversation; None: it may always move.
            check_move: Called before a swap. Returns why the conversation cannot move now, in half
                a sentence, which ends the step; None: it can move.
            before_attempt: Called with the route before each attempt, and before a wait for the
                route to come back. Its exception ends the step unchanged. It is not the failure of
                an attempt, so no other route is tried and no route is degraded.
            count: Called before anything is sent to a route if the estimate `needs.tokens` leaves
                open whether the step fits there. Returns the tokens of the request and its
                longest answer on that route; None: unknown, and the estimate is used, as it is
                without *count*.
            on_event: Called with the events of this step, like the middleware's own `on_event`.
            journal: Writes the events of this step into the journal, with the number of its turn:
                a `JournalScope`. None: the step belongs to no turn.

        Raises:
            ValueError: *route* is neither written ``provider/model`` nor the name of a chain, or
                *deadline* is not above 0.
        """
        hooks = NO_HOOKS
        if serves or repair or check_move or before_attempt or count:
            hooks = Hooks(serves, repair, check_move, before_attempt, count, waiter=IN_LOOP)
        step = Step(
            self, route, needs, deadline, hooks=hooks, history=history, on_event=on_event,
            journal=journal,
        )  # fmt: skip
        if not step.number % FULL:
            self.tally.fold()
        if step.number == 1 and hooks is NO_HOOKS:
            self._look_at_first(step, history)
        return step

    def step_sync(
        self,
        route: str,
        *,
        needs: Needs | None = None,
        deadline: float | None = None,
        serves: Callable[[Route], bool | str] | None = None,
        repair: Callable[[Failure], str | None] | None = None,
        history: MoveHistory | None = None,
        check_move: Callable[[], str | None] | None = None,
        before_attempt: Callable[[Route], None] | None = None,
        count: Callable[[Route], int | None] | None = None,
        on_event: Listener | None = None,
        journal: Listener | None = None,
    ) -> SyncStep:
        """Return the attempts of one step, to iterate over without an event loop.

        The arguments are those of `step`, but *check_move* and *count* are synchronous. Nothing
        ends a call or a hook that runs: *deadline* is checked between the attempts, and an
        exception after it degrades no route. `SyncAttempt.seconds_left` is the timeout for a call.

        Raises:
            TypeError: A hook is asynchronous, or the clock of this `Sidestep` has no `wait`.
            ValueError: As in `step`.
        """
        if not self._can_block:
            wait_of(self.clock)
            self._can_block = True
        hooks = NO_SYNC_HOOKS
        if serves or repair or check_move or before_attempt or count:
            hooks = Hooks(serves, repair, check_move, before_attempt, count, waiter=BLOCKING)
        if on_event is not None:
            refuse_asynchronous("on_event", on_event)
        step = SyncStep(
            self, route, needs, deadline, hooks=hooks, history=history, on_event=on_event,
            journal=journal,
        )  # fmt: skip
        if not step.number % FULL:
            self.tally.fold()
        if step.number == 1 and hooks is NO_SYNC_HOOKS:
            self._look_at_first(step, history)
        return step

    def _look_at_first(self, step: BaseStep, history: MoveHistory | None) -> None:
        """Warn if *step*, the first one of this `Sidestep`, is one of many such first steps."""
        if history is None and step.active.plan is not None:
            CARELESS_USE.look_at_first_step(self, self.numbers, step.active.plan, self.clock)

    def failure_of(
        self, exc: Exception, route: Route, providers: Mapping[str, Provider] | None = None
    ) -> Failure:
        """Return the failure behind *exc*, which an attempt on *route* raised.

        Args:
            providers: The configuration's providers; None: those in force.

        Raises:
            TypeError: `classify` returned no failure, kind or None. Or a field of the failure that
                it returned, or that a `ProviderError` holds, has a wrong type.
        """
        if isinstance(exc, StepFailed):
            # A step inside this one has retried already: retries here would multiply its attempts.
            return Failure(kind=FailureKind.UNKNOWN, message=str(exc), route=route, cause=exc)
        CARELESS_USE.look_at_failure(exc)
        named = self._named_by_agent(exc)
        if isinstance(named, Failure):
            check_failure(named, "what `classify` returned")
            failure = replace(named)
        else:
            known = self._active.providers if providers is None else providers
            failure = failure_behind(exc, route, known.get(route.provider))
        if isinstance(named, FailureKind):
            failure.kind = named
        failure.route = route
        failure.redact(self._active.redactor())
        return failure

    def _named_by_agent(self, exc: Exception) -> Failure | FailureKind | None:
        if self._classify is None:
            return None
        try:
            named: object = self._classify(exc)
        except BaseException as raised:
            if not is_own_error(raised):
                raise
            log_callback_error(f"`classify` raised on {type(exc).__name__}")
            return None
        if named is None or isinstance(named, Failure | FailureKind):
            return named
        raise wrong_value("classify", named, "a `FailureKind`, a `Failure` or None")
