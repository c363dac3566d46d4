"""What a turn and a session may spend: refused before an attempt, paid after it, and listed."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest

from sidestep import (
    Attempt,
    AttemptCost,
    AttemptFailed,
    AttemptStarted,
    Budget,
    BudgetExceeded,
    CandidateSkipped,
    ConfigError,
    Cost,
    Event,
    Failure,
    FailureKind,
    MemoryStore,
    Message,
    Prices,
    ProviderError,
    Route,
    RouteDegraded,
    Session,
    SqliteStore,
    StepEnded,
    Swapped,
    TextDelta,
    TurnEnded,
)
from sidestep.provider.conversation import AttemptRecord, Usage
from sidestep.provider.conversation_json import message_to_json, read_message

from ...virtual import pass_time
from ..turn.outage import A, B, Outage

USAGE = {"input": 10_000, "output": 500}
ANSWER = {"text": "ok", "usage": USAGE}
CALL = {"tool_calls": [{"name": "look", "input": {}}], "usage": USAGE}


def look() -> str:
    """Look around."""
    return "nothing"


def cents(route: Route, usage: Usage) -> float:
    """Price a thousand tokens at a cent."""
    return ((usage.input or 0) + (usage.output or 0)) * 1e-5


def of(events: list[Event], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def answers(session: Session) -> list[Message]:
    return [m for m in session.conversation.messages if m.role == "assistant"]


@dataclass
class Limit:
    """A budget that two answers fit in, and a third does not."""

    id: str
    budget: Budget
    says: str


LIMITS = [
    Limit("attempts", Budget(attempts=2), r"spent 2 attempts of 2 attempts \(`{name}.attempts`\)"),
    Limit("input tokens", Budget(input_tokens=15_000), r"20,000 input tokens of 15,000"),
    Limit("output tokens", Budget(output_tokens=900), r"1,000 output tokens of 900"),
    Limit("money", Budget(money=0.15), r"spent \$0\.2100 of \$0\.1500 \(`{name}\.money`\)"),
    Limit("seconds", Budget(seconds=45), r"lasted 60\.0 of 45 s \(`{name}\.seconds`\)"),
]


def pass_half_a_minute(outage: Outage) -> None:
    """Let every step take 30 seconds."""

    def tell(event: Event) -> None:
        if isinstance(event, StepEnded):
            outage.clock.now += 30

    outage.middleware.on_event = tell


@pytest.mark.asyncio
@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.id)
async def test_a_turn_ends_where_its_budget_does_and_the_next_has_one_of_its_own(
    limit: Limit,
) -> None:
    options = {"tools": [look], "budget": limit.budget, "price": cents}
    async with Outage({A: CALL, B: ANSWER}, session=options) as outage:
        pass_half_a_minute(outage)
        with pytest.raises(BudgetExceeded, match=f"the turn .*{limit.says.format(name='budget')}"):
            await outage.session.turn("hi")
        assert outage.asked == [A, A]
        with pytest.raises(BudgetExceeded):
            await outage.session.turn("again")

    assert outage.asked == [A, A, A, A]
    assert not of(outage.events, Swapped)
    assert not of(outage.events, AttemptFailed)
    assert outage.middleware.degraded.snapshot() == {}
    ended = of(outage.events, TurnEnded)
    assert [turn.error["class"] for turn in ended] == ["BudgetExceeded"] * 2


@pytest.mark.asyncio
@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.id)
async def test_a_session_ends_where_its_budget_does(limit: Limit) -> None:
    options = {"session_budget": limit.budget, "price": cents}
    async with Outage({A: ANSWER, B: ANSWER}, session=options) as outage:
        pass_half_a_minute(outage)
        await outage.session.turn("hi")
        outage.clock.now += 3600  # between turns no time of the session passes
        await outage.session.turn("hi")
        says = limit.says.format(name="session_budget")
        with pytest.raises(BudgetExceeded, match=f"the session .*{says}"):
            await outage.session.turn("hi")

    assert outage.asked == [A, A]
    assert not of(outage.events, Swapped)
    assert outage.middleware.degraded.snapshot() == {}
    assert outage.session.turn_cost == Cost()
    assert len(outage.session.cost.attempts) == 2


@pytest.mark.asyncio
async def test_a_longest_answer_is_set_aside_before_it_is_asked_for() -> None:
    options = {"session_budget": Budget(output_tokens=1_000), "max_output_tokens": 600}
    async with Outage({A: ANSWER}, session=options) as outage:
        await outage.session.turn("hi")
        with pytest.raises(BudgetExceeded, match=f"an attempt on {A} may take 600 output tokens"):
            await outage.session.turn("hi")

    assert len(outage.asked) == 1


@pytest.mark.asyncio
async def test_what_an_attempt_under_way_may_take_is_not_left_for_another() -> None:
    answered = {A: [{"text": "Half", "stall": True}, ANSWER]}
    async with Outage(answered, session={"budget": Budget(attempts=1)}) as outage:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(outage.session.turn, "hi")
                await outage.stub.wait_for(1)
                with pytest.raises(BudgetExceeded):
                    await outage.session.side_call("A title?")
                tasks.cancel_scope.cancel()

    assert len(outage.asked) == 1


@pytest.mark.asyncio
async def test_an_answer_pays_what_the_provider_counted() -> None:
    """Anthropic counts what its cache had beside the other tokens, the others among them."""
    usage = {"input": 100, "output": 20, "cache_read": 40, "cache_write": 0}
    answered = {"text": "ok", "usage": usage}
    async with Outage({A: answered, B: answered}, session={"price": cents}) as outage:
        await outage.session.turn("hi")
        outage.route = B
        await outage.open().turn("hi")

    spent = of(outage.events, AttemptCost)
    assert [(each.route, each.input, each.output, each.cache_read) for each in spent] == [
        (A, 140, 20, 40), (B, 140, 20, 40),
    ]  # fmt: skip
    assert [each.money for each in spent] == pytest.approx([0.0016, 0.0016])
    assert not any(each.is_estimated for each in spent)
    assert [(each.step, each.attempt) for each in spent] == [(1, 1), (2, 1)]


async def ask(session: Session, *, times: int) -> None:
    for _ in range(times):
        await session.turn("hi")


NO_COUNTS = [
    pytest.param({"input": 0, "output": 0}, id="0 and 0"),
    pytest.param({"input": 0, "output": 0, "cache_read": 0, "cache_write": 0}, id="all are 0"),
]


@pytest.mark.asyncio
@pytest.mark.parametrize("usage", NO_COUNTS)
@pytest.mark.parametrize("route", [A, B])
async def test_a_whole_answer_with_counts_of_0_pays_an_estimate(
    route: Route, usage: dict[str, int]
) -> None:
    answered = {"text": "x" * 400, "usage": usage}
    options = {"price": cents}
    async with Outage({A: answered, B: answered}, route=route, session=options) as outage:
        await outage.session.turn("hi")

    (spent,) = of(outage.events, AttemptCost)
    assert spent.input > 0
    assert (spent.output, spent.is_estimated) == (100, True)
    assert spent.money == pytest.approx((spent.input + 100) * 1e-5)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("usage", "paid"),
    [
        ({"input": 50, "output": 0}, (50, 100)),
        ({"input": 50, "output": 7}, (50, 7)),
        ({"input": 0, "output": 7, "cache_read": 40}, (40, 7)),
    ],
    ids=["no output", "both", "all of the prompt from a cache"],
)
async def test_only_a_count_that_cannot_be_is_estimated(
    usage: dict[str, int], paid: tuple[int, int]
) -> None:
    answered = {"text": "x" * 400, "usage": usage}
    async with Outage({A: answered, B: answered}) as outage:
        await outage.session.turn("hi")

    (spent,) = of(outage.events, AttemptCost)
    assert (spent.input, spent.output) == paid
    assert spent.is_estimated is (usage["output"] == 0)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "budget",
    [Budget(output_tokens=150), Budget(money=0.0035), Budget(input_tokens=100)],
    ids=["output", "money", "input"],
)
async def test_a_budget_ends_although_the_provider_counts_nothing(budget: Budget) -> None:
    answered = {"text": "x" * 400, "usage": {"input": 0, "output": 0}}
    options = {"session_budget": budget, "price": cents}
    async with Outage({A: answered, B: answered}, session=options) as outage:
        await outage.session.turn("hi")
        with pytest.raises(BudgetExceeded):
            await ask(outage.session, times=4)

    assert len(outage.asked) < 5


@pytest.mark.asyncio
@pytest.mark.parametrize("route", [A, B])
async def test_an_attempt_that_broke_off_pays_an_estimate_of_what_it_showed(route: Route) -> None:
    half = {"text": "x" * 400, "chunk": 100, "after": 2, "cut": True}
    sibling = B if route == A else A
    answered = {route: half, sibling: ANSWER}
    async with Outage(answered, route=route, session={"price": cents}) as outage:
        await outage.session.turn("hi")

    failed, answered = of(outage.events, AttemptCost)
    assert (failed.route, failed.output, failed.is_estimated) == (route, 50, True)
    assert failed.input > 0
    assert (answered.route, answered.input, answered.is_estimated) == (sibling, 10_000, False)
    cost = outage.session.turn_cost
    assert cost.is_estimated
    assert cost.input == failed.input + 10_000
    assert cost.output == 550
    assert cost.money == pytest.approx(failed.money + answered.money)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"status": 503}, id="a status"),
        pytest.param({"refuse": True}, id="no connection"),
    ],
)
async def test_an_attempt_that_was_refused_at_once_pays_an_attempt_and_no_token(
    fault: dict[str, Any],
) -> None:
    options = {"budget": Budget(attempts=1), "price": cents}
    async with Outage({A: fault, B: ANSWER}, session=options) as outage:
        with pytest.raises(
            BudgetExceeded, match=rf"spent 1 attempt of 1.*1 attempt failed \(1. {A}"
        ):
            await outage.session.turn("hi")

    (spent,) = of(outage.events, AttemptCost)
    assert (spent.input, spent.output, spent.money, spent.is_estimated) == (0, 0, 0.0, False)


@pytest.mark.asyncio
async def test_a_cancelled_attempt_pays_as_well() -> None:
    async with Outage({A: {"text": "x" * 40, "stall": True}}) as outage:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:

                def stop(event: Event) -> None:
                    outage.events.append(event)
                    if isinstance(event, TextDelta):
                        tasks.cancel_scope.cancel()

                outage.session.on_event = stop
                tasks.start_soon(outage.session.turn, "hi")

    (spent,) = of(outage.events, AttemptCost)
    assert spent.input > 0
    assert spent.output > 0
    assert spent.is_estimated
    (message,) = answers(outage.session)
    assert [(each.kind, each.output) for each in message.attempts] == [("cancelled", spent.output)]


@pytest.mark.asyncio
async def test_every_attempt_of_a_step_and_of_a_turn_is_listed_with_its_cost() -> None:
    options = {"tools": [look], "price": cents}
    answered = {A: [{"status": 503}], B: [CALL, ANSWER]}
    async with Outage(answered, session=options) as outage:
        await outage.session.turn("hi")

    first, second = answers(outage.session)
    assert [(each.route, each.kind, each.input, each.output) for each in first.attempts] == [
        (A, "server_error", 0, 0), (B, None, 10_000, 500),
    ]  # fmt: skip
    assert Cost(tuple(first.attempts)).money == pytest.approx(0.105)
    cost = outage.session.turn_cost
    assert cost.attempts == (*first.attempts, *second.attempts)
    assert (cost.input, cost.output) == (20_000, 1_000)
    assert cost.money == pytest.approx(0.21)
    assert outage.session.cost == cost


@pytest.mark.asyncio
@pytest.mark.parametrize("is_aside", [False, True], ids=["turn", "side call"])
async def test_an_answer_costs_what_the_route_asks_that_gave_it(*, is_aside: bool) -> None:
    """LiteLLM #8810: an answer of a fallback had no price."""

    def price(route: Route, usage: Usage) -> float:
        return cents(route, usage) * {A: 1, B: 3}[route]

    async with Outage({A: {"status": 503}, B: ANSWER}, session={"price": price}) as outage:
        await (outage.session.side_call("hi") if is_aside else outage.session.turn("hi"))

    refused, answered = of(outage.events, AttemptCost)
    assert [(each.route, each.money) for each in (refused, answered)] == [
        (A, 0.0), (B, pytest.approx(0.315)),
    ]  # fmt: skip
    assert outage.session.cost.money == pytest.approx(0.315)


