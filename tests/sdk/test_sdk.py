"""What each SDK raises when the stub fails it, and that we name it as our own client names it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import httpx
import pytest
from _pytest.mark.structures import ParameterSet

from sidestep import Client, ProviderError, Route, Sidestep
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.provider import Provider, Timeouts
from sidestep.provider.catalog.settings import provider_settings
from sidestep.provider.classify.exception import classify_exception
from sidestep.provider.conversation import Conversation, Message, Text
from sidestep.provider.failure import Failure
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub
from sidestep.session.plan.config import FallbackConfig

from .call import CONNECT, SDKS, Sdk, raised_by, read, told

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.filterwarnings("ignore"),  # what an SDK warns of is its own; raised, it would fail
]

LIMIT = 60  # seconds that a test may take; the first imports of an SDK are slow
SILENCE = 0.3  # seconds after which a call gives up, if the stub sends nothing
PATIENCE = 30.0
HELLO = Conversation([Message("user", [Text("Hello")])])
EVENTS = {"content-type": "text/event-stream"}
HALF = {"text": "Half an answer", "chunk": 4, "after": 2}

OUTAGES: Mapping[str, Mapping[str, Any]] = {
    "401": {"status": 401},
    "404": {"status": 404},
    "429": {"status": 429, "headers": {"retry-after": "7"}},
    "500": {"status": 500},
    "503": {"status": 503, "headers": {"retry-after-ms": "1500"}},
    "529": {"status": 529},
    "page": {"status": 502, "headers": {"content-type": "text/html"}, "body": "<html>Bad</html>"},
    "overflow": {"capture": "openai_400_context_length"},
    "error first": {"error": 529, "after": 0},
    "rate limit first": {"error": 429, "after": 0},
    "error later": {**HALF, "error": 500},
    "unreadable": {"status": 200, "headers": EVENTS, "body": "event: message_start\ndata: {x\n\n"},
    "cut": {**HALF, "cut": True},
    "abort": {**HALF, "abort": True},
    "reset": {**HALF, "reset": True},
    "reset first": {**HALF, "after": 0, "reset": True},
    "refused": {"refuse": True},
    "silent": {"text": "Late", "delay": PATIENCE},
    "silent later": {**HALF, "stall": True},
}
OVERFLOW = {"anthropic": {"capture": "anthropic_400_prompt_too_long"}}


def outage(name: str, sdk: Sdk) -> Mapping[str, Any]:
    if name == "overflow":
        return OVERFLOW.get(sdk.provider, OUTAGES[name])
    return OUTAGES[name]


def providers(stub: Stub, seconds: float) -> dict[str, Provider]:
    known = catalog(provider_settings(stub.providers(), where="stub"))
    timeouts = Timeouts(connect=CONNECT, first_event=seconds, gap=seconds)
    return {name: replace(provider, timeouts=timeouts) for name, provider in known.items()}


OURS: dict[tuple[str, str], Mapping[str, Any]] = {}
"""What our client says of each provider's outages, asked once."""


async def failure_of_our_client(stub: Stub, route: Route, seconds: float) -> Failure:
    async with httpx.AsyncClient(trust_env=False) as http:
        client = Client(http=http, providers=providers(stub, seconds))
        try:
            async with client.stream(route, HELLO) as reply:
                await read(reply)
        except ProviderError as error:
            return error.failure
    raise AssertionError("our client was answered")


def row(sdk: Sdk, *rest: str) -> ParameterSet:
    return pytest.param(sdk, *rest, id="-".join((sdk.name, *rest)))


@pytest.mark.parametrize(
    ("sdk", "name"),
    [row(sdk, name) for sdk in SDKS for name in OUTAGES if name not in sdk.silent],
)
async def test_an_exception_says_what_our_client_says_of_the_same_answer(
    sdk: Sdk, name: str
) -> None:
    route = Route(f"{sdk.provider}/m")
    seconds = SILENCE if name.startswith("silent") else PATIENCE
    with anyio.fail_after(LIMIT):
        async with Stub(Scenario.parse({"answers": {route: outage(name, sdk)}})) as stub:
            key = (sdk.provider, name)
            if key not in OURS:
                OURS[key] = told(await failure_of_our_client(stub, route, seconds))
            base = providers(stub, seconds)[sdk.provider].base_url
            error = await raised_by(sdk.call, base, seconds)

    assert error is not None
    failure = classify_exception(error, route=route)
    assert told(failure) == {**OURS[key], **sdk.lost.get(name, {})}
    assert failure.cause is error


@pytest.mark.parametrize(
    ("sdk", "name"),
    [row(sdk, name) for sdk in SDKS for name in sdk.silent],
)
async def test_what_an_sdk_takes_for_a_whole_answer(sdk: Sdk, name: str) -> None:
    """Nothing is raised, so nothing can be named: when this fails, an SDK has become better."""
    route = Route(f"{sdk.provider}/m")
    with anyio.fail_after(LIMIT):
        async with Stub(Scenario.parse({"answers": {route: outage(name, sdk)}})) as stub:
            base = providers(stub, PATIENCE)[sdk.provider].base_url

            assert await raised_by(sdk.call, base, PATIENCE) is None


@pytest.mark.parametrize("sdk", [row(sdk) for sdk in SDKS])
async def test_a_step_moves_a_call_that_fails_to_a_sibling(sdk: Sdk) -> None:
    route, sibling = Route(f"{sdk.provider}/m"), Route(f"{sdk.provider}/n")
    answers = {route: {"status": 503}, sibling: {"text": "The sibling answers."}}
    middleware = Sidestep(
        FallbackConfig(fallback_models_by_model={route: (sibling,)}, max_upstream_retry_attempts=0)
    )
    with anyio.fail_after(LIMIT):
        async with Stub(Scenario.parse({"answers": answers})) as stub:
            base = providers(stub, PATIENCE)[sdk.provider].base_url
            step = middleware.step(route)
            async for attempt in step:
                async with attempt:
                    await sdk.call(base, attempt.route.model, PATIENCE)

            assert [received.route for received in stub.requests] == [route, sibling]
    assert step.route == sibling
    assert [attempt.failure and attempt.failure.status for attempt in step.attempts] == [503, None]
