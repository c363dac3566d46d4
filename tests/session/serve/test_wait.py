"""A coroutine that has to wait, and what is done before it does."""

from __future__ import annotations

from collections.abc import Generator
from types import coroutine

import anyio
import pytest

from sidestep.session.serve.wait import before_each_wait


@coroutine
def waiting(times: int) -> Generator[int, str, tuple[str, ...]]:
    """Wait some times, and return what each wait brought."""
    brought: tuple[str, ...] = ()
    for each in range(times):
        brought += ((yield each),)
    return brought


async def work(times: int) -> tuple[str, ...]:
    return await waiting(times)


async def stubborn() -> str:
    """Return what ends the wait, even if that is an error."""
    try:
        await waiting(1)
    except ValueError as error:
        return f"{error}"
    return "nothing"


async def tidy(log: list[str]) -> None:
    try:
        await waiting(2)
    finally:
        log.append("closed")


async def failing() -> None:
    await waiting(1)
    raise LookupError


@pytest.mark.parametrize("times", [pytest.param(0, id="never"), 1, 3])
def test_it_acts_once_before_each_wait(times: int) -> None:
    log: list[str] = []
    waits = before_each_wait(work(times), lambda: log.append("act"))

    to_send = [None, *"abc"][: times + 1]
    log.extend(f"wait {waits.send(each)}" for each in to_send[:-1])
    with pytest.raises(StopIteration) as ended:
        waits.send(to_send[-1])

    assert log == [each for number in range(times) for each in ("act", f"wait {number}")]
    assert ended.value.value == tuple("abc"[:times])


def test_an_error_reaches_the_work_where_it_waits() -> None:
    waits = before_each_wait(stubborn(), lambda: None)
    waits.send(None)

    with pytest.raises(StopIteration) as ended:
        waits.throw(ValueError("late"))

    assert ended.value.value == "late"


def test_an_error_of_the_work_comes_out() -> None:
    waits = before_each_wait(failing(), lambda: None)
    waits.send(None)

    with pytest.raises(LookupError):
        waits.send(None)


def test_closing_it_closes_the_work() -> None:
    log: list[str] = []
    inner = tidy(log)
    waits = before_each_wait(inner, lambda: None)
    waits.send(None)

    waits.close()

    assert log == ["closed"]
    assert inner is not None  # nor has it been collected instead


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_work_is_cancelled_and_goes_on_as_without_it(backend: str) -> None:
    async def read(event: anyio.Event) -> str:
        with anyio.move_on_after(0):
            await anyio.sleep_forever()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await anyio.lowlevel.checkpoint()
        event.set()
        await event.wait()
        return "read"

    async def main() -> tuple[str, int]:
        acts: list[None] = []
        return await before_each_wait(read(anyio.Event()), lambda: acts.append(None)), len(acts)

    value, acts = anyio.run(main, backend=backend)

    assert value == "read"
    assert acts >= 2
