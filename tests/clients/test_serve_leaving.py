"""Agents of others are killed in the middle of an answer, and several use one address at once.

How to run this: tests/clients/README.md.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING

import anyio
import pytest

from sidestep.session.serve.client_setup import ClientSetup

from ..session.serve.served import serving
from .client import CLIENTS, OUTPUT, RAN
from .test_clients import DONE, LONGEST, PRESENT, quiet
from .test_serve import RENAMED, sibling_of, taken_from

if TYPE_CHECKING:
    from sidestep.provider.stub.received import ReceivedRequest
    from sidestep.provider.stub.server import Stub

pytestmark = pytest.mark.asyncio

LONG = {"text": "A long answer. " * 100, "chunk": 4, "pace": 0.5}
SILENT = {"text": "A long answer.", "delay": 120}
"""The same for mini-swe-agent, which asks for no stream."""
TOGETHER = {
    "claude": "openai/gpt-5.6-sol",
    "codex": "anthropic/claude-opus-5-5",
    "gemini": "groq/llama-3",
}


@pytest.mark.parametrize("name", PRESENT)
@pytest.mark.parametrize(("hold", "at"), [("whole", "a sibling"), ("first", "the route")])
async def test_an_agent_that_is_killed_cancels_its_attempt(
    name: str, hold: str, at: str, tmp_path: Path
) -> None:
    route = CLIENTS[name].routes[0]
    routes, sibling = (route, *RENAMED.get(route, ())), sibling_of(route, "another")
    answering = {sibling} if at == "a sibling" else {*routes}
    long = SILENT if name == "mini" else LONG
    answers = {**dict.fromkeys(answering, long), "*": {"status": 503}}
    siblings = dict.fromkeys(routes, sibling)
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    async with serving(answers, siblings=siblings, strict=True, hold=hold) as served:
        launch = CLIENTS[name].launch(served.serve.url, home, route)
        env = {**quiet(home), **launch.variables}
        command = ClientSetup(served.serve.url, None).command(launch.command)
        with anyio.fail_after(LONGEST):
            process = await anyio.open_process(
                command, env=env, cwd=work, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            async with process:
                asked = await first_at(answering, served.stub)
                os.killpg(process.pid, signal.SIGKILL)
                await asked.left.wait()

        degraded = {str(each) for each in served.middleware.degraded.snapshot()}
        assert asked.closed_by_client
        assert not degraded & answering


async def first_at(routes: set[str], stub: Stub) -> ReceivedRequest:
    """Wait for the first request for one of *routes*, and return it."""
    for number in itertools.count(1):
        request = await stub.wait_for(number)
        if str(request.route) in routes:
            break
    return request


async def test_several_agents_use_one_address_at_once(tmp_path: Path) -> None:
    names = [name for name in TOGETHER if name in PRESENT]
    answers: dict[str, object] = {"*": {"status": 503}}
    siblings: dict[str, str] = {}
    for name in names:
        route, sibling = CLIENTS[name].routes[0], TOGETHER[name]
        siblings |= dict.fromkeys((route, *RENAMED.get(route, ())), sibling)
        answers[sibling] = [CLIENTS[name].counted, {**DONE, "text": f"It is done for {name}."}]
    printed: dict[str, str] = {}

    async with serving(answers, siblings=siblings, strict=True) as served:

        async def take(name: str) -> None:
            (tmp_path / name).mkdir()
            taken = await taken_from(served, name, CLIENTS[name].routes[0], tmp_path / name)
            printed[name] = taken.printed

        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(take, name)
        requests = served.stub.requests

    for name in names:
        assert f"It is done for {name}." in printed[name]
        assert (tmp_path / name / "work" / RAN).read_text() == OUTPUT
        bodies = [json.dumps(each.body) for each in requests if str(each.route) == TOGETHER[name]]
        assert [OUTPUT in body for body in bodies] == [False, True]
    assert [each.answered for each in requests if "strict" in each.answered] == []
