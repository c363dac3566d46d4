"""A connection is given back whoever cancels who reads from it."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any, cast

import anyio
import pytest

from sidestep.provider.client.response_body import Body

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx

pytestmark = pytest.mark.asyncio

STEPS = 3


class Response:
    """Takes a few turns of the loop to be closed."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.is_stream_consumed = False
        self.is_closed = False
        self.stream = self._blocks()

    async def _blocks(self) -> AsyncIterator[bytes]:
        yield b""

    async def aclose(self) -> None:
        for _ in range(STEPS):
            await asyncio.sleep(0)
        self.is_closed = True


def body_of(response: Response, *, is_sheltered: bool = False) -> Body:
    return Body(cast("httpx.Response", response), is_sheltered=is_sheltered)


SHELTERED = pytest.mark.parametrize("is_sheltered", [False, True], ids=["apart", "sheltered"])


@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice"])
@pytest.mark.parametrize("steps", range(1, STEPS + 1))
@pytest.mark.parametrize("way", ["release", "abandon"])
async def test_a_task_that_is_cancelled_while_it_closes_ends_closed(
    way: str, steps: int, times: int
) -> None:
    response = Response()
    body = body_of(response)
    task = asyncio.create_task(getattr(body, way)())
    for _ in range(steps):
        await asyncio.sleep(0)

    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task

    assert response.is_closed
    assert body.is_released is (way == "release")


@pytest.mark.parametrize("is_last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("way", ["release", "abandon"])
async def test_a_task_that_is_cancelled_with_every_other_one_ends_closed_and_cancelled(
    way: str, *, is_last: bool
) -> None:
    response = Response()
    body = body_of(response)
    task = asyncio.create_task(getattr(body, way)())
    for _ in range(2):
        await asyncio.sleep(0)

    others = asyncio.all_tasks() - {task, asyncio.current_task()}
    for each in [*others, task] if is_last else [task, *others]:
        each.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert others
    assert response.is_closed


@SHELTERED
async def test_a_scope_that_is_cancelled_before_it_closes_ends_closed(is_sheltered: bool) -> None:
    response = Response()

    with anyio.CancelScope() as scope:
        scope.cancel()
        await body_of(response, is_sheltered=is_sheltered).release()

    assert response.is_closed


@SHELTERED
async def test_a_round_of_the_event_loop_that_takes_a_second_loses_no_connection(
    is_sheltered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    response, loop = Response(), asyncio.get_running_loop()
    seconds = itertools.count(loop.time())
    monkeypatch.setattr(loop, "time", lambda: next(seconds))
    body = body_of(response, is_sheltered=is_sheltered)

    await body.release()

    assert response.is_closed
    assert body.is_released


@SHELTERED
async def test_what_cannot_be_closed_is_given_up(
    is_sheltered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(_: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Response, "aclose", hang)
    monkeypatch.setattr("sidestep.provider.client.response_body._RELEASE", 0.01)
    body = body_of(Response(), is_sheltered=is_sheltered)

    with anyio.fail_after(60):
        await body.release()

    assert not body.is_released


async def test_what_goes_wrong_in_closing_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_: Any) -> None:
        raise OSError("gone")

    monkeypatch.setattr(Response, "aclose", fail)

    with pytest.raises(OSError, match="gone"):
        await body_of(Response()).release()
