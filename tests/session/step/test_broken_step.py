"""Whatever a hook, a listener or an exception does, the step ends and nothing is forgotten."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

import sidestep
from sidestep import (
    Event,
    Failure,
    FailureKind,
    FallbackConfig,
    ProviderError,
    RetryPolicy,
    Route,
    Sidestep,
    StepEnded,
)
from sidestep.provider.cure import Change, Cure
from sidestep.session.event import (
    AttemptFailed,
    AttemptStarted,
    ProbeEnded,
    ProbeStarted,
    RouteDegraded,
    StepStarted,
    Waiting,
)

from ...virtual import VirtualClock
from .form import each_form
from .form import run as take

A, B = Route("openrouter/x"), Route("anthropic/x")

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Down(Exception):
    status_code = 503


class Bug(Exception):
    pass


class Takes:
    """A hook that returns or raises what it was given."""

    def __init__(self, given: object) -> None:
        self.given = given

    def __call__(self, *_: object) -> Any:
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given


class Later(Takes):
    """The same, asynchronously."""

    async def __call__(self, *_: object) -> Any:
        return super().__call__()


class Never:
    """A listener that ends the program at one kind of event."""

    def __init__(self, kind: type[Event], error: type[BaseException]) -> None:
        self.kind, self.error = kind, error

    def __call__(self, event: Event) -> None:
        if isinstance(event, self.kind):
            raise self.error


class NoNotes(Down):
    def add_note(self, note: str, /) -> None:
        raise Bug(note)


class NoText(Down):
    def __str__(self) -> str:
        raise Bug


class NoTextAtAll(Down):
    def __str__(self) -> str:
        raise KeyboardInterrupt


class NoAttributes(Down):
    def __getattribute__(self, name: str) -> Any:
        if name in {"response", "body", "headers", "retry_after", "original_exception"}:
            raise Bug(name)
        return super().__getattribute__(name)


class NoClass(Exception):
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise Bug


@dataclass
class Run:
    """One step, whose route was degraded before and is probed now."""

    options: dict[str, Any] = field(default_factory=dict)
    engine: dict[str, Any] = field(default_factory=dict)
    retries: int = 0
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        config = FallbackConfig(
            fallback_models_by_model={A: (B,)}, max_upstream_retry_attempts=self.retries
        )
        self.clock = VirtualClock()
        self.middleware = Sidestep(
            config, clock=self.clock, policy=RetryPolicy(jitter=0.0), **self.engine
        )
        self.middleware.degraded.degrade(A, cooldown=60)
        self.clock.now += 60
        self.step = self.middleware.step(A, on_event=self.events.append, **self.options)

    async def take(self, error: BaseException) -> BaseException:
        async def call(_: object) -> str:
            raise error

        with pytest.raises(BaseException) as caught:  # noqa: PT011 - the rows say which
            await take(self.step, call)
        return caught.value

    def check_ended(self, *, is_degraded: bool) -> None:
        kinds = [type(event) for event in self.events]
        assert kinds[-1] is StepEnded
        assert kinds.count(StepEnded) == 1
        assert kinds.count(ProbeStarted) == kinds.count(ProbeEnded)
        assert self.middleware.degraded.is_degraded(A) is is_degraded
        self.clock.now += 600
        assert self.middleware.degraded.probe(A) is not None  # nobody else probes it


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def wrong(kind: Any = FailureKind.OVERLOADED, message: Any = "", **fields: Any) -> Failure:
    return Failure(kind=kind, message=message, **fields)


@pytest.mark.parametrize(
    ("options", "engine", "says"),
    [
        pytest.param({"serves": Takes(Bug())}, {}, "Bug", id="serves raises"),
        pytest.param({"serves": Takes(KeyboardInterrupt())}, {}, "KeyboardI", id="serves, Ctrl-C"),
        pytest.param(
            {"serves": Takes(asyncio.CancelledError())}, {},
            "RuntimeError: `serves` raised CancelledError", id="serves asks what was cancelled",
        ),
        pytest.param(
            {"serves": Takes(None)}, {},
            "`serves` returned None: return True, False, or a text that says why not",
            id="serves gives None",
        ),
        pytest.param({"serves": Takes(1)}, {}, "`serves` returned 1: return True", id="serves 1"),
        pytest.param(
            {"serves": Later(True)}, {}, "`serves` returned <coroutine.*: write it without `async`",
            id="serves is asynchronous",
        ),
        pytest.param({"check_move": Later(Bug())}, {}, "Bug", id="check_move raises"),
        pytest.param(
            {"check_move": Takes(asyncio.CancelledError())}, {},
            "RuntimeError: `check_move` raised CancelledError", id="check_move asks it",
        ),
        pytest.param(
            {"check_move": Later(False)}, {}, "`check_move` returned False: return None if",
            id="check_move gives False",
        ),
        pytest.param(
            {"check_move": Takes(None)}, {},
            "`check_move` returned None: write it with `async def`", id="check_move is synchronous",
        ),
        pytest.param({}, {"classify": Takes(Later("")())}, "`classify` returned <cor", id="async"),
        pytest.param(
            {}, {"classify": Takes("overloaded")},
            "`classify` returned 'overloaded': return a `FailureKind`, a `Failure` or None",
            id="classify gives a text",
        ),
        pytest.param(
            {}, {"classify": Takes(wrong(retry_after="5"))},
            "what `classify` returned has retry_after='5': give a number of seconds, or None",
            id="retry_after is a text",
        ),
        pytest.param(
            {}, {"classify": Takes(wrong(retry_after=float("nan")))}, "retry_after=nan", id="NaN",
        ),
        pytest.param(
            {}, {"classify": Takes(wrong(status="503", code=9, should_retry="no", cure="x"))},
            "status='503': give an `int`, or None; code=9: .*; should_retry='no': .*; cure='x': ",
            id="four wrong fields",
        ),
        pytest.param({}, {"classify": Takes(wrong(reset_at=5.0))}, "reset_at=5.0", id="reset_at"),
        pytest.param(
            {}, {"classify": Takes(wrong(message=None))}, "message=None: give a text",
            id="no message",
        ),
    ],
)  # fmt: skip
async def test_a_hook_that_is_wrong_ends_the_step_and_degrades_its_route(
    options: dict[str, Any], engine: dict[str, Any], says: str
) -> None:
    run = Run(options, engine)

    error = await run.take(down := Down("no"))

    assert re.search(says, f"{type(error).__name__}: {error}")
    assert down in list(chain(error))
    run.check_ended(is_degraded=True)


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(wrong(retry_after="5"), id="retry_after"),
        pytest.param(wrong(reset_at="tomorrow"), id="reset_at"),
        pytest.param("overloaded", id="no failure"),
    ],
)
@each_form
async def test_an_error_of_ours_that_an_agent_makes_wrong_is_named(failure: Any) -> None:
    run = Run()
    given = ProviderError(failure)

    error = await run.take(given)

    assert isinstance(error, TypeError)
    assert "a `ProviderError`" in str(error)
    assert given in list(chain(error))
    run.check_ended(is_degraded=isinstance(failure, Failure))


@pytest.mark.parametrize("naive", [True, False])
async def test_a_failure_that_is_right_passes(naive: bool) -> None:
    reset_at = datetime(2000, 1, 1, tzinfo=None if naive else UTC)
    given = wrong(status=503, code="x", retry_after=1, reset_at=reset_at, should_retry=False)
    run = Run(engine={"classify": Takes(given)})

    error = await run.take(Down())

    assert isinstance(error, sidestep.FallbackExhausted)


@pytest.mark.parametrize("kind", [AttemptStarted, ProbeStarted, StepStarted])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
@each_form
async def test_a_listener_that_ends_the_program_at_the_start_ends_the_step(
    kind: type[Event], error: type[BaseException]
) -> None:
    run = Run(engine={"on_event": Never(kind, error)})

    raised = await run.take(Down())

    assert type(raised) is error
    run.check_ended(is_degraded=False)


@pytest.mark.parametrize(
    ("kind", "retries"),
    [
        pytest.param(AttemptFailed, 0, id="AttemptFailed"),
        pytest.param(AttemptFailed, 1, id="AttemptFailed before a retry"),
        pytest.param(Waiting, 1, id="Waiting"),
        pytest.param(RouteDegraded, 0, id="RouteDegraded"),
        pytest.param(ProbeEnded, 0, id="ProbeEnded"),
        pytest.param(sidestep.Swapped, 0, id="Swapped"),
        pytest.param(StepEnded, 0, id="StepEnded"),
    ],
)
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@each_form
async def test_a_listener_that_ends_the_program_after_a_failure_ends_the_step(
    kind: type[Event], retries: int, error: type[BaseException]
) -> None:
    run = Run(engine={"on_event": Never(kind, error)}, retries=retries)

    raised = await run.take(down := Down())

    assert type(raised) is error
    assert down in list(chain(raised))
    run.check_ended(is_degraded=True)


@each_form
async def test_a_listener_that_ends_the_program_at_the_answer_leaves_the_route_healthy() -> None:
    run = Run(engine={"on_event": Never(StepEnded, KeyboardInterrupt)})

    with pytest.raises(KeyboardInterrupt):
        await take(run.step, Later("hello"))

    assert run.step.route == A
    assert run.middleware.degraded.snapshot() == {}
    assert [type(event) for event in run.events].count(StepEnded) == 1


@pytest.mark.parametrize(
    ("error", "is_degraded"),
    [
        pytest.param(NoNotes(), True, id="add_note raises"),
        pytest.param(NoText(), True, id="__str__ raises"),
        pytest.param(NoTextAtAll(), False, id="__str__ ends the program"),
        pytest.param(NoAttributes(), True, id="attributes raise"),
        pytest.param(NoClass(), False, id="__class__ raises"),
    ],
)
@each_form
async def test_an_exception_that_cannot_be_read_ends_the_step(
    error: Exception, is_degraded: bool
) -> None:
    run = Run({"serves": Takes(False)})

    raised = await run.take(error)

    assert error in list(chain(raised))
    run.check_ended(is_degraded=is_degraded)


@pytest.mark.parametrize(
    "hook",
    [
        pytest.param({"before_attempt": Takes(Bug())}, id="before_attempt"),
        pytest.param({"before_attempt": Takes(StopAsyncIteration())}, id="the end of an iterator"),
        pytest.param({"before_attempt": Takes(SystemExit())}, id="the end of the program"),
        pytest.param({"before_attempt": Later(None)}, id="asynchronous"),
    ],
)
async def test_what_is_raised_before_an_attempt_ends_the_step(hook: dict[str, Any]) -> None:
    run = Run(hook)

    error = await run.take(Down())

    expected = hook["before_attempt"].given
    assert expected is None or expected in list(chain(error))
    assert [type(event) for event in run.events] == [StepStarted, StepEnded]
    assert run.step.attempts == []


@pytest.mark.parametrize("given", [True, {"a": 1}, 0])
async def test_repair_returns_a_text_or_nothing(given: object) -> None:
    cure = Cure(Change.LEAVE_OUT_IMAGES)
    run = Run(
        {"repair": Takes(given)},
        {"classify": Takes(wrong(FailureKind.HISTORY_REJECTED, status=400, cure=cure))},
    )

    error = await run.take(down := Down())

    assert f"`repair` returned {given!r}: return a text that says what it changed, or None" in str(
        error
    )
    assert down in list(chain(error))
    run.check_ended(is_degraded=False)


@each_form
async def test_an_asynchronous_listener_is_named(caplog: pytest.LogCaptureFixture) -> None:
    run = Run(engine={"on_event": Later(None)})

    assert await take(run.step, Later("hello")) == "hello"
    assert "`on_event` returned <coroutine" in caplog.text
    assert "write it without `async`, and return None" in caplog.text


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_hook_that_waits_for_what_was_cancelled_does_not_cancel_the_step() -> None:
    run = Run({"check_move": Later(asyncio.CancelledError())})

    error = await run.take(down := Down())

    assert repr(error) == "RuntimeError('what `check_move` waited for was cancelled')"
    assert down in list(chain(error))
    run.check_ended(is_degraded=True)


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_cancellation_while_a_hook_is_awaited_degrades_the_route() -> None:
    is_asked = asyncio.Event()

    async def hang() -> None:
        is_asked.set()
        await asyncio.sleep(3600)

    run = Run({"check_move": hang})
    down = Down()
    task = asyncio.create_task(run.take(down))
    await is_asked.wait()
    task.cancel()

    assert isinstance(await task, asyncio.CancelledError)
    run.check_ended(is_degraded=True)
