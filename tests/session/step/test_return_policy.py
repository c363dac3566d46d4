"""`returnPolicy`: on which route a step starts while the requested one is healthy again."""

from __future__ import annotations

from typing import Any

import pytest

from sidestep import (
    CandidateSkipped,
    Failure,
    FailureKind,
    FallbackConfig,
    FallbackExhausted,
    MoveHistory,
    ProviderError,
    RetryPolicy,
    Route,
    Sidestep,
    StepStarted,
)
from sidestep.session.event import Event
from sidestep.session.plan.chain_entry import ChainEntry
from sidestep.session.plan.plan import Plan
from sidestep.session.skip_reason import STAYS_FOR_THE_TURN, STAYS_UNTIL_FAILURE

from ...virtual import VirtualClock
from .form import each_form, run

A, B, C = Route("openrouter/x"), Route("anthropic/x"), Route("gemini/x")
ONE_WAY = {A: (B, C)}

pytestmark = pytest.mark.asyncio


class Steps:
    """A middleware, and what happened in the last step before it."""

    def __init__(self, policy: str = "turn", *, is_chain: bool = False, **settings: Any) -> None:
        config = FallbackConfig(
            **{
                "fallback_models_by_model": {} if is_chain else ONE_WAY,
                "max_upstream_retry_attempts": 0,
                "return_policy": policy,
                **settings,
            }
        )
        entries = tuple(ChainEntry(route=each) for each in (A, B, C))
        chains = Plan(source="test", config=config, chains={"coding": entries})
        plan = chains if is_chain else config
        self.asks_for = "coding" if is_chain else A
        self.clock = VirtualClock()
        self.engine = Sidestep(plan, clock=self.clock, policy=RetryPolicy(jitter=0.0))
        self.events: list[Event] = []
        self.asked: list[Route] = []

    async def take(self, history: MoveHistory | None, *, down: str = "", **options: Any) -> None:
        """Take a step in which the routes of the providers *down* fail."""
        self.events.clear()
        self.asked.clear()

        async def call(attempt: Any) -> None:
            self.asked.append(attempt.route)
            if attempt.route.provider in down.split():
                raise ProviderError(
                    Failure(kind=FailureKind.SERVER_ERROR, status=503, message="no")
                )

        options = {"history": history, "on_event": self.events.append, **options}
        await run(self.engine.step(self.asks_for, **options), call)

    @property
    def start(self) -> tuple[Route, str | None]:
        """The route on which the step started, and why not on the requested one."""
        (event,) = (each for each in self.events if isinstance(each, StepStarted))
        return event.route, event.reason

    @property
    def skipped(self) -> list[tuple[Route, str]]:
        return [(e.route, e.reason) for e in self.events if isinstance(e, CandidateSkipped)]


IN_TURN, BEFORE = MoveHistory(route=B, turn=True), MoveHistory(route=B)
STAYS = {"turn": STAYS_FOR_THE_TURN, "session": STAYS_UNTIL_FAILURE}


@each_form
@pytest.mark.parametrize("is_chain", [False, True], ids=["a map", "a chain"])
@pytest.mark.parametrize(
    ("policy", "history", "starts_on"),
    [
        pytest.param("step", IN_TURN, A, id="step, in the turn"),
        pytest.param("step", BEFORE, A, id="step, before the turn"),
        pytest.param("turn", IN_TURN, B, id="turn, in the turn"),
        pytest.param("turn", BEFORE, A, id="turn, before the turn"),
        pytest.param("session", IN_TURN, B, id="session, in the turn"),
        pytest.param("session", BEFORE, B, id="session, before the turn"),
        pytest.param("turn", MoveHistory(turn=True), A, id="turn, nothing has answered"),
        pytest.param("session", MoveHistory(), A, id="session, nothing has answered"),
        pytest.param("session", None, A, id="session, nothing is known"),
        pytest.param("session", MoveHistory(route=A), A, id="session, the requested route"),
        pytest.param("session", MoveHistory(route=C), C, id="session, the last sibling"),
        pytest.param("session", MoveHistory(route=Route("zai/x")), A, id="session, no sibling"),
    ],
)  # fmt: skip
async def test_where_a_step_starts(
    policy: str, history: MoveHistory | None, starts_on: Route, *, is_chain: bool
) -> None:
    steps = Steps(policy, is_chain=is_chain)

    await steps.take(history)

    why = None if starts_on == A else STAYS[policy]
    assert steps.start == (starts_on, why)
    assert steps.skipped == ([] if why is None else [(A, why)])
    assert steps.asked == [starts_on]


async def test_without_a_configuration_a_step_starts_on_the_requested_route() -> None:
    steps = Steps("session", max_fallback_attempts=0)

    await steps.take(BEFORE)

    assert steps.start == (A, None)


