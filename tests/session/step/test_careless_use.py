"""What is logged once of a program that makes sidestep less useful than it is."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import anyio
import httpx
import pytest

from sidestep import Attempt, FallbackConfig, MoveHistory, RetryPolicy, Route, Sidestep
from sidestep.session.clock import SystemClock
from sidestep.session.step import careless_use, middleware
from sidestep.session.step.careless_use import CarelessUse

from ...virtual import VirtualClock

A, B = Route("a/x"), Route("b/y")
CONFIG = FallbackConfig(fallback_models_by_model={A: (B,)}, max_upstream_retry_attempts=0)


@pytest.fixture(autouse=True)
def process(monkeypatch: pytest.MonkeyPatch) -> CarelessUse:
    """Return what a process begins with."""
    fresh = CarelessUse()
    monkeypatch.setattr(middleware, "CARELESS_USE", fresh)
    return fresh


def warnings(caplog: pytest.LogCaptureFixture, about: str) -> list[str]:
    found = [each.getMessage() for each in caplog.records]
    return [each for each in found if about in each]


def request(retries: int | None, library: Any = httpx) -> Any:
    headers = {} if retries is None else {"x-stainless-retry-count": str(retries)}
    return library.Request("POST", "http://127.0.0.1/v1", headers=headers)


def of(module: str, name: str = "InternalServerError", **attributes: Any) -> Exception:
    """Return an exception as the SDK *module* raises it."""
    cls = type(name, (Exception,), {"__module__": module})
    error: Exception = cls("503")
    for key, value in attributes.items():
        setattr(error, key, value)
    return error


def after(outer: Exception, inner: BaseException, *, is_cause: bool = True) -> Exception:
    if is_cause:
        outer.__cause__ = inner
    else:
        outer.__context__ = inner
    return outer


class Hostile(Exception):
    """An exception whose every attribute raises."""

    def __getattr__(self, name: str) -> Any:
        raise ZeroDivisionError(name)


class Unset(Exception):
    """An exception of httpx's that was raised without a request."""

    @property
    def request(self) -> Any:
        raise RuntimeError("The .request property has not been set.")


RETRIED: list[Any] = [
    pytest.param(lambda: of("openai", request=request(2)), "openai", id="openai"),
    pytest.param(lambda: of("anthropic", request=request(1)), "anthropic", id="anthropic"),
    pytest.param(lambda: of("groq", request=request(2)), "groq", id="groq"),
    pytest.param(
        lambda: of("openai", response=SimpleNamespace(request=request(2), status_code=503)),
        "openai", id="openai, on the answer only",
    ),
    pytest.param(
        lambda: of("openai", "APIConnectionError", request=request(1)), "openai", id="no answer"
    ),
    pytest.param(
        lambda: of("openai", request=SimpleNamespace(headers={"x-stainless-retry-count": "2"})),
        "openai", id="headers of another kind",
    ),
    pytest.param(
        lambda: after(of("my_agent", "Wrapped"), of("openai", request=request(2))), "openai",
        id="a cause",
    ),
    pytest.param(
        lambda: after(of("my_agent", "W"), of("openai", request=request(2)), is_cause=False),
        "openai", id="a context",
    ),
    pytest.param(
        lambda: after(
            of("litellm.exceptions", max_retries=None, num_retries=None),
            of("openai", request=request(2)), is_cause=False,
        ),
        "litellm", id="litellm, which leaves it to openai",
    ),
    pytest.param(
        lambda: of("litellm.exceptions", max_retries=2, num_retries=2), "litellm",
        id="litellm's router",
    ),
    pytest.param(lambda: of("litellm.exceptions", num_retries=1), "litellm", id="litellm"),
    pytest.param(
        lambda: of("litellm.exceptions", max_retries=1), "litellm", id="litellm's maximum"
    ),
]  # fmt: skip