@pytest.mark.asyncio
async def test_a_turn_without_prices_costs_no_amount_of_money() -> None:
    async with Outage({A: ANSWER}) as outage:
        await outage.session.turn("hi")

    assert outage.session.turn_cost.money is None
    assert (outage.session.turn_cost.input, outage.session.turn_cost.output) == (10_000, 500)


@pytest.mark.asyncio
async def test_a_swap_to_a_dearer_route_is_refused_there() -> None:
    def price(route: Route, usage: Usage) -> float:
        return cents(route, usage) * (1 if route == A else 1_000)

    options = {"budget": Budget(money=0.05), "price": price, "max_output_tokens": 100}
    async with Outage({A: {"status": 503}, B: ANSWER}, session=options) as outage:
        with pytest.raises(BudgetExceeded, match=f"an attempt on {B} may take \\$") as caught:
            await outage.session.turn("hi")

    assert outage.asked == [A]
    assert [attempt.route for attempt in caught.value.attempts] == [A]
    assert [event.route for event in of(outage.events, RouteDegraded)] == [A]
    assert not outage.middleware.degraded.is_degraded(B)
    assert of(outage.events, StepEnded)[0].error.startswith("BudgetExceeded: the turn has spent")
    (message,) = answers(outage.session)
    assert (message.route, message.parts, len(message.attempts)) == (A, [], 1)


