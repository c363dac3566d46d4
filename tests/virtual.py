"""Time that tests move, shared by the tests of the engine."""

from __future__ import annotations

import asyncio
import heapq
import selectors
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
import sniffio
import trio.testing

T = TypeVar("T")

QUIET = 0.1
"""Real seconds without an event after which virtual time moves to the next timer."""


@dataclass
class VirtualClock:
    """Time that moves only when a test or a sleep moves it, in seconds."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await anyio.lowlevel.checkpoint()

    def wait(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class CommonClock:
    """Time that several tasks share: it moves to the next sleeper when all of them wait."""

    def __init__(self) -> None:
        self.now = 0.0
        self._sleepers: list[tuple[float, int, anyio.Event]] = []
        self._numbers = count()

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        woken = anyio.Event()
        heapq.heappush(self._sleepers, (self.now + seconds, next(self._numbers), woken))
        await woken.wait()

    async def settle(self) -> None:
        """Return when every other task waits."""
        await anyio.lowlevel.checkpoint()  # what was scheduled may wake a task
        await anyio.wait_all_tasks_blocked()

    async def play(self, *tasks: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run *tasks* to their ends."""
        left = len(tasks)

        async def run(task: Callable[[], Coroutine[Any, Any, None]]) -> None:
            nonlocal left
            try:
                await task()
            finally:
                left -= 1

        async with anyio.create_task_group() as group:
            for task in tasks:
                group.start_soon(run, task)
            while left:
                await self.settle()
                if self._sleepers:
                    self.now, _, woken = heapq.heappop(self._sleepers)
                    woken.set()


class _Selector(selectors.DefaultSelector):
    """Waits for real events a moment only; then the time of the next timer has come."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0
        self.threads = 0  # at work for the loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        ready = super().select(QUIET)
        if not ready and not self.threads:
            self.passed += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop of asyncio in which time moves only when nothing else can happen.

    What the sockets of one process send to each other arrives at once, so that the loop waits a
    moment of real time before it moves. It also waits for its threads, which resolve names. No
    other process may be waited for.
    """

    def __init__(self) -> None:
        self._events = _Selector()
        super().__init__(self._events)

    def time(self) -> float:
        return self._events.passed

    def run_in_executor(self, *call: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        self._events.threads += 1
        future = super().run_in_executor(*call)
        future.add_done_callback(self._thread_ended)
        return future

    def _thread_ended(self, _: asyncio.Future[Any]) -> None:
        self._events.threads -= 1

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as its parent
        """Wait for the threads as long as they take, because no real time passes here."""
        await super().shutdown_default_executor()


def virtual_backend(name: str) -> tuple[str, dict[str, object]]:
    """Return what `anyio_backend` takes for the loop *name* with a time that is virtual."""
    if name == "asyncio":
        return name, {"loop_factory": VirtualLoop}
    return name, {"clock": trio.testing.MockClock(autojump_threshold=QUIET)}


def passing_backend(name: str) -> tuple[str, dict[str, object]]:
    """Return what `anyio_backend` takes for the loop *name*, in which `pass_time` works.

    Its time goes on at the real pace as well, so that it may wait for threads and processes.
    """
    return name, {} if name == "asyncio" else {"clock": trio.testing.MockClock(rate=1.0)}


def pass_time(seconds: float) -> None:
    """Let *seconds* pass at once in the event loop that runs."""
    if sniffio.current_async_library() == "trio":
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, trio.testing.MockClock)
        clock.jump(seconds)
        return
    loop = asyncio.get_running_loop()
    before = loop.time
    loop.time = lambda: before() + seconds  # type: ignore[method-assign]


def run_virtually(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run *main* on asyncio, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main())
