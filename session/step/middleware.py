"""What an agent embeds."""

from __future__ import annotations

import logging
import os
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Self

from ...provider.catalog.catalog import Provider, catalog
from ...provider.classify.exception import classify_exception
from ...provider.error import ConfigError
from ...provider.failure import Failure, FailureKind
from ...provider.route import Route
from ..argument import checked_deadline
from ..callback import log_raised
from ..clock import Clock, SystemClock
from ..error import StepFailed
from ..event import Listener
from ..journal.journal import VARIABLE as JOURNAL_VARIABLE
from ..journal.journal import Journal
from ..plan.config import FallbackConfig
from ..plan.plan import Course, Needs, Plan, entry_at
from ..plan.source import map_plan, providers_of
from ..plan.watcher import PlanReader
from .decision import Limits
from .degraded import DegradedRoutes
from .hooks import NO_HOOKS, Hooks
from .move_policy import Past
from .retry import RetryPolicy
from .route_walk import choose_start
from .step import Step

_logger = logging.getLogger("sidestep")

_COURSES = 1_024
"""How many answers to what a step may ask for are kept; an agent asks for a few."""

Classify = Callable[[Exception], Failure | FailureKind | None]


class Sidestep:
    """Retry a failing model call, then move it to a sibling route, and remember what failed.

    One is shared by all sessions of a process: what one of them learns about a route serves
    the others. Without a configuration it only retries.

    Args:
        config: Where a step may go; None: nowhere.
        policy: The retry schedule, where the configuration does not replace it.
        clock: Time and sleep.
        rng: Where jitter comes from.
        on_event: Called with every event of every step. What it raises is logged.
        classify: Names the failure behind an exception of the agent's own; None from it leaves
            that to sidestep, which knows the exceptions of the usual SDKs.
        journal: The file that every event is appended to, or a `Journal` of this one's alone;
            None: nothing is written.

    Raises:
        ConfigError: The journal cannot be opened, or *config* says something of a provider that
            cannot be.
    """

    def __init__(
        self,
        config: FallbackConfig | Plan | None = None,
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
        self._classify = classify
        self._reader: PlanReader | None = None
        self._environ: Mapping[str, str] = os.environ
        self._numbers = count(1)
        self._take(config)

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
        """Return one that follows the configuration in *environ*, also when that changes.

        None for *environ* is `os.environ`.

        A configuration that is wrong is logged as an error, and ignored. So is a file that
        ``SIDESTEP_JOURNAL`` names and that cannot be opened; it is read only without *journal*.

        Raises:
            ConfigError: *journal* cannot be opened.
        """
        environ = os.environ if environ is None else environ
        if journal is None:
            journal = _journal_from_env(environ, clock)
        middleware = cls(
            policy=policy, clock=clock, rng=rng, on_event=on_event, classify=classify,
            journal=journal,
        )  # fmt: skip
        middleware._reader = PlanReader(environ)
        middleware._environ = environ
        return middleware

    @property
    def config(self) -> FallbackConfig | None:
        """What holds now; None where there is no configuration, or it switches itself off.

        Reads the environment again; where that has changed, every cooldown is cleared.
        """
        self._follow()
        return self._config

    @property
    def providers(self) -> dict[str, Provider]:
        """The providers that the environment and the configuration name: for a `Client`.

        Also those of a configuration that switches itself off.

        Raises:
            ConfigError: What they say of a provider cannot be.
        """
        self._follow()
        return providers_of(self._written, self._environ)

    def requested(self, asked: str) -> Route:
        """Return the route that a step asks for by *asked*, a route or the name of a chain.

        Raises:
            ValueError: It is neither.
        """
        return self._course(asked, None).requested

    @property
    def plan(self) -> Plan | None:
        """What `config` comes to; None where that is None."""
        self._follow()
        return self._known[0]

    def _follow(self) -> None:
        """Take over what the environment says, where that has changed."""
        reader = self._reader
        if reader is not None:
            is_first = not reader.is_read
            if reader.has_changed():
                self._take(reader.plan)
                if not is_first:
                    self.degraded.clear()

    def _take(self, given: FallbackConfig | Plan | None) -> None:
        plan = map_plan(given) if isinstance(given, FallbackConfig) else given
        self._written = plan
        self._providers = _configured(plan)
        if plan is not None and not plan.config.max_fallback_attempts and not plan.chains:
            plan = None  # switched off
        # Together, for another thread may put others in their place.
        self._known: tuple[Plan | None, dict[str, Course]] = plan, {}
        self._is_free = plan is None or not plan.chains
        self._config = None if plan is None else plan.config
        self.limits = self._limits(plan)

    def _limits(self, plan: Plan | None) -> Limits:
        if plan is None:
            return Limits(retries=self.policy.retries, max_wait=self.policy.max_wait)
        config, retries = plan.config, plan.config.max_upstream_retry_attempts
        return Limits(
            retries=self.policy.retries if retries is None else retries,
            swaps=config.max_fallback_attempts,
            statuses=frozenset(config.fallback_on_errors),
            max_wait=config.max_wait_seconds,
            unmoved=plan.unmoved,
            moves_always=plan.is_any_failure,
        )

    def healthy(self, route: str) -> Route:
        """Return the route on which a step that asks for *route* would start now.

        Raises:
            ValueError: *route* is not written ``provider/model``.
        """
        course = self._course(route, None)
        return choose_start(course, self.degraded, course.unfit.get) or course.requested

    def _course(self, asked: str, needs: Needs | None, past: Past | None = None) -> Course:
        self._follow()
        plan, courses = self._known
        held = None if past is None or self._is_free else past.route
        if needs is not None or held is not None:
            return plan.course(asked, needs, held=held) if plan else self._alone(asked, needs)
        known = courses.get(asked)
        if known is None:
            known = Course(requested=Route(asked)) if plan is None else plan.course(asked)
            if len(courses) < _COURSES:
                courses[asked] = known
        return known

    def _alone(self, asked: str, needs: Needs | None) -> Course:
        """Return the course of a step without a configuration, which stays in its boundary."""
        route = Route(asked)
        if needs is None or needs.boundary is None:
            return Course(requested=route)
        why = entry_at(route, self.providers.get(route.provider)).why_outside(needs)
        return Course(requested=route, unfit={} if why is None else {route: why})

    def step(
        self,
        route: str,
        *,
        needs: Needs | None = None,
        deadline: float | None = None,
        serves: Callable[[Route], bool | str] | None = None,
        repair: Callable[[Failure], str | None] | None = None,
        past: Past | None = None,
        check_move: Callable[[], Awaitable[str | None]] | None = None,
        before_attempt: Callable[[Route], None] | None = None,
        count: Callable[[Route], Awaitable[int | None]] | None = None,
        on_event: Listener | None = None,
        journal: Listener | None = None,
    ) -> Step:
        """Return the attempts of one step, to iterate over.

        Args:
            route: The route that the agent asks for, ``provider/model``, or the name of a chain
                where the configuration has any.
            needs: What the step needs of a route; None: nothing beside an answer.
            deadline: Seconds from now after which the step raises `TimeoutError`, which is no
                fault of a route; None: no deadline.
            serves: Says whether the agent can send requests to a route, or as a text why not;
                None: to every one.
            repair: Called at most once on each route, after a refusal whose `Failure.cure` says
                what has to change in the request. Says what it changed for the next attempt;
                None: nothing, so that the step moves or ends. None changes nothing.
            past: What `movePolicy` asks of the conversation; None: it may always move.
            check_move: Called before a swap; says why the conversation cannot be moved now, in
                half a sentence, so that the step ends; None from it lets it move.
            before_attempt: Called with its route before each attempt, after a wait or a swap as
                well. What it raises ends the step as it is: it is no failure of an attempt, so
                that nothing is tried in its stead and no route is degraded for it.
            count: Called before anything is sent to a route of which `needs.tokens`, an estimate,
                leaves open whether it can hold the step: says how many tokens the request and
                its longest answer take there. None from it: nobody knows, and the estimate
                stands, as it does without this.
            on_event: Called with the events of this step, beside the middleware's own.
            journal: A page of the middleware's journal, where the step belongs to a turn; None:
                one of the step's own, if there is a journal.

        Raises:
            ValueError: *route* is neither written ``provider/model`` nor the name of a chain, or
                *deadline* is not above 0.
        """
        if deadline is not None:
            deadline = checked_deadline(deadline)
        if journal is None and self.journal is not None:
            journal = self.journal.page()
        return Step(
            self, self._course(route, needs, past), self._config, next(self._numbers),
            hooks=Hooks(serves, repair, check_move, before_attempt, count)
            if serves or repair or check_move or before_attempt or count
            else NO_HOOKS,
            deadline=deadline, past=past, on_event=on_event, journal=journal,
        )  # fmt: skip

    def name(self, exc: Exception, route: Route) -> Failure:
        """Return the failure behind *exc*, which an attempt on *route* raised."""
        if isinstance(exc, StepFailed):
            # It has been through a step of its own: another round would multiply its attempts.
            return Failure(kind=FailureKind.UNKNOWN, message=str(exc), route=route, cause=exc)
        named = self._named_by_agent(exc)
        failure = (
            replace(named)
            if isinstance(named, Failure)
            else classify_exception(
                exc, route=route, provider=self._providers.get(route.provider), now=time.time()
            )
        )
        if isinstance(named, FailureKind):
            failure.kind = named
        failure.route = route
        return failure

    def _named_by_agent(self, exc: Exception) -> Failure | FailureKind | None:
        if self._classify is None:
            return None
        try:
            return self._classify(exc)
        except Exception:  # noqa: BLE001 - it is logged
            log_raised(f"`classify` raised on {type(exc).__name__}")
            return None


def _journal_from_env(environ: Mapping[str, str], clock: Clock | None) -> Journal | None:
    path = environ.get(JOURNAL_VARIABLE, "").strip()
    if not path:
        return None
    try:
        return Journal(os.path.expanduser(path), clock=clock, environ=environ)
    except ConfigError as error:
        _logger.error("%s is ignored: %s", JOURNAL_VARIABLE, error)  # noqa: TRY400 - it says all
        return None


def _configured(plan: Plan | None) -> Mapping[str, Provider]:
    """Return the providers of which *plan* says something, which may be what failures mean."""
    if plan is None or not (plan.config.providers or plan.providers):
        return {}
    try:
        known = catalog(plan.config.providers)
    except ConfigError as error:
        _logger.warning("%s; what it says of providers is not used", error)
        return plan.providers
    return {name: known[name] for name in plan.config.providers} | dict(plan.providers)
