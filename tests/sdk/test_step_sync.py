"""Agents without an event loop through eight outages, over real sockets, streamed and whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

from sidestep import FailureKind, FallbackConfig, Route, Sidestep, testing

from .step_sync_call import STREAMED, WHOLE, Blocking

pytestmark = pytest.mark.filterwarnings("ignore")  # what an SDK warns of is its own

PATIENCE = 30.0
SILENCE = 0.4
TEXT = "The sibling answers."
HALF = {"text": "Half an answer", "chunk": 4, "after": 2}
PAGE = "<!doctype html><html><body>Sign in to the network</body></html>"
ERROR = {"error": {"code": 503, "status": "UNAVAILABLE", "message": "down"}}

OUTAGES: Mapping[str, Mapping[str, Any]] = {
    "503": {"status": 503},
    "429": {"status": 429, "headers": {"retry-after": "90"}},
    "stall": {**HALF, "stall": True},
    "page": {"status": 200, "headers": {"content-type": "text/html"}, "body": PAGE},
    "refused": {"refuse": True},
}
IN_STREAM = {
    "error": {**HALF, "error": 500},
    "cut": {**HALF, "cut": True},
    "empty": {"status": 200, "headers": {"content-type": "text/event-stream"}, "body": ""},
}
IN_BODY = {
    "error": {"status": 200, "headers": {"content-type": "application/json"}, "body": ERROR},
    "cut": {**HALF, "abort": True},
    "empty": {"status": 200, "headers": {"content-type": "application/json"}, "body": ""},
}


def rows(
    agents: tuple[Blocking, ...], outages: Mapping[str, Mapping[str, Any]], form: str
) -> list[ParameterSet]:
    return [
        pytest.param(agent, outages[name], name, id=f"{agent.name} {form}-{name}")
        for agent in agents
        for name in outages
    ]


@pytest.mark.parametrize(
    ("agent", "outage", "name"),
    [
        *rows(STREAMED, {**OUTAGES, **IN_STREAM}, "streamed"),
        *rows(WHOLE, {**OUTAGES, **IN_BODY}, "whole"),
    ],
)
def test_an_outage_moves_to_the_sibling(
    agent: Blocking, outage: Mapping[str, Any], name: str
) -> None:
    route, sibling = map(Route, agent.routes)
    config = FallbackConfig(
        fallback_models_by_model={route: (sibling,)}, max_upstream_retry_attempts=0
    )
    step = Sidestep(config).step_sync(route)
    seconds = SILENCE if name == "stall" else PATIENCE

    with testing.stub({route: outage, sibling: TEXT}) as stub:
        text = step.run(
            lambda at: agent.call(stub.base_url(at.route.provider), at.route.model, seconds)
        )

    failure = step.attempts[0].failure
    assert (text, step.route) == (TEXT, sibling)
    assert stub.routes == ([sibling] if name == "refused" else [route, sibling])
    assert failure is not None
    assert failure.kind is not FailureKind.UNKNOWN
    if name in {"stall", "refused"}:
        assert failure.kind == {"stall": "timeout", "refused": "network"}[name]
    if name == "429":
        assert (failure.kind, failure.retry_after) == ("rate_limit", 90.0)


@pytest.mark.parametrize("agent", STREAMED, ids=lambda agent: agent.name)
def test_the_seconds_left_bound_a_call_that_stalls(agent: Blocking) -> None:
    """The library raises at its timeout, which is the deadline, so no route is degraded."""
    route, sibling = map(Route, agent.routes)
    engine = Sidestep(FallbackConfig(fallback_models_by_model={route: (sibling,)}))
    step = engine.step_sync(route, deadline=SILENCE)

    with (
        testing.stub({route: {"text": "Late", "delay": PATIENCE}, sibling: TEXT}) as stub,
        pytest.raises(TimeoutError, match="deadline"),
    ):
        step.run(
            lambda at: agent.call(stub.base_url(at.route.provider), at.route.model, at.seconds_left)
        )

    assert stub.routes == [route]
    assert engine.degraded.snapshot() == {}


@pytest.mark.parametrize("agent", WHOLE, ids=lambda agent: agent.name)
def test_a_failing_route_is_retried_then_left(agent: Blocking) -> None:
    route, sibling = agent.routes

    with testing.stub({route: 503, sibling: TEXT}) as stub:
        text = stub.middleware.step_sync(route).run(
            lambda at: agent.call(stub.base_url(at.route.provider), at.route.model, PATIENCE)
        )

    assert text == TEXT
    assert stub.routes == [route] * 3 + [sibling]
