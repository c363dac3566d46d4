"""`sidestep.testing`, as the tests of an agent without an event loop use it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import sidestep
from sidestep import testing

A, C = "openrouter/anthropic/claude-sonnet-5", "groq/llama"


def ask_blocking(middleware: sidestep.Sidestep, url_of: Callable[[str], str]) -> str:
    """Return the answer of an agent without an event loop."""

    def call(attempt: sidestep.SyncAttempt) -> str:
        body = {"model": attempt.route.model, "messages": [{"role": "user", "content": "hi"}]}
        url = f"{url_of(attempt.route.provider)}/chat/completions"
        with httpx.Client(trust_env=False) as http:
            response = http.post(url, json=body).raise_for_status()
        return str(response.json()["choices"][0]["message"]["content"])

    return middleware.step_sync(A).run(call)


def test_a_program_without_a_loop_plays_an_outage_by_a_plain_with() -> None:
    clock = testing.VirtualClock()
    before = set(threading.enumerate())

    with testing.stub({A: 503, C: "hello"}, clock=clock) as stub:
        answer = ask_blocking(stub.middleware, stub.base_url)

    assert answer == "hello"
    assert stub.routes == [A] * 3 + [C]
    assert (len(clock.slept), clock.now) == (2, sum(clock.slept))
    assert not set(threading.enumerate()) - before  # those of other tests may end meanwhile


def test_the_fixtures_serve_a_test_without_a_loop(
    sidestep_stub: Any, sidestep_clock: testing.VirtualClock
) -> None:
    with sidestep_stub({A: 503, C: "hello"}) as stub:
        assert ask_blocking(sidestep.Sidestep.from_env(), stub.base_url) == "hello"

    assert stub.routes == [A] * 3 + [C]
    assert len(sidestep_clock.slept) == 2


def test_an_error_in_the_block_passes_and_ends_the_stub() -> None:
    def play() -> None:
        with testing.stub({C: "hello"}) as stub:
            raise KeyError(stub.base_url("groq"))

    with pytest.raises(KeyError) as caught:
        play()
    with pytest.raises(httpx.ConnectError):
        httpx.get(caught.value.args[0], trust_env=False)


def test_a_wrong_answer_is_refused_without_a_loop_too() -> None:
    with pytest.raises(sidestep.ConfigError, match="txt"), testing.stub({A: {"txt": "x"}}):
        pass


class Slow(float):
    """Seconds that let other threads run while they are added."""

    def __radd__(self, other: float) -> float:
        time.sleep(0)
        return float(other) + float(self)


def test_threads_that_share_the_clock_lose_no_wait() -> None:
    clock = testing.VirtualClock()

    def wait() -> None:
        for _ in range(200):
            clock.wait(Slow(1.0))

    threads = [threading.Thread(target=wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert clock.now == len(clock.slept) == 800
