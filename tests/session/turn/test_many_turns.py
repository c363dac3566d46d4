"""Many conversations at once in an outage, over real sockets and in virtual time."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import httpx
import pytest

from sidestep import Client, Session, Sidestep
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub
from sidestep.session.plan.source import VARIABLE

from ...virtual import run_virtually

A, B = "openrouter/anthropic/claude-sonnet-5", "anthropic/claude-sonnet-5"
DEAD, WELL = [{"status": 503}], [{"text": "hello"}]
CALL = {"tool_calls": [{"name": "read_file", "input": {"path": "a"}}]}


def read_file(path: str) -> str:
    """Read a file."""
    return path


@pytest.mark.parametrize(
    ("turns", "answers"),
    [
        pytest.param(1, WELL, id="one turn each"),
        pytest.param(5, WELL, id="five turns each"),
        pytest.param(1, [CALL] * 40 + WELL, id="turns of several steps"),
    ],
)
def test_twenty_conversations_leave_a_dead_route_after_22_requests_and_within_8_seconds(
    turns: int, answers: list[dict[str, object]]
) -> None:
    scenario = Scenario.parse({"answers": {A: DEAD, B: answers}})

    async def talk(session: Session) -> None:
        for _ in range(turns):
            ended = await session.turn("hi")
            assert (ended.text, ended.route) == ("hello", B)

    async def main() -> tuple[Counter[str], float]:
        async with Stub(scenario) as stub, httpx.AsyncClient(timeout=None, trust_env=False) as http:  # noqa: S113
            environ = {
                VARIABLE: json.dumps({"fallbackModelsByModel": {A: B, B: A}}),
                "SIDESTEP_PROVIDERS": json.dumps(stub.providers()),
            }
            middleware = Sidestep.from_env(environ)
            client = Client(http=http, providers=middleware.providers, environ=environ)
            sessions = [
                Session(A, middleware=middleware, client=client, tools=[read_file])
                for _ in range(20)
            ]
            began = asyncio.get_running_loop().time()
            await asyncio.gather(*map(talk, sessions))
            seconds = asyncio.get_running_loop().time() - began
            return Counter(str(received.route) for received in stub.requests), seconds

    asked, seconds = run_virtually(main)

    assert 20 <= asked[A] <= 22
    assert seconds <= 8.0
