"""`sidestep serve` is started again in the middle of an agent's turn, with `--store`.

The agent's own command waits for the new start, so that no request is on its way.

How to run this: tests/clients/README.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest
from anyio.to_thread import run_sync as in_thread

from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub
from sidestep.session.serve.client_setup import ClientSetup

from ..session.serve.served import in_front_of
from .client import CLIENTS, COUNTED, OUTPUT, RAN
from .test_clients import DONE, LONGEST, PRESENT, Turn, quiet, run
from .test_serve import RENAMED, sibling_of

pytestmark = pytest.mark.asyncio

WITH_TOOLS = [name for name in PRESENT if CLIENTS[name].tool is not None]
ASKED, BACK = "asked", "back"
WAITING = f"echo now > {ASKED}; cat {BACK}; {COUNTED}"
PROOFS = ("thoughtSignature", "encrypted_content", '"signature"')
"""What a sibling signs its reasoning with, on each wire."""


@pytest.mark.parametrize("name", WITH_TOOLS)
@pytest.mark.parametrize("is_back", [False, True], ids=["still out", "back"])
async def test_a_turn_goes_on_after_a_new_start(name: str, is_back: bool, tmp_path: Path) -> None:
    client = CLIENTS[name]
    route, end = client.routes[0], client.last or DONE
    routes, sibling = (route, *RENAMED.get(route, ())), sibling_of(route, "another")
    own: object = [{"status": 503}, end] if is_back else {"status": 503}
    answers = {
        **dict.fromkeys(routes, own),
        sibling: [client.asks_for(WAITING), end],
        "*": {"status": 503},
    }

    taken = await turn(name, answers, dict.fromkeys(routes, sibling), tmp_path)

    last = taken.asked_of(*routes, sibling)[-1]
    assert [each for each in taken.refused if "strict" in each] == []
    assert taken.status == 0, taken.printed
    assert "It is done." in taken.printed
    assert str(last.route) in (routes if is_back else (sibling,))
    assert (tmp_path / "work" / RAN).read_text() == OUTPUT
    if not is_back:
        assert any(each in json.dumps(last.body) for each in PROOFS)


async def turn(
    name: str, answers: Mapping[str, object], siblings: Mapping[str, str], tmp_path: Path
) -> Turn:
    """Return the turn of the agent *name* with an address that is closed and opened again."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    for each in (ASKED, BACK):
        os.mkfifo(work / each)
    taken: list[tuple[str, int]] = []
    is_over = anyio.Event()

    async def start(url: str) -> None:
        launch = CLIENTS[name].launch(url, home, CLIENTS[name].routes[0])
        command = ClientSetup(url, None).command(launch.command)
        taken.append(await run(tuple(command), {**quiet(home), **launch.variables}, work))
        is_over.set()

    async with Stub(Scenario.parse({"answers": answers}), strict=True) as stub:
        known = {each: {**at, "apiKeyEnv": None} for each, at in stub.providers().items()}
        store = tmp_path / "store"
        with anyio.fail_after(LONGEST):
            async with anyio.create_task_group() as tasks:
                async with in_front_of(known, siblings=siblings, store=store) as (serve, *_):
                    port = serve.port
                    tasks.start_soon(start, serve.url)
                    await in_thread((work / ASKED).read_text)
                async with in_front_of(known, siblings=siblings, store=store, port=port):
                    await in_thread((work / BACK).write_text, "")
                    await is_over.wait()
    printed, status = taken[0]
    return Turn(printed, status, [*stub.requests, *stub.counts])
