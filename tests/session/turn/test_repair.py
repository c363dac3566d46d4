"""A request that a refusal asks to be changed is changed, and sent once more."""

from __future__ import annotations

from typing import Any

import pytest

from sidestep import (
    Attempt,
    AttemptFailed,
    Failure,
    FailureKind,
    FallbackConfig,
    FallbackUnsafe,
    Reasoning,
    Repaired,
    Route,
    Sidestep,
)
from sidestep.provider.cure import Change, Cure
from sidestep.provider.error import ProviderError
from sidestep.session.plan.limits import Limits
from sidestep.session.step.decision import decide
from sidestep.session.step.step_state import Decision, Repair, StepState, Stop, Swap

from ...virtual import VirtualClock
from .outage import A as P
from .outage import B as Q
from .outage import Outage

A, B = Route("anthropic/x"), Route("openrouter/x")
CURE = Cure(Change.DROP_REASONING)
LIMITS = Limits(max_retries=3, max_swaps=2, statuses={400, 500}, max_wait=60.0)
REPAIR = Repair(what="drop all reasoning")
SWAP = Swap(sibling=B, cooldown=None)


def refused(kind: FailureKind = FailureKind.HISTORY_REJECTED, **fields: Any) -> Failure:
    return Failure(kind=kind, message="no", status=400, **{"cure": CURE} | fields)


@pytest.mark.parametrize(
    ("kind", "repair", "decision"),
    [
        pytest.param("history_rejected", "drop all reasoning", REPAIR, id="history"),
        pytest.param("bad_request", "drop all reasoning", REPAIR, id="request"),
        pytest.param("history_rejected", None, SWAP, id="history, nothing to change"),
        pytest.param("bad_request", None, Swap(sibling=B, cooldown=None), id="request, nothing"),
        pytest.param(
            "server_error",
            "drop all reasoning",
            Swap(sibling=B, cooldown=0.0),
            id="another failure",
        ),
        pytest.param("context_overflow", "drop all reasoning", Stop, id="overflow"),
    ],
)
def test_only_a_refusal_is_repaired_and_only_where_something_changes(
    kind: str, repair: str | None, decision: Decision | type[Stop]
) -> None:
    standing = StepState(backoff=2.0, retries=3, sibling=B, sibling_is_healthy=True, repair=repair)

    made = decide(refused(FailureKind(kind)), standing, LIMITS)

    assert isinstance(made, decision) if isinstance(decision, type) else made == decision


class Agent:
    """An agent; its request is refused until it was changed *needed* times."""

    def __init__(self, *, needed: int = 1, changes: bool = True, **fields: Any) -> None:
        self.needed = needed
        self.changes = changes
        self.fields = fields
        self.asked: list[Route] = []
        self.repaired: list[Failure] = []

    def repair(self, failure: Failure) -> str | None:
        self.repaired.append(failure)
        return "drop all reasoning" if self.changes else None

    async def run(self, engine: Sidestep, **options: Any) -> tuple[str, list[Any]]:
        events: list[Any] = []
        step = engine.step(A, repair=self.repair, on_event=events.append, **options)
        async for attempt in step:
            async with attempt:
                self.asked.append(attempt.route)
                if attempt.route == A and len(self.repaired) < self.needed:
                    raise ProviderError(refused(**self.fields))
        return str(step.route), events


def engine(clock: VirtualClock, **siblings: Any) -> Sidestep:
    config = FallbackConfig(fallback_models_by_model=siblings.get("siblings", {A: (B,)}))
    return Sidestep(config, clock=clock)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("agent", "asked", "answered"),
    [
        pytest.param(Agent(), [A, A], A, id="cured"),
        pytest.param(Agent(needed=2), [A, A, B], B, id="refused once more"),
        pytest.param(Agent(changes=False, needed=9), [A, B], B, id="nothing changes"),
        pytest.param(Agent(needed=9, cure=None), [A, B], B, id="the refusal names no cure"),
    ],
)
async def test_a_route_is_repaired_once_and_then_left(
    agent: Agent, asked: list[Route], answered: Route
) -> None:
    clock = VirtualClock()
    middleware = engine(clock)

    route, events = await agent.run(middleware)

    assert (agent.asked, route) == (asked, answered)
    assert clock.slept == []
    assert middleware.degraded.snapshot() == {}
    repaired = [event for event in events if isinstance(event, Repaired)]
    assert len(repaired) == (1 if asked[:2] == [A, A] else 0)
    if repaired:
        failed = next(event for event in events if isinstance(event, AttemptFailed))
        assert repaired[0] == Repaired(failed.step, 2, A, "drop all reasoning", failed.failure)


@pytest.mark.asyncio
async def test_a_repair_is_no_retry_and_needs_no_configuration() -> None:
    clock = VirtualClock()
    agent = Agent()

    route, _ = await agent.run(Sidestep(clock=clock))

    assert (agent.asked, route, clock.slept) == ([A, A], A, [])


@pytest.mark.asyncio
async def test_a_tool_that_ran_forbids_the_repair() -> None:
    agent = Agent()

    async def call(attempt: Attempt) -> None:
        attempt.tool_started("write")
        raise ProviderError(refused())

    with pytest.raises(FallbackUnsafe, match="'write' had run"):
        await engine(VirtualClock()).step(A, repair=agent.repair).run(call)
    assert agent.repaired == []


@pytest.mark.asyncio
async def test_what_repair_itself_raises_is_logged_and_repairs_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def repair(failure: Failure) -> str:
        raise RuntimeError("a bug of the agent's")

    asked = []
    async for attempt in engine(VirtualClock()).step(A, repair=repair):
        async with attempt:
            asked.append(attempt.route)
            if attempt.route == A:
                raise ProviderError(refused())

    assert asked == [A, B]
    assert "`repair` raised" in caplog.text


SAID = {"type": "invalid_request_error", "message": "Invalid `signature` in `thinking` block"}
UPSTREAM = {"provider_name": "Anthropic", "raw": {"type": "error", "error": SAID}}
REFUSED = {
    "status": 400,
    "body": {"error": {"message": "No.", "code": 400, "metadata": UPSTREAM}},
}


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "is_aside", [pytest.param(False, id="turn"), pytest.param(True, id="side call")]
)
async def test_what_was_cured_stays_so_for_the_session(is_aside: bool) -> None:
    thought = {"reasoning": "Hm.", "text": "Hi."}
    answers = {P: [thought, REFUSED, {"text": "A title"}, thought]}
    async with Outage(answers) as outage:
        await outage.session.turn("hi")
        if is_aside:
            said = await outage.session.side_call("Write a title.")
        else:
            said = (await outage.session.turn("Write a title.")).text
        kept = list(outage.session.conversation.messages)
        await outage.session.turn("Go on.")

    assert said == "A title"
    assert outage.asked == [P] * 4
    bodies = [str(received.body) for received in outage.stub.requests]
    assert ["reasoning_details" in body for body in bodies] == [False, True, False, False]
    assert any(isinstance(part, Reasoning) for message in kept for part in message.parts)


@pytest.mark.asyncio
async def test_a_request_that_no_cure_changes_is_not_sent_again() -> None:
    async with Outage({P: REFUSED, Q: {"text": "Hi."}}) as outage:
        ended = await outage.session.turn("hi")

    assert (ended.text, outage.asked) == ("Hi.", [P, Q])
    assert outage.middleware.degraded.snapshot() == {}
