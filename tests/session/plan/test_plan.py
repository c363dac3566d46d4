"""Where the steps of routing rules go: fit candidates in order, and none twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import (
    ContextOverflow,
    Failure,
    FailureKind,
    FallbackConfig,
    FallbackExhausted,
    FallbackUnsafe,
    MoveHistory,
    ProviderError,
    Route,
)
from sidestep.session.plan.load import load_plan
from sidestep.session.plan.needs import Needs
from sidestep.session.plan.plan import Plan

from .routing_rules import A, Answer, B, C, Run, read, rule


def test_the_candidates_are_taken_in_order() -> None:
    run = Run(rule(A, B, C), {A: Answer(503), B: Answer(529)})

    step = run.take()

    assert run.agent.asked == [A, B, C]
    assert (step.requested, step.route, step.swaps) == (A, C, 2)
    assert run.skipped == []


def test_a_candidate_that_was_tried_is_never_returned_to() -> None:
    run = Run(rule(A, B, C), dict.fromkeys((A, B, C), Answer(503)))

    with pytest.raises(FallbackExhausted):
        run.take()

    assert run.agent.asked == [A, B, C]


NEEDS_TOOLS = Needs(capabilities=frozenset({"tool_calling"}))
LIST = 'capabilities = ["streaming"]'


@dataclass(frozen=True)
class Fit:
    """What a candidate at the head or in the middle lacks, and the reason that is given."""

    id: str
    unfit: str
    why: str
    needs: Needs | None = None
    more: str = ""


UNFIT = [
    Fit("a capability is missing", f"{B} {LIST}", "it has no tool_calling", NEEDS_TOOLS),
    Fit(
        "the prompt is too long",
        f"{B} context_window_tokens = 100",
        "about 101 tokens do not fit into its 100",
        Needs(tokens=101),
    ),
    Fit(
        "the prompt is too long for its provider",
        C,
        "about 9001 tokens do not fit into its 9000",
        Needs(tokens=9_001),
    ),
    Fit(
        "outside the boundary of the rule",
        f'{B} boundary = "us"',
        "its boundary is 'us', and the step must stay in 'eu'",
        more='boundary = "eu"',
    ),
    Fit(
        "nothing is said of its boundary",
        B,
        "its boundary is unknown, and the step must stay in 'eu'",
        more='boundary = "eu"',
    ),
    Fit(
        "outside the boundary of the step",
        B,
        "its boundary is unknown, and the step must stay in 'eu'",
        Needs(boundary="eu"),
    ),
    Fit("no provider", "acme/x", "this process has no provider 'acme'"),
]
Z = Route("anthropic/z")


@pytest.mark.parametrize("fit", UNFIT, ids=lambda fit: fit.id)
def test_an_unfit_candidate_is_passed_over_with_the_reason(fit: Fit) -> None:
    """At the head of the chain, and between two that are fit."""
    route = Route(fit.unfit.partition(" ")[0])
    place = "eu" if "boundary" in fit.why else "us" if route == C else ""  # C's own is "us"
    first, last = (f'{each} boundary = "{place}"' if place else str(each) for each in (A, Z))
    head = Run(rule(fit.unfit, first, last, more=fit.more))
    middle = Run(rule(first, fit.unfit, last, more=fit.more), {A: Answer(503)})

    at_head, in_middle = head.take(needs=fit.needs), middle.take(needs=fit.needs)

    assert head.agent.asked == [A]
    assert middle.agent.asked == [A, Z]
    assert at_head.skipped == in_middle.skipped == {route: fit.why}
    assert set(head.skipped) == set(middle.skipped) == {(route, fit.why)}


@pytest.mark.parametrize("fit", UNFIT, ids=lambda fit: fit.id)
def test_with_no_fit_candidate_the_step_fails_before_any_attempt_and_says_why(fit: Fit) -> None:
    run = Run(rule(fit.unfit, more=fit.more))
    is_too_long = "do not fit into" in fit.why

    with pytest.raises(ContextOverflow if is_too_long else FallbackExhausted) as caught:
        run.take(needs=fit.needs)

    assert run.agent.asked == []
    assert caught.value.attempts == ()
    assert fit.why in str(caught.value)


@pytest.mark.parametrize(
    ("text", "asked", "needs"),
    [
        pytest.param('boundary = "eu"\n' + rule(C), "coding", None, id="of the file"),
        pytest.param(rule(C, more='boundary = "eu"'), "coding", None, id="of the rule"),
        pytest.param(rule(C), "coding", Needs(boundary="eu"), id="of the step"),
        pytest.param(
            rule(f'{A} boundary = "eu"', more='boundary = "eu"'), "coding", Needs(boundary="us"),
            id="a step cannot open the rule's",
        ),
        pytest.param('boundary = "eu"\n' + rule(C), str(C), None, id="of the file, for a route"),
        pytest.param(
            'boundary = "eu"\n' + rule(C), "anthropic/other", None, id="a route that nobody named"
        ),
    ],
)  # fmt: skip
def test_outside_a_boundary_nothing_is_sent(text: str, asked: str, needs: Needs | None) -> None:
    run = Run(text, {})

    with pytest.raises(FallbackExhausted, match=r"and the step must stay in '(eu|us)'"):
        run.take(asked, needs=needs)

    assert run.agent.asked == []


@pytest.mark.parametrize(
    ("asked", "asks"),
    [
        pytest.param(str(C), [C], id="one of a chain"),
        pytest.param("anthropic/other", ["anthropic/other"], id="one of none"),
    ],
)
def test_a_pinned_route_stays_alone(asked: str, asks: list[str]) -> None:
    run = Run(rule(C, A, B), {C: Answer(503), Route("anthropic/other"): Answer(503)})

    with pytest.raises(Answer):
        run.take(asked)

    assert run.agent.asked == asks


def test_a_degraded_head_is_passed_over_until_its_cooldown_ends() -> None:
    run = Run(rule(A, B), {A: [Answer(503), None]})

    run.take()
    step = run.take()
    run.clock.now += 60
    run.take()

    assert run.agent.asked == [A, B, B, A]
    assert step.skipped == {A: "degraded"}


def test_a_degraded_candidate_is_taken_rather_than_none() -> None:
    run = Run(rule(A, f"{B} {LIST}"))
    run.engine.degraded.degrade(A, cooldown=60)

    run.take(needs=NEEDS_TOOLS)

    assert run.agent.asked == [A]


def named(kind: FailureKind, status: int | None) -> ProviderError:
    return ProviderError(Failure(kind=kind, message="no", status=status))


@pytest.mark.parametrize(
    ("failure", "moves"),
    [
        pytest.param(Answer(400), False, id="400 invalid"),
        pytest.param(Answer(401), False, id="401 auth"),
        pytest.param(named(FailureKind.AUTH, 429), False, id="429 auth"),
        pytest.param(named(FailureKind.AUTH, None), False, id="auth without a status"),
        pytest.param(Answer(403), False, id="403 auth"),
        pytest.param(Answer(404), False, id="404 capability"),
        pytest.param(Answer(422), False, id="422 invalid"),
        pytest.param(named(FailureKind.NOT_FOUND, 503), False, id="503 of a missing model"),
        pytest.param(named(FailureKind.CONTENT_FILTER, 429), False, id="429 filter"),
        pytest.param(KeyError("x"), False, id="unmapped"),
        pytest.param(Answer(402), True, id="402 money"),
        pytest.param(named(FailureKind.QUOTA, 429), True, id="429 money"),
        pytest.param(named(FailureKind.QUOTA, 400), True, id="400 money"),
        pytest.param(named(FailureKind.QUOTA, 403), True, id="403 money"),
        pytest.param(named(FailureKind.QUOTA, None), True, id="money without a status"),
        pytest.param(Answer(408), True, id="408 timeout"),
        pytest.param(Answer(429), True, id="429 unavailable"),
        pytest.param(Answer(500), True, id="500"),
        pytest.param(Answer(503), True, id="503 unavailable"),
        pytest.param(Answer(504), True, id="504 timeout"),
        pytest.param(Answer(529), True, id="529 overloaded"),
        pytest.param(TimeoutError("no answer"), True, id="timeout without a status"),
    ],
)
def test_which_failures_move(failure: Exception, moves: bool) -> None:
    run = Run(rule(A, B), {A: failure})

    if moves:
        run.take()
    else:
        with pytest.raises(type(failure)):
            run.take()

    assert run.agent.asked == ([A, B] if moves else [A])


@pytest.mark.parametrize("ran", [(), ("read",)], ids=["none", "one that may run twice"])
def test_after_tools_that_may_run_twice_a_conversation_moves(ran: tuple[str, ...]) -> None:
    run = Run('idempotent_tools = ["read"]\n' + rule(A, B), {A: Answer(503)})

    run.take(history=MoveHistory(tools_run=ran, route=A))

    assert run.agent.asked == [A, B]


def test_after_a_tool_that_may_not_run_twice_a_conversation_stays() -> None:
    run = Run('idempotent_tools = ["read"]\n' + rule(A, B), {A: Answer(503)})

    with pytest.raises(FallbackUnsafe, match="the tool 'write' had run"):
        run.take(history=MoveHistory(tools_run=("read", "write"), route=A))

    assert run.agent.asked == [A]


def test_asking_for_a_rule_without_candidates_says_so() -> None:
    with pytest.raises(ValueError, match="'coding' has no route to go to: name one in routing"):
        Run(rule()).take()


# A candidate answers with one of these, for every time that it is asked.
FAILURES: list[Callable[[], Exception | None]] = [
    lambda: None,
    lambda: Answer(503),
    lambda: Answer(429, **{"retry-after": "90"}),
    lambda: Answer(400),
    lambda: TimeoutError("no answer"),
]
plays = st.lists(st.sampled_from(FAILURES), min_size=1, max_size=6)


@given(
    outage=st.fixed_dictionaries({A: plays, B: plays, C: plays}),
    pauses=st.lists(st.sampled_from([0.0, 30.0, 60.0, 120.0]), min_size=1, max_size=5),
    retries=st.integers(0, 2),
)
def test_a_one_way_map_of_the_same_routes_makes_the_same_requests(
    outage: dict[Route, list[Callable[[], Exception | None]]], pauses: list[float], retries: int
) -> None:
    rules = read(rule(A, B, C) + f"[limits]\nmax_upstream_retry_attempts = {retries}\n")
    one_way = rules.config.model_copy(
        update={"fallback_models_by_model": {A: (B, C), B: (C,)}, "move_policy": "rebuild"}
    )
    told = []

    for config, asked in ((rules, "coding"), (one_way, str(A))):
        run = Run(config, {route: [make() for make in played] for route, played in outage.items()})
        ends = []
        for pause in pauses:
            try:
                ends.append(str(run.take(asked).route))
            except (Answer, TimeoutError, FallbackExhausted) as error:
                ends.append(type(error).__name__)
            run.clock.now += pause
        told.append((run.agent.asked, run.clock.slept, ends, run.engine.degraded.snapshot()))

    assert told[0] == told[1]


def test_past_an_unfit_head_a_healthy_candidate_comes_before_a_degraded_one() -> None:
    run = Run(rule(f"{A} {LIST}", B, C))
    run.engine.degraded.degrade(B, cooldown=60)

    run.take(needs=NEEDS_TOOLS)

    assert run.agent.asked == [C]
    assert run.skipped == [(A, "it has no tool_calling"), (B, "degraded")]


def test_every_candidate_before_the_start_is_told_of_once() -> None:
    run = Run(rule(A, f"{B} {LIST}", C))
    run.engine.degraded.degrade(A, cooldown=60)

    run.take(needs=NEEDS_TOOLS)

    assert run.skipped == [(A, "degraded"), (B, "it has no tool_calling")]


def test_where_the_rest_of_the_chain_is_unfit_the_agents_own_exception_says_so() -> None:
    run = Run(rule(A, f"{B} {LIST}"), {A: Answer(503)})

    with pytest.raises(Answer) as caught:
        run.take(needs=NEEDS_TOOLS)

    assert run.skipped == [(B, "it has no tool_calling")]
    assert f"passed over: {B} (it has no tool_calling)" in caught.value.__notes__[0]


def test_a_conversation_that_a_tool_holds_outside_the_boundary_fails_closed() -> None:
    run = Run(rule(f'{A} boundary = "eu"', of="private", more='boundary = "eu"') + rule(C))

    with pytest.raises(FallbackExhausted, match="its boundary is 'us'"):
        run.take("private", history=MoveHistory(tools_run=("write",), route=C))

    assert run.agent.asked == []


def mapped(siblings: Mapping[Route, list[Route]], **providers: Mapping[str, object]) -> Plan:
    """Return the plan of a map of siblings that says something of its providers."""
    config = {
        "fallbackModelsByModel": siblings,
        "maxUpstreamRetryAttempts": 0,
        "providers": providers,
    }
    plan = load_plan({"SIDESTEP_FALLBACK_CONFIG": json.dumps(config)})
    assert plan is not None
    return plan


SMALL, ABROAD = {"contextWindow": 8_192}, {"boundary": "us"}
LONG, AT_HOME = Needs(tokens=10_000), Needs(boundary="eu")
TOO_LONG = "about 10000 tokens do not fit into its 8192"
NOT_HERE = "its boundary is 'us', and the step must stay in 'eu'"


@dataclass(frozen=True)
class Sized:
    """A map of siblings, what it says of B's provider, and where a step of *needs* goes then."""

    id: str
    siblings: dict[Route, list[Route]]
    said: Mapping[str, object]
    needs: Needs | None
    asked: list[Route]
    why: str | None = None


