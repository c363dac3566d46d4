"""The engine on trio: what it promises does not depend on asyncio."""

from __future__ import annotations

import anyio
import httpx
import pytest

from sidestep import (
    Client,
    FallbackConfig,
    FallbackExhausted,
    RetryPolicy,
    Route,
    Session,
    Sidestep,
)
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.settings import provider_settings
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub

from ...virtual import VirtualClock, virtual_backend

A, B = Route("openrouter/x"), Route("anthropic/x")

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return virtual_backend("trio")


def middleware(clock: VirtualClock) -> Sidestep:
    config = FallbackConfig(
        fallback_models_by_model={A: (B,), B: (A,)}, max_upstream_retry_attempts=1
    )
    return Sidestep(config, clock=clock, policy=RetryPolicy(jitter=0.0))


class Down(Exception):
    status_code = 503


async def test_a_failing_route_is_retried_then_left() -> None:
    clock = VirtualClock()
    asked: list[Route] = []

    async for attempt in middleware(clock).step(A):
        async with attempt:
            asked.append(attempt.route)
            if attempt.route == A:
                raise Down

    assert asked == [A, A, B]
    assert clock.slept == [2.0]


async def test_with_every_route_down_the_step_fails() -> None:
    async def fail() -> None:
        raise Down

    with pytest.raises(FallbackExhausted):
        await middleware(VirtualClock()).step(A).run(lambda _attempt: fail())


@pytest.mark.parametrize("where", ["wait", "request"])
async def test_a_cancellation_ends_a_step_at_once(where: str) -> None:
    engine = Sidestep(FallbackConfig(fallback_models_by_model={A: (B,)}))

    async def call() -> None:
        if where == "request":
            await anyio.sleep_forever()
        raise Down

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.step(A).run, lambda _attempt: call())
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()

    assert engine.degraded.snapshot() == {}


async def test_the_callers_deadline_ends_a_request() -> None:
    step = Sidestep().step(A, deadline=0.01)

    with anyio.fail_after(60), pytest.raises(TimeoutError, match="the step's deadline"):
        await step.run(lambda _attempt: anyio.sleep_forever())


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"status": 503}, id="a status"),
        pytest.param({"text": "Half an answer", "after": 1, "error": 503}, id="half an answer"),
        pytest.param({"text": "Half an answer", "after": 1, "reset": True}, id="a reset"),
        pytest.param({"text": "Half an answer", "after": 1, "stall": True}, id="silence"),
    ],
)
async def test_a_turn_over_real_sockets_is_moved(fault: dict[str, object]) -> None:
    scenario = Scenario.parse({"answers": {A: fault, B: {"text": "whole"}}})
    async with Stub(scenario) as stub, httpx.AsyncClient(trust_env=False) as http:
        settings = {
            name: given | {"timeouts": {"gap": 0.1}} for name, given in stub.providers().items()
        }
        providers = catalog(provider_settings(settings, where="providers"))
        session = Session(
            A, middleware=middleware(VirtualClock()), client=Client(http=http, providers=providers)
        )
        ended = await session.turn("hi")

        assert (ended.text, ended.route) == ("whole", B)
        assert [received.route for received in stub.requests] == [A, A, B]