@pytest.mark.asyncio
async def test_where_money_is_limited_a_route_without_a_price_is_not_asked() -> None:
    third = Route("zai/glm-5")
    options = {
        "budget": Budget(money=1),
        "price": lambda route, usage: None if route == B else cents(route, usage),
    }
    answered = {A: {"status": 503}, B: ANSWER, third: ANSWER}
    siblings = {A: [B, third]}
    async with Outage(answered, session=options, fallbackModelsByModel=siblings) as outage:
        await outage.session.turn("hi")
        outage.route = B
        with pytest.raises(BudgetExceeded, match=f"no price is known for {B}.*pass `price=`"):
            await outage.open().turn("hi")

    assert outage.asked == [A, third]
    assert (
        CandidateSkipped(1, B, "its price is not known, and a budget limits money") in outage.events
    )
    assert not outage.middleware.degraded.is_degraded(B)


@pytest.mark.asyncio
async def test_a_price_that_raises_is_no_price_and_no_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Outage({A: ANSWER}, session={"price": lambda route, usage: 1 / 0}) as outage:
        await outage.session.turn("hi")

    assert "`price` raised" in caplog.text
    assert of(outage.events, AttemptCost)[0].money is None


async def unawaited(route: Route, usage: Usage) -> float:
    """Price what tokens cost, but later."""
    return cents(route, usage)


