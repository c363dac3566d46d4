"""One step without an event loop: what it does as any step, and what it cannot do.

What both forms do alike is in the other tests of this folder, as far as they run in each form.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import pytest

import sidestep
from sidestep import (
    Event,
    FallbackConfig,
    FallbackExhausted,
    RetryPolicy,
    Route,
    Sidestep,
    StepEnded,
    SyncAttempt,
)
from sidestep.provider.cure import Change, Cure
from sidestep.session.clock import SystemClock
from sidestep.session.event import ProbeEnded, ProbeStarted
from sidestep.session.step import waiter
from sidestep.session.step.careless_use import CarelessUse
from sidestep.session.step.waiter import drive

from ...virtual import CommonClock, VirtualClock, virtual_backend

A, B = Route("openrouter/x"), Route("anthropic/x")
A_WEEK = 7 * 86_400.0


class Down(Exception):
    status_code = 503


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def middleware(clock: Any, retries: int = 1, **settings: Any) -> Sidestep:
    config = FallbackConfig(fallback_models_by_model={A: (B,)}, max_upstream_retry_attempts=retries)
    return Sidestep(config, clock=clock, policy=RetryPolicy(jitter=0.0), **settings)


def down_on_a(attempt: SyncAttempt) -> str:
    if attempt.route == A:
        raise Down
    return "hello"


def test_the_loop_retries_waits_and_moves(clock: VirtualClock) -> None:
    asked, reply = [], ""
    step = middleware(clock, retries=2).step_sync(A)

    for attempt in step:
        with attempt:
            asked.append(attempt.route)
            reply = down_on_a(attempt)

    assert (reply, step.route, asked) == ("hello", B, [A, A, A, B])
    assert clock.slept == [2.0, 4.0]
    assert [each.waited for each in step.attempts] == [0.0, 2.0, 4.0, 0.0]


def test_the_wait_blocks_as_time_sleep_does_when_it_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some programs replace `time.sleep` after they have imported us, as gevent does."""
    slept: list[float] = []
    engine = middleware(SystemClock())
    monkeypatch.setattr(time, "sleep", slept.append)

    assert engine.step_sync(A).run(down_on_a) == "hello"
    assert slept == [2.0]


