"""A turn whose routes are all out waits, over real sockets and in virtual time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sidestep import (
    Budget,
    BudgetExceeded,
    FallbackExhausted,
    Journal,
    PatienceStarted,
    PatienceWaiting,
    Text,
    TurnEnded,
)
from sidestep.session.drill.judge import shown
from sidestep.session.journal.summary import summarise

from ...virtual import virtual_backend
from .outage import A, B, Outage

pytestmark = pytest.mark.anyio

HALF = {"text": "Half an answer, and more", "cut": True}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return virtual_backend(str(request.param))


def down(times: int, status: int = 503) -> dict[str, Any]:
    return {"status": status, "times": times}


async def test_a_turn_is_answered_by_the_first_route_that_is_back() -> None:
    answers = {A: [down(9)], B: [down(1, 529), HALF, {"text": "hello"}]}
    async with Outage(
        answers, patienceSeconds=3600, maxFallbackAttempts=1, cooldownSeconds=90
    ) as outage:
        ended = await outage.session.turn("hi")

        assert ended == TurnEnded("hello", B, A)
        assert outage.clock.slept == [60.0, 30.0, 60.0, 30.0]
        assert outage.asked == [A, B, A, B, A, B]
    _user, answer = outage.session.conversation.messages
    assert (answer.route, answer.parts) == (B, [Text("hello")])
    assert [record.waited for record in answer.attempts] == [0, 0, 90, 0, 90, 0]
    assert shown(outage.events) == "hello"
    assert [event.seconds for event in outage.events if isinstance(event, PatienceWaiting)] == [
        30.0, 30.0,
    ]  # fmt: skip


async def test_the_budget_of_a_turn_goes_on_after_a_wait() -> None:
    async with Outage(
        {A: [down(99)], B: [down(99)]}, patienceSeconds=3600, maxFallbackAttempts=1,
        session={"budget": Budget(attempts=3)},
    ) as outage:  # fmt: skip
        with pytest.raises(BudgetExceeded):
            await outage.session.turn("hi")

    assert outage.asked == [A, B, A]


async def test_a_turn_without_attempts_left_does_not_wait_for_the_next() -> None:
    async with Outage(
        {A: [down(99)], B: [down(99)]}, patienceSeconds=3600, maxFallbackAttempts=1,
        session={"budget": Budget(attempts=2)},
    ) as outage:  # fmt: skip
        with pytest.raises(BudgetExceeded):
            await outage.session.turn("hi")

    assert outage.clock.slept == []


@pytest.mark.parametrize("how", ["budget", "deadline"])
async def test_a_turn_without_the_time_for_it_does_not_wait(how: str) -> None:
    budget = Budget(seconds=59.0) if how == "budget" else None
    async with Outage(
        {A: [down(99)], B: [down(99)]}, patienceSeconds=3600, session={"budget": budget}
    ) as outage:
        with pytest.raises(FallbackExhausted, match="until the deadline"):
            await outage.session.turn("hi", deadline=None if how == "budget" else 59.0)

    assert outage.clock.slept == []


async def test_the_journal_tells_of_the_wait_without_what_was_said(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    answers = {A: [down(1), {"text": "hello"}], B: [down(1)]}
    async with Outage(answers, patienceSeconds=3600, maxFallbackAttempts=1) as outage:
        with Journal(path) as journal:
            outage.middleware.journal = journal
            await outage.open().turn("a secret prompt")

    lines = [json.loads(line) for line in path.read_text().splitlines()]
    (waiting,) = [line for line in lines if line.get("event") == "PatienceStarted"]
    assert (waiting["turn"], waiting["step"], waiting["attempt"]) == (1, 1, 3)
    assert [out["route"] for out in waiting["routes"]] == [A, B]
    assert "secret" not in path.read_text()
    assert summarise(str(path))["patience"] == [
        {"kind": "server_error", "status": 503, "count": 1, "seconds": 60.0}
    ]
    assert [event.seconds for event in outage.events if isinstance(event, PatienceStarted)] == [60]