NO_PRICES = [
    pytest.param(lambda *_: math.nan, "returned nan", id="not a number"),
    pytest.param(lambda *_: math.inf, "returned inf", id="infinite"),
    pytest.param(lambda *_: -0.01, r"returned -0\.01", id="negative"),
    pytest.param(lambda *_: 10**400, r"returned a number above 1\.8e\+308", id="beyond any float"),
    pytest.param(
        lambda *_: Decimal("sNaN"), r"returned Decimal\('sNaN'\)", id="a decimal that is none"
    ),
    pytest.param(lambda *_: "0.01", "returned a str", id="text"),
    pytest.param(lambda *_: True, "returned True", id="a boolean"),
    pytest.param(unawaited, "returned a coroutine", id="an async function"),
]


@pytest.mark.asyncio
@pytest.mark.parametrize(("price", "says"), NO_PRICES)
async def test_what_is_no_amount_of_money_is_no_price_and_logged_once(
    price: Any, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Outage({A: ANSWER}, session={"price": price}) as outage:
        await outage.session.turn("hi")
        await outage.session.turn("hi")

    assert [spent.money for spent in of(outage.events, AttemptCost)] == [None, None]
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 1
    assert re.search(f"`price` {says} for {A}, which counts as no price", errors[0])


@pytest.mark.asyncio
@pytest.mark.parametrize("wrong", [math.nan, -1.0], ids=["not a number", "negative"])
async def test_one_wrong_price_leaves_a_budget_of_money_as_it_was(wrong: float) -> None:
    is_wrong = False

    def price(route: Route, usage: Usage) -> float:
        return wrong if is_wrong else cents(route, usage)

    options = {"session_budget": Budget(money=0.15), "price": price}
    async with Outage({A: ANSWER, B: ANSWER}, session=options) as outage:
        await outage.session.turn("hi")
        is_wrong = True
        with pytest.raises(BudgetExceeded, match="no price is known"):
            await outage.session.turn("hi")
        is_wrong = False
        await outage.session.turn("hi")
        with pytest.raises(BudgetExceeded, match=r"spent \$0\.2100 of \$0\.1500"):
            await outage.session.turn("hi")

    assert outage.asked == [A, A]


@pytest.mark.asyncio
@pytest.mark.parametrize("recorded", [math.nan, -1.0], ids=["not a number", "negative"])
async def test_a_resumed_session_prices_anew_what_no_attempt_can_have_cost(
    recorded: float,
) -> None:
    record = AttemptRecord(route=A, number=1, input=10_000, output=500, money=recorded)
    store = MemoryStore()
    await store.append(Message("assistant", [], attempts=(record,)))
    options = {"store": store, "session_budget": Budget(money=0.1), "price": cents}
    async with Outage({A: ANSWER}, session=options) as outage:
        with pytest.raises(BudgetExceeded, match=r"spent \$0\.1050 of \$0\.1000"):
            await outage.session.turn("hi")

    assert outage.asked == []


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("limit", "says"),
    [
        pytest.param(0.1, r"\$0\.1050 of \$0\.1000", id="cents"),
        pytest.param(0.0012, r"\$0\.1050 of \$0\.00120", id="tenths of a cent"),
        pytest.param(0.00001, r"\$0\.1050 of \$0\.0000100", id="thousandths of a cent"),
        pytest.param(1.5e-9, r"\$0\.1050 of \$0\.00000000150", id="hardly anything"),
    ],
)
async def test_a_small_amount_of_money_is_told_with_its_digits(limit: float, says: str) -> None:
    options = {"session_budget": Budget(money=limit), "price": cents}
    record = AttemptRecord(route=A, number=1, money=0.105)
    store = MemoryStore()
    await store.append(Message("assistant", [], attempts=(record,)))
    async with Outage({A: ANSWER}, session={**options, "store": store}) as outage:
        with pytest.raises(BudgetExceeded, match=says):
            await outage.session.turn("hi")


