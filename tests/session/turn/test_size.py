"""A step goes where it fits: by the count of a provider if it has one, else as estimated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from sidestep import ContextOverflow, FallbackConfig, FallbackUnsafe, MoveHistory, Route, Text
from sidestep.provider.conversation import Conversation, Message, ToolCall
from sidestep.session.plan.load import map_plan
from sidestep.session.plan.needs import Counted, Needs
from sidestep.session.step import hooks

from ...virtual import pass_time
from ..plan.routing_rules import A, Answer, B, C, Run, rule
from .outage import A as PRIMARY
from .outage import B as SIBLING
from .outage import Outage

SMALL = f"{A} context_window_tokens = 100"
SMALL_TOO = f"{B} context_window_tokens = 100"


class Provider:
    """What the providers of a step count, and which of them were asked."""

    def __init__(self, counts: dict[Route, int | Exception | None]) -> None:
        self.counts = counts
        self.asked: list[Route] = []

    async def count(self, route: Route) -> int | None:
        self.asked.append(route)
        tokens = self.counts[route]
        if isinstance(tokens, Exception):
            raise tokens
        return tokens


@dataclass(frozen=True)
class Case:
    """Candidates in order, what a step takes of tokens by estimate and by count, and its way."""

    id: str
    candidates: list[str]
    tokens: int
    counts: dict[Route, int | Exception | None] = field(default_factory=dict)
    asked: list[Route] = field(default_factory=list)
    counted: list[Route] = field(default_factory=list)
    skipped: dict[Route, str] = field(default_factory=dict)
    fails: list[Route] = field(default_factory=list)
    known: dict[Route, int] = field(default_factory=dict)


CASES = [
    Case("clearly small", [SMALL, C], 50, asked=[A]),
    Case("perhaps too long, and it is not", [SMALL, C], 51, {A: 100}, [A], [A]),
    Case(
        "perhaps too long, and it is", [SMALL, C], 51, {A: 101}, [C], [A],
        {A: "101 tokens, as anthropic counts, do not fit into its 100"},
    ),
    Case("too long as estimated, and it is not", [SMALL, C], 200, {A: 99}, [A], [A]),
    Case(
        "clearly too long", [SMALL, C], 201, asked=[C],
        skipped={A: "about 201 tokens do not fit into its 100"},
    ),
    Case("nobody counts, and it is short enough", [SMALL, C], 100, {A: None}, [A], [A]),
    Case(
        "nobody counts, and it is too long", [SMALL, C], 101, {A: None}, [C], [A],
        {A: "about 101 tokens do not fit into its 100"},
    ),
    Case(
        "counting breaks", [SMALL, C], 101, {A: ValueError("no")}, [C], [A],
        {A: "about 101 tokens do not fit into its 100"},
    ),
    Case(
        "two in a row", [SMALL, SMALL_TOO, C], 99, {A: 101, B: 102}, [C], [A, B],
        {
            A: "101 tokens, as anthropic counts, do not fit into its 100",
            B: "102 tokens, as openrouter counts, do not fit into its 100",
        },
    ),
    Case("at the swap, and it fits", [A, SMALL_TOO, C], 150, {B: 100}, [A, B], [B], {}, [A]),
    Case(
        "at the swap, and it does not", [A, SMALL_TOO, C], 99, {B: 101}, [A, C], [B],
        {B: "101 tokens, as openrouter counts, do not fit into its 100"}, [A],
    ),
    Case("a route that is never reached is not asked", [A, SMALL_TOO], 99, {}, [A]),
    Case("it was counted before", [SMALL, C], 500, asked=[A], known={A: 100}),
    Case(
        "it was counted before, and grew", [SMALL, C], 5, asked=[C], known={A: 101},
        skipped={A: "101 tokens, as anthropic counts, do not fit into its 100"},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_step_goes_where_it_fits(case: Case) -> None:
    run = Run(rule(*case.candidates), dict.fromkeys(case.fails, Answer(503)))
    provider = Provider(case.counts)
    needs = Needs(tokens=case.tokens, counted=case.known)

    step = run.take(needs=needs, count=provider.count)

    assert run.agent.asked == case.asked
    assert provider.asked == case.counted
    assert step.skipped == case.skipped
    assert run.skipped == list(case.skipped.items())


def test_where_no_candidate_holds_it_by_its_own_count_the_step_fails_before_any_attempt() -> None:
    run = Run(rule(SMALL, SMALL_TOO))
    provider = Provider({A: 101, B: 102})

    with pytest.raises(ContextOverflow) as caught:
        run.take(needs=Needs(tokens=99), count=provider.count)

    assert run.agent.asked == []
    assert "101 tokens, as anthropic counts" in str(caught.value)
    assert "102 tokens, as openrouter counts" in str(caught.value)


def test_where_no_sibling_holds_it_the_step_ends_with_the_failure_and_says_so() -> None:
    run = Run(rule(A, SMALL_TOO), {A: Answer(503)})
    provider = Provider({B: 101})

    with pytest.raises(Exception, match="503") as caught:
        run.take(needs=Needs(tokens=99), count=provider.count)

    assert run.agent.asked == [A]
    told = f"{caught.value} {getattr(caught.value, '__notes__', '')}"
    assert "101 tokens, as openrouter counts, do not fit into its 100" in told


def test_a_conversation_that_may_not_move_is_counted_where_it_stays_and_nowhere_else() -> None:
    run = Run(rule(A, SMALL_TOO, C))
    provider = Provider({B: 101})
    past = MoveHistory(holds_calls=True, tools_run=("write_file",), route=B)

    with pytest.raises((ContextOverflow, FallbackUnsafe), match="101 tokens, as openrouter"):
        run.take(needs=Needs(tokens=99), count=provider.count, history=past)

    assert run.agent.asked == []
    assert provider.asked == [B]


def told(**providers: Any) -> FallbackConfig:
    """Return a map of siblings that says something of its providers."""
    return FallbackConfig(
        fallback_models_by_model={A: (B, C)}, max_upstream_retry_attempts=0, providers=providers
    )


def test_a_map_of_siblings_counts_at_the_swap_and_never_at_the_requested_route() -> None:
    window: Any = {"contextWindow": 100}
    run = Run(told(anthropic=window, openrouter=window), {A: Answer(503)})
    provider = Provider({B: 101})

    step = run.take(A, needs=Needs(tokens=99), count=provider.count)

    assert run.agent.asked == [A, C]
    assert provider.asked == [B]
    assert set(step.skipped) == {B}


def test_a_map_of_siblings_passes_over_one_that_lacks_what_the_step_needs() -> None:
    run = Run(told(openrouter={"capabilities": ["tool_calling"]}), {A: Answer(503)})

    step = run.take(A, needs=Needs(capabilities=frozenset({"tool_calling", "images"})))

    assert run.agent.asked == [A, C]
    assert step.skipped == {B: "it has no images"}


def test_past_the_deadline_a_count_is_not_waited_for() -> None:
    run = Run(rule(SMALL))

    with pytest.raises(TimeoutError, match="has passed before its first attempt"):
        run.take(needs=Needs(tokens=99), count=_forever, deadline=1e-9)

    assert run.agent.asked == []


def test_past_the_deadline_a_count_at_a_swap_is_not_waited_for_either() -> None:
    run = Run(rule(A, SMALL_TOO), {A: Answer(503)})

    with pytest.raises(TimeoutError, match="1 attempt failed") as caught:
        run.take(needs=Needs(tokens=99), count=_too_long, deadline=30)

    assert isinstance(caught.value.__cause__, Answer)
    assert run.agent.asked == [A]
    assert run.engine.degraded.snapshot() == {A: 60.0}


def test_a_step_that_is_cancelled_while_it_counts_has_ended() -> None:
    run = Run(rule(SMALL))
    step = run.engine.step("coding", needs=Needs(tokens=99), count=_forever)

    async def cancelled() -> bool:
        with anyio.move_on_after(0) as scope:
            await step.run(_unreached)
        return scope.cancelled_caught

    assert anyio.run(cancelled)
    assert "ended" in repr(step)


SAID: list[Any] = [-1, True, 1.5, float("nan"), "many", 10**400, [100]]


@pytest.mark.parametrize("said", SAID, ids=repr)
def test_what_is_no_number_of_tokens_is_no_count(
    said: Any, caplog: pytest.LogCaptureFixture
) -> None:
    run = Run(rule(SMALL, C))

    async def count(_: Route) -> Any:
        return said

    step = run.take(needs=Needs(tokens=101), count=count)

    assert step.skipped == {A: "about 101 tokens do not fit into its 100"}
    assert f"`count` returned no number of tokens for {A}, but" in caplog.text
    assert len(caplog.text) < 1_000


def test_a_count_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "_COUNT_TIMEOUT", 0.0)
    run = Run(rule(SMALL))

    run.take(needs=Needs(tokens=99), count=_forever)

    assert run.agent.asked == [A]


def test_a_step_that_is_cancelled_while_a_sibling_counts_has_degraded_its_route() -> None:
    run = Run(rule(A, SMALL_TOO), {A: Answer(503)})
    step = run.engine.step("coding", needs=Needs(tokens=99), count=_too_long)

    async def cancelled() -> bool:
        with anyio.move_on_after(30) as scope:
            await step.run(lambda attempt: run.agent.call(attempt.route))
        return scope.cancelled_caught

    assert anyio.run(cancelled)
    assert run.engine.degraded.snapshot() == {A: 60.0}


async def _too_long(_: Route) -> int:
    pass_time(31)
    await anyio.sleep_forever()
    raise AssertionError


async def _forever(_: Route) -> int:
    await anyio.sleep_forever()
    raise AssertionError


async def _unreached(_: object) -> None:
    raise AssertionError


# What a conversation knows of its size, once a provider has counted a part of it.


def said(*messages: Message) -> Conversation:
    return Conversation(list(messages))


USER = Message("user", [Text("a" * 400)])
ANSWER = Message(
    "assistant",
    [Text("b" * 400), ToolCall("1", "read", {}, "completed", "c" * 400)],
    route=A,
)

SINCE = [
    pytest.param(Counted(1_000, 1), [USER], 1_000, id="nothing"),
    pytest.param(Counted(1_000, 1), [USER, USER], 1_100, id="a message"),
    pytest.param(
        Counted(1_000, 1), [USER, ANSWER], 1_201, id="an answer, and what its call returned"
    ),
    pytest.param(Counted(1_000, 2), [USER, ANSWER, USER], 1_100, id="a message after results"),
]


@pytest.mark.parametrize(("counted", "messages", "tokens"), SINCE)
def test_what_was_said_since_the_count_is_estimated(
    counted: Counted, messages: list[Message], tokens: int
) -> None:
    needs = Needs.of(said(*messages), counted={A: counted})

    assert needs.counted == {A: tokens}


# A session, over real sockets.

WINDOW: dict[str, Any] = {"providers": {"anthropic": {"contextWindow": 1_000}}}
DOWN = {"status": 503}
HELLO = {"text": "Hello."}


def outage(answers: dict[Route, Any], counts: dict[Route, int | bool], **options: Any) -> Outage:
    return Outage(answers, counts=counts, **WINDOW, **options)


@pytest.mark.asyncio
async def test_a_session_moves_to_a_sibling_that_holds_it_by_its_own_count() -> None:
    """The estimate says 1,250 tokens, for a window of 1,000."""
    async with outage({PRIMARY: DOWN, SIBLING: HELLO}, {SIBLING: 900}) as played:
        ended = await played.session.turn("a" * 5_000)

    assert ended.route == SIBLING
    assert [received.path for received in played.stub.counts] == [
        "/anthropic/v1/messages/count_tokens"
    ]
    assert played.asked == [PRIMARY, SIBLING]


@pytest.mark.asyncio
async def test_a_session_does_not_move_to_a_sibling_that_counts_too_many() -> None:
    """The estimate says 750 tokens, for a window of 1,000; the longest answer counts as well."""
    options = {"session": {"max_output_tokens": 100}}
    async with outage({PRIMARY: DOWN, SIBLING: HELLO}, {SIBLING: 901}, **options) as played:
        with pytest.raises(Exception, match="503") as caught:
            await played.session.turn("a" * 3_000)

    assert "1001 tokens, as anthropic counts, do not fit into its 1000" in str(
        getattr(caught.value, "__notes__", "")
    ) + str(caught.value)
    assert played.asked == [PRIMARY]


@pytest.mark.asyncio
async def test_what_an_answer_was_counted_at_decides_for_its_route_from_then_on() -> None:
    """By the estimate the conversation stays tiny; the sibling's own count of it has grown."""
    huge = {"text": "Hi.", "usage": {"input": 990, "output": 5}}
    back = [DOWN, HELLO, DOWN]
    async with outage({PRIMARY: back, SIBLING: [huge, HELLO]}, {}) as played:
        await played.session.turn("Begin.")
        played.clock.now += 61
        await played.session.turn("a" * 40)
        played.clock.now += 61
        with pytest.raises(Exception, match="503"):
            await played.session.turn("Go on.")

    assert played.asked == [PRIMARY, SIBLING, PRIMARY, PRIMARY]
    assert played.stub.counts == []


