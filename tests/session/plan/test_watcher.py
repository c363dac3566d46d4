"""The last good configuration stays in force while a file or a variable holds a wrong one."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import Attempt, FallbackConfig, RetryPolicy, Route, Sidestep
from sidestep.session.plan.watcher import PlanWatcher

from ...virtual import VirtualClock
from .asking_agent import Answer

A, B, C = Route("zai/a"), Route("openai/b"), Route("groq/c")
MAP = "SIDESTEP_FALLBACK_CONFIG"


def to(sibling: Route, **keys: object) -> str:
    return json.dumps({"fallbackModelsByModel": {A: sibling}, **keys})


def rules(*routes: Route) -> str:
    text = '[[rules]]\ntask_class = "coding"\n'
    for route in routes:
        text += f'[[rules.candidates]]\nprovider = "{route.provider}"\nmodel = "{route.model}"\n'
    return text


GOOD = {
    MAP: to(B),
    "REPLO_OPENCODE_FALLBACK_CONFIG": to(B),
    "SIDESTEP_ROUTING_RULES": rules(A, B),
    "SIDESTEP_HINT": "zai:a,openai:b",
}
WRONG = {
    MAP: to(B)[:-3],
    "REPLO_OPENCODE_FALLBACK_CONFIG": '{"cooldownSeconds": -1}',
    "SIDESTEP_ROUTING_RULES": rules(A, B)[:-4],
    "SIDESTEP_HINT": "zai:a,${OPEN",
}


def siblings(middleware: Sidestep) -> list[Route]:
    """Return where a step that asks for A may go."""
    asked = "coding" if middleware.plan and "coding" in middleware.plan.chains else A
    return list(middleware.active.options_for(asked).siblings.get(A, ()))


def degraded(middleware: Sidestep) -> bool:
    """Degrade A once the configuration is read, and return whether it is."""
    assert siblings(middleware) == [B]
    middleware.degraded.degrade(A, cooldown=60)
    return middleware.degraded.is_degraded(A)


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]


@pytest.mark.parametrize("variable", GOOD)
def test_a_wrong_text_of_a_variable_leaves_the_last_good_one(
    variable: str, caplog: pytest.LogCaptureFixture
) -> None:
    environ = {variable: GOOD[variable]}
    middleware = Sidestep.from_env(environ)
    assert degraded(middleware)

    environ[variable] = WRONG[variable]
    seen = [siblings(middleware), siblings(middleware)]

    assert seen == [[B], [B]]
    assert middleware.degraded.is_degraded(A)
    (error,) = errors(caplog)
    assert error.startswith("the new fallback configuration is ignored, and the last good one")
    assert variable in error


@pytest.mark.parametrize("text", ["", " \n", None], ids=["empty", "white space", "unset"])
@pytest.mark.parametrize("variable", GOOD)
@pytest.mark.parametrize("was_wrong", [False, True], ids=["after a good one", "after a wrong one"])
def test_an_empty_or_unset_variable_ends_it_at_once(
    variable: str, text: str | None, was_wrong: bool, caplog: pytest.LogCaptureFixture
) -> None:
    environ = {variable: GOOD[variable]}
    middleware = Sidestep.from_env(environ)
    assert degraded(middleware)
    if was_wrong:
        environ[variable] = WRONG[variable]
        assert siblings(middleware) == [B]
        caplog.clear()

    if text is None:
        del environ[variable]
    else:
        environ[variable] = text

    assert middleware.plan is None
    assert middleware.degraded.snapshot() == {}
    assert errors(caplog) == []


def unreadable(path: Path) -> None:
    path.unlink()
    path.mkdir()


def write(text: bytes | str) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(text.encode() if isinstance(text, str) else text)


LOST: dict[str, Callable[[Path], object]] = {
    "empty": write(""),
    "white space": write(" \n"),
    "missing": Path.unlink,
    "a folder": unreadable,
    "no text": write(b"\xff\xfe\x00"),
}


@pytest.mark.parametrize("lose", LOST.values(), ids=LOST)
@pytest.mark.parametrize("variable", GOOD)
def test_a_file_that_is_lost_leaves_the_last_good_one(
    variable: str, lose: Callable[[Path], object], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "configuration"
    path.write_text(GOOD[variable])
    middleware = Sidestep.from_env({variable: f"@{path}"})
    assert degraded(middleware)

    lose(path)

    assert [siblings(middleware) for _ in range(3)] == [[B], [B], [B]]
    assert middleware.degraded.is_degraded(A)
    (error,) = errors(caplog)
    assert str(path) in error


@pytest.mark.parametrize("lose", LOST.values(), ids=LOST)
def test_a_file_that_is_lost_from_the_start_is_one_error(
    lose: Callable[[Path], object], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "configuration"
    path.touch()
    lose(path)
    middleware = Sidestep.from_env({MAP: f"@{path}"})

    assert (middleware.config, middleware.config) == (None, None)
    (error,) = errors(caplog)
    assert error.startswith("the fallback configuration is ignored: ")


def test_a_file_caught_at_each_point_of_its_writing_is_one_error_and_then_the_new_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "configuration"
    path.write_text(to(B))
    middleware = Sidestep.from_env({MAP: f"@{path}"})
    assert degraded(middleware)

    seen = []
    with path.open("w") as file:
        for character in to(C):
            seen.append((siblings(middleware), middleware.degraded.is_degraded(A)))
            file.write(character)
            file.flush()

    assert seen == [([B], True)] * len(to(C))
    assert siblings(middleware) == [C]
    assert middleware.degraded.snapshot() == {}
    assert len(errors(caplog)) == 1


def test_the_same_good_file_again_keeps_the_cooldowns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "configuration"
    path.write_text(to(B))
    middleware = Sidestep.from_env({MAP: f"@{path}"})
    assert degraded(middleware)

    for _ in range(2):
        path.write_text(to(B)[:9])
        assert siblings(middleware) == [B]
        path.write_text(to(B))
        assert siblings(middleware) == [B]

    assert middleware.degraded.is_degraded(A)
    assert len(errors(caplog)) == 2


def test_another_wrong_file_that_stays_is_another_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "configuration"
    path.write_text(to(B))
    later = 0.0
    reader = PlanWatcher({MAP: f"@{path}"}, wall_clock=lambda: time.time() + later)
    reader.has_changed()

    for text in ("{", '{"cooldownSeconds": -1}'):
        path.write_text(text)
        reader.has_changed()
    assert len(errors(caplog)) == 1
    later = 10.0
    reader.has_changed()
    reader.has_changed()

    assert len(errors(caplog)) == 2
    assert "cooldownSeconds" in errors(caplog)[1]


@pytest.mark.parametrize(
    "text",
    ['{"fallbackModelsByModel": {}}', to(B, maxFallbackAttempts=0)],
    ids=["an empty map", "no swaps"],
)
def test_a_file_switches_it_off(
    text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "configuration"
    path.write_text(to(B))
    middleware = Sidestep.from_env({MAP: f"@{path}"})
    assert degraded(middleware)

    path.write_text(text)

    assert middleware.healthy(A) == A
    assert middleware.step(A).limits.max_swaps * len(siblings(middleware)) == 0
    assert middleware.degraded.snapshot() == {}
    assert errors(caplog) == []


@pytest.mark.parametrize(
    ("variable", "text"),
    [("SIDESTEP_HINT", "house:a,openai:b"), ("SIDESTEP_ROUTING_RULES", rules(A, Route("house/b")))],
)
def test_the_file_of_the_providers_is_followed_and_its_last_good_content_stays(
    variable: str, text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "providers"
    house = {"wire": "openai-chat", "baseUrl": "http://h", "apiKeyEnv": None}

    def boundary() -> str | None:
        plan = middleware.plan
        assert plan is not None
        entries = next(iter(plan.chains.values()))
        return next(each.boundary for each in entries if each.route.provider == "house")

    path.write_text(json.dumps({"house": house | {"boundary": "eu"}}))
    middleware = Sidestep.from_env({variable: text, "SIDESTEP_PROVIDERS": f"@{path}"})
    seen = [boundary()]
    for content in ("{", json.dumps({"house": house | {"boundary": "us"}})):
        path.write_text(content)
        seen.append(boundary())

    assert seen == ["eu", "eu", "us"]
    assert len(errors(caplog)) == 1


@contextmanager
def switching_every_microsecond() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def test_no_thread_ever_sees_parts_of_two_configurations(tmp_path: Path) -> None:
    """Each configuration has its number in its sibling, statuses, limits and providers."""
    path = tmp_path / "configuration"

    def text(number: int) -> str:
        sibling = Route(f"house-{number}/{number}")
        provider = {"wire": "openai-chat", "baseUrl": f"http://h/{number}", "apiKeyEnv": None}
        return to(
            sibling, fallbackOnErrors=[number], maxWaitSeconds=number, cooldownSeconds=number,
            providers={sibling.provider: provider},
        )  # fmt: skip

    path.write_text(text(400))
    middleware = Sidestep.from_env({MAP: f"@{path}"})
    torn: list[Any] = []
    is_over = threading.Event()

    def look() -> None:
        while not is_over.is_set():
            step = middleware.step(A)
            active = step.active
            (sibling,) = active.options_for(A).siblings[A]
            number = int(sibling.model)
            config = active.config
            parts = (
                step.limits.max_wait, *step.limits.statuses, config and config.cooldown_seconds,
                *(int(name.partition("-")[2]) for name in active.providers),
            )  # fmt: skip
            if set(parts) != {number} or step.limits is not active.limits:
                torn.append((number, parts))

    threads = [threading.Thread(target=look) for _ in range(4)]
    with switching_every_microsecond():
        for thread in threads:
            thread.start()
        for number in [*range(401, 440)] * 2:
            new = path.with_suffix(".new")
            new.write_text(text(number))
            new.replace(path)
            middleware.step(A)
        is_over.set()
        for thread in threads:
            thread.join()

    assert torn == []


def test_threads_that_meet_a_configuration_at_once_read_it_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The first configuration, a wrong one, and another one, with its cooldowns."""
    wrong = 0

    def meet(middleware: Sidestep, swaps: int) -> list[int]:
        """Return what is wrong with the steps of four threads that start at once."""
        barrier, seen = threading.Barrier(4), list[int]()

        def look() -> None:
            barrier.wait()
            seen.append(middleware.step(A).limits.max_swaps)
            middleware.degraded.degrade(A, cooldown=60)

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [each for each in seen if each != swaps]

    with switching_every_microsecond():
        for _ in range(60):
            environ = {MAP: to(B)}
            middleware = Sidestep.from_env(environ)
            assert meet(middleware, 2) == []
            environ[MAP] = "{"
            wrong += 1
            assert meet(middleware, 2) == []
            environ[MAP] = to(C, maxFallbackAttempts=1)
            assert meet(middleware, 1) == []
            assert middleware.degraded.is_degraded(A)

    assert len(errors(caplog)) == wrong