@pytest.mark.asyncio
async def test_time_that_is_up_ends_a_wait() -> None:
    options = {"budget": Budget(seconds=1.5)}
    answered = {A: [{"status": 503}, ANSWER]}
    async with Outage(answered, session=options, maxUpstreamRetryAttempts=3) as outage:
        with pytest.raises(BudgetExceeded, match=r"the turn has lasted 1\.5 of 1\.5 s") as caught:
            await outage.session.turn("hi")

    assert [each.route for each in caught.value.attempts] == [A]
    assert outage.clock.slept == [1.5]
    assert outage.asked == [A]


@pytest.mark.asyncio
async def test_time_that_is_up_ends_an_attempt_which_is_listed_with_those_before() -> None:
    def pass_a_minute(event: Event) -> None:
        if isinstance(event, Swapped):
            outage.clock.now += 30
        if isinstance(event, AttemptStarted) and event.route == B:
            outage.clock.now += 31
            pass_time(31)

    options = {"budget": Budget(seconds=60)}
    answered = {A: {"status": 503}, B: {"text": "Half", "after": 1, "stall": True}}
    async with Outage(answered, session=options) as outage:
        outage.middleware.on_event = pass_a_minute
        time_exceeded = pytest.raises(BudgetExceeded, match=r"lasted 61\.0 of 60 s")
        with anyio.fail_after(60), time_exceeded as caught:
            await outage.session.turn("hi")

    failed = [(each.route, each.failure and each.failure.kind) for each in caught.value.attempts]
    assert failed == [(A, FailureKind.SERVER_ERROR), (B, FailureKind.CANCELLED)]


