"""What happened in a step, in words, and as what an agent catches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...provider.error import ProviderError
from ...provider.failure import FailureKind
from ..error import ContextOverflow, FallbackExhausted, FallbackUnsafe, StreamInterrupted
from ..skip_reason import PASSING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .attempt import Attempt
    from .decision import Stop
    from .degraded import DegradedRoutes
    from .step import Step


def what_to_raise(
    step: Step, exc: Exception, stop: Stop, *, unsafe_tool: str | None, is_cut: bool
) -> Exception:
    """Return what the agent is to catch: *exc*, its own, where that tells enough.

    Args:
        unsafe_tool: The tool that had run, where that is why no attempt follows.
        is_cut: Output was shown that cannot be taken back.
    """
    attempt = step.attempts[-1]
    if unsafe_tool is not None:
        is_here = unsafe_tool == attempt.tool
        why = f"the tool {unsafe_tool!r} had run" if is_here else stop.why
        story = tell(step.attempts, why, step.degraded)
        message = f"{story}; go on with a new step that sees its result, lest it runs twice"
        return FallbackUnsafe(
            message, tool=unsafe_tool, requested=step.requested, attempts=step.attempts
        )
    if is_cut:
        why = "its output was shown, and `onPartial` is 'interrupt'"
        return StreamInterrupted(
            tell(step.attempts, why, step.degraded),
            emitted=attempt.output,
            requested=step.requested,
            attempts=step.attempts,
        )
    story = tell(step.attempts, stop.why, step.degraded)
    is_overflow = attempt.failure is not None and (
        attempt.failure.kind is FailureKind.CONTEXT_OVERFLOW
    )
    if is_overflow and (step.swaps or isinstance(exc, ProviderError)):
        message = f"the conversation is too long for {attempt.route}: compact it; {story}"
        return ContextOverflow(message, requested=step.requested, attempts=step.attempts)
    unfit = {r: why for r, why in step.skipped.items() if why not in PASSING}
    if unfit:
        told = "; ".join(f"{route}, for {why}" for route, why in unfit.items())
        story += f"; passed over: {told}"
    if step.swaps:
        return FallbackExhausted(story, requested=step.requested, attempts=step.attempts)
    exc.add_note(f"sidestep: {story}")
    return exc


def nobody_fits(step: Step) -> FallbackExhausted:
    """Return what ends *step* before its first attempt, since no route can take it."""
    told = "; ".join(f"{route}: {why}" for route, why in step.skipped.items())
    message = f"no route can take this step ({told}): ask for less of it, or add one that can"
    return FallbackExhausted(message, requested=step.requested, attempts=())


def past_deadline(step: Step, exc: BaseException | None = None) -> TimeoutError:
    """Return what ends *step* at the caller's deadline, from *exc*, else from what failed last."""
    story = " before its first attempt"
    if step.attempts:
        story = f"; {tell(step.attempts, 'no time is left', step.degraded)}"
    error = TimeoutError(f"the step's deadline has passed{story}")
    causes = [each.failure.cause for each in step.attempts if each.failure and each.failure.cause]
    error.__cause__ = exc if isinstance(exc, Exception) else causes[-1] if causes else None
    return error


def tell(attempts: Sequence[Attempt], why: str, degraded: DegradedRoutes) -> str:
    """Name every attempt, say why there is no other, and when a route is due back."""
    count = len(attempts)
    story = f"{count} attempt{'s' * (count != 1)} failed ({'; '.join(_runs(attempts))}); {why}"
    left = {attempt.route: degraded.seconds_left(attempt.route) for attempt in attempts}
    waits = sorted((seconds, route) for route, seconds in left.items() if seconds > 0)
    if waits:
        seconds, route = waits[0]
        story += f"; {route} is due back in {seconds:.0f} s"
    return story


def _runs(attempts: Iterable[Attempt]) -> Iterable[str]:
    """Tell attempts that failed alike in a row together: "1-4. a/b server_error 503: ..."."""
    told = ""
    first = last = 0
    for attempt in attempts:
        this = f"{attempt.route} {attempt.failure}"
        if this != told and told:
            yield _run(first, last, told)
        if this != told:
            told, first = this, attempt.number
        last = attempt.number
    if told:
        yield _run(first, last, told)


def _run(first: int, last: int, told: str) -> str:
    return f"{first}. {told}" if first == last else f"{first}-{last}. {told}"