OLD: dict[str, Any] = {
    "fallbackModelsByModel": {A: B},
    "fallbackOnErrors": [503],
    "maxUpstreamRetryAttempts": 1,
    "cooldownSeconds": 40,
    "providers": {A.provider: {"failures": [{"kind": "overloaded", "status": 400}]}},
}


@pytest.mark.parametrize(
    ("change", "status", "asked", "cooldown"),
    [
        pytest.param({}, 503, [A, A, B], 40, id="nothing changes"),
        pytest.param({"fallbackModelsByModel": {A: C}}, 503, [A, A, B], 40, id="the sibling"),
        pytest.param({"fallbackModelsByModel": {}}, 503, [A, A, B], 40, id="no sibling"),
        pytest.param({"fallbackOnErrors": [429]}, 503, [A, A, B], 40, id="the statuses"),
        pytest.param({"fallbackOnErrors": [429]}, 429, [A, A], 40, id="a status that was unlisted"),
        pytest.param({"maxUpstreamRetryAttempts": 3}, 503, [A, A, B], 40, id="the retries"),
        pytest.param({"maxFallbackAttempts": 0}, 503, [A, A, B], 40, id="switched off"),
        pytest.param({"cooldownSeconds": 7}, 503, [A, A, B], 40, id="the cooldown"),
        pytest.param({"providers": {}}, 400, [A, A], None, id="what a failure means"),
        pytest.param(
            {"providers": {A.provider: {"boundary": "eu"}}}, 503, [A, A, B], 40, id="the boundary"
        ),
        pytest.param(None, 503, [A, A, B], 40, id="unset"),
        pytest.param("{", 503, [A, A, B], 40, id="wrong"),
    ],
)
def test_a_step_that_runs_keeps_the_configuration_that_it_began_with(
    change: dict[str, Any] | str | None, status: int, asked: list[Route], cooldown: float | None
) -> None:
    clock, environ, called = VirtualClock(), {MAP: json.dumps(OLD)}, list[Route]()
    middleware = Sidestep.from_env(environ, clock=clock, policy=RetryPolicy(jitter=0.0))

    async def call(attempt: Attempt) -> None:
        called.append(attempt.route)
        if change is None:
            environ.pop(MAP, None)
        else:
            environ[MAP] = change if isinstance(change, str) else json.dumps(OLD | change)
        assert middleware.step(A).number > 1  # another step takes the new one over
        if attempt.route == A:
            raise Answer(status)

    with suppress(Answer):
        anyio.run(middleware.step(A).run, call)

    assert called == asked
    assert middleware.degraded.snapshot().get(A) == cooldown