SIZED = [
    Sized("too long for the first of two", {A: [B, C]}, SMALL, LONG, [A, C], TOO_LONG),
    Sized("too long, not for its own sibling", {A: [B], B: [C]}, SMALL, LONG, [A, C], TOO_LONG),
    Sized("too long for the only one", {A: [B]}, SMALL, LONG, [A], TOO_LONG),
    Sized("short enough", {A: [B, C]}, SMALL, Needs(tokens=8_192), [A, B]),
    Sized("of unknown length", {A: [B, C]}, SMALL, None, [A, B]),
    Sized("to stay elsewhere", {A: [B, C]}, ABROAD, AT_HOME, [A, C], NOT_HERE),
]


def sized_run(sized: Sized) -> Run:
    home = {"boundary": "eu"} if sized.said is ABROAD else {}
    providers = {A.provider: home, B.provider: sized.said, C.provider: home}
    return Run(mapped(sized.siblings, **providers), {A: Answer(429)})


@pytest.mark.parametrize("sized", SIZED, ids=lambda sized: sized.id)
def test_a_step_is_not_sent_to_a_sibling_that_cannot_take_it(sized: Sized) -> None:
    """LiteLLM #31557: a prompt of 10,000 tokens went on to a model that holds 8,192."""
    run = sized_run(sized)

    if sized.asked == [A]:
        with pytest.raises(ContextOverflow) as caught:
            run.take(str(A), needs=sized.needs)
        assert f"passed over: {B}: {sized.why}" in str(caught.value)
        assert caught.value.window == 8_192
        assert isinstance(caught.value.__cause__, Answer)
    else:
        run.take(str(A), needs=sized.needs)

    assert run.agent.asked == sized.asked
    assert run.skipped == ([(B, sized.why)] if sized.why else [])


