"""On both event loops, in virtual time."""

from __future__ import annotations

import math

import anyio
import pytest

from sidestep.provider.client.idle_timer import idle_timer

from ...virtual import virtual_backend

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return virtual_backend(str(request.param))


async def cancelled_after(scope: anyio.CancelScope) -> float:
    """Return the seconds after which *scope* is cancelled, entered."""
    began_at = anyio.current_time()
    with anyio.fail_after(600):
        with scope:
            await anyio.sleep_forever()
    return round(anyio.current_time() - began_at, 6)


async def test_what_is_late_is_cancelled() -> None:
    scope = anyio.CancelScope()
    idle_timer(scope).expect(5.0)

    assert await cancelled_after(scope) == 5.0


async def test_each_event_moves_the_end() -> None:
    scope = anyio.CancelScope()
    watching = idle_timer(scope)
    for _ in range(10):
        watching.expect(5.0)
        await anyio.sleep(3.0)
    assert not scope.cancel_called

    assert await cancelled_after(scope) == 2.0


@pytest.mark.parametrize("seconds", [1.0, 20.0, 59.0])
async def test_an_end_may_move_nearer(seconds: float) -> None:
    scope = anyio.CancelScope()
    watching = idle_timer(scope)
    watching.expect(60.0)
    watching.expect(seconds)

    assert await cancelled_after(scope) == seconds


async def test_it_goes_on_after_a_rest() -> None:
    scope = anyio.CancelScope()
    watching = idle_timer(scope)
    watching.expect(5.0)
    watching.rest()
    await anyio.sleep(60.0)
    assert not scope.cancel_called
    watching.expect(5.0)

    assert await cancelled_after(scope) == 5.0


async def test_it_does_nothing_once_stopped() -> None:
    with anyio.CancelScope() as scope:
        watching = idle_timer(scope)
        watching.expect(5.0)
        watching.stop()
        await anyio.sleep(60.0)

    assert not scope.cancel_called


async def test_it_says_how_long_is_left() -> None:
    watching = idle_timer(anyio.CancelScope())

    assert watching.seconds_left == math.inf
    watching.expect(60.0)
    await anyio.sleep(1.0)
    assert watching.seconds_left == 59.0
    watching.stop()
