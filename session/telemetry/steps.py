"""The spans of steps and attempts."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.trace import SpanKind

from ..event import (
    AttemptCost,
    AttemptFailed,
    AttemptStarted,
    CandidateSkipped,
    KeyChanged,
    PartsRetracted,
    PatienceStarted,
    PatienceWaiting,
    ProbeEnded,
    ProbeStarted,
    Repaired,
    RouteDegraded,
    StepEnded,
    StepStarted,
    Swapped,
    Waiting,
)
from ..observation import AnswerRead, FirstOutput, RequestSent
from ..step.tally import message_of
from . import convention as name
from .content import answer_content, request_content
from .scope import Scope, end_span, outer_context, scope_of
from .text import short_name, whole_text
from .turns import TurnScope

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer
    from opentelemetry.util.types import AnyValue

    from ...provider.failure import Failure
    from ...provider.route import Route
    from .instruments import Instruments


class StepSpan:
    """The open span of a step, and that of its present attempt.

    Attributes:
        attributes: What the span gets when it ends.
        failure: Why the last attempt failed; None: none has.
        cost: What the present attempt cost; None: nobody has counted it.
    """

    __slots__ = (
        "attempt", "attempt_at", "attributes", "context", "cost", "failure", "has_request",
        "requested", "span", "started_at",
    )  # fmt: skip

    def __init__(self, span: Span, context: Context, requested: Route, started_at: int) -> None:
        self.span = span
        self.context = context
        self.requested = requested
        self.started_at = self.attempt_at = started_at
        self.attributes: dict[str, AnyValue] = {}
        self.attempt: Scope | None = None
        self.failure: Failure | None = None
        self.cost: AttemptCost | None = None
        self.has_request = False


class StepSpans:
    """Make a span of each step, with a child for each attempt.

    The span of an attempt is current in the body of the attempt, so that what the agent's SDK
    reports becomes its child.

    Args:
        now: Reads the time, in nanoseconds since the epoch.
    """

    def __init__(
        self,
        tracer: Tracer,
        instruments: Instruments,
        *,
        now: Callable[[], int],
        capture_content: bool,
    ) -> None:
        self._start_span = tracer.start_span
        self._instruments = instruments
        self._now = now
        self._capture_content = capture_content
        self._steps: dict[int, StepSpan] = {}

    @property
    def handlers(self) -> dict[type, Callable[[Any], None]]:
        """What handles each observation."""
        return {
            **dict.fromkeys(_TITLES, self._note),
            StepStarted: self._step_started,
            AttemptStarted: self._attempt_started,
            FirstOutput: self._first_output,
            RequestSent: self._request_sent,
            AnswerRead: self._answer_read,
            AttemptCost: self._attempt_cost,
            AttemptFailed: self._attempt_failed,
            StepEnded: self._step_ended,
        }

    def _step_started(self, event: StepStarted) -> None:
        if event.step in self._steps:
            self._note(event)  # it begins again after a wait for a route to come back
        else:
            self._begin(event.step, event.requested, event.route)

    def _begin(self, number: int, requested: Route, route: Route) -> StepSpan:
        at, outer = self._now(), outer_context()
        title, attributes = _of_step(requested, route)
        span = self._start_span(title, outer, SpanKind.CLIENT, attributes, start_time=at)
        context = trace.set_span_in_context(span, outer)
        step = self._steps[number] = StepSpan(span, context, requested, at)
        if (turn := scope_of(TurnScope, outer)) is not None:
            turn.steps += 1
        return step

    def _attempt_started(self, event: AttemptStarted) -> None:
        step = self._steps.get(event.step)
        if step is None:
            return  # it began before it was observed
        step.attempt_at = at = self._now()
        step.cost = None
        key = event.api_key_env
        span = self._start_span(
            _of_attempt(event.route),  # in no attribute, because each one takes 1 µs
            step.context,
            attributes=None if key is None else {name.KEY_VARIABLE: key},
            start_time=at,
        )
        step.attempt = Scope(span, outer_context()).enter()

    def _first_output(self, observed: FirstOutput) -> None:
        step = self._steps.get(observed.step)
        if step is not None:
            seconds = (self._now() - step.attempt_at) / 1e9
            step.attributes[name.TIME_TO_FIRST_CHUNK] = seconds
            self._instruments.first_output_seconds(seconds, _of_route(observed.route))

    def _request_sent(self, observed: RequestSent) -> None:
        step = self._steps.get(observed.step)
        if step is None:
            return
        step.attributes.update(_of_server(observed.base_url))  # of the last attempt
        if step.has_request:
            return
        step.has_request = True
        settings = observed.conversation.settings
        step.attributes[name.REQUEST_STREAM] = True
        if settings.max_output_tokens is not None:
            step.attributes[name.MAX_TOKENS] = settings.max_output_tokens
        if settings.reasoning is not None:
            step.attributes[name.REASONING_LEVEL] = settings.reasoning
        if self._capture_content:
            step.attributes.update(request_content(observed.conversation))

    def _answer_read(self, observed: AnswerRead) -> None:
        step = self._steps.get(observed.step)
        if step is None:
            return
        if observed.stop is not None:
            step.attributes[name.FINISH_REASONS] = [short_name(observed.stop)]
        if observed.model is not None:
            step.attributes[name.RESPONSE_MODEL] = short_name(observed.model)
        if self._capture_content:
            step.attributes.update(answer_content(observed.parts, observed.stop))

    def _attempt_cost(self, event: AttemptCost) -> None:
        step = self._steps.get(event.step)
        if step is not None:
            step.cost = event

    def _attempt_failed(self, event: AttemptFailed) -> None:
        step = self._steps.get(event.step)
        if step is None:
            return
        step.failure = failure = event.failure
        found: dict[str, AnyValue] = {name.ERROR_TYPE: str(failure.kind)}
        if failure.status is not None:
            found[name.STATUS] = failure.status
        self._end_attempt(
            step, found, self._now(), failed=whole_text(message_of(failure, os.environ))
        )

    def _end_attempt(
        self, step: StepSpan, attributes: dict[str, AnyValue], at: int, *, failed: str | None
    ) -> None:
        attempt, step.attempt = step.attempt, None
        if attempt is not None:
            attempt.leave(attributes, failed=failed, at=at)
        if step.cost is not None:
            kind = None if step.failure is None or failed is None else str(step.failure.kind)
            self._instruments.count_tokens(step.cost, _of_route(step.cost.route), kind)

    def _note(self, event: Any) -> None:
        """Add *event* to the span of its step."""
        step = self._steps.get(event.step)
        if step is not None and step.span.is_recording():
            step.span.add_event(f"sidestep.{_TITLES[type(event)]}", _noted(event), self._now())

    def _step_ended(self, event: StepEnded) -> None:
        step = self._steps.get(event.step)
        if step is None:
            if event.attempts:
                return  # it began before it was observed
            step = self._begin(event.step, event.requested, event.route)
        del self._steps[event.step]
        at = self._now()
        try:
            if step.attempt is not None:
                said = None if event.error is None else _class_of(event.error)
                self._end_attempt(step, {}, at, failed=said)
        finally:
            failed = None if event.error is None else _error_type(step, event.error)
            self._end(step, event, at, failed)

    def _end(self, step: StepSpan, event: StepEnded, at: int, failed: str | None) -> None:
        """End the span of a step, and measure it."""
        found = step.attributes
        measured = _of_step(step.requested, event.route)[1]
        if failed is not None:
            found[name.ERROR_TYPE] = failed
            measured = {**measured, name.ERROR_TYPE: failed}
        elif step.cost is not None:
            _add_usage(found, step.cost)
        if event.attempts > 1:
            found[name.ATTEMPTS], found[name.SWAPS] = event.attempts, event.swaps
        if event.swaps or event.route != step.requested:
            found[name.PROVIDER] = measured[name.PROVIDER]
            found[name.ROUTE] = short_name(event.route)
        if name.RESPONSE_MODEL in found:
            measured = {**measured, name.RESPONSE_MODEL: found[name.RESPONSE_MODEL]}
        end_span(step.span, found, failed=failed, at=at)
        self._instruments.step_seconds((at - step.started_at) / 1e9, measured)


_TITLES = {
    CandidateSkipped: "skipped",
    PartsRetracted: "retracted",
    KeyChanged: "key_changed",
    PatienceStarted: "patience_started",
    PatienceWaiting: "patience_waiting",
    ProbeEnded: "probe_ended",
    ProbeStarted: "probe_started",
    Repaired: "repaired",
    RouteDegraded: "degraded",
    StepStarted: "started_again",
    Swapped: "swapped",
    Waiting: "waiting",
}
_PORTS = {"http": 80, "https": 443}
_FIELDS = {
    "route": name.ROUTE,
    "from_route": name.FROM_ROUTE,
    "seconds": name.SECONDS,
    "attempt": name.ATTEMPT,
    "swaps": name.SWAPS,
    "reason": name.REASON,
    "change": name.REASON,
    "verdict": name.REASON,
    "api_key_env": name.KEY_VARIABLE,
    "next_key_env": name.NEXT_KEY_VARIABLE,
    "cold_tokens": name.COLD_TOKENS,
    "cold_money": name.COLD_DOLLARS,
}


def _noted(event: object) -> dict[str, str | int | float]:
    """Return what *event* reports, as the attributes of a span's event."""
    found = {
        key: short_name(value) if isinstance(value, str) else value
        for field, key in _FIELDS.items()
        if (value := getattr(event, field, None)) is not None
    }
    failure: Failure | None = getattr(event, "failure", None)
    if failure is not None:
        found[name.ERROR_TYPE] = str(failure.kind)
        if failure.status is not None:
            found[name.STATUS] = failure.status
    return found


