"""The loop over the attempts of a step, which ends the step if it is left early."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from .attempt import Attempt
    from .step import Step


class AttemptLoop:
    """What ``async for attempt in step`` iterates over.

    Nothing but the loop refers to it, so that it is dropped as soon as the loop is left, and the
    step with its attempts may be kept.
    """

    __slots__ = ("_step",)

    def __init__(self, step: Step) -> None:
        self._step = step

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Attempt:
        return await self._step.__anext__()

    def __del__(self) -> None:
        if self._step.following is not None:  # nobody has taken the next attempt
            self._step.leave()
