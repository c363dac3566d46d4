"""What ends the block of an attempt at the deadline, and nothing else.

A cancel scope may not stay open while the agent's code yields. The reader of an asynchronous
generator would be inside the scope as well, and would stay there after it leaves the generator. So
there is a scope only where no code of the agent can yield: `ScopeLimit`, for `Step.run`. The
``async for`` form has `TaskLimit` on asyncio. On trio, and without an event loop, nothing can end
the block: `DeadlineCheck` checks the deadline when the block has ended.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Coroutine, Generator
from types import AsyncGeneratorType
from typing import TYPE_CHECKING, Protocol
from weakref import ref

import sniffio

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task, TimerHandle
    from types import FrameType
    from typing import Any

    from ..deadline import Deadline

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0
"""Seconds until a block that was suspended at its deadline is checked again."""
_DEEPEST = 10_000
"""The most links of a task's chain of awaits that are followed."""


class CallLimit(Protocol):
    """Ends the block of one attempt at a deadline."""

    def end(self, exc: BaseException | None) -> bool:
        """Stop, because the block has ended with *exc*; return whether the deadline ended it."""
        ...


class ScopeLimit:
    """A cancel scope."""

    __slots__ = ("_scope",)

    def __init__(self, deadline: Deadline) -> None:
        self._scope = deadline.scope()
        self._scope.__enter__()

    def end(self, exc: BaseException | None) -> bool:
        """Stop, because the block has ended with *exc*; return whether the deadline ended it."""
        if exc is None:
            self._scope.__exit__(None, None, None)  # trio returns True here as well
            return False
        is_caught = False
        try:
            is_caught = self._scope.__exit__(type(exc), exc, exc.__traceback__) is True
        except BaseException as rest:  # noqa: BLE001 - of a group, without its cancellations
            exc = rest
        # A cancelled call may raise an exception of its own instead.
        return is_caught or (self._scope.cancel_called and isinstance(exc, Exception))


class DeadlineCheck:
    """Ends nothing: the deadline is checked when the block has ended with an exception."""

    __slots__ = ("_deadline",)

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def end(self, exc: BaseException | None) -> bool:
        """Return whether the block has ended with *exc* after the deadline."""
        return isinstance(exc, Exception) and self._deadline.has_passed()


class TaskLimit:
    """A timer that cancels the task of a block if the task is in the block at the deadline.

    A block in an asynchronous generator is not running while the generator's reader runs. Then the
    timer checks again later. The timer refers to this limit weakly, so that the timer does not keep
    it alive.

    Args:
        seconds: Seconds from now after which to end the block.
        frame: The frame of the function that has the block.
    """

    __slots__ = (
        "__weakref__", "_before", "_frame", "_has_cancelled", "_loop", "_pause", "_task", "_timer",
    )  # fmt: skip

    def __init__(self, seconds: float, frame: FrameType) -> None:
        from asyncio import current_task, get_running_loop  # imported by now

        task = current_task()
        assert task is not None  # noqa: S101 - anyio needs one as well
        self._loop: AbstractEventLoop = get_running_loop()
        self._task: Task[Any] = task
        self._before = task.cancelling()
        self._frame: FrameType | None = frame
        self._has_cancelled = False
        self._pause = _FIRST_PAUSE
        self._timer: TimerHandle = self._loop.call_later(seconds, _due, ref(self))

    def end(self, exc: BaseException | None) -> bool:
        """Stop, because the block has ended with *exc*; return whether the deadline ended it."""
        from asyncio import CancelledError

        self._timer.cancel()
        self._frame = None
        if not self._has_cancelled:
            return False
        is_only = self._task.uncancel() <= self._before
        return isinstance(exc, Exception) or (is_only and isinstance(exc, CancelledError))

    def check(self) -> None:
        """Cancel the task if it is in the block; otherwise check again later."""
        if self._task.done() or self._frame is None:
            return
        if is_awaited_by(self._task.get_coro(), self._frame):
            self._has_cancelled = self._task.cancel()
            return
        self._timer = self._loop.call_later(self._pause, _due, ref(self))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)


def _due(limit: ref[TaskLimit]) -> None:
    alive = limit()
    if alive is not None:
        alive.check()


def call_limit(deadline: Deadline, *, is_one_call: bool) -> CallLimit | None:
    """Return what ends the block that begins now at *deadline*; None: there is none.

    Call it in ``__aenter__``, because it looks for the function that has the block.

    Args:
        is_one_call: No code of the agent yields in the block.
    """
    left = deadline.left()
    if left is None:
        return None
    if is_one_call:
        return ScopeLimit(deadline)
    frame = _frame_of_block(sys._getframe(2))
    if frame is None or sniffio.current_async_library() != "asyncio":
        return DeadlineCheck(deadline)
    return TaskLimit(max(left, 0.0), frame)


def _frame_of_block(frame: FrameType | None) -> FrameType | None:
    """Return the frame with the block, also if an `AsyncExitStack` enters it for that frame."""
    while frame is not None and frame.f_globals.get("__name__") == "contextlib":
        frame = frame.f_back
    return frame


def is_awaited_by(awaiting: object, frame: FrameType) -> bool:
    """True if *awaiting*, a suspended coroutine, is suspended in *frame* or in what that awaits."""
    link: object = awaiting
    for _ in range(_DEEPEST):
        if link is None:
            return False
        for prefix, awaited in (("cr", "cr_await"), ("ag", "ag_await"), ("gi", "gi_yieldfrom")):
            own = getattr(link, f"{prefix}_frame", None)
            if own is frame:
                return True
            if own is not None:
                link = getattr(link, awaited, None)
                break
        else:
            link = _inside(link)
    return False


def _inside(link: object) -> object:
    """Return what *link* passes values through to, as the object behind ``anext()`` does."""
    kinds = (Coroutine, Generator, AsyncGeneratorType)
    return next((each for each in gc.get_referents(link) if isinstance(each, kinds)), None)
