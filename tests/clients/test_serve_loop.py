"""The route of an agent fails in the middle of a loop of calls, with signed reasoning behind it.

How to run this: tests/clients/README.md.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..session.serve.served import serving
from .client import CLIENTS, RAN, Client
from .test_clients import PRESENT
from .test_serve import BACK, RENAMED, CooldownEnds, sibling_of, taken_from

pytestmark = pytest.mark.asyncio

WITH_TOOLS = [name for name in PRESENT if CLIENTS[name].tool is not None]


def step(client: Client, number: int) -> dict[str, object]:
    return client.asks_for(f"printf 'hello-%s' {number} | tee -a {RAN}")


@pytest.mark.parametrize(
    ("name", "where", "hold"),
    [
        pytest.param(name, where, hold, id=f"{name}, {where}, {hold}")
        for name in WITH_TOOLS
        for where, hold in (("own wire", "whole"), ("another", "whole"), ("another", "first"))
    ],
)
async def test_a_loop_of_calls_goes_on_at_a_sibling_and_back_again(
    name: str, where: str, hold: str, tmp_path: Path
) -> None:
    client = CLIENTS[name]
    route, end = client.routes[0], client.last or {}
    sibling = sibling_of(route, where)
    routes = (route, *RENAMED.get(route, ()))
    own = [
        *(step(client, 1), step(client, 2), {"status": 503}, step(client, 4), {"status": 529}),
        {"reasoning": "So.", "text": BACK, **end},
    ]
    answers = {
        **dict.fromkeys(routes, own),
        sibling: [step(client, 3), step(client, 5), {"text": "The sibling again.", **end}],
        "*": {"status": 503},
    }
    siblings = dict.fromkeys(routes, sibling)

    async with serving(answers, siblings=siblings, strict=True, hold=hold) as served:
        served.middleware.observe(CooldownEnds(served, sibling))
        taken = await taken_from(served, name, route, tmp_path)

    asked = taken.asked_of(*routes, sibling)
    played = [("sibling " if str(each.route) == sibling else "") + each.answered for each in asked]
    last = "text" if client.last is None else "tool_calls"
    assert [each for each in taken.refused if "strict" in each] == []
    assert taken.status == 0, taken.printed
    assert played == [
        *("tool_calls", "tool_calls", "503", "sibling tool_calls"),
        *("tool_calls", "529", "sibling tool_calls", last),
    ]
    ran = "".join(f"hello-{number}" for number in range(1, 6))
    assert (tmp_path / "work" / RAN).read_text() == ran
    sent = json.dumps(asked[-1].body)
    assert all(f"hello-{number}" in sent for number in range(1, 6))
