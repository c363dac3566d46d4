"""A conversation that may not move stays where it was answered last, whatever fails meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sidestep import (
    FallbackUnsafe,
    Session,
    SidestepError,
    SqliteStore,
    Summary,
)

from .outage import A, B, Outage

pytestmark = pytest.mark.asyncio

CALL = {"tool_calls": [{"name": "write", "input": {"path": "a.py"}}]}
DONE = {"text": "Done."}
TOO_LONG = {
    "type": "invalid_request_error",
    "message": "prompt is too long: 210000 tokens > 200000 maximum",
}
LONG = {"status": 400, "body": {"type": "error", "error": TOO_LONG}}
PINNED: dict[str, dict[str, Any]] = {
    "first call": {"movePolicy": "first_call"},
    "idempotent": {"movePolicy": "idempotent", "idempotentTools": ["read"]},
}


def write(path: str) -> str:
    """Write a file."""
    return f"wrote {path}"


async def fail(session: Session, prompt: str | None) -> None:
    with pytest.raises(SidestepError):
        await session.turn(prompt)


@pytest.mark.parametrize("policy", PINNED.values(), ids=PINNED)
@pytest.mark.parametrize("failures", [1, 3])
@pytest.mark.parametrize("restarts", [False, True], ids=["same process", "restart"])
async def test_a_failed_step_leaves_the_conversation_on_the_route_that_answered(
    policy: dict[str, Any], failures: int, tmp_path: Path, *, restarts: bool
) -> None:
    """The sibling called a tool and then fails; the requested route is healthy again by then."""
    answered = {
        A: [{"status": 503}, {"text": "Moved."}],
        B: [CALL, {"status": 503, "times": failures}, DONE],
    }
    store = SqliteStore(tmp_path / "session.db")
    options = {"tools": [write], "store": store}
    async with Outage(answered, session=options, **policy) as outage:
        session = outage.session
        for given in ["Mend it.", *[None] * (failures - 1)]:
            await fail(session, given)
            outage.clock.now += 10_000
        if restarts:
            await store.aclose()
            store = SqliteStore(tmp_path / "session.db")
            session = outage.open(store=store)
        ended = await session.turn(None)
        await store.aclose()

    assert (ended.text, ended.route) == ("Done.", B)
    assert outage.asked == [A, B, *[B] * failures, B]


@pytest.mark.parametrize("prompt", [None, "Go on."], ids=["the same turn", "a new prompt"])
async def test_a_new_prompt_stays_as_well_where_calls_bind_the_conversation(
    prompt: str | None,
) -> None:
    answered = {A: [{"status": 503}, {"text": "Moved."}], B: [CALL, {"status": 503}, DONE]}
    async with Outage(answered, session={"tools": [write]}, **PINNED["first call"]) as outage:
        await fail(outage.session, "Mend it.")
        outage.clock.now += 10_000
        ended = await outage.session.turn(prompt)

    assert (ended.text, ended.route) == ("Done.", B)


async def test_a_new_prompt_may_start_anywhere_where_only_the_turn_is_bound() -> None:
    answered = {A: [{"status": 503}, {"text": "Moved."}], B: [CALL, {"status": 503}, DONE]}
    async with Outage(answered, session={"tools": [write]}, **PINNED["idempotent"]) as outage:
        await fail(outage.session, "Mend it.")
        outage.clock.now += 10_000
        ended = await outage.session.turn("Go on.")

    assert (ended.text, ended.route) == ("Moved.", A)


async def test_a_conversation_without_an_answer_starts_at_the_requested_route() -> None:
    answered = {A: [{"status": 503}, CALL, DONE], B: {"status": 400}}
    async with Outage(answered, session={"tools": [write]}, **PINNED["first call"]) as outage:
        await fail(outage.session, "Mend it.")
        outage.clock.now += 10_000
        ended = await outage.session.turn(None)

    assert ended.route == A
    assert outage.asked == [A, B, A, A]


@pytest.mark.parametrize("keep", [0, 1])
async def test_a_summary_in_the_middle_of_a_turn_unbinds_nothing(keep: int) -> None:
    answered = {
        A: [{"status": 503}, {"text": "Moved."}],
        B: [CALL, LONG, {"text": "It wrote."}, {"status": 503}, DONE],
    }
    options = {"tools": [write], "compact": Summary(keep=keep, route=B)}
    async with Outage(answered, session=options, **PINNED["idempotent"]) as outage:
        with pytest.raises(FallbackUnsafe):
            await outage.session.turn("Mend it.")
        outage.clock.now += 10_000
        ended = await outage.session.turn(None)

    assert (ended.text, ended.route) == ("Done.", B)
    assert outage.asked == [A, B, B, B, B, B]
