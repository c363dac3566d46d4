"""Agents of others take a turn through `sidestep serve`, with the strict stub behind it.

The route that an agent asks for is out, and a sibling takes its turn: on the agent's own wire, and
on another. How to run this: tests/clients/README.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from sidestep.session.serve.client_setup import ClientSetup

from ..session.serve.served import serving
from .client import CLIENTS, OUTPUT
from .test_clients import DONE, LONGEST, PRESENT, Turn, quiet, run

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

pytestmark = pytest.mark.asyncio

OUTAGES = {
    "503": {"status": 503},
    "cut": {"text": "Half an answer", "chunk": 4, "after": 2, "cut": True},
    "error": {"text": "Half an answer", "chunk": 4, "after": 2, "error": 529},
    "stall": {"text": "Half an answer", "chunk": 4, "after": 2, "stall": True},
}
RENAMED = {"gemini/gemini-3-pro-preview": ("gemini/gemini-3.1-pro-preview",)}
"""What Gemini CLI asks for in place of the model that it is told."""
SIBLINGS = {
    "own wire": {
        "anthropic": "anthropic/claude-opus-5-5",
        "openai": "openai/gpt-5.6-sol",
        "gemini": "gemini/gemini-3-pro",
        "chat": "groq/llama-3",
    },
    "another": {
        "anthropic": "openai/gpt-5.6-sol",
        "openai": "anthropic/claude-opus-5-5",
        "gemini": "anthropic/claude-opus-5-5",
        "chat": "gemini/gemini-3-pro",
    },
}


def rows() -> list[ParameterSet]:
    return [
        pytest.param(name, outage, where, id=f"{name}, {outage}, {where}")
        for name in PRESENT
        for outage in OUTAGES
        for where in SIBLINGS
    ]


@pytest.mark.parametrize(("name", "outage", "where"), rows())
async def test_an_agents_turn_goes_on_at_a_sibling(
    name: str, outage: str, where: str, tmp_path: Path
) -> None:
    client = CLIENTS[name]
    route = client.routes[0]
    sibling = SIBLINGS[where].get(route.partition("/")[0], SIBLINGS[where]["chat"])

    taken = await turn(name, route, sibling, outage, tmp_path)

    assert [each for each in taken.refused if "strict" in each] == []
    assert taken.status == 0, taken.printed
    assert "It is done." in taken.printed
    assert "Half" not in taken.printed
    if client.tool is not None:
        assert OUTPUT in json.dumps([each.body for each in taken.requests])


async def turn(name: str, route: str, sibling: str, outage: str, tmp_path: Path) -> Turn:
    """Return the turn of the agent *name*, whose route is out."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    client = CLIENTS[name]
    call = {"name": client.tool, "input": client.arguments}
    step = {"reasoning": "Hm.", "text": "I do.", "tool_calls": [call]}
    answers = {
        sibling: [*([step] if client.tool is not None else []), client.last or DONE],
        "*": OUTAGES[outage],
    }
    siblings = dict.fromkeys((route, *RENAMED.get(route, ())), sibling)
    timeouts = {"firstEvent": 20, "gap": 2}
    async with serving(answers, siblings=siblings, strict=True, timeouts=timeouts) as served:
        launch = client.launch(served.serve.url, home, route)
        env = {**quiet(home), **launch.variables}
        with anyio.fail_after(LONGEST):
            command = ClientSetup(served.serve.url, None).command(launch.command)
            printed, status = await run(tuple(command), env, work)
        requests = [*served.stub.requests, *served.stub.counts]
    return Turn(printed, status, requests)
