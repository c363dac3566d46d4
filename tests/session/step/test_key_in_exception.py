"""A key that the agent's own SDK quotes goes no further than its exception."""

from __future__ import annotations

import json
import traceback
from typing import TYPE_CHECKING

import pytest

from sidestep import (
    Event,
    FallbackConfig,
    FallbackExhausted,
    MemoryStore,
    ProviderError,
    Route,
    Sidestep,
    StoreError,
)
from sidestep.session.event_json import to_json

from ...virtual import VirtualClock
from ..turn.outage import A, B, Outage

if TYPE_CHECKING:
    from sidestep import Attempt, Message

KEY = "sk-test-1234567890abcdef"
SAID = f"Incorrect API key provided: {KEY}"
TOLD = "Incorrect API key provided: [key]"
HERE, THERE = Route("house/x"), Route("there/x")

pytestmark = pytest.mark.asyncio


class Refused(Exception):
    """What an SDK might raise."""

    status_code = 401


class Bug(Exception):
    """What the agent itself might raise."""


class BrokenStore(MemoryStore):
    """A store of the agent's own."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    async def load(self) -> dict[int, Message]:
        raise self.error


class UncheckedStore(BrokenStore):
    """A store of the agent's own that cannot be read when a step moves."""

    async def load(self) -> dict[int, Message]:
        return {}

    async def check(self) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "siblings", "caught"),
    [
        pytest.param(Refused(SAID), (), Refused, id="nothing was moved"),
        pytest.param(Refused(SAID), (THERE,), FallbackExhausted, id="everything refused"),
        pytest.param(Bug(SAID), (THERE,), Bug, id="a bug"),
    ],
)
async def test_no_event_note_or_error_of_a_step_quotes_it(
    error: Exception, siblings: tuple[Route, ...], caught: type[Exception]
) -> None:
    events: list[Event] = []
    config = FallbackConfig(
        fallback_models_by_model={HERE: siblings} if siblings else {}, fallback_on_errors=(401,)
    )
    step = Sidestep(config, clock=VirtualClock(), on_event=events.append).step(HERE)

    async def refuse(_attempt: Attempt) -> None:
        raise error

    with pytest.raises(caught) as raised:
        await step.run(refuse)

    heard = json.dumps([to_json(event) for event in events])
    notes = traceback.format_exception_only(raised.value)[1:]
    ours = str(raised.value) if caught is FallbackExhausted else "".join(notes)
    assert KEY not in heard + ours
    assert TOLD in heard
    assert TOLD in ours
    assert str(error) == SAID
    assert all(each.failure and each.failure.cause is error for each in step.attempts)


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        pytest.param(Bug(SAID), f"the store raised Bug: {TOLD}", id="an error of its own"),
        pytest.param(StoreError(SAID), TOLD, id="an error of ours"),
        pytest.param(
            Bug("the disk is full"), "the store raised Bug: the disk is full", id="no key"
        ),
    ],
)
async def test_no_event_or_error_of_a_turn_quotes_it(error: Exception, shown: str) -> None:
    store = BrokenStore(error)
    async with Outage({A: {"text": "hello"}}, session={"store": store}) as outage:
        with pytest.raises(StoreError) as raised:
            await outage.session.turn("hi")

    assert str(raised.value) == shown
    assert to_json(outage.events[-1])["error"] == {"class": "StoreError", "message": shown}


async def test_no_reason_to_stay_on_a_route_quotes_it() -> None:
    answers = {A: {"status": 503}, B: {"text": "hello"}}
    async with Outage(answers, session={"store": UncheckedStore(Bug(SAID))}) as outage:
        with pytest.raises(ProviderError) as raised:
            await outage.session.turn("hi")

    heard = json.dumps([to_json(event) for event in outage.events])
    notes = "".join(traceback.format_exception_only(raised.value))
    assert KEY not in heard + notes
    assert f"(the store raised Bug: {TOLD})" in notes