@pytest.mark.parametrize("sized", SIZED, ids=lambda sized: sized.id)
def test_nor_does_it_start_there(sized: Sized) -> None:
    run = sized_run(sized)
    run.agent.failures.clear()
    run.engine.degraded.degrade(A, cooldown=60)

    run.take(str(A), needs=sized.needs)

    assert run.agent.asked == [sized.asked[-1]]


EU, US = 'boundary = "eu"', 'boundary = "us"'
UNKNOWN = "its boundary is unknown, and the step must stay in 'eu'"


@dataclass(frozen=True)
class Declared:
    """Where a step goes, and what it passes over, when each of its routes in order fails."""

    id: str
    plan: str | Plan
    asked: list[Route]
    skipped: dict[Route, str]
    wanted: str = "coding"
    needs: Needs | None = None


def at(siblings: Mapping[Route, list[Route]], **boundaries: str) -> Plan:
    """Return the plan of a map with the boundaries of the providers of A, B and C."""
    names = {"a": A.provider, "b": B.provider, "c": C.provider}
    return mapped(siblings, **{names[key]: {"boundary": b} for key, b in boundaries.items()})


DECLARED = [
    Declared("rules: another", rule(f"{A} {EU}", f"{B} {US}"), [A], {B: NOT_HERE}),
    Declared("rules: none", rule(f"{A} {EU}", B), [A], {B: UNKNOWN}),
    Declared("rules: the same", rule(f"{A} {EU}", f"{B} {EU}"), [A, B], {}),
    Declared("rules: of the sibling only", rule(A, f"{B} {EU}"), [A, B], {}),
    Declared("rules: of nobody", rule(A, B), [A, B], {}),
    Declared("rules: behind another", rule(f"{A} {EU}", B, f"{Z} {EU}"), [A, Z], {B: UNKNOWN}),
    Declared(
        "rules: by the provider", rule(C, f"{A} {EU}", f"{B} {US}"), [C, B],
        {A: "its boundary is 'eu', and the step must stay in 'us'"},
    ),
    Declared(
        "rules: the rule's comes first", rule(f"{A} {EU}", f"{B} {US}", more=US), [B],
        {A: "its boundary is 'eu', and the step must stay in 'us'"},
    ),
    Declared(
        "rules: the step's comes first", rule(f"{A} {EU}", f"{B} {US}"), [B],
        {A: "its boundary is 'eu', and the step must stay in 'us'"}, needs=Needs(boundary="us"),
    ),
    Declared("rules: a route by its own name", rule(f"{A} {EU}", B), [B], {}, wanted=B),
    Declared(
        "rules: a route of two places", rule(f"{A} {EU}") + rule(f"{A} {US}", of="chat"), [A], {},
        wanted=A,
    ),
    Declared("a map: another", at({A: [B]}, a="eu", b="us"), [A], {B: NOT_HERE}, A),
    Declared("a map: none", at({A: [B]}, a="eu"), [A], {B: UNKNOWN}, A),
    Declared("a map: the same", at({A: [B]}, a="eu", b="eu"), [A, B], {}, A),
    Declared("a map: of the sibling only", at({A: [B]}, b="eu"), [A, B], {}, A),
    Declared(
        "a map: behind another", at({A: [B], B: [C]}, a="eu", c="eu"), [A, C], {B: UNKNOWN}, A
    ),
    Declared(
        "a map: the step's comes first", at({A: [B]}, a="eu", b="us"), [B],
        {A: "its boundary is 'eu', and the step must stay in 'us'"}, A, Needs(boundary="us"),
    ),
    Declared(
        "a map: with needs of another kind", at({A: [B]}, a="eu", b="us"), [A], {B: NOT_HERE}, A,
        NEEDS_TOOLS,
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", DECLARED, ids=lambda case: case.id)
def test_a_step_stays_inside_the_boundary_that_its_route_declares(case: Declared) -> None:
    run = Run(case.plan, dict.fromkeys((A, B, C, Z), Answer(503)))

    with pytest.raises((Answer, FallbackExhausted)) as caught:
        run.take(case.wanted, needs=case.needs)

    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert run.agent.asked == case.asked
    assert dict(run.skipped) == case.skipped
    assert all(f"{route} ({why})" in told for route, why in case.skipped.items()) or (
        case.asked == [B]  # passed over at the start, not in the end
    )


@pytest.mark.parametrize(
    "plan", [rule(f"{A} {EU}", f"{B} {US}"), at({A: [B]}, a="eu", b="us")], ids=["rules", "a map"]
)
def test_a_degraded_route_is_taken_rather_than_one_outside_the_boundary_it_declares(
    plan: str | Plan,
) -> None:
    run = Run(plan)
    run.engine.degraded.degrade(A, cooldown=60)
    asked = "coding" if isinstance(plan, str) else A

    assert run.engine.healthy(asked) == A
    assert run.take(asked).route == A


@pytest.mark.parametrize(
    "needs", [Needs(boundary="eu"), None], ids=["of the step", "of the route that was asked for"]
)
def test_a_map_does_not_keep_a_conversation_on_a_route_outside_the_boundary(
    needs: Needs | None,
) -> None:
    plan = at({A: []}, a="eu", c="us")
    config = plan.config.model_copy(update={"move_policy": "first_call"})
    run = Run(replace(plan, config=config))

    with pytest.raises(FallbackExhausted, match=NOT_HERE):
        run.take(A, needs=needs, history=MoveHistory(holds_calls=True, route=C))

    assert run.agent.asked == []


BOUNDARIES = [
    pytest.param({A.provider: "eu"}, [A], {}, id="it is inside"),
    pytest.param(
        {A.provider: "us", C.provider: "eu"}, [C],
        {A: NOT_HERE, B: "its boundary is unknown, and the step must stay in 'eu'"},
        id="it is outside",
    ),
    pytest.param(
        {C.provider: "eu"}, [C],
        dict.fromkeys((A, B), "its boundary is unknown, and the step must stay in 'eu'"),
        id="nobody says where it is",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("boundaries", "asked", "skipped"), BOUNDARIES)
def test_where_its_data_must_stay_the_route_that_was_asked_for_is_passed_over_as_well(
    boundaries: dict[str, str], asked: list[Route], skipped: dict[Route, str]
) -> None:
    run = Run(mapped({A: [B, C]}, **{name: {"boundary": b} for name, b in boundaries.items()}))

    step = run.take(A, needs=AT_HOME)

    assert run.agent.asked == asked
    assert step.skipped == skipped


@pytest.mark.parametrize("siblings", [{A: [B]}, {}], ids=["a sibling outside", "no sibling"])
def test_where_nothing_is_inside_no_data_leaves(siblings: dict[Route, list[Route]]) -> None:
    run = Run(mapped(siblings, **{B.provider: {"boundary": "us"}}))

    with pytest.raises(FallbackExhausted, match="boundary is unknown"):
        run.take(A, needs=AT_HOME)

    assert run.agent.asked == []


@pytest.mark.parametrize("boundary", ["eu", None], ids=["inside", "nobody says where it is"])
def test_without_a_configuration_a_step_stays_inside_as_well(boundary: str | None) -> None:
    about = {"boundary": boundary} if boundary else {"contextWindow": 9}
    run = Run.following({"SIDESTEP_PROVIDERS": json.dumps({A.provider: about})})

    if boundary:
        run.take(A, needs=AT_HOME)
    else:
        with pytest.raises(FallbackExhausted, match="boundary is unknown"):
            run.take(A, needs=AT_HOME)

    assert run.agent.asked == ([A] if boundary else [])


# Who asks whom, before anything is sent.


def no_key(route: Route) -> bool | str:
    return True if route == C else "KEY is not set"


def test_the_head_of_a_chain_that_cannot_be_asked_is_passed_over() -> None:
    run = Run(rule(A, B, C))

    step = run.take(serves=no_key)

    assert run.agent.asked == [C]
    assert step.skipped == dict.fromkeys((A, B), "KEY is not set")


@pytest.mark.parametrize(
    "about", [{}, {"capabilities": ["images"]}], ids=["nothing is said", "a sibling is unfit"]
)
def test_a_route_that_a_map_is_asked_for_fails_by_itself(about: dict[str, object]) -> None:
    run = Run(mapped({A: [B, C]}, **{B.provider: about}), {A: Answer(401)})

    with pytest.raises(Answer):
        run.take(A, needs=NEEDS_TOOLS, serves=no_key)

    assert run.agent.asked == [A]


STUCK = [
    pytest.param(mapped({A: [B]}), A, id="map"),
    pytest.param(mapped({A: [B], B: [A]}), A, id="two-way map"),
    pytest.param(rule(A, B), "coding", id="rules"),
]


@pytest.mark.parametrize(("plan", "asked"), STUCK)
def test_a_sibling_that_cannot_be_asked_is_told_where_none_is_left(
    plan: str | Plan, asked: str
) -> None:
    run = Run(plan, {A: Answer(503)})

    with pytest.raises(Answer) as caught:
        run.take(asked, serves=lambda route: route == A or "KEY is not set")

    assert run.skipped == [(B, "KEY is not set")]
    assert f"passed over: {B} (KEY is not set)" in caught.value.__notes__[0]


@pytest.mark.parametrize("status", [400, 401], ids=str)
def test_a_sibling_is_not_told_of_where_the_failure_would_not_move_to_it(status: int) -> None:
    run = Run(mapped({A: [B]}), {A: Answer(status)})

    with pytest.raises(Answer):
        run.take(A, serves=lambda route: route == A)

    assert run.skipped == []


def test_healthy_is_where_a_step_would_start() -> None:
    run = Run(rule(A, f'{C} boundary = "eu"', more='boundary = "eu"'))

    assert run.engine.healthy("coding") == C
    assert run.take().route == C


def test_a_route_that_is_asked_for_by_its_own_name_is_degraded_for_the_chains_as_well() -> None:
    run = Run(rule(A, B), {A: Answer(503)})

    with pytest.raises(Answer, match="503"):
        run.take(A)

    assert run.engine.degraded.snapshot() == {A: 60.0}
    assert run.take().route == B


def test_a_conversation_that_stays_says_why_what_was_asked_for_is_passed_over() -> None:
    run = Run(rule(A, B))

    step = run.take(history=MoveHistory(tools_run=("write",), route=B))

    assert step.route == B
    why = "the tool 'write' had run and is not in `idempotent_tools` of [limits]"
    assert step.skipped == {A: why}


@pytest.mark.parametrize("where", ["check_move", "count"])
def test_a_sibling_that_is_degraded_meanwhile_is_not_moved_to(where: str) -> None:
    run = Run(rule(A, f"{B} context_window_tokens = 100", C), {A: Answer(503)})

    async def check_move() -> None:
        run.engine.degraded.degrade(B, cooldown=60)

    async def count(_: Route) -> int:
        run.engine.degraded.degrade(B, cooldown=60)
        return 50

    hook: Any = {"check_move": check_move} if where == "check_move" else {"count": count}
    step = run.take(needs=Needs(tokens=99), **hook)

    assert run.agent.asked == [A, C]
    assert step.skipped == {B: "degraded"}


def test_a_map_that_a_program_passes_knows_what_the_environment_says_of_providers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = {A.provider: {"boundary": "eu"}}
    monkeypatch.setenv("SIDESTEP_PROVIDERS", json.dumps(said))
    run = Run(FallbackConfig(fallback_models_by_model={A: (B,)}), {A: Answer(404)})

    with pytest.raises(Answer):
        run.take(A)

    assert run.engine.active.options_for(A).unfit == {B: UNKNOWN}


@pytest.mark.parametrize("text", ["{", "@/nowhere"], ids=["not JSON", "no file"])
def test_wrong_providers_leave_a_boundary_unknown(text: str) -> None:
    run = Run.following({"SIDESTEP_PROVIDERS": text})

    with pytest.raises(FallbackExhausted, match="its boundary is unknown"):
        run.take(A, needs=AT_HOME)

    assert run.agent.asked == []
