"""Agents of others take a turn with the strict stub, which refuses only what the real API refuses.

Each gets an outage, a call of its shell tool and a text. How to run this: tests/clients/README.md.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio
import pytest

from sidestep.provider.route import Route
from sidestep.provider.stub.received import ReceivedRequest
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub

from .client import CLIENTS, OUTPUT, Client

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

pytestmark = pytest.mark.asyncio

LONGEST = 300
"""Seconds that an agent may take, so that one that waits for a terminal ends."""
OUTAGE = {"status": 503}
DONE = {"reasoning": "So.", "text": "It is done."}
PRESENT = {name: client for name, client in CLIENTS.items() if shutil.which(name) is not None}


class Turn(NamedTuple):
    """What an agent printed, how it ended, and what it sent to the stub."""

    printed: str
    status: int
    requests: list[ReceivedRequest]

    @property
    def refused(self) -> list[str]:
        """The requests that were refused, except those that only ask whether anybody is there."""
        return [
            f"{each.method} {each.path}: {each.answered}"
            for each in self.requests
            if each.answered.startswith("4") and each.method != "HEAD"
        ]

    def asked_of(self, *routes: str) -> list[ReceivedRequest]:
        """Return the requests for *routes*, in order, without those for a title by another model.

        An agent may repeat the request for a title at any time, even after the turn's last step.
        """
        return [each for each in self.requests if str(each.route) in routes]

    @property
    def answers(self) -> list[list[str]]:
        """The answers that each model gave, in order; a title may come from a model of its own."""
        of_route: dict[object, list[str]] = defaultdict(list)
        for each in self.requests:
            of_route[each.route].append(each.answered)
        return list(of_route.values())


def answers_for(client: Client) -> list[object]:
    """Return an outage, a call of the shell if the agent has one, and the end of the turn."""
    call = {"name": client.tool, "input": client.arguments}
    step = {"reasoning": "Hm.", "text": "I do.", "tool_calls": [call]}
    return [OUTAGE, *([step] if client.tool is not None else []), client.last or DONE]


async def turn(name: str, route: str, tmp_path: Path) -> Turn:
    """Return the turn of the agent *name*, which is started again if an outage ends it."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    scenario = Scenario.parse({"answers": {"*": answers_for(CLIENTS[name])}})
    async with Stub(scenario, strict=True) as stub:
        launch = CLIENTS[name].launch(stub.url, home, route)
        env = {**quiet(home), **launch.variables}
        with anyio.fail_after(LONGEST):
            printed, status = await run(launch.command, env, work)
            if status != 0 and [each.answered for each in stub.requests] == ["503"]:
                printed, status = await run(launch.command, env, work)
    return Turn(printed, status, [*stub.requests, *stub.counts])


async def run(command: tuple[str, ...], env: dict[str, str], work: Path) -> tuple[str, int]:
    """Return what *command* printed, and its exit status."""
    ended = await anyio.run_process(
        command, env=env, cwd=work, check=False, stdin=subprocess.DEVNULL
    )
    return (ended.stdout + ended.stderr).decode(errors="replace"), ended.returncode


def rows(*pairs: tuple[str, str]) -> list[ParameterSet]:
    return [pytest.param(name, route, id=f"{name}, {route}") for name, route in pairs]


@pytest.mark.parametrize(
    ("name", "route"),
    rows(*((name, route) for name, client in PRESENT.items() for route in client.routes)),
)
async def test_an_agent_takes_a_turn_in_which_nothing_is_refused(
    name: str, route: str, tmp_path: Path
) -> None:
    client = CLIENTS[name]
    whole = ["503", *(["tool_calls"] if client.tool is not None else [])]
    whole.append("text" if client.last is None else "tool_calls")

    taken = await turn(name, route, tmp_path)

    assert taken.refused == []
    assert taken.status == 0, taken.printed
    assert whole in taken.answers
    assert "It is done." in taken.printed
    if client.tool is not None:
        assert OUTPUT in json.dumps([each.body for each in taken.requests])


@pytest.mark.parametrize(
    ("name", "route"),
    rows(*((name, route) for name, client in PRESENT.items() for route in client.refused)),
)
async def test_an_agent_is_refused_where_the_real_api_refuses_it(
    name: str, route: str, tmp_path: Path
) -> None:
    taken = await turn(name, route, tmp_path)

    assert taken.refused != []
    assert taken.status != 0
    assert CLIENTS[name].refused[route] in taken.printed


@pytest.mark.parametrize(
    "order",
    [
        pytest.param(("title", "route", "sibling"), id="the title first"),
        pytest.param(("route", "title", "sibling"), id="between the steps"),
        pytest.param(("route", "sibling", "title"), id="after the last step"),
        pytest.param(("title", "route", "title", "sibling", "title"), id="repeated"),
        pytest.param(("route", "sibling"), id="no title"),
    ],
)
async def test_the_last_step_is_found_wherever_a_title_is_asked_for(order: tuple[str, ...]) -> None:
    requests = [
        ReceivedRequest(
            route=Route(f"anthropic/{name}"), method="POST", path="/", at=0.0, body={}, headers={}
        )
        for name in order
    ]

    asked = Turn("", 0, requests).asked_of("anthropic/route", "anthropic/sibling")

    assert [str(each.route) for each in asked] == ["anthropic/route", "anthropic/sibling"]


def quiet(home: Path) -> dict[str, str]:
    """Return variables that keep an agent in *home*, and its way to the stub direct."""
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".data"),
        "PATH": os.environ["PATH"],
        "TERM": "dumb",
        "NO_PROXY": "127.0.0.1",
    }