@pytest.mark.asyncio
async def test_time_that_is_up_ends_a_tool() -> None:
    async def think() -> str:
        """Think."""
        outage.clock.now += 31
        pass_time(31)
        await anyio.sleep_forever()
        return ""

    call = {"tool_calls": [{"name": "think", "input": {}}]}

    def pass_half_a_minute(event: Event) -> None:
        if isinstance(event, StepEnded):
            outage.clock.now += 30

    options = {"tools": [think], "budget": Budget(seconds=60)}
    async with Outage({A: call}, session=options) as outage:
        outage.middleware.on_event = pass_half_a_minute
        time_exceeded = pytest.raises(BudgetExceeded, match=r"lasted 61\.0 of 60 s")
        with anyio.fail_after(60), time_exceeded as caught:
            await outage.session.turn("hi")

    assert caught.value.attempts == ()
    assert of(outage.events, TurnEnded)[0].error["class"] == "BudgetExceeded"


@pytest.mark.asyncio
async def test_a_deadline_before_the_budgets_end_stays_a_deadline() -> None:
    options = {"budget": Budget(seconds=60)}
    answered = {A: {"status": 503}}
    async with Outage(answered, session=options, maxUpstreamRetryAttempts=3) as outage:
        with pytest.raises(TimeoutError):
            await outage.session.turn("hi", deadline=1)


@pytest.mark.asyncio
async def test_a_side_call_is_paid_by_the_session() -> None:
    options = {"budget": Budget(attempts=1), "session_budget": Budget(attempts=2), "price": cents}
    async with Outage({A: ANSWER}, session=options) as outage:
        await outage.session.side_call("A title?")
        await outage.session.turn("hi")
        with pytest.raises(BudgetExceeded, match="the session has spent 2 attempts"):
            await outage.session.side_call("A title?")

    assert len(outage.session.turn_cost.attempts) == 1
    assert len(outage.session.cost.attempts) == 2
    assert len(of(outage.events, AttemptCost)) == 2


@pytest.mark.asyncio
async def test_a_resumed_session_goes_on_with_what_was_spent(tmp_path: Path) -> None:
    budget = Budget(money=0.25)
    async with Outage({A: [{"status": 503}, ANSWER], B: ANSWER}) as outage:
        async with SqliteStore(tmp_path / "session.db") as store:
            first = outage.open(store=store, price=cents)
            await first.turn("hi")
        async with SqliteStore(tmp_path / "session.db") as store:
            second = outage.open(store=store, session_budget=budget, price=cents)
            await second.turn("hi")
            assert second.cost.attempts[:2] == first.cost.attempts
            assert second.cost.money == pytest.approx(0.21)
            await second.turn("hi")
            with pytest.raises(BudgetExceeded, match=r"the session has spent \$0\.3150"):
                await second.turn("hi")


@pytest.mark.asyncio
async def test_a_resumed_session_prices_what_was_recorded_without_a_price() -> None:
    store = MemoryStore()
    async with Outage({A: ANSWER}) as outage:
        await outage.open(store=store).turn("hi")
        resumed = outage.open(store=store, session_budget=Budget(money=0.1), price=cents)
        with pytest.raises(BudgetExceeded, match=r"the session has spent \$0\.1050"):
            await resumed.turn("hi")


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "answer",
    [ANSWER, {"text": "No more than a start.", "after": 9, "error": 529}],
    ids=["whole", "broken"],
)
async def test_an_attempt_is_charged_once_if_its_price_ends_the_program(answer: Any) -> None:
    class Stop(BaseException):
        """As a Ctrl-C."""

    stops = [True]

    def price(_: Route, usage: Usage) -> float:
        if usage.output and stops:
            stops.clear()
            raise Stop
        return 0.01

    async with Outage({A: answer}) as outage:
        session = outage.open(price=price, session_budget=Budget(attempts=1))
        with pytest.raises(Stop):
            await session.turn("hi")
        with pytest.raises(BudgetExceeded, match="1"):
            await session.turn("hi")

    assert len(outage.asked) == 1


