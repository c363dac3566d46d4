"""Agents of others take a turn through `sidestep serve`, with the strict stub behind it.

The route that an agent asks for is out, and a sibling takes its turn: on the agent's own wire, and
on another. Or the route is back for the second step of the turn.

How to run this: tests/clients/README.md.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from sidestep.session.event import StepEnded
from sidestep.session.serve.client_setup import ClientSetup

from ..session.serve.served import serving
from .client import CLIENTS, OUTPUT, RAN
from .test_clients import DONE, LONGEST, PRESENT, Turn, quiet, run

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

    from sidestep.session.observation import Observation

    from ..session.serve.served import Served

pytestmark = pytest.mark.asyncio

OUTAGES = {
    "503": {"status": 503},
    "cut": {"text": "Half an answer", "chunk": 4, "after": 2, "cut": True},
    "error": {"text": "Half an answer", "chunk": 4, "after": 2, "error": 529},
    "stall": {"text": "Half an answer", "chunk": 4, "after": 2, "stall": True},
}
BACK = "The primary is back."
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


def sibling_of(route: str, where: str) -> str:
    return SIBLINGS[where].get(route.partition("/")[0], SIBLINGS[where]["chat"])


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
    sibling = sibling_of(route, where)

    taken = await turn(name, route, sibling, outage, tmp_path)

    assert [each for each in taken.refused if "strict" in each] == []
    assert taken.status == 0, taken.printed
    assert "It is done." in taken.printed
    assert "Half" not in taken.printed
    if client.tool is not None:
        assert OUTPUT in json.dumps([each.body for each in taken.requests])


@pytest.mark.parametrize(
    ("name", "where"),
    [
        pytest.param(name, where, id=f"{name}, {where}")
        for name, where in itertools.product(PRESENT, SIBLINGS)
    ],
)
async def test_an_agents_turn_goes_on_after_the_primary_is_back(
    name: str, where: str, tmp_path: Path
) -> None:
    """The sibling takes the first step, with the call, and the primary the second one."""
    route = CLIENTS[name].routes[0]
    sibling = sibling_of(route, where)

    taken = await turn_with_a_return(name, route, sibling, tmp_path)

    last = "text" if CLIENTS[name].last is None else "tool_calls"
    asked = taken.asked_of(route, *RENAMED.get(route, ()), sibling)
    played = [(str(each.route) == sibling, each.answered) for each in asked]
    first = "text" if CLIENTS[name].tool is None else "tool_calls"
    assert [each for each in taken.refused if "strict" in each] == []
    assert taken.status == 0, taken.printed
    assert played == [(False, "503"), (True, first), (False, last)]
    assert taken.printed.count(BACK) == CLIENTS[name].copies, taken.printed
    assert (tmp_path / "work" / RAN).read_text() == OUTPUT
    assert OUTPUT in json.dumps(asked[-1].body)


async def turn_with_a_return(name: str, route: str, sibling: str, tmp_path: Path) -> Turn:
    """Return the turn of the agent *name*, whose route is out for the first step only."""
    client = CLIENTS[name]
    back = [{"status": 503}, {"reasoning": "So.", "text": BACK, **(client.last or {})}]
    routes = (route, *RENAMED.get(route, ()))
    answers = {
        **dict.fromkeys(routes, back),
        sibling: [client.counted, {"text": "The sibling again.", **(client.last or {})}],
        "*": {"status": 503},
    }
    siblings = dict.fromkeys(routes, sibling)
    async with serving(answers, siblings=siblings, strict=True) as served:
        served.middleware.observe(CooldownEnds(served, sibling))
        return await taken_from(served, name, route, tmp_path)


class CooldownEnds:
    """Ends the cooldown of every route as soon as *sibling* has answered a step."""

    def __init__(self, served: Served, sibling: str) -> None:
        self._served = served
        self._sibling = sibling

    def __call__(self, seen: Observation) -> None:
        if isinstance(seen, StepEnded) and str(seen.route) == self._sibling:
            self._served.clock.now += 61


async def turn(name: str, route: str, sibling: str, outage: str, tmp_path: Path) -> Turn:
    """Return the turn of the agent *name*, whose route is out."""
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
        return await taken_from(served, name, route, tmp_path)


async def taken_from(served: Served, name: str, route: str, tmp_path: Path) -> Turn:
    """Return the turn that the agent *name* takes with *served*."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    launch = CLIENTS[name].launch(served.serve.url, home, route)
    env = {**quiet(home), **launch.variables}
    command = ClientSetup(served.serve.url, None).command(launch.command)
    with anyio.fail_after(LONGEST):
        printed, status = await run(tuple(command), env, work)
    return Turn(printed, status, [*served.stub.requests, *served.stub.counts])
