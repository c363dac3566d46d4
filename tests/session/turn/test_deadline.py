"""The deadline of a turn ends whatever the turn waits for."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from sidestep import Budget, BudgetExceeded, Session, TurnEnded

from ...virtual import pass_time, passing_backend
from .outage import A, B, Outage

SECONDS = 30.0
TOO_LARGE = {"status": 413, "body": {"error": {"message": "Request too large."}}}

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return passing_backend(str(request.param))


async def hang() -> str:
    """Take longer than the turn may."""
    pass_time(SECONDS + 1)
    await anyio.sleep_forever()
    return ""


async def never_shorter(_: Session) -> bool:
    return bool(await hang())


HANGS = pytest.mark.parametrize(
    ("answers", "options"),
    [
        pytest.param({A: TOO_LARGE, B: TOO_LARGE}, {"compact": never_shorter}, id="compaction"),
        pytest.param(
            {A: {"tool_calls": [{"name": "hang", "input": {}}]}}, {"tools": [hang]}, id="a tool"
        ),
    ],
)


@HANGS
async def test_a_turn_ends_at_its_deadline(answers: Any, options: Any) -> None:
    async with Outage(answers, session=options) as outage:
        with (
            anyio.fail_after(2 * SECONDS),
            pytest.raises(TimeoutError, match="deadline has passed"),
        ):
            await outage.session.turn("hi", deadline=SECONDS)

        assert isinstance(outage.events[-1], TurnEnded)


@HANGS
async def test_a_turn_ends_when_its_budget_has_no_second_left(answers: Any, options: Any) -> None:
    budget = Budget(seconds=SECONDS)
    async with Outage(answers, session={"budget": budget, **options}) as outage:
        outage.middleware.clock.time = anyio.current_time  # type: ignore[method-assign]
        session = outage.open()
        with anyio.fail_after(2 * SECONDS), pytest.raises(BudgetExceeded, match="30 s"):
            await session.turn("hi")
