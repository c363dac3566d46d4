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

from ...provider.catalog.provider import Provider
from ...provider.classify.exception import classify_exception
from ...provider.error import ConfigError, ProviderError
from ...provider.failure import Failure, FailureKind
from ...provider.route import Route
from ..argument import checked_deadline
from ..callback import log_raised
from ..clock import Clock, SystemClock
from ..deadline import Deadline
from ..error import StepFailed
from ..event import Listener
from ..journal.journal import VARIABLE as JOURNAL_VARIABLE
from ..journal.journal import Journal
from ..plan.active_plan import ActivePlan
from ..plan.config import FallbackConfig
from ..plan.limits import Limits
from ..plan.load import map_plan
from ..plan.needs import Needs
from ..plan.plan import Plan
from ..plan.retry import RetryPolicy
from ..plan.watcher import PlanWatcher
from .degraded import DegradedRoutes
from .hooks import NO_HOOKS, Hooks
from .move_policy import MoveHistory
from .route_walk import choose_start
from .step import Step

_logger = logging.getLogger("sidestep")

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
        self._classify = classify
        self._numbers = count(1)
        self._never = Deadline(self.clock, None)
        self._watcher: PlanWatcher | None = None
        self._environ: Mapping[str, str] = os.environ
        if isinstance(config, PlanWatcher):
            self._watcher, self._environ, config = config, config.environ, None
        plan = map_plan(config) if isinstance(config, FallbackConfig) else config
        self._active = ActivePlan.of(plan, self.policy, self._environ)

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
        if watcher is not None:
            is_first = not watcher.is_read
            if watcher.has_changed():
                self._active = ActivePlan.of(watcher.plan, self.policy, self._environ)
                if not is_first:
                    self.degraded.clear()
        return self._active

    @property
    def config(self) -> FallbackConfig | None:
        """The configuration that is in force; None: there is none, or it switches itself off."""
        return self.active.config

    @property
    def plan(self) -> Plan | None:
        """What every form of configuration becomes; None: no configuration is in force."""
        return self.active.plan

    @property
    def limits(self) -> Limits:
        """What one step may do."""
        return self.active.limits

    @property
    def providers(self) -> dict[str, Provider]:
        """The catalog with what the environment and the configuration add: for a `Client`.

        The providers of a configuration that switches itself off are among them.

        Raises:
            ConfigError: What they say of a provider cannot be.
        """
        return self.active.all_providers()

    def requested(self, asked: str) -> Route:
        """Return the route that a step asks for by *asked*, a route or the name of a chain.

        Raises:
            ValueError: It is neither.
        """
        return self.active.options_for(asked).requested

    def healthy(self, route: str) -> Route:
        """Return the route on which a step that asks for *route* would start now.

        Raises:
            ValueError: *route* is not written ``provider/model``.
        """
        options = self.active.options_for(route)
        return choose_start(options, self.degraded, options.unfit.get) or options.requested

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
                where the configuration has any.
            needs: What the step needs of a route; None: nothing beside an answer.
            deadline: Seconds from now after which the step raises `TimeoutError`, which is no
                fault of a route; None: no deadline.
            serves: Says whether the agent can send requests to a route, or as a text why not;
                None: to every one.
            repair: Called at most once on each route, after a refusal whose `Failure.cure` says
                what has to change in the request. Says what it changed for the next attempt;
                None: nothing, so that the step moves or ends. None changes nothing.
            history: What `movePolicy` needs to know of the conversation; None: it may always move.
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
        seconds = checked_deadline(deadline)
        if journal is None and self.journal is not None:
            journal = self.journal.page()
        active = self.active
        pinned = None if history is None else history.route
        return Step(
            self, active, active.options_for(route, needs, pinned), next(self._numbers),
            hooks=Hooks(serves, repair, check_move, before_attempt, count)
            if serves or repair or check_move or before_attempt or count
            else NO_HOOKS,
            deadline=self._never if seconds is None else Deadline.after(self.clock, seconds),
            history=history, on_event=on_event, journal=journal,
        )  # fmt: skip

    def failure_of(self, exc: Exception, route: Route) -> Failure:
        """Return the failure behind *exc*, which an attempt on *route* raised."""
        if isinstance(exc, StepFailed):
            # It has had a step of its own: another round would multiply its attempts.
            return Failure(kind=FailureKind.UNKNOWN, message=str(exc), route=route, cause=exc)
        named = self._named_by_agent(exc)
        if isinstance(named, Failure):
            failure = replace(named)
        elif isinstance(exc, ProviderError):
            failure = replace(exc.failure)  # classified already
        else:
            provider = self._active.providers.get(route.provider)
            failure = classify_exception(exc, route=route, provider=provider, now=time.time())
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