def test_a_route_that_another_thread_degrades_during_the_wait_is_left(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, asked = middleware(clock, retries=3), []

    def wait(seconds: float) -> None:
        clock.now += seconds
        engine.degraded.degrade(A, cooldown=60)

    def call(attempt: SyncAttempt) -> str:
        asked.append(attempt.route)
        return down_on_a(attempt)

    monkeypatch.setattr(clock, "wait", wait)

    assert engine.step_sync(A, check_move=lambda: None).run(call) == "hello"
    assert asked == [A, B]


class NoWait:
    """A clock as an agent may have it already."""

    def time(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        pass


class WaitsLater(NoWait):
    async def wait(self, seconds: float) -> None:
        pass


@pytest.mark.parametrize("clock", [NoWait(), WaitsLater(), CommonClock()])
def test_a_clock_that_cannot_block_is_refused_when_the_step_is_made(clock: Any) -> None:
    engine = middleware(clock)

    assert engine.step(A).requested == A
    with pytest.raises(TypeError, match=r"cannot wait without an event loop: give it .*`wait\("):
        engine.step_sync(A)


# Deadlines.


@pytest.mark.parametrize(
    ("deadline", "passed", "left"),
    [
        pytest.param(None, 5.0, None, id="none"),
        pytest.param(30.0, 5.0, 25.0, id="ahead"),
        pytest.param(30.0, 30.0, 0.001, id="now"),
        pytest.param(30.0, 99.0, 0.001, id="passed"),
        pytest.param(A_WEEK, 0.0, A_WEEK, id="a week"),
        pytest.param(1e9, 0.0, 2e6, id="longer than a socket can wait"),
        pytest.param(1e300, 0.0, 2e6, id="longer than anybody can wait"),
        pytest.param(float("inf"), 5.0, 2e6, id="without an end"),
    ],
)
def test_the_seconds_left_are_a_timeout(
    clock: VirtualClock, deadline: float | None, passed: float, left: float | None
) -> None:
    engine = middleware(clock)

    def call(attempt: SyncAttempt) -> float | None:
        clock.now += passed
        return attempt.seconds_left

    assert engine.step_sync(A, deadline=deadline).run(call) == left


def test_an_exception_after_the_deadline_is_no_fault_of_the_route(clock: VirtualClock) -> None:
    engine = middleware(clock, retries=0)
    step = engine.step_sync(A, deadline=30)
    error = Down("late")

    def call(_: SyncAttempt) -> str:
        clock.now += 30
        raise error

    with pytest.raises(TimeoutError, match="deadline") as caught:
        step.run(call)

    assert caught.value.__cause__ is error
    assert [each.failure and each.failure.kind for each in step.attempts] == ["cancelled"]
    assert engine.degraded.snapshot() == {}


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", [virtual_backend("trio")])
async def test_nor_is_it_on_trio_where_nothing_ends_a_call(clock: VirtualClock) -> None:
    engine = middleware(clock, retries=0)

    async def loop() -> None:
        async for attempt in engine.step(A, deadline=30):
            async with attempt:
                clock.now += 30
                raise Down

    with pytest.raises(TimeoutError, match="deadline"):
        await loop()

    assert engine.degraded.snapshot() == {}


def test_an_answer_after_the_deadline_is_an_answer(clock: VirtualClock) -> None:
    def call(_: SyncAttempt) -> str:
        clock.now += 31
        return "late"

    assert middleware(clock).step_sync(A, deadline=30).run(call) == "late"


def test_no_attempt_begins_after_the_deadline(clock: VirtualClock) -> None:
    engine, asked = middleware(clock, retries=5), []

    def call(attempt: SyncAttempt) -> str:
        asked.append(attempt.route)
        raise Down

    with pytest.raises(TimeoutError, match="deadline"):
        engine.step_sync(A, deadline=5).run(call)

    assert asked == [A, A]
    assert clock.slept == [2.0, 3.0]
    assert engine.degraded.snapshot() == {}


def test_a_count_that_takes_longer_than_the_deadline_ends_the_step(clock: VirtualClock) -> None:
    def count(_: Route) -> int:
        clock.now += 31
        return 5

    engine = middleware(clock)
    step = engine.step_sync(
        "gemini/gemini-3-pro", needs=sidestep.Needs(tokens=900_000), deadline=30, count=count
    )
    step.options = replace(step.options, usual_start=None, uncounted={step.requested: 1_000_000})

    with pytest.raises(TimeoutError, match="before its first attempt"):
        step.run(down_on_a)


# Hooks.


async def later(*_: object) -> None:
    pass


class Later:
    async def __call__(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    "name", ["serves", "repair", "check_move", "before_attempt", "count", "on_event"]
)
@pytest.mark.parametrize(
    "hook",
    [
        pytest.param(later, id="a function"),
        pytest.param(partial(later, 1), id="partial"),
        pytest.param(Later(), id="an object"),
        pytest.param(Later().__call__, id="a method"),
    ],
)
def test_an_asynchronous_hook_is_refused_when_the_step_is_made(
    clock: VirtualClock, name: str, hook: Any
) -> None:
    with pytest.raises(TypeError, match=f"^`{name}` is asynchronous, but `step_sync` has no"):
        middleware(clock).step_sync(A, **{name: hook})


@pytest.mark.filterwarnings("error")  # such as a coroutine that nobody awaits
@pytest.mark.parametrize("name", ["serves", "check_move", "before_attempt"])
def test_a_hook_that_turns_out_to_be_asynchronous_ends_the_step(
    clock: VirtualClock, name: str
) -> None:
    hook: dict[str, Any] = {name: lambda *_: later()}

    with pytest.raises(TypeError, match=f"^`{name}` returned <coroutine.*without `async`"):
        middleware(clock, retries=0).step_sync(A, **hook).run(down_on_a)


@pytest.mark.filterwarnings("error")
def test_a_count_that_turns_out_to_be_asynchronous_is_named(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    count: Any = lambda _: later()  # noqa: E731 - it hides what it returns
    step = middleware(clock).step_sync(A, count=count)
    step.options = replace(step.options, usual_start=None, uncounted={A: 100})

    assert step.run(down_on_a) == "hello"
    assert "`count` returned <coroutine" in caplog.text
    assert "write it without `async`" in caplog.text


def test_hooks_are_called_synchronously(clock: VirtualClock) -> None:
    asked: list[object] = []

    def why_not() -> str:
        asked.append("check_move")
        return "the store is locked"

    with pytest.raises(Down) as caught:
        middleware(clock, retries=0).step_sync(
            A, check_move=why_not, before_attempt=asked.append
        ).run(down_on_a)

    assert asked == [A, "check_move"]
    assert "the store is locked" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("tokens", "asked"),
    [
        pytest.param(99, [A], id="it fits"),
        pytest.param(101, [B], id="it does not"),
        pytest.param(None, [A], id="unknown"),
        pytest.param("no number", [A], id="wrong"),
    ],
)
def test_the_agent_s_count_decides(clock: VirtualClock, tokens: Any, asked: list[Route]) -> None:
    engine = middleware(clock)
    counted: list[Route] = []

    def count(route: Route) -> Any:
        counted.append(route)
        return tokens

    step = engine.step_sync(A, count=count)
    step.options = replace(step.options, usual_start=None, uncounted={A: 100})

    assert step.run(lambda attempt: attempt.route) == asked[0]
    assert counted == [A]


def test_a_request_is_repaired(clock: VirtualClock) -> None:
    failure = sidestep.Failure(
        kind=sidestep.FailureKind.HISTORY_REJECTED, message="", status=400,
        cure=Cure(Change.LEAVE_OUT_IMAGES),
    )  # fmt: skip
    engine = middleware(clock, classify=lambda _: failure)
    cured: list[str] = []

    def call(_: SyncAttempt) -> str:
        if not cured:
            raise Down
        return "hello"

    def repair(_: sidestep.Failure) -> str:
        cured.append("images")
        return "left out images"

    assert engine.step_sync(A, repair=repair).run(call) == "hello"


# The wrong form.


def test_a_for_loop_over_an_asynchronous_step_is_named(clock: VirtualClock) -> None:
    step: Any = middleware(clock).step(A)

    with pytest.raises(TypeError, match=r"`async for attempt in …`.*`middleware.step_sync\(route"):
        for _ in step:
            pass


@pytest.mark.asyncio
async def test_an_async_for_loop_over_a_synchronous_step_is_named(clock: VirtualClock) -> None:
    step: Any = middleware(clock).step_sync(A)

    with pytest.raises(TypeError, match=r"`for attempt in …`.*`middleware.step\(route"):
        async for _ in step:
            pass


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        (sidestep.Step, {"__aiter__", "__anext__", "aclose"}),
        (sidestep.SyncStep, {"__iter__", "__next__", "close"}),
        (sidestep.Attempt, {"__aenter__", "__aexit__"}),
        (sidestep.SyncAttempt, {"__enter__", "__exit__"}),
    ],
)
def test_neither_form_has_the_methods_of_the_other(kind: type, own: set[str]) -> None:
    every = {
        "__anext__", "aclose", "__next__", "close", "__aenter__", "__aexit__", "__enter__",
        "__exit__",
    }  # fmt: skip

    assert own <= set(dir(kind))
    assert (every - own) & set(dir(kind)) == set()