@each_form
@pytest.mark.parametrize(
    ("degraded", "starts_on", "reasons"),
    [
        pytest.param([], B, [(A, STAYS_FOR_THE_TURN)], id="none"),
        pytest.param([B], A, [], id="the kept one"),
        pytest.param([A], B, [(A, "degraded")], id="the requested one"),
        pytest.param([A, B], C, [(A, "degraded"), (B, "degraded")], id="both"),
        pytest.param([C], B, [(A, STAYS_FOR_THE_TURN)], id="another"),
    ],
)
async def test_only_a_healthy_route_keeps_a_conversation(
    degraded: list[Route], starts_on: Route, reasons: list[tuple[Route, str]]
) -> None:
    steps = Steps()
    for route in degraded:
        steps.engine.degraded.degrade(route, cooldown=60.0)

    await steps.take(IN_TURN)

    assert (steps.asked, steps.skipped) == ([starts_on], reasons)


async def test_a_kept_route_that_cannot_take_the_step_is_left() -> None:
    steps = Steps()

    await steps.take(IN_TURN, serves=lambda route: route != B)

    assert steps.asked == [A]


async def test_a_kept_route_is_probed_by_one_step_at_a_time() -> None:
    steps = Steps()
    steps.engine.degraded.degrade(B, cooldown=60.0)
    steps.clock.now += 61.0
    probe = steps.engine.degraded.probe(B)

    await steps.take(IN_TURN)
    assert steps.asked == [A]
    del probe
    await steps.take(IN_TURN)

    assert steps.asked == [B]


@each_form
@pytest.mark.parametrize("is_chain", [False, True], ids=["a map", "a chain"])
@pytest.mark.parametrize(
    ("history", "degraded", "down", "asked", "fails"),
    [
        pytest.param(IN_TURN, [], "anthropic", [B, A], False, id="the requested route first"),
        pytest.param(IN_TURN, [], "anthropic openrouter", [B, A, C], False, id="then the others"),
        pytest.param(IN_TURN, [A], "anthropic", [B, C], False, id="a healthy one"),
        pytest.param(MoveHistory(route=C, turn=True), [], "gemini", [C, A], False, id="the last"),
        pytest.param(
            MoveHistory(route=C, turn=True), [A], "gemini", [C, B], False, id="from the last"
        ),
        pytest.param(
            IN_TURN, [], "anthropic openrouter gemini", [B, A, C], True, id="none twice"
        ),
    ],
)  # fmt: skip
async def test_a_kept_route_that_fails_is_left_as_any_other(
    history: MoveHistory, degraded: list[Route], down: str, asked: list[Route],
    *, fails: bool, is_chain: bool,
) -> None:  # fmt: skip
    steps = Steps(is_chain=is_chain)
    for route in degraded:
        steps.engine.degraded.degrade(route, cooldown=60.0)

    if fails:
        with pytest.raises(FallbackExhausted) as caught:
            await steps.take(history, down=down)
        assert "stays" not in str(caught.value)
    else:
        await steps.take(history, down=down)

    assert steps.asked == asked


async def test_a_step_that_started_on_the_requested_route_does_not_come_back_to_it_first() -> None:
    """The order of siblings is as before where no route is kept."""
    steps = Steps("step")

    await steps.take(IN_TURN, down="openrouter anthropic")

    assert steps.asked == [A, B, C]


@pytest.mark.parametrize("policy", ["step", "turn", "session"])
async def test_a_conversation_that_may_not_move_stays_whatever_the_policy(policy: str) -> None:
    steps = Steps(policy, move_policy="first_call")
    steps.engine.degraded.degrade(B, cooldown=60.0)
    history = MoveHistory(route=B, turn=True, holds_calls=True)

    with pytest.raises(ProviderError):
        await steps.take(history, down="anthropic")

    assert steps.asked == [B]
    assert steps.start[1] == "the conversation holds tool calls, and `movePolicy` is 'first_call'"


async def test_a_probe_of_the_requested_route_waits_until_the_turn_ends() -> None:
    steps = Steps()

    await steps.take(None, down="openrouter")
    steps.clock.now += 61.0
    for _ in range(3):
        await steps.take(IN_TURN)
        assert steps.asked == [B]
    await steps.take(BEFORE)

    assert steps.asked == [A]


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        pytest.param({"tools_run": "read"}, TypeError, "`tools_run` must be a list", id="one name"),
        pytest.param({"tools_run": b"read"}, TypeError, "got b'read'", id="bytes"),
        pytest.param({"tools_run": None}, TypeError, "got None", id="no list of tools"),
        pytest.param({"tools_run": 5}, TypeError, "got 5", id="a number of tools"),
        pytest.param({"tools_run": ["read", None]}, TypeError, "got \\['read', None", id="no name"),
        pytest.param({"route": "nonsense"}, ValueError, "provider/model", id="no route"),
        pytest.param({"route": ""}, ValueError, "provider/model", id="an empty route"),
        pytest.param({"route": 5}, ValueError, "got 5", id="a number for a route"),
    ],
)
async def test_a_history_that_would_be_misread_is_refused(
    given: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        MoveHistory(**given)


@pytest.mark.parametrize(
    "given",
    [
        {"tools_run": ()},
        {"tools_run": ["read"]},
        {"tools_run": {"read", "write"}},
        {"tools_run": {"read": 1}},
        {"route": "anthropic/claude-sonnet-5"},
    ],
)
async def test_a_history_in_another_form_is_taken(given: dict[str, Any]) -> None:
    history = MoveHistory(**given)

    assert {name: getattr(history, name) for name in given} == given
