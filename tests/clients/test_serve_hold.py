"""Agents of others take a turn through `sidestep serve --hold first`, and see half an answer fail.

Nobody can take back what an agent was sent. So the stream ends with an error, and the agent's own
retry goes to the sibling.

How to run this: tests/clients/README.md.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from ..session.serve.served import serving
from .client import CLIENTS
from .test_clients import DONE, PRESENT
from .test_serve import OUTAGES, RENAMED, sibling_of, taken_from

pytestmark = pytest.mark.asyncio

REPEATING = [name for name in PRESENT if name != "cline"]


@pytest.mark.parametrize(
    ("name", "outage"), list(itertools.product(REPEATING, ("cut", "error", "stall")))
)
async def test_an_agent_asks_again_and_the_sibling_answers(
    name: str, outage: str, tmp_path: Path
) -> None:
    client = CLIENTS[name]
    route, end = client.routes[0], client.last or DONE
    routes, sibling = (route, *RENAMED.get(route, ())), sibling_of(route, "another")
    answers = {
        sibling: [*([client.counted] if client.tool is not None else []), end],
        "*": OUTAGES[outage],
    }
    siblings = dict.fromkeys(routes, sibling)
    timeouts = {"firstEvent": 10, "gap": 2}
    async with serving(
        answers, siblings=siblings, strict=True, timeouts=timeouts, hold="first"
    ) as served:
        taken = await taken_from(served, name, route, tmp_path)

    asked = taken.asked_of(*routes, sibling)
    assert [each for each in taken.refused if "strict" in each] == []
    assert taken.status == 0, taken.printed
    assert "It is done." in taken.printed
    assert str(asked[0].route) in routes
    assert {str(each.route) for each in asked[1:]} == {sibling}


@pytest.mark.skipif("cline" not in PRESENT, reason="Cline is not on the PATH")
async def test_cline_never_asks_again_and_reports_the_error(tmp_path: Path) -> None:
    route = CLIENTS["cline"].routes[0]
    sibling = sibling_of(route, "another")
    answers = {sibling: DONE, "*": OUTAGES["cut"]}
    async with serving(answers, siblings={route: sibling}, strict=True, hold="first") as served:
        taken = await taken_from(served, "cline", route, tmp_path)

    assert taken.status != 0
    assert "its output was shown, and cannot be taken back" in taken.printed
