"""Work in a child task, and who cancels it."""

from __future__ import annotations

import asyncio

import anyio
import anyio.lowlevel
import pytest

from sidestep.provider.native_cancel import run_in_child_task

pytestmark = [
    pytest.mark.asyncio,
    # anyio does not await the coroutine of a task that is cancelled before it begins.
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


async def work() -> str:
    for _ in range(2):
        await anyio.lowlevel.checkpoint()
    return "done"


async def others(task: asyncio.Task[str], *, rounds: int) -> set[asyncio.Task[object]]:
    """Return the tasks that *task* has started after some rounds of the event loop."""
    before = asyncio.all_tasks()
    for _ in range(rounds):
        await asyncio.sleep(0)
    return asyncio.all_tasks() - before - {task}


@pytest.mark.parametrize("rounds", [1, 2, 3], ids=["before it begins", "at first", "later"])
async def test_work_that_somebody_else_cancels_does_not_cancel_the_caller(rounds: int) -> None:
    caller = asyncio.create_task(run_in_child_task(work))
    started = await others(caller, rounds=rounds)

    for task in started:
        task.cancel()

    assert started
    with pytest.raises(RuntimeError, match="cancelled, but not by its owner"):
        await caller


@pytest.mark.parametrize("rounds", [1, 2, 3], ids=["before it begins", "at first", "later"])
@pytest.mark.parametrize("every", [False, True], ids=["the caller", "every task"])
async def test_a_caller_that_is_cancelled_ends_as_cancelled(rounds: int, *, every: bool) -> None:
    caller = asyncio.create_task(run_in_child_task(work))
    started = await others(caller, rounds=rounds)

    for task in [*started, caller] if every else [caller]:
        task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await caller


@pytest.mark.parametrize("rounds", [1, 2, 3], ids=["before it begins", "at first", "later"])
async def test_a_scope_around_the_caller_ends_it_in_silence(rounds: int) -> None:
    async def ask() -> str:
        with scope:
            return await run_in_child_task(work)
        return "cancelled"

    scope = anyio.CancelScope()
    caller = asyncio.create_task(ask())
    await others(caller, rounds=rounds)

    scope.cancel()

    assert await caller == "cancelled"
