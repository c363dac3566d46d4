"""On both event loops, in virtual time."""

from __future__ import annotations

import math

import anyio
import pytest

from sidestep.provider.client.idle_timer import watch

from ...virtual import virtual_backend

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return virtual_backend(str(request.param))


async def test_what_is_late_is_cancelled() -> None:
    with anyio.fail_after(5), anyio.CancelScope() as scope:
        watch(scope).expect(0.01)
        await anyio.sleep_forever()

    assert scope.cancelled_caught


async def test_each_event_moves_the_end() -> None:
    with anyio.fail_after(5), anyio.CancelScope() as scope:
        watching = watch(scope)
        for _ in range(10):
            watching.expect(0.2)
            await anyio.sleep(0.03)
        watching.stop()

    assert not scope.cancel_called


async def test_an_end_may_move_nearer() -> None:
    with anyio.fail_after(5), anyio.CancelScope() as scope:
        watching = watch(scope)
        watching.expect(60.0)
        watching.expect(0.01)
        await anyio.sleep_forever()

    assert scope.cancelled_caught


async def test_it_goes_on_after_a_rest() -> None:
    with anyio.fail_after(5), anyio.CancelScope() as scope:
        watching = watch(scope)
        watching.expect(0.01)
        watching.rest()
        await anyio.sleep(0.05)
        assert not scope.cancel_called
        watching.expect(0.01)
        await anyio.sleep_forever()

    assert scope.cancelled_caught


async def test_it_does_nothing_once_stopped() -> None:
    with anyio.CancelScope() as scope:
        watching = watch(scope)
        watching.expect(0.01)
        watching.stop()
        await anyio.sleep(0.05)

    assert not scope.cancel_called


async def test_it_says_how_long_is_left() -> None:
    watching = watch(anyio.CancelScope())

    assert watching.seconds_left == math.inf
    watching.expect(60.0)
    assert 50 < watching.seconds_left <= 60
    watching.stop()
