"""A client that asks for many models that are not there: what is known of the real ones stays."""

from __future__ import annotations

import json

import pytest

from sidestep import DegradedRoutes
from sidestep.session.step.tally import AttemptTally

from .served import CLAUDE, SIBLING, Served, serving

pytestmark = pytest.mark.asyncio

MOST = 8
ANSWERS = {
    CLAUDE: [{"text": "Hello."}, {"status": 503, "times": 99}],
    SIBLING: {"text": "The sibling."},
    "*": {"status": 503, "times": 999},
}


def make_small(served: Served) -> None:
    """Let the maps of the engine hold `MOST` routes, not 16,384."""
    middleware, keys = served.middleware, served.middleware.degraded.keys
    middleware.degraded = DegradedRoutes(timer=served.clock.time, max_routes=MOST)
    middleware.degraded.keys = keys
    middleware.tally = AttemptTally(most=MOST, is_kept=middleware.degraded.is_planned)


async def invent(served: Served, *, keys: bool) -> None:
    for number in range(3 * MOST):
        headers = {"x-api-key": f"invented-{number}"} if keys else {}
        await served.ask(f"anthropic/invented-{number}", headers=headers)


@pytest.mark.parametrize("keys", [False, True], ids=["names", "names and keys"])
async def test_a_route_of_the_configuration_stays_out_and_keeps_its_counts(keys: bool) -> None:
    async with serving(ANSWERS, siblings={CLAUDE: SIBLING}, token=None) as served:
        make_small(served)
        await served.ask(CLAUDE)
        await served.ask(CLAUDE)
        await invent(served, keys=keys)
        asked = len(served.stub.requests)
        answer = await served.ask(CLAUDE)
        status = (await served.http.get("/_sidestep/status")).json()["routes"]
        known = {each["route"]: each for each in status}

        assert answer.headers["x-sidestep-route"] == SIBLING
        assert [str(each.route) for each in served.stub.requests[asked:]] == [SIBLING]
        assert known[CLAUDE]["state"] == "degraded"
        assert (known[CLAUDE]["attempts"], known[CLAUDE]["successes"]) == (2, 1)
        assert known[CLAUDE]["last_failure"]["status"] == 503
        assert len(known) <= 2 * MOST
        assert len(json.dumps(status)) < 20_000


async def test_a_route_of_the_configuration_has_its_name_in_the_metrics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("prometheus_client")
    monkeypatch.setattr("sidestep.session.serve.pages._MOST_ROUTES", MOST)
    async with serving(ANSWERS, siblings={CLAUDE: SIBLING}, token=None) as served:
        await invent(served, keys=False)
        await served.ask(CLAUDE)
        metrics = (await served.http.get("/_sidestep/metrics")).text

        assert f'sidestep_attempts_total{{outcome="answered",route="{CLAUDE}"}} 1.0' in metrics
        assert f'"anthropic/invented-{MOST + 1}"' not in metrics
        assert 'route="other"' in metrics


async def test_the_status_names_only_so_many_routes_and_says_how_many_more_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sidestep.session.serve.pages._MOST_SHOWN", MOST)
    async with serving(ANSWERS, siblings={CLAUDE: SIBLING}, token=None) as served:
        await invent(served, keys=True)
        await served.ask(CLAUDE)
        status = (await served.http.get("/_sidestep/status")).json()
        names = [each["route"] for each in status["routes"]]

        assert names[:2] == [CLAUDE, SIBLING]
        assert len(names) == MOST
        assert status["left_out"] == 3 * MOST + 2 - MOST


async def test_a_status_of_few_routes_leaves_none_out() -> None:
    async with serving(ANSWERS, siblings={CLAUDE: SIBLING}, token=None) as served:
        status = (await served.http.get("/_sidestep/status")).json()

        assert (len(status["routes"]), status["left_out"]) == (2, 0)