UNRETRIED: list[Any] = [
    pytest.param(lambda: of("openai", request=request(0)), id="openai with max_retries=0"),
    pytest.param(lambda: of("openai", request=request(None)), id="no header"),
    pytest.param(
        lambda: of("litellm.exceptions", max_retries=0, num_retries=0), id="litellm with none"
    ),
    pytest.param(
        lambda: of("litellm.exceptions", max_retries=None, num_retries=None), id="litellm, unset"
    ),
    pytest.param(lambda: of("my_agent", max_retries=3), id="a word of the agent's own"),
    pytest.param(lambda: of("my_agent", num_retries=True), id="true"),
    pytest.param(lambda: of("my_agent", num_retries="2"), id="a string"),
    pytest.param(
        lambda: of("x", request=SimpleNamespace(headers={"x-stainless-retry-count": "many"})),
        id="a header that is no number",
    ),
    pytest.param(Unset, id="no request"),
    pytest.param(Hostile, id="attributes that raise"),
    pytest.param(lambda: TimeoutError("silent"), id="nothing"),
]


async def take(engine: Sidestep, failure: Exception | None, **options: Any) -> None:
    async def call(attempt: Attempt) -> None:
        if failure is not None and attempt.route == A:
            raise failure

    try:
        await engine.step(A, **options).run(call)
    except Exception as error:  # noqa: BLE001 - whatever the rows raise
        assert error is failure  # noqa: PT017


