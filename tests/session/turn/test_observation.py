"""What an observer of a `Sidestep` gets from a turn of our own loop, and when."""

from __future__ import annotations

import logging

import pytest

from sidestep import AttemptFailed, AttemptStarted, StepEnded, Text, TurnEnded
from sidestep.session.observation import (
    AnswerRead,
    FirstOutput,
    Observation,
    RequestSent,
    TurnStarted,
)

from .outage import A, B, Outage

pytestmark = pytest.mark.asyncio


async def test_an_observer_gets_what_the_events_leave_out_in_order() -> None:
    seen: list[Observation] = []
    async with Outage({A: {"status": 503}, B: {"text": "hello"}}) as outage:
        outage.middleware.observe(seen.append)
        await outage.session.turn("hi")

    kinds = (TurnStarted, AttemptStarted, RequestSent, FirstOutput, AttemptFailed, AnswerRead)
    assert [type(each) for each in seen if isinstance(each, (*kinds, StepEnded, TurnEnded))] == [
        TurnStarted,
        *(AttemptStarted, RequestSent, AttemptFailed),
        *(AttemptStarted, RequestSent, FirstOutput, AnswerRead),
        StepEnded,
        TurnEnded,
    ]


async def test_an_observer_that_raises_is_logged_once_and_ends_no_turn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[Observation] = []

    def broken(observation: Observation) -> None:
        raise OSError("the collector is gone")

    async with Outage({A: {"text": "hello"}}) as outage:
        outage.middleware.observe(broken)
        outage.middleware.observe(seen.append)
        ended = await outage.session.turn("hi")

    assert ended.text == "hello"
    assert isinstance(seen[-1], TurnEnded)
    errors = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert ["the collector is gone" in each.message for each in errors] == [True]


@pytest.mark.parametrize("kind", [TurnStarted, RequestSent, AnswerRead, TurnEnded])
async def test_an_observer_that_ends_the_program_loses_no_prompt(kind: type[Observation]) -> None:
    class Stop(BaseException):
        """As a Ctrl-C."""

    seen: list[Observation] = []
    ends = True

    def stop(observation: Observation) -> None:
        if ends and isinstance(observation, kind):
            raise Stop

    async with Outage({A: {"text": "hello"}}) as outage:
        outage.middleware.observe(stop)
        outage.middleware.observe(seen.append)
        with pytest.raises(Stop):
            await outage.session.turn("hi")
        ends = False
        assert [type(each) for each in (seen[0], seen[-1])] == [TurnStarted, TurnEnded]
        ended = await outage.session.turn(None)
        sent = [each for each in outage.session.conversation.messages if each.role == "user"]

    assert ended.text == "hello"
    assert [part.text for each in sent for part in each.parts if isinstance(part, Text)] == ["hi"]


async def test_an_observer_that_was_ended_gets_no_further_step() -> None:
    seen: list[Observation] = []
    async with Outage({A: {"text": "hello"}}) as outage:
        end = outage.middleware.observe(seen.append)
        end()
        await outage.session.turn("hi")

    assert seen == []
    assert outage.middleware.observers is None
