"""A task outside the cancel scopes of the code that starts it."""

from __future__ import annotations

import math
from contextvars import copy_context
from typing import TYPE_CHECKING

import anyio
import sniffio

from .native_cancel import run_to_end

if TYPE_CHECKING:
    from asyncio import Task
    from collections.abc import Awaitable, Callable

_LONGEST_END = 86_400.0
"""Seconds for the work to end once it is cancelled; it may have to wait for a thread."""


class BackgroundTask:
    """Runs *work* at once, until it ends or any task calls `aclose`.

    Args:
        at_end: Called once the work has ended, also if somebody else cancelled it before it began.

    Attributes:
        end: Set once the work has ended.
        error: What the work raised, because nobody waits for the task; None: nothing.
    """

    def __init__(
        self,
        work: Callable[[], Awaitable[object]],
        at_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._work = work
        self._at_end = at_end
        self._scope = anyio.CancelScope()
        self.end = anyio.Event()
        self._task: Task[None] | None = None  # of asyncio, which refers to its tasks weakly
        self.error: BaseException | None = None
        if sniffio.current_async_library() == "trio":
            from trio.lowlevel import spawn_system_task  # loaded by now

            spawn_system_task(self._run, context=copy_context())
            return
        from asyncio import get_running_loop

        self._task = get_running_loop().create_task(self._run())
        self._task.add_done_callback(self._end_unbegun)

    @property
    def has_ended(self) -> bool:
        """True once the work has ended."""
        return self.end.is_set()

    async def _run(self) -> None:
        try:
            with self._scope:
                await self._work()
        except anyio.get_cancelled_exc_class() as exc:
            self._blame_others(exc)
            raise
        except BaseException as error:  # noqa: BLE001 - `error` holds it
            self.error = error
        finally:
            self.end.set()
            self._at_end()

    def _end_unbegun(self, _task: Task[None]) -> None:
        """End if the task was cancelled before its first step, so that nothing of `_run` ran."""
        if not self.has_ended:
            self._blame_others(None)
            self.end.set()
            self._at_end()

    def _blame_others(self, cause: BaseException | None) -> None:
        """Set the error of a cancellation that does not come from `aclose`."""
        if not self._scope.cancel_called:
            self.error = RuntimeError("the work was cancelled, but not by its owner")
            self.error.__cause__ = cause

    async def aclose(self, *, seconds: float = math.inf) -> None:
        """Cancel the work, and return once it has ended, even if the caller is cancelled meanwhile.

        Args:
            seconds: Afterwards the work is cancelled inside its shields as well, if possible.
        """
        self._scope.cancel()
        await self.wait(seconds)
        if not self.has_ended and self._task is not None:
            self._task.cancel()
            await self.wait(seconds)

    async def wait(self, seconds: float) -> None:
        """Wait *seconds* at most for the end of the work, even if the caller is cancelled."""
        if not self.has_ended:
            with anyio.move_on_after(seconds, shield=True):
                await run_to_end(self.end.wait, seconds=min(seconds, _LONGEST_END))