@pytest.mark.asyncio
@pytest.mark.parametrize(("failure", "name"), RETRIED)
async def test_an_sdk_that_retries_by_itself_is_named_once(
    failure: Callable[[], Exception], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        await take(Sidestep(CONFIG, clock=VirtualClock()), failure())

    (warning,) = warnings(caplog, "retries by itself")
    assert warning.startswith(f"{name} retries by itself inside each attempt")
    assert "max_retries=0" in warning
    assert ("num_retries=0" in warning) is (name == "litellm")


@pytest.mark.asyncio
@pytest.mark.parametrize("failure", UNRETRIED)
async def test_an_sdk_that_does_not_retry_is_not_named(
    failure: Callable[[], Exception], caplog: pytest.LogCaptureFixture
) -> None:
    await take(Sidestep(CONFIG, clock=VirtualClock()), failure())

    assert warnings(caplog, "retries by itself") == []


@pytest.mark.asyncio
async def test_each_sdk_is_named(caplog: pytest.LogCaptureFixture) -> None:
    engine = Sidestep(CONFIG, clock=VirtualClock())

    for _ in range(2):
        for name in ("openai", "anthropic"):
            await take(engine, of(name, request=request(2)))

    assert len(warnings(caplog, "retries by itself")) == 2


NEW_ONE = "a new `Sidestep` with the same configuration"


def from_text() -> Sidestep:
    return Sidestep.from_env({"SIDESTEP_HINT": "a:x,b:y", "SIDESTEP_PROVIDERS": PROVIDERS})


PROVIDERS = (
    '{"a": {"wire": "openai-chat", "baseUrl": "http://h", "apiKeyEnv": null},'
    ' "b": {"wire": "openai-chat", "baseUrl": "http://h", "apiKeyEnv": null}}'
)
MAKE: dict[str, Callable[[], Sidestep]] = {
    "a configuration": lambda: Sidestep(CONFIG, clock=VirtualClock()),
    "an equal one": lambda: Sidestep(CONFIG.model_copy(), policy=RetryPolicy(jitter=0.0)),
    "the environment": lambda: Sidestep.from_env(
        {"SIDESTEP_FALLBACK_CONFIG": CONFIG.model_dump_json(by_alias=True, exclude={"providers"})}
    ),
    "a hint": from_text,
}


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
@pytest.mark.parametrize("fails", [False, True], ids=["well", "failing"])
@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
async def test_a_new_one_for_each_step_is_reported_once(
    make: Callable[[], Sidestep], fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    gc.disable()  # the collector comes whenever it likes
    try:
        for _ in range(30):
            await take(make(), of("x", status_code=404) if fails else None)
    finally:
        gc.enable()

    assert len(warnings(caplog, NEW_ONE)) == 1


def steps_of(engine: Sidestep, number: int) -> None:
    for _ in range(number):
        anyio.run(take, engine, None)


def in_tests() -> None:
    """Each test has a loop of its own."""
    for _ in range(30):
        steps_of(Sidestep(CONFIG), 1)


def in_tests_without_a_loop() -> None:
    """Each test has a clock of its own, and does not iterate."""
    for _ in range(30):
        Sidestep(CONFIG, clock=VirtualClock()).step(A)


def in_threads() -> None:
    for _ in range(30):
        thread = threading.Thread(target=lambda: Sidestep(CONFIG).step(A))
        thread.start()
        thread.join()


def in_one_loop(use: Callable[[], Any]) -> Callable[[], None]:
    async def main() -> None:
        for _ in range(30):
            await use()

    return lambda: anyio.run(main)


async def session_of_two_steps() -> None:
    engine = Sidestep(CONFIG)
    for _ in range(2):
        await take(engine, None)


async def sessions_of_one_and_of_two_steps() -> None:
    await take(Sidestep(CONFIG), None)
    await session_of_two_steps()


async def session_of_ours() -> None:
    await take(Sidestep(CONFIG), None, serves=lambda _: True)


async def conversation() -> None:
    await take(Sidestep(CONFIG), None, history=MoveHistory())


async def without_a_configuration() -> None:
    await take(Sidestep(), None)


async def switched_off() -> None:
    await take(Sidestep(CONFIG.model_copy(update={"max_fallback_attempts": 0})), None)


KEPT: list[Sidestep] = []


async def kept() -> None:
    KEPT.append(Sidestep(CONFIG))
    await take(KEPT[-1], None)


async def other_configurations() -> None:
    KEPT.append(Sidestep())
    update = {"cooldown_seconds": len(KEPT)}
    await take(Sidestep(CONFIG.model_copy(update=update)), None)


HONEST: dict[str, Callable[[], None]] = {
    "tests": in_tests,
    "tests without a loop": in_tests_without_a_loop,
    "threads": in_threads,
    "sessions of two steps": in_one_loop(session_of_two_steps),
    "sessions of one and of two steps": in_one_loop(sessions_of_one_and_of_two_steps),
    "sessions of ours": in_one_loop(session_of_ours),
    "conversations": in_one_loop(conversation),
    "no configuration": in_one_loop(without_a_configuration),
    "switched off": in_one_loop(switched_off),
    "many that are kept": in_one_loop(kept),
    "other configurations": in_one_loop(other_configurations),
}


@pytest.fixture
def nothing_kept() -> Iterator[None]:
    KEPT.clear()
    yield
    KEPT.clear()


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("use", HONEST.values(), ids=HONEST)
def test_an_honest_program_is_not_reported(
    use: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    use()
    gc.collect()
    use()

    assert warnings(caplog, NEW_ONE) == []


@pytest.mark.asyncio
async def test_a_few_in_one_test_are_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(careless_use._MOST_SINGLE):
        await take(Sidestep(CONFIG, clock=VirtualClock()), None)
        gc.collect()

    assert warnings(caplog, NEW_ONE) == []


def test_a_synchronous_program_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(30):
        Sidestep(CONFIG).step(A)

    assert len(warnings(caplog, NEW_ONE)) == 1


def test_an_event_loop_is_not_kept(process: CarelessUse) -> None:
    """A program that ends its loop, or forks, is not held up by what was looked at."""
    steps_of(Sidestep(CONFIG), 1)
    gc.collect()

    assert process._line is not None
    assert process._line._place() is None


def test_another_thread_may_end_the_line_meanwhile(
    process: CarelessUse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It warns, and forgets what it has counted, while this thread compares."""
    engine = Sidestep(CONFIG, clock=SystemClock())
    assert engine.plan is not None

    def continues(*_: object) -> bool:
        process._line = None
        return True

    process.look_at_first_step(engine, engine.numbers, engine.plan, engine.clock)
    monkeypatch.setattr(careless_use._Line, "continues", continues)
    process.look_at_first_step(engine, engine.numbers, engine.plan, engine.clock)

    assert process._line is None
