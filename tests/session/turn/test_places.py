"""As many requests at once as there are connections, and none waits for another for ever."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from sidestep import Client, Session, Sidestep, ToolCall
from sidestep.provider.client import shared_http
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub
from sidestep.session.plan.source import VARIABLE

from ...virtual import VirtualClock

A, B = "anthropic/claude-sonnet-5", "openrouter/anthropic/claude-sonnet-5"
CALL = {"tool_calls": [{"name": "ask_another", "input": {"question": "why?"}}]}
PLACES, TALKS = 2, 6

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("eager", [False, True], ids=["at the end", "eager"])
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({}, id="whole answers"),
        pytest.param({"after": 9, "error": 529}, id="answers that end in an error"),
        pytest.param({"after": 9, "cut": True}, id="answers that are cut"),
    ],
)
async def test_tools_that_ask_a_model_as_well_get_a_place(
    answer: dict[str, Any], *, eager: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_http, "most_connections", lambda: PLACES)
    first = {**CALL, **answer, "times": TALKS}
    scenario = Scenario.parse({"answers": {A: [first, {"text": "Done."}], B: {"text": "Because."}}})
    asked, all_ask = 0, anyio.Event()

    async def ask_another(question: str) -> str:
        """Ask another model."""
        nonlocal asked
        asked += 1
        if asked == PLACES:
            all_ask.set()
        await all_ask.wait()
        return (await talk(B).turn(question)).text

    def talk(route: str, **options: Any) -> Session:
        return Session(route, middleware=middleware, client=client, **options)

    async with Stub(scenario) as stub:
        environ = {
            VARIABLE: json.dumps({"fallbackModelsByModel": {A: B}}),
            "SIDESTEP_PROVIDERS": json.dumps(stub.providers()),
        }
        middleware = Sidestep.from_env(environ, clock=VirtualClock())
        async with Client(providers=middleware.providers, environ=environ) as client:
            talks = [talk(A, tools=[ask_another], eager=eager) for _ in range(TALKS)]
            with anyio.fail_after(60):
                async with anyio.create_task_group() as tasks:
                    for each in talks:
                        tasks.start_soon(each.turn, "Why?")

    results = [
        part.output
        for each in talks
        for message in each.conversation.messages
        for part in message.parts
        if isinstance(part, ToolCall)
    ]
    assert results == ["Because."] * asked