CHANGES = {"b": to(B), "c": to(C), "cut": to(B)[:9], "wrong": '{"cooldownSeconds": -1}', "": ""}


@given(
    changes=st.lists(st.sampled_from([*CHANGES, None]), min_size=1, max_size=8),
    in_file=st.booleans(),
)
def test_after_any_changes_the_last_good_one_is_in_force(
    changes: list[str | None], in_file: bool
) -> None:
    """None: the variable is unset, or the file is missing."""
    expected: str | None = None
    with TemporaryDirectory() as folder:
        path = Path(folder) / "configuration"
        environ = {MAP: f"@{path}"} if in_file else {}
        middleware = Sidestep.from_env(environ)
        assert middleware.config is None
        for change in changes:
            middleware.degraded.degrade(A, cooldown=60)
            if in_file:
                path.unlink(missing_ok=True)
                if change is not None:
                    path.write_text(CHANGES[change])
            else:
                environ.pop(MAP, None)
                if change is not None:
                    environ[MAP] = CHANGES[change]
            before = expected
            if change in {"b", "c"}:
                expected = change
            elif not in_file and not change:
                expected = None

            assert siblings(middleware) == {"b": [B], "c": [C], None: []}[expected]
            assert middleware.degraded.is_degraded(A) is (before == expected)


@pytest.mark.parametrize(
    ("providers", "codes"),
    [
        pytest.param("{", ["C029"], id="not JSON"),
        pytest.param("@/nowhere", ["C029"], id="no file"),
        pytest.param('{"zai": {"contextWindow": 9}}', [], id="right"),
        pytest.param("", [], id="empty"),
    ],
)
def test_wrong_providers_beside_a_map_are_logged(
    providers: str, codes: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    middleware = Sidestep.from_env({MAP: to(B), "SIDESTEP_PROVIDERS": providers})

    assert siblings(middleware) == [B]
    logged = [each.getMessage() for each in caplog.records]
    assert [each.split(": ")[1] for each in logged] == codes
    assert all("SIDESTEP_PROVIDERS" in each for each in logged)


def test_what_a_configuration_that_a_program_passes_cannot_do_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    config = FallbackConfig.model_validate(
        {"fallbackModelsByModel": {A: [A, B]}, "providers": {A.provider: {"boundary": "eu"}}}
    )

    Sidestep(config)

    assert [each.getMessage().split(": ")[1] for each in caplog.records] == ["C004", "C054"]