@pytest.mark.asyncio
async def test_the_reasoning_of_an_answer_takes_no_place_in_the_next_request() -> None:
    thoughtful = {"text": "Hi.", "usage": {"input": 900, "output": 5_000}}
    async with outage({PRIMARY: [DOWN, HELLO, DOWN], SIBLING: [thoughtful, HELLO]}, {}) as played:
        await played.session.turn("Begin.")
        played.clock.now += 61
        await played.session.turn("Go on.")
        ended = await played.session.turn("And now?")

    assert ended.route == SIBLING


@pytest.mark.asyncio
async def test_a_count_is_void_once_a_summary_stands_in_place_of_what_was_counted() -> None:
    huge = {"text": "Hi.", "usage": {"input": 1_001, "output": 5}}
    async with outage({PRIMARY: [DOWN, HELLO, DOWN], SIBLING: [huge, HELLO]}, {}) as played:
        await played.session.turn("Begin.")
        played.clock.now += 61
        await played.session.turn("Go on.")
        await played.session.transcript.replace([Message("user", [Text("In short.")])])
        ended = await played.session.turn("And now?")

    assert ended.route == SIBLING


@pytest.mark.asyncio
async def test_without_a_window_nobody_is_asked_to_count() -> None:
    async with Outage({PRIMARY: DOWN, SIBLING: HELLO}) as played:
        await played.session.turn("a" * 5_000)

    assert played.stub.counts == []


@pytest.mark.asyncio
async def test_a_window_may_stand_with_the_addresses_of_the_providers() -> None:
    """The estimate says 2,500 tokens, which is clearly too much for a window of 1,000."""
    played = Outage({PRIMARY: DOWN, SIBLING: HELLO}, windows={"anthropic": 1_000})
    async with played:
        with pytest.raises(Exception, match="503"):
            await played.session.turn("a" * 10_000)

    assert played.asked == [PRIMARY]


def test_a_provider_of_a_map_may_be_wrong_in_another_variable() -> None:
    wrong = {"SIDESTEP_PROVIDERS": '{"anthropic": {"wire": "soap"}}'}
    config = told(openrouter={"capabilities": ["tool_calling"]})

    assert set(map_plan(config, wrong).provider_facts) == {"openrouter"}
