"""Protection against asyncio's own cancellation.

`Task.cancel`, `asyncio.timeout` and Ctrl-C cancel a task of asyncio without regard to anyio's
shields. Work that must reach a known end therefore runs in a task of its own here, which they
do not reach directly.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import anyio
import sniffio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator
    from typing import Any

T = TypeVar("T")


async def run_in_child_task(work: Callable[[], Awaitable[T]]) -> T:
    """Return what *work* returns, or raise what it raises.

    A cancellation by asyncio reaches *work* as the cancellation of a scope, which shields inside
    *work* hold off. Without this, it would leave a thread running, or a write of unknown outcome.

    Raises:
        RuntimeError: Somebody cancelled the task of *work*, but not the caller.
    """
    returned: list[T] = []
    raised: list[BaseException] = []

    async def run() -> None:
        try:
            returned.append(await work())
        except anyio.get_cancelled_exc_class() as error:
            raised.append(error)
            raise
        except BaseException as error:  # noqa: BLE001 - raised below, without a group around it
            raised.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
    cause = raised[0] if raised else None
    if cause is not None and not _is_of_another(cause):
        raise cause
    if not returned:
        raise RuntimeError("the work was cancelled, but not by its owner") from cause
    return returned[0]


async def run_to_end(work: Callable[[], Coroutine[Any, Any, None]], *, seconds: float) -> None:
    """Run *work* to its end, and only then let a cancellation that came meanwhile take effect.

    It serves short work of every request, because one task costs less than a group with one task.

    Args:
        seconds: When *work* is cancelled after all, on asyncio.
    """
    if sniffio.current_async_library() != "asyncio":
        await work()
        return
    from asyncio import CancelledError, current_task, get_running_loop, shield  # loaded by now

    cancelled: CancelledError | None = None
    owner = current_task()
    assert owner is not None  # noqa: S101 - this is a coroutine of a task
    requests = owner.cancelling()
    # The scope holds off the cancellations of other scopes, so that only asyncio's own gets here.
    with anyio.CancelScope(shield=True):
        loop = get_running_loop()
        ends_at = loop.time() + seconds
        # If somebody cancels every task of the loop, the second task still does the work.
        for _ in range(2):
            task = loop.create_task(work())
            timer = loop.call_at(ends_at, task.cancel)
            while not task.done():
                try:
                    await shield(task)
                except CancelledError as error:
                    # Whoever cancels every task of the loop cancels both.
                    if not task.cancelled() or owner.cancelling() > requests:
                        cancelled = error
                except Exception:  # noqa: BLE001, S110 - raised below
                    pass
            timer.cancel()
            if not task.cancelled() or loop.time() >= ends_at:
                break
    if cancelled is not None:
        raise cancelled
    if not task.cancelled():
        task.result()


def _is_of_another(exc: BaseException) -> bool:
    """True if *exc* is a cancellation, but neither the task nor a scope around it is cancelled."""
    return is_stray_cancellation(exc) and anyio.current_effective_deadline() > -math.inf


def is_stray_cancellation(exc: BaseException) -> bool:
    """True if *exc* is a cancellation by asyncio, but nobody cancelled the current task.

    Code gets such an exception if it waits for another task or future that is cancelled. Passed
    on, it would end this task in silence, as if its owner had cancelled it.
    """
    if type(exc).__name__ != "CancelledError" or sniffio.current_async_library() != "asyncio":
        return False
    from asyncio import current_task  # already imported by now

    task = current_task()
    return task is not None and task.cancelling() == 0


@contextmanager
def without_stray_cancellations(name: str) -> Iterator[None]:
    """Raise a `RuntimeError` for a stray cancellation in the block, where *name* is called."""
    try:
        yield
    except BaseException as exc:
        if not is_stray_cancellation(exc):
            raise
        raise RuntimeError(f"what {name} waited for was cancelled") from exc
