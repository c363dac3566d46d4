"""The error that ends a step, and its summary of the attempts."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ...provider.error import ProviderError, SidestepError
from ...provider.failure import FailureKind
from ...provider.secret import redact_shapes
from ..equal_runs import equal_runs
from ..error import ContextOverflow, FallbackExhausted, FallbackUnsafe, StreamInterrupted
from ..plan.keyed_route import keyed
from ..skip_reason import TEMPORARY_REASONS, without_numbers
from .decision import is_final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...provider.route import Route
    from .base_attempt import BaseAttempt
    from .base_step import BaseStep
    from .degraded import DegradedRoutes
    from .step_state import Stop

_MOST_RUNS = 24
"""More runs of equal failures than a step makes without patience."""


def error_to_raise(
    step: BaseStep, exc: Exception, stop: Stop, *, unsafe_tool: str | None, is_interrupted: bool
) -> Exception:
    """Return the error that the agent catches: its own *exc*, with a note, if no other fits.

    Args:
        unsafe_tool: The tool that had run, if that is why no attempt follows.
        is_interrupted: Output was shown that cannot be taken back.
    """
    attempt = step.attempts[-1]
    if unsafe_tool is not None:
        is_here = unsafe_tool == attempt.tool
        why = f"the tool {unsafe_tool!r} had run" if is_here else stop.why
        summary = summarize_attempts(step.attempts, why, step.degraded)
        message = f"{summary}; take a new step that sees its result, so that it does not run twice"
        return FallbackUnsafe(
            message, tool=unsafe_tool, requested=step.requested, attempts=step.attempts
        )
    if is_interrupted:
        plan = step.active.plan
        key = "`onPartial`" if plan is None else plan.spelled("onPartial")
        why = f"its output was shown, and {key} is 'interrupt'"
        if not attempt.can_retract:
            why = "its output was shown, and cannot be taken back"
        return StreamInterrupted(
            summarize_attempts(step.attempts, why, step.degraded),
            emitted=attempt.output,
            requested=step.requested,
            attempts=step.attempts,
        )
    summary = summarize_attempts(step.attempts, stop.why, step.degraded)
    failure = attempt.failure
    too_long = routes_too_small_for(step)
    if too_long and failure is not None:
        if failure.kind is FailureKind.CONTEXT_OVERFLOW:
            return _overflow(step, overflowed(step.attempts), summary)
        if not is_final(failure, step.limits):
            return _overflow(step, too_long, summary)
    unfit = {r: why for r, why in step.skipped.items() if why not in TEMPORARY_REASONS}
    if unfit:
        listed = ", ".join(f"{route} ({why})" for route, why in unfit.items())
        summary += f"; passed over: {listed}"
    if step.swaps or step.rounds.swaps:
        return FallbackExhausted(summary, requested=step.requested, attempts=step.attempts)
    if not isinstance(exc, SidestepError) or isinstance(exc, ProviderError):
        with suppress(Exception):  # some classes take no note
            exc.add_note(f"sidestep: {summary}")  # an error of ours says itself what to do
    return exc


def routes_too_small_for(step: BaseStep) -> list[Route]:
    """Return the routes that found *step* too long, and those that were passed over as too small.

    With a hint a step moves on from a route that found it too long.
    """
    return list(dict.fromkeys(overflowed(step.attempts) + step.walk.passed_over_as_too_long()))


def overflowed(attempts: Sequence[BaseAttempt]) -> list[Route]:
    """Return the routes where the last of *attempts* was too long.

    After an earlier one the step may have asked for a shorter answer, which was not too long.
    """
    last = {attempt.route: attempt.failure for attempt in attempts}
    overflow = FailureKind.CONTEXT_OVERFLOW
    return [route for route, failure in last.items() if failure and failure.kind is overflow]


def no_route_error(step: BaseStep) -> ContextOverflow | FallbackExhausted:
    """Return the error of *step*, which has no attempt because no route can take it."""
    if too_long := step.walk.passed_over_as_too_long():
        return _overflow(step, too_long, "no attempt was made")
    listed = "; ".join(f"{route}: {why}" for route, why in step.skipped.items())
    message = (
        f"no route can take this step ({listed}): ask for less, or add a route that can take it"
    )
    return FallbackExhausted(message, requested=step.requested, attempts=())


def _overflow(step: BaseStep, routes: Sequence[Route], summary: str) -> ContextOverflow:
    """Return the error of *step*, which was too long for *routes* and was answered by no other."""
    windows = {route: step.active.window_of(route) for route in routes}
    # The next step starts on the largest of those that are not degraded, once it fits there.
    due = [
        route for route in routes if step.degraded.is_available(keyed(route, step.own_key))
    ] or routes
    known = [window for route in due if (window := windows[route]) is not None]
    why = "; ".join(f"{r}: {step.skipped[r]}" for r in routes if r in step.skipped)
    message = f"the conversation is too long for {', '.join(routes)}: compact it; {summary}"
    return ContextOverflow(
        f"{message}; passed over: {why}" if why else message,
        window=max(known, default=None),
        requested=step.requested,
        attempts=step.attempts,
    )


def deadline_error(step: BaseStep, exc: BaseException | None = None) -> TimeoutError:
    """Return the error that ends *step* at its deadline, caused by *exc* or by the last failure."""
    summary = " before its first attempt"
    if step.attempts:
        summary = f"; {summarize_attempts(step.attempts, 'no time is left', step.degraded)}"
    error = TimeoutError(f"the step's deadline has passed{summary}")
    causes = [each.failure.cause for each in step.attempts if each.failure and each.failure.cause]
    error.__cause__ = exc if isinstance(exc, Exception) else causes[-1] if causes else None
    return error


def reuse_error(method: str) -> RuntimeError:
    """Return the error of a step that has ended and is taken again.

    Args:
        method: The method of `Sidestep` that returns such a step.
    """
    return RuntimeError(
        f"this step has ended: take a new one, `middleware.{method}(route)`, for every reply"
    )


def summarize_attempts(attempts: Sequence[BaseAttempt], why: str, degraded: DegradedRoutes) -> str:
    """Return text that lists every attempt, why none follows, and when a route is due back."""
    count = len(attempts)
    summary = (
        f"{count} attempt{'s' * (count != 1)} failed ({'; '.join(_failures(attempts))}); {why}"
    )
    left = {
        attempt.route: degraded.seconds_left(
            attempt.key if attempt.key.is_clients else attempt.route
        )
        for attempt in attempts
    }
    waits = sorted((seconds, route) for route, seconds in left.items() if seconds > 0)
    if waits:
        seconds, route = waits[0]
        summary += f"; {route} is due back in {seconds:.0f} s"
    return summary


def _failures(attempts: Sequence[BaseAttempt]) -> Iterator[str]:
    """Return a text for each run of equal failures, as "1-4. a/b server_error 503: ...".

    If there are many runs, as after hours of patience, all equal failures share one text.
    """
    runs = list(equal_runs(attempts, key=lambda each: f"{_where(each)} {each.failure}"))
    if len(runs) > _MOST_RUNS:
        yield from _failures_by_kind(attempts)
        return
    for run in runs:
        first, last = run[0].number, run[-1].number
        numbers = f"{first}" if first == last else f"{first}-{last}"
        yield f"{numbers}. {_where(run[0])} {run[0].failure}"


def _failures_by_kind(attempts: Sequence[BaseAttempt]) -> Iterator[str]:
    """Return a text for all failures that differ only in numbers, as "90 times, last 178. a/b"."""
    alike: dict[str, list[BaseAttempt]] = {}
    for attempt in attempts:
        text = without_numbers(f"{_where(attempt)} {attempt.failure}")
        alike.setdefault(text, []).append(attempt)
    for each in alike.values():
        last = each[-1]
        numbers = f"{len(each)} times, last {last.number}" if len(each) > 1 else f"{last.number}"
        yield f"{numbers}. {_where(last)} {last.failure}"


def _where(attempt: BaseAttempt) -> str:
    """Return the route of *attempt*, with the variable of its key if the provider has several."""
    key = attempt.key
    return key.route if key.api_key_env is None else f"{key.route} with {key.api_key_env}"


def describe(error: BaseException) -> str:
    """Return *error* as ``Class: message``, with what looks like a key redacted."""
    name = type(error).__name__
    try:
        return redact_shapes(f"{name}: {error}")
    except BaseException:  # noqa: BLE001 - an agent's own exception that cannot be printed
        return name
