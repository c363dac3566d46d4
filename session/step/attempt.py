"""One request on one route, round the agent's own call."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

import anyio
import anyio.lowlevel

from ...provider.failure import Failure
from ...provider.route import Route
from .degraded import Probe
from .step_error import past_deadline

if TYPE_CHECKING:
    from .step import Step


class Attempt:
    """One request on one route: an asynchronous context manager round the agent's own call.

    What the body raises is classified. Where another attempt follows, the exception ends here;
    where none does, it leaves the step.

    Attributes:
        route: Where the request goes.
        number: Which attempt of the step this is, from 1.
        failure: Why it failed; None while it runs, and after an answer.
        seconds: How long it took; 0 while it runs.
        waited: Seconds that the step slept before it.
        output: What the agent says it has shown; `has_emitted` says whether it has shown any.
        tool: The tool that the agent says it has started; None: none.
    """

    __slots__ = (
        "_probe",
        "_scope",
        "_started_at",
        "_step",
        "failure",
        "has_emitted",
        "has_ended",
        "has_started",
        "number",
        "output",
        "route",
        "seconds",
        "tool",
        "waited",
    )

    def __init__(self, step: Step, route: Route, number: int, waited: float) -> None:
        self._step = step
        self.route = route
        self.number = number
        self.waited = waited
        self.failure: Failure | None = None
        self.seconds = 0.0
        self.has_started = False
        self.has_ended = False
        self.has_emitted = False
        self.output: object = None
        self.tool: str | None = None
        self._probe: Probe | None = None
        self._scope: anyio.CancelScope | None = None

    def __repr__(self) -> str:
        state = self.failure or ("ended" if self.has_ended else "running")
        return f"<Attempt {self.number} {self.route} {state}>"

    def emitted(self, output: object = None) -> None:
        """Say that output of this attempt has been shown, so that a failure takes it back.

        Args:
            output: What was shown so far, for `StreamInterrupted.emitted`; the last one counts.
        """
        self.has_emitted = True
        self.output = output

    def tool_started(self, name: str) -> None:
        """Say that the tool *name* has begun, so that no further attempt may follow this one."""
        self.tool = name

    async def __aenter__(self) -> Self:
        if self.has_started:
            raise RuntimeError("an attempt is entered once: take the next one from the step")
        self.has_started = True
        step = self._step
        self._probe = step.degraded.probe(self.route)
        step.herald.attempt_started(self, is_probe=self._probe is not None)
        self._started_at = step._clock.time()
        if step._deadline_at is not None:
            left = max(0.0, step._deadline_at - self._started_at)
            self._scope = anyio.CancelScope(deadline=anyio.current_time() + left)
            self._scope.__enter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        scope = self._scope
        is_past_deadline = scope is not None and (
            scope.__exit__(exc_type, exc, traceback) is True
            # A call that is cancelled may raise an error of its own for it.
            or (scope.cancel_called and isinstance(exc, Exception))
        )
        self.has_ended = True
        step = self._step
        self.seconds = step._clock.time() - self._started_at
        if exc is None and not is_past_deadline:
            step._succeed(self)
            return False
        if isinstance(exc, Exception) and not is_past_deadline:
            try:
                await anyio.lowlevel.checkpoint_if_cancelled()
            except BaseException as cancelled:
                step._abandon(self, cancelled, is_late=False)
                raise
            return await step._fail(self, exc)
        step._abandon(self, exc, is_late=is_past_deadline)
        if is_past_deadline:
            raise past_deadline(step, exc)
        return False
