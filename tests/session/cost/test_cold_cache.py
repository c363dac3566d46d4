"""What a move costs: the input tokens that the new route has no prompt cache of."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from sidestep import (
    Cost,
    Event,
    Failure,
    FailureKind,
    FallbackConfig,
    MemoryStore,
    MoveHistory,
    Needs,
    Prices,
    ProviderError,
    RetryPolicy,
    Route,
    Sidestep,
    StepStarted,
    Summary,
    Swapped,
)
from sidestep.provider.conversation import AttemptRecord, Usage
from sidestep.session.cost.price import installed_prices
from sidestep.session.turn.conversation_caches import LASTS

from ...virtual import VirtualClock
from ..turn.outage import A, B, Outage

LONG = "word " * 2_000
"""About 2,500 tokens."""
DOWN = {"status": 503}
C = Route("zai/glm-5")


def counted(tokens: int, **answer: Any) -> dict[str, Any]:
    return {"text": "ok", "usage": {"input": tokens, "output": 5}} | answer


CALL: dict[str, Any] = {"tool_calls": [{"name": "look", "input": {}}]}


def look() -> str:
    """Look."""
    return "y" * 4_000


def cents(route: Route, usage: Usage) -> float | None:
    """Price a thousand tokens of input at a cent, on one route."""
    return (usage.input or 0) * 1e-5 if route == B else None


def unknown(_route: Route, _usage: Usage) -> None:
    """Know no price, also if `genai-prices` is installed."""


FREE: dict[str, Any] = {"price": unknown}


def moves(outage: Outage) -> list[tuple[Any, ...]]:
    """Return each move, the start of a step elsewhere too, with what it found no cache of."""
    return [
        (type(event).__name__, event.route, event.cold_tokens, event.cold_money)
        for event in outage.events
        if isinstance(event, Swapped)
        or (isinstance(event, StepStarted) and event.cold_tokens is not None)
    ]


def near(tokens: int) -> Any:
    return pytest.approx(tokens, abs=30)


@pytest.mark.asyncio
async def test_the_first_request_of_a_conversation_is_estimated() -> None:
    async with Outage({A: DOWN, B: counted(10)}, session={"price": cents}) as outage:
        await outage.session.turn(LONG)

    assert moves(outage) == [("Swapped", B, near(2_500), near(0))]
    assert outage.session.cost.cold_tokens == near(2_500)
    assert outage.session.cost.cold_money == pytest.approx(0.025, rel=0.02)
    assert outage.session.turn_cost.cold_tokens == outage.session.cost.cold_tokens


@pytest.mark.asyncio
async def test_what_a_provider_counted_is_not_estimated() -> None:
    answers = {A: [counted(40_000, **CALL), DOWN], B: counted(10)}
    async with Outage(answers, session={"price": cents, "tools": [look]}) as outage:
        await outage.session.turn("Hi.")

    assert moves(outage) == [("Swapped", B, near(41_000), pytest.approx(0.41, rel=0.01))]


@pytest.mark.asyncio
async def test_the_way_back_costs_a_cold_cache_as_well() -> None:
    """The probe of the requested route finds none once its cache is too old."""
    answers = {A: [counted(10_000), DOWN, counted(1)], B: counted(20_000)}
    async with Outage(answers, session=FREE) as outage:
        for _ in range(2):
            await outage.session.turn("Hi.")
        outage.clock.now += LASTS + 1.0
        await outage.session.turn("Hi.")
        await outage.session.turn("Hi.")

    assert moves(outage) == [
        ("Swapped", B, near(10_000), None),
        ("StepStarted", A, near(10_000), None),
    ]
    assert outage.session.cost.cold_tokens == near(20_000)
    assert outage.session.cost.cold_money is None


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("later", "tokens"),
    [
        pytest.param(61.0, 1_000, id="only what is new, while the cache lasts"),
        pytest.param(LASTS + 1.0, 11_000, id="everything, once it has gone"),
    ],
)
async def test_a_route_still_has_the_cache_of_what_it_read(later: float, tokens: int) -> None:
    answers = {
        A: [counted(10_000), DOWN, counted(1)],
        B: [counted(20_000, **CALL), counted(20_000)],
    }
    async with Outage(answers, session={"tools": [look], **FREE}) as outage:
        for _ in range(2):
            await outage.session.turn("Hi.")
        outage.clock.now += later
        await outage.session.turn("Hi.")

    assert moves(outage)[-1] == ("StepStarted", A, near(tokens), None)


@pytest.mark.asyncio
async def test_a_summary_leaves_no_cache() -> None:
    answers = {A: [counted(90_000), counted(5, text="Sum."), DOWN], B: counted(1)}
    async with Outage(answers, session=FREE) as outage:
        await outage.session.turn(LONG)
        assert await Summary(keep=0)(outage.session)
        await outage.session.turn("Hi.")

    assert moves(outage) == [("Swapped", B, near(2_500), None)]


@pytest.mark.asyncio
async def test_after_a_summary_no_route_has_the_cache_of_what_it_read() -> None:
    there = [counted(1), counted(5, text="Sum.")]
    answers = {A: [counted(90_000), counted(90_000), DOWN, counted(1)], B: there}
    async with Outage(answers, session=FREE) as outage:
        for _ in range(3):
            await outage.session.turn(LONG)
        assert await Summary(keep=0, route=B)(outage.session)
        outage.clock.now += 61.0
        await outage.session.turn("Hi.")

    assert moves(outage)[-1] == ("StepStarted", A, near(2_500), None)


@pytest.mark.asyncio
async def test_asking_for_another_route_is_a_move_too() -> None:
    async with Outage({A: counted(10_000), B: counted(1)}, session=FREE) as outage:
        await outage.session.turn("Hi.")
        outage.session.route = B
        await outage.session.turn("Hi.")
        await outage.session.turn("Hi.")

    assert moves(outage) == [("StepStarted", B, near(10_000), None)]


@pytest.mark.asyncio
async def test_a_resumed_session_has_paid_for_its_moves() -> None:
    store = MemoryStore()
    async with Outage({A: DOWN, B: counted(10)}, session={"store": store, "price": cents}) as made:
        await made.session.turn(LONG)
        again = made.open()
        await again.turn("Hi.")

    assert again.cost.cold_tokens == near(2_500)
    assert again.cost.cold_money == pytest.approx(0.025, rel=0.02)
    assert again.turn_cost.cold_tokens == 0


@pytest.mark.asyncio
async def test_a_side_call_that_moves_pays_for_its_own_request() -> None:
    async with Outage({A: DOWN, B: counted(10)}) as outage:
        await outage.session.side_call(LONG, messages=())
        await outage.session.side_call("Hi.", messages=())

    assert moves(outage) == []  # a side call reports no steps of the conversation
    assert outage.session.cost.cold_tokens == near(2_500)


def record(route: Route, tokens: int | None, money: float | None) -> AttemptRecord:
    return AttemptRecord(route=route, number=1, cold_tokens=tokens, cold_money=money)


@pytest.mark.parametrize(
    ("records", "tokens", "money"),
    [
        pytest.param([], 0, 0.0, id="none"),
        pytest.param([record(A, None, None)], 0, 0.0, id="no move"),
        pytest.param([record(A, 0, None)], 0, 0.0, id="a warm cache"),
        pytest.param([record(A, 10, 0.5), record(B, 20, 0.25)], 30, 0.75, id="two"),
        pytest.param([record(A, 10, 0.5), record(B, 20, None)], 30, None, id="one has no price"),
    ],
)
def test_cost_adds_up_the_moves(
    records: list[AttemptRecord], tokens: int, money: float | None
) -> None:
    cost = Cost(tuple(records))

    assert (cost.cold_tokens, cost.cold_money) == (tokens, money)


@pytest.mark.parametrize("is_installed", [True, False])
def test_prices_are_looked_up_where_they_are_installed(
    monkeypatch: pytest.MonkeyPatch, *, is_installed: bool
) -> None:
    if not is_installed:
        monkeypatch.setitem(sys.modules, "genai_prices", None)

    assert isinstance(installed_prices.__wrapped__(), Prices) is is_installed


class Own:
    """An agent with a loop of its own, and what its steps report."""

    def __init__(self) -> None:
        config = FallbackConfig(fallback_models_by_model={A: (B,)}, max_upstream_retry_attempts=0)
        self.engine = Sidestep(config, clock=VirtualClock(), policy=RetryPolicy(jitter=0.0))
        self.events: list[Event] = []

    async def take(self, *, down: Route | None = None, **options: Any) -> list[int | None]:
        """Take a step in which *down* fails; return the cold tokens of its events."""

        async def call(attempt: Any) -> None:
            if attempt.route == down:
                raise ProviderError(Failure(kind=FailureKind.SERVER_ERROR, message="", status=503))

        await self.engine.step(A, on_event=self.events.append, **options).run(call)
        return [e.cold_tokens for e in self.events if isinstance(e, StepStarted | Swapped)]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("options", "cold"),
    [
        pytest.param({}, [None, None], id="nothing is known"),
        pytest.param({"needs": Needs(tokens=900)}, [None, 900], id="an estimate"),
        pytest.param({"needs": Needs()}, [None, None], id="needs without a size"),
        pytest.param(
            {"needs": Needs(tokens=900, counted={B: 800})}, [None, 800], id="a count of that route"
        ),
        pytest.param(
            {"needs": Needs(tokens=900), "history": MoveHistory(route=B)}, [900, 900],
            id="the step before was elsewhere",
        ),
        pytest.param(
            {"needs": Needs(tokens=900), "history": MoveHistory(route=A)}, [None, 900],
            id="the step before was here",
        ),
    ],
)  # fmt: skip
async def test_an_agent_of_its_own_says_how_long_a_step_is(
    options: dict[str, Any], cold: list[int | None]
) -> None:
    assert await Own().take(down=A, **options) == cold
