"""A turn of our own session over real sockets: what is kept, what is sent, what a listener sees."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

import sidestep
from sidestep import ProviderError, Route, Session, StreamInterrupted
from sidestep.provider.part import Reasoning, Text
from sidestep.session.judge import shown

from .outage import A, B, Outage

pytestmark = pytest.mark.asyncio

HALF = {"reasoning": "Half a thought.", "signature": "EqQBhalf", "text": "Half an answer, and more"}


async def test_an_answer_is_kept_with_the_route_that_gave_it() -> None:
    async with Outage({A: {"status": 503}, B: {"text": "hello"}}) as outage:
        ended = await outage.session.turn("hi")

    assert ended == sidestep.TurnEnded("hello", B, A)
    user, answer = outage.session.conversation.messages
    assert (user.role, user.parts) == ("user", [Text("hi")])
    assert (answer.route, answer.requested, answer.parts) == (B, A, [Text("hello")])


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"error": 503}, id="an error object"),
        pytest.param({"cut": True}, id="a clean close"),
        pytest.param({"abort": True}, id="a close in the middle"),
        pytest.param({"reset": True}, id="a reset"),
    ],
)
@pytest.mark.parametrize("route", [A, B])
async def test_nothing_of_a_failed_attempt_is_kept_sent_or_left_on_the_screen(
    route: Route, fault: dict[str, Any]
) -> None:
    """OpenClaw #84430: a half block was saved, and every later request was refused."""
    sibling = B if route == A else A
    answers = {route: HALF | {"after": 3} | fault, sibling: [{"text": "whole"}, {"text": "more"}]}
    async with Outage(answers) as outage:
        outage.session.route = route
        await outage.session.turn("hi")
        assert shown(outage.events) == "whole"
        await outage.session.turn("and then?")

    assert outage.asked == [route, sibling, sibling]
    sent = json.dumps([received.body for received in outage.stub.requests])
    assert "Half" not in sent
    assert "EqQBhalf" not in sent
    kept = [part for message in outage.session.conversation.messages for part in message.parts]
    assert kept == [Text("hi"), Text("whole"), Text("and then?"), Text("more")]


async def test_parts_are_retracted_before_the_next_attempts_first_event() -> None:
    async with Outage({A: HALF | {"after": 3, "error": 503}, B: {"text": "whole"}}) as outage:
        await outage.session.turn("hi")

    names = [type(event).__name__ for event in outage.events]
    retracted = names.index("PartsRetracted")
    assert "ReasoningDelta" in names[:retracted]
    assert names[retracted:] == [
        "PartsRetracted", "RouteDegraded", "Swapped", "AttemptStarted", "TextDelta", "Spent",
        "StepEnded", "TurnEnded",
    ]  # fmt: skip


async def test_a_signature_is_kept_only_with_its_finished_block() -> None:
    whole = {"reasoning": "A whole thought.", "signature": "EqQBwhole", "text": "whole"}
    async with Outage({B: whole}) as outage:
        outage.session.route = B
        await outage.session.turn("hi")

    assert outage.session.conversation.messages[-1].parts == [
        Reasoning("A whole thought.", signature="EqQBwhole"),
        Text("whole"),
    ]


async def test_a_host_that_cannot_take_text_back_gets_what_was_shown_without_a_signature() -> None:
    answers = {B: HALF | {"after": 1, "error": 503}, A: {"text": "whole"}}
    async with Outage(answers, onPartial="interrupt") as outage:
        outage.session.route = B
        with pytest.raises(StreamInterrupted) as caught:
            await outage.session.turn("hi")

    assert outage.asked == [B]
    assert caught.value.emitted == [Reasoning("Half a thought.", complete=False)]
    assert not [event for event in outage.events if isinstance(event, sidestep.PartsRetracted)]
    assert outage.middleware.degraded.is_degraded(B)


async def test_a_failed_step_keeps_the_requested_route_and_the_users_message_once() -> None:
    answers = {A: [{"status": 503}] * 2 + [{"text": "back"}], B: {"status": 503}}
    async with Outage(answers) as outage:
        with pytest.raises(sidestep.FallbackExhausted):
            await outage.session.turn("hi")
        failed = outage.session.conversation.messages[-1]
        outage.clock.now += 60
        await outage.session.turn("again")

    assert (failed.route, failed.requested, failed.parts) == (A, A, [])
    assert json.dumps(outage.stub.requests[-1].body).count('"hi"') == 1
    ended = [event for event in outage.events if isinstance(event, sidestep.TurnEnded)]
    assert ended[0].error is not None
    assert ended[0].error["class"] == "FallbackExhausted"
    assert (ended[1].text, ended[1].error) == ("back", None)


async def test_a_route_of_an_unknown_provider_is_never_taken_as_a_sibling() -> None:
    config = {A: ["nowhere/x", str(B)]}
    answers = {A: {"status": 503}, B: {"text": "hello"}}
    async with Outage(answers, fallbackModelsByModel=config) as outage:
        ended = await outage.session.turn("hi")

    assert ended.route == B
    assert (
        sidestep.CandidateSkipped(1, Route("nowhere/x"), "no provider 'nowhere' is known")
        in outage.events
    )


async def test_a_cancelled_turn_closes_its_connection_and_leaves_the_session_usable() -> None:
    answers = {A: [HALF | {"after": 1, "stall": True}, {"text": "whole"}]}
    async with Outage(answers) as outage:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(outage.session.turn, "hi")
                received = await outage.stub.wait_for(1)
                tasks.cancel_scope.cancel()
            await received.left.wait()
        assert outage.middleware.degraded.snapshot() == {}

        ended = await outage.session.turn("hi")

    assert ended.text == "whole"


async def test_one_session_refuses_a_second_turn_at_once() -> None:
    stalled = Outage({A: {"text": "hello", "stall": True}})
    async with stalled as outage, anyio.create_task_group() as tasks:
        tasks.start_soon(outage.session.turn, "hi")
        await outage.stub.wait_for(1)
        with pytest.raises(RuntimeError, match="a turn of this session is running"):
            await outage.session.turn("hi")
        tasks.cancel_scope.cancel()


async def test_two_sessions_share_what_one_of_them_learnt() -> None:
    answers = {A: {"status": 503}, B: {"text": "hello"}}
    async with Outage(answers) as outage:
        other = Session(A, middleware=outage.middleware, client=outage.client)
        await outage.session.turn("hi")
        await other.turn("hi")

    assert outage.asked == [A, B, B]


async def test_of_fifty_steps_at_the_end_of_a_cooldown_one_request_reaches_the_stub() -> None:
    answers = {A: {"status": 503}, B: {"text": "hello"}}
    async with Outage(answers) as outage:
        outage.middleware.degraded.degrade(A, cooldown=60)
        outage.clock.now += 60
        sessions = [
            Session(A, middleware=outage.middleware, client=outage.client) for _ in range(50)
        ]
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                for session in sessions:
                    tasks.start_soon(session.turn, "hi")

    assert outage.asked.count(A) == 1
    assert outage.asked.count(B) == 50


async def test_without_a_configuration_the_providers_error_comes_through() -> None:
    async with Outage({A: {"status": 402}}) as outage:
        outage.environ.pop("SIDESTEP_FALLBACK_CONFIG")
        with pytest.raises(ProviderError) as caught:
            await outage.session.turn("hi")

    assert caught.value.failure.kind == "quota"
    assert caught.value.failure.route == A
    assert outage.asked == [A]