@lru_cache(maxsize=1024)
def _of_step(requested: Route, route: Route) -> tuple[str, dict[str, AnyValue]]:
    """Return the title of a step and its attributes, while it is on *route*; do not change them."""
    model = short_name(requested.model)
    return f"{name.CHAT} {model}", {
        name.OPERATION: name.CHAT,
        name.PROVIDER: short_name(name.provider_name(route.provider)),
        name.REQUEST_MODEL: model,
    }


@lru_cache(maxsize=1024)
def _of_attempt(route: Route) -> str:
    """Return the title of an attempt on *route*."""
    return f"attempt {short_name(route)}"


@lru_cache(maxsize=1024)
def _of_server(base_url: str) -> dict[str, AnyValue]:
    """Return the address and the port in *base_url*; do not change them."""
    url = urlsplit(base_url)
    port = url.port or _PORTS.get(url.scheme)
    if not url.hostname or port is None:
        return {}
    return {name.SERVER_ADDRESS: short_name(url.hostname), name.SERVER_PORT: port}


def _of_route(route: Route) -> dict[str, AnyValue]:
    return _of_step(route, route)[1]


def _add_usage(found: dict[str, AnyValue], cost: AttemptCost) -> None:
    """Add the tokens of the answer, unless they are estimated."""
    if cost.is_estimated:
        return
    found[name.INPUT_TOKENS], found[name.OUTPUT_TOKENS] = cost.input, cost.output
    if cost.cache_read is not None:
        found[name.CACHE_READ_TOKENS] = cost.cache_read
    if cost.cache_write is not None:
        found[name.CACHE_WRITE_TOKENS] = cost.cache_write


def _error_type(step: StepSpan, error: str) -> str:
    return _class_of(error) if step.failure is None else str(step.failure.kind)


def _class_of(error: str) -> str:
    """Return the class of ``Class: message``, because the message may quote anything."""
    return error.partition(":")[0]
