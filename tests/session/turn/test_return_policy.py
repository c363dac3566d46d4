"""`returnPolicy` in a session: how long a conversation stays on the sibling that answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sidestep import Event, Session, SidestepError, SqliteStore, StepStarted, Summary

from .outage import A, B, Outage

pytestmark = pytest.mark.asyncio

CALL = {"tool_calls": [{"name": "look", "input": {}}]}
DONE, MOVED = {"text": "Done."}, {"text": "Moved."}
DOWN = {"status": 503}
TOO_LONG = {
    "type": "invalid_request_error",
    "message": "prompt is too long: 210000 tokens > 200000 maximum",
}
LONG = {"status": 400, "body": {"type": "error", "error": TOO_LONG}}
LONG_AT_A = {
    "status": 400,
    "body": {
        "error": {
            "code": 400,
            "message": "This endpoint's maximum context length is 8192 tokens. However, you "
            "requested about 9000 tokens (9000 of text input).",
        }
    },
}


def outage(policy: str, answers: dict[Any, Any], **options: Any) -> Outage:
    """Return an outage with *answers*, in which each run of the tool takes two minutes."""

    def look() -> str:
        """Look."""
        new.clock.now += 120.0
        return "seen"

    new = Outage(
        answers,
        session={"tools": [look], **options},
        returnPolicy=policy,
        maxFallbackAttempts=1,
    )
    return new


@pytest.mark.parametrize(
    ("policy", "first", "second"),
    [
        pytest.param("step", [A, B, A, A], [A], id="step"),
        pytest.param("turn", [A, B, B, B], [A], id="turn"),
        pytest.param("session", [A, B, B, B], [B], id="session"),
    ],
)
async def test_how_long_a_conversation_stays(
    policy: str, first: list[Any], second: list[Any]
) -> None:
    answers = {A: [DOWN, CALL, DONE] if policy == "step" else [DOWN, MOVED], B: [CALL, CALL, DONE]}
    async with outage(policy, answers) as made:
        await made.session.turn("Look.")
        asked = made.asked
        made.clock.now += 120.0
        await made.session.turn("Go on.")

    assert asked == first
    assert made.asked[len(asked) :] == second


@pytest.mark.parametrize(("policy", "third"), [("turn", A), ("session", A)])
async def test_a_route_that_fails_itself_is_left(policy: str, third: Any) -> None:
    answers = {A: [DOWN, CALL, DONE], B: [CALL, DOWN, MOVED]}
    async with outage(policy, answers) as made:
        await made.session.turn("Look.")

    assert made.asked == [A, B, B, A, third]


@pytest.mark.parametrize("policy", ["turn", "session"])
async def test_what_a_user_adds_meanwhile_does_not_end_the_turn(policy: str) -> None:
    answers = {A: [DOWN, MOVED], B: [CALL, CALL, DONE]}
    async with outage(policy, answers) as made:

        def add(event: Event) -> None:
            if isinstance(event, StepStarted) and event.step <= 2:
                made.session.steer("Also this.")

        made.session.on_event = add
        await made.session.turn("Look.")

    roles = [message.role for message in made.session.conversation.messages]
    assert roles == ["user", "assistant"] * 3
    assert made.asked == [A, B, B, B]


async def fail(session: Session, prompt: str | None) -> None:
    with pytest.raises(SidestepError):
        await session.turn(prompt)


@pytest.mark.parametrize("restarts", [False, True], ids=["same process", "restart"])
@pytest.mark.parametrize(
    ("prompt", "last"),
    [pytest.param(None, B, id="the same turn"), pytest.param("Go on.", A, id="a new prompt")],
)
async def test_a_turn_that_failed_goes_on_where_it_was(
    prompt: str | None, last: Any, tmp_path: Path, *, restarts: bool
) -> None:
    store = SqliteStore(tmp_path / "session.db")
    answers = {A: [DOWN, DOWN, MOVED], B: [CALL, DOWN, DONE]}
    async with outage("turn", answers, store=store) as made:
        await fail(made.session, "Look.")
        made.clock.now += 120.0
        session = made.session
        if restarts:
            await store.aclose()
            store = SqliteStore(tmp_path / "session.db")
            session = made.open(store=store)
        ended = await session.turn(prompt)
        await store.aclose()

    assert made.asked == [A, B, B, A, last]
    assert ended.route == last


@pytest.mark.parametrize("keep", [0, 1])
async def test_a_summary_in_the_middle_of_a_turn_does_not_end_it(keep: int) -> None:
    answers = {A: [DOWN, MOVED], B: [CALL, LONG, {"text": "It looked."}, CALL, DONE]}
    compact = Summary(keep=keep, route=B)
    async with outage("turn", answers, compact=compact) as made:
        await made.session.turn("Look.")
        asked = made.asked
        await made.session.turn("Go on.")

    assert asked == [A, B, B, B, B, B]
    assert made.asked[-1] == A


async def test_a_summary_of_earlier_turns_keeps_nothing_in_this_one() -> None:
    answers = {A: [DOWN, LONG_AT_A, {"text": "It looked."}, MOVED], B: [CALL, DONE]}
    async with outage("turn", answers, compact=Summary(keep=1, route=A)) as made:
        await made.session.turn("Look.")
        await made.session.turn("Go on.")

    assert made.asked == [A, B, B, A, A, A]


async def test_asking_for_another_route_ends_the_stay() -> None:
    answers = {A: [DOWN, MOVED], B: [DONE]}
    async with outage("session", answers) as made:
        await made.session.turn("Look.")
        made.session.route = B
        await made.session.turn("Go on.")
        made.session.route = A
        made.clock.now += 120.0
        ended = await made.session.turn("Go on.")

    assert ended.route == B