@pytest.mark.filterwarnings("error")
def test_an_asynchronous_call_is_named(clock: VirtualClock) -> None:
    call: Any = later

    with pytest.raises(TypeError, match="`call` must be synchronous, but it returned coroutine"):
        middleware(clock).step_sync(A).run(call)


def test_an_attempt_that_is_not_entered_is_a_mistake_that_is_named(clock: VirtualClock) -> None:
    with pytest.raises(RuntimeError, match="write `with attempt:` round the call"):
        for _attempt in middleware(clock).step_sync(A):
            pass


def test_a_step_that_has_ended_is_not_iterated_again(clock: VirtualClock) -> None:
    step = middleware(clock).step_sync(A)
    step.run(down_on_a)

    with pytest.raises(RuntimeError, match=r"`middleware\.step_sync\(route"):
        step.run(down_on_a)


@pytest.mark.parametrize("error", [StopIteration(), StopAsyncIteration()])
def test_the_end_of_an_iterator_in_a_hook_is_no_answer(
    clock: VirtualClock, error: Exception
) -> None:
    def before_attempt(_: Route) -> None:
        raise error

    with pytest.raises(RuntimeError, match=r"Stop(Async)?Iteration"):
        list(middleware(clock).step_sync(A, before_attempt=before_attempt))


@pytest.mark.filterwarnings("error")
def test_what_would_need_an_event_loop_is_named() -> None:
    with pytest.raises(RuntimeError, match="waits for an event loop"):
        drive(asyncio.sleep(0))


# How a step ends.


