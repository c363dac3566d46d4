"""Agents of others take a turn with the strict stub: it refuses nothing that they send."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import anyio
import pytest

from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub

from .client import CLIENTS, OUTPUT, Client

pytestmark = pytest.mark.asyncio

LONGEST = 180
"""Seconds that an agent may take, so that one that waits for a terminal ends."""
OUTAGE = {"status": 503}
DONE = {"reasoning": "So.", "text": "It is done."}

TURNS = [
    pytest.param(name, route, id=f"{name}, {route}")
    for name, client in CLIENTS.items()
    if shutil.which(name) is not None
    for route in client.routes
]


def answers_for(client: Client) -> list[object]:
    """Return an outage, a call of the shell if the agent has one, and the end of the turn."""
    call = {"name": client.tool, "input": client.arguments}
    step = {"reasoning": "Hm.", "text": "I do.", "tool_calls": [call]}
    return [OUTAGE, *([step] if client.tool is not None else []), client.last or DONE]


@pytest.mark.parametrize(("name", "route"), TURNS)
async def test_an_agent_takes_a_turn_in_which_nothing_is_refused(
    name: str, route: str, tmp_path: Path
) -> None:
    client = CLIENTS[name]
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    scenario = Scenario.parse({"answers": {"*": answers_for(client)}})
    async with Stub(scenario, strict=True) as stub:
        launch = client.launch(stub.url, home, route)
        with anyio.fail_after(LONGEST):
            ended = await anyio.run_process(
                launch.command,
                env={**quiet(home), **launch.variables},
                cwd=work,
                check=False,
                stdin=subprocess.DEVNULL,
            )

    said = ended.stdout.decode(errors="replace") + ended.stderr.decode(errors="replace")
    refused = [each.body for each in stub.requests if each.answered.endswith("strict")]
    assert refused == []
    assert ended.returncode == 0, said
    assert "503" in [each.answered for each in stub.requests]
    assert "It is done." in said
    if client.tool is not None:
        assert OUTPUT in json.dumps([each.body for each in stub.requests])


def quiet(home: Path) -> dict[str, str]:
    """Return variables that keep an agent in *home*, and away from the network."""
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".data"),
        "PATH": os.environ["PATH"],
        "TERM": "dumb",
        "NO_PROXY": "127.0.0.1",
    }