@pytest.mark.asyncio
async def test_an_agent_can_forbid_an_attempt_and_its_reason_is_raised_as_it_is() -> None:
    asked: list[Route] = []

    def before_attempt(route: Route) -> None:
        asked.append(route)
        if route == B:
            raise PermissionError("not there")

    async def call(attempt: Attempt) -> str:
        raise ProviderError(Failure(kind=FailureKind.OVERLOADED, message="busy"))

    async with Outage({A: {"status": 503}, B: ANSWER}) as outage:
        step = outage.middleware.step(A, before_attempt=before_attempt)
        with pytest.raises(PermissionError, match="not there"):
            await step.run(call)

    assert asked == [A, B]
    assert [attempt.route for attempt in step.attempts] == [A]
    assert not outage.middleware.degraded.is_degraded(B)
    assert outage.middleware.healthy(B) == B


@pytest.mark.asyncio
async def test_an_agent_can_forbid_the_first_attempt() -> None:
    def before_attempt(route: Route) -> None:
        raise PermissionError(route)

    async with Outage({A: ANSWER}) as outage:
        heard: list[Event] = []
        step = outage.middleware.step(A, before_attempt=before_attempt, on_event=heard.append)
        with pytest.raises(PermissionError):
            await anext(step)

    assert step.attempts == []
    assert not of(heard, AttemptStarted)
    assert of(heard, StepEnded)[0].error == f"PermissionError: {A}"


BUDGETS = [
    pytest.param({}, None, id="no limit"),
    pytest.param({"attempts": 1, "money": 0.5, "seconds": 1}, None, id="limits"),
    pytest.param({"attempts": 0}, "attempts", id="none"),
    pytest.param({"attempts": True}, "attempts", id="a boolean"),
    pytest.param({"input_tokens": 1.5}, "input_tokens", id="half a token"),
    pytest.param({"output_tokens": -1}, "output_tokens", id="negative"),
    pytest.param({"money": math.inf}, "money", id="infinite"),
    pytest.param({"seconds": 10**400}, "seconds", id="beyond any float"),
    pytest.param({"attempts": 10**400}, "attempts", id="beyond any count"),
    pytest.param({"money": "1"}, "money", id="text"),
    pytest.param({"seconds": math.nan}, "seconds", id="not a number"),
]


@pytest.mark.parametrize(("limits", "wrong"), BUDGETS)
def test_a_limit_is_a_finite_number_above_0(limits: dict[str, Any], wrong: str | None) -> None:
    if wrong is None:
        assert Budget(**limits) == Budget(**limits)
        return
    with pytest.raises(ValueError, match=f"`{wrong}` must be"):
        Budget(**limits)


@pytest.mark.asyncio
async def test_money_is_limited_only_where_prices_can_be_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    async with Outage({A: ANSWER}) as outage:
        outage.open(budget=Budget(attempts=1, seconds=1))
        with pytest.raises(ConfigError, match=r"pip install 'sidestep\[prices\]'"):
            outage.open(session_budget=Budget(money=1))


@pytest.mark.parametrize(
    ("route", "is_known"),
    [
        pytest.param(A, True, id="openrouter"),
        pytest.param(B, True, id="anthropic"),
        pytest.param("openrouter-anthropic/anthropic/claude-sonnet-5", True, id="a facade"),
        pytest.param("openai-chat/gpt-5", True, id="an API of its own name"),
        pytest.param("openai/no-such-model", False, id="an unknown model"),
        pytest.param("mine/gpt-5", False, id="an unknown provider"),
    ],
)
def test_prices_come_from_the_package(route: str, is_known: bool) -> None:
    pytest.importorskip("genai_prices")
    usage = Usage(1_000, 100, cache_read=500)

    money = Prices()(Route(route), usage)

    assert (money is not None) is is_known
    assert money is None or 0 < money < 0.1


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(AttemptRecord(route=A, number=1), id="nothing counted"),
        pytest.param(AttemptRecord(route=A, number=2, input=0, output=0, money=0.0), id="nothing"),
        pytest.param(
            AttemptRecord(route=B, number=1, input=9, output=3, money=0.5, is_estimated=True),
            id="an estimate",
        ),
    ],
)
def test_what_an_attempt_took_is_read_as_it_was_written(record: AttemptRecord) -> None:
    message = Message("assistant", [], A, A, attempts=(record,))

    assert read_message(message_to_json(message)) == message
