"""How a step waits: in an event loop, or by blocking its thread.

A step awaits everything through its waiter. With `BLOCKING` no await suspends, so that `drive` runs
the same step without an event loop.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from inspect import isawaitable
from typing import TYPE_CHECKING, Protocol, TypeVar

import anyio.lowlevel

from ...provider.native_cancel import without_stray_cancellations
from ..callback import wrong_value
from ..clock import Clock, wait_of
from .call_limit import CallLimit, DeadlineCheck, call_limit
from .careless_use import CARELESS_USE
from .wake_up import WakeUps, in_loop

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from contextlib import AbstractContextManager

    from ..deadline import Deadline

T = TypeVar("T")


class Waiter(Protocol):
    """What a step awaits.

    Attributes:
        longest_blind_nap: Seconds of the longest `nap` for a change that comes at any moment.
    """

    longest_blind_nap: float

    async def sleep(self, clock: Clock, seconds: float) -> None:
        """Sleep for *seconds* of *clock*."""

    async def nap(self, clock: Clock, seconds: float, wake_ups: WakeUps, *, seen: int) -> None:
        """Sleep for *seconds* of *clock*, or until the next of *wake_ups* where that is possible.

        Args:
            seen: The count of *wake_ups* that the step knows; after another one it does not sleep.
        """

    async def checkpoint(self) -> None:
        """Let a cancellation of the task take effect here."""

    def scope(self, seconds: float | None) -> AbstractContextManager[object]:
        """Return a block that ends after *seconds* where that is possible; None: never."""
        ...

    def limit(self, deadline: Deadline, *, is_one_call: bool) -> CallLimit | None:
        """Return what ends the block that begins now at *deadline*; see `call_limit`.

        Args:
            is_one_call: No code of the agent yields in the block.
        """

    async def value(self, hook: str, returned: object, wanted: str) -> object:
        """Return the value of *hook*, which *returned* this.

        Raises:
            TypeError: The hook is asynchronous here and must not be, or the other way round.
        """


class LoopWaiter:
    """Waits in the event loop that runs."""

    __slots__ = ()
    longest_blind_nap = math.inf

    limit = staticmethod(call_limit)

    async def sleep(self, clock: Clock, seconds: float) -> None:
        """Sleep for *seconds* of *clock*."""
        await clock.sleep(seconds)

    async def nap(self, clock: Clock, seconds: float, wake_ups: WakeUps, *, seen: int) -> None:
        """Sleep for *seconds* of *clock*, or until the next of *wake_ups*."""
        with anyio.CancelScope() as scope, wake_ups.calling(in_loop(scope.cancel)):
            if wake_ups.count == seen:
                await clock.sleep(seconds)

    async def checkpoint(self) -> None:
        """Let a cancellation of the task take effect here."""
        await anyio.lowlevel.checkpoint_if_cancelled()

    def scope(self, seconds: float | None) -> AbstractContextManager[object]:
        """Return a block that the event loop cancels after *seconds*; None: never."""
        return anyio.move_on_after(None if seconds is None else max(seconds, 0.0))

    async def value(self, hook: str, returned: object, wanted: str) -> object:
        """Return what *hook*, which has to be asynchronous, returns in the end."""
        if not isawaitable(returned):
            raise wrong_value(hook, returned, wanted, is_async=True)
        with without_stray_cancellations(f"`{hook}`"):
            value: object = await returned
        return value


class BlockingWaiter:
    """Blocks the thread, and ends nothing that has begun."""

    __slots__ = ()
    longest_blind_nap = 1.0

    async def sleep(self, clock: Clock, seconds: float) -> None:
        """Block for *seconds* of *clock*."""
        CARELESS_USE.look_at_wait(seconds)
        wait_of(clock)(seconds)

    async def nap(self, clock: Clock, seconds: float, wake_ups: WakeUps, *, seen: int) -> None:
        """Block for *seconds* of *clock*, because nothing wakes a thread that blocks."""
        await self.sleep(clock, seconds)

    async def checkpoint(self) -> None:
        """Return, because nobody can cancel a thread."""

    def scope(self, seconds: float | None) -> AbstractContextManager[object]:
        """Return a block that nothing ends."""
        return nullcontext()

    def limit(self, deadline: Deadline, *, is_one_call: bool) -> CallLimit | None:
        """Return a limit that only checks *deadline* when the attempt has ended."""
        return DeadlineCheck(deadline)

    async def value(self, hook: str, returned: object, wanted: str) -> object:
        """Return what *hook* returned, which must not be asynchronous."""
        if isawaitable(returned):
            raise wrong_value(hook, returned, wanted)
        return returned


IN_LOOP = LoopWaiter()
BLOCKING = BlockingWaiter()
"""Both without any state."""


def drive(coroutine: Coroutine[object, None, T]) -> T:
    """Return what *coroutine* returns, which awaits nothing but a `BlockingWaiter`.

    Raises:
        RuntimeError: *coroutine* suspended, so that it would need an event loop.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    coroutine.close()
    raise RuntimeError(
        f"{coroutine!r} waits for an event loop in a synchronous step: "
        "this is a mistake in sidestep"
    )