class Agent:
    """An agent, and what happens to it.

    Args:
        probes: Its first route was degraded, so that its first attempt is a probe.
    """

    def __init__(self, *, probes: bool = True) -> None:
        self.clock = VirtualClock()
        self.events: list[Event] = []
        self.engine = middleware(self.clock, on_event=self.events.append)
        if probes:
            self.engine.degraded.degrade(A, cooldown=60)
            self.clock.now += 60

    def check_ended(self) -> None:
        kinds = [type(event) for event in self.events]
        assert (kinds[-1], kinds.count(StepEnded)) == (StepEnded, 1)
        assert kinds.count(ProbeStarted) == kinds.count(ProbeEnded)
        assert not self.engine.degraded.is_retried(A)
        self.clock.now += 600
        assert self.engine.degraded.is_available(A)  # nobody else probes it


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_during_a_wait_ends_the_step(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    agent = Agent(probes=False)

    def wait(_: float) -> None:
        raise error

    monkeypatch.setattr(agent.clock, "wait", wait)
    with pytest.raises(error):
        agent.engine.step_sync(A).run(down_on_a)

    agent.check_ended()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_ends_the_program_during_a_call_ends_the_step(error: type[BaseException]) -> None:
    agent = Agent()

    def call(_: SyncAttempt) -> str:
        raise error

    with pytest.raises(error):
        agent.engine.step_sync(A).run(call)

    agent.check_ended()
    assert agent.engine.degraded.snapshot() == {}


@pytest.mark.parametrize("probes", [True, False])
def test_a_loop_that_is_left_ends_the_step(probes: bool) -> None:
    agent = Agent(probes=probes)
    step = agent.engine.step_sync(A)

    for attempt in step:
        with attempt:
            raise Down
        break

    agent.check_ended()


@pytest.mark.parametrize("probes", [True, False])
def test_a_step_that_is_closed_has_ended(probes: bool) -> None:
    agent = Agent(probes=probes)

    with closing(agent.engine.step_sync(A)) as attempts:
        loop = iter(attempts)
        with next(loop):
            raise Down

    agent.check_ended()


def stream(engine: Sidestep) -> Iterator[str]:
    for attempt in engine.step_sync(A):
        with attempt:
            yield "half"


def test_a_generator_round_an_attempt_that_is_closed_ends_the_step() -> None:
    agent = Agent()
    halves = stream(agent.engine)
    next(halves)
    halves.close()  # type: ignore[attr-defined]

    agent.check_ended()


# In the thread of an event loop.


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> CarelessUse:
    """Return what a process begins with."""
    fresh = CarelessUse()
    monkeypatch.setattr(waiter, "CARELESS_USE", fresh)
    return fresh


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [text for each in caplog.records if "event loop" in (text := each.getMessage())]


@pytest.mark.usefixtures("use")
@pytest.mark.parametrize("library", ["asyncio", "trio"])
def test_a_wait_in_a_running_loop_is_logged_once(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture, library: str
) -> None:
    async def main() -> list[str]:
        engine = middleware(clock, retries=2)
        return [engine.step_sync(A).run(down_on_a) for _ in range(2)]

    assert anyio.run(main, backend=library) == ["hello", "hello"]
    assert len(clock.slept) == 2
    assert len(lines(caplog)) == 1
    assert f"waits 2.0 s in the thread of a running event loop ({library})" in lines(caplog)[0]


@pytest.mark.usefixtures("use")
@pytest.mark.parametrize("library", ["asyncio", "trio"])
def test_a_thread_of_its_own_is_no_loop_s(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture, library: str
) -> None:
    step = middleware(clock).step_sync(A)

    async def main() -> str:
        return await anyio.to_thread.run_sync(step.run, down_on_a)

    assert anyio.run(main, backend=library) == "hello"
    assert lines(caplog) == []


@pytest.mark.usefixtures("use")
def test_a_program_without_a_loop_is_told_nothing(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    middleware(clock).step_sync(A).run(down_on_a)

    assert lines(caplog) == []


# Threads.

THREADS, STEPS = 8, 40


@pytest.fixture
def switching() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work: Callable[[], None]) -> None:
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.usefixtures("switching")
def test_threads_share_one_engine(clock: VirtualClock) -> None:
    numbers: list[int] = []
    probes: list[str] = []
    engine = middleware(clock, retries=0)

    def work() -> None:
        for _ in range(STEPS):
            step = engine.step_sync(A)
            assert step.run(down_on_a) == "hello"
            assert step.route == B
            numbers.append(step.number)
            probes.extend("x" for each in step.attempts if each.probe is not None)

    in_threads(work)

    assert sorted(numbers) == list(range(1, THREADS * STEPS + 1))
    assert list(engine.degraded.snapshot()) == [A]
    assert probes == []


@pytest.mark.usefixtures("switching")
def test_one_thread_probes_a_route_at_a_time(clock: VirtualClock) -> None:
    engine = middleware(clock, retries=0)
    probing, most = 0, 0
    lock = threading.Lock()

    def call(attempt: SyncAttempt) -> str:
        nonlocal probing, most
        if attempt.route == A:
            with lock:
                probing += 1
                most = max(most, probing)
            for _ in range(50):
                pass
            with lock:
                probing -= 1
        return down_on_a(attempt)

    def work() -> None:
        assert engine.step_sync(A).run(call) == "hello"

    for _ in range(20):
        engine.degraded.degrade(A, cooldown=60)
        clock.now += 3_600
        in_threads(work)

    assert most == 1


def test_a_step_within_an_attempt_does_not_multiply_its_attempts(clock: VirtualClock) -> None:
    engine, asked = middleware(clock, retries=0), []

    def inner(attempt: SyncAttempt) -> str:
        asked.append(attempt.route)
        raise Down

    with pytest.raises(FallbackExhausted):
        engine.step_sync(A).run(lambda _: engine.step_sync(A).run(inner))

    assert asked == [A, B]
