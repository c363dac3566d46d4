"""What follows from a failure: every row of the decision table, and the cases between them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from sidestep import Failure, FailureKind, FallbackConfig, Route, Scope
from sidestep.session.plan.limits import Limits
from sidestep.session.step.decision import decide
from sidestep.session.step.step_state import Decision, NextKey, Retry, StepState, Stop, Swap

SIBLING = Route("anthropic/claude-sonnet-5")
LISTED = frozenset({402, 408, 429, 500, 502, 503, 504, 520, 522, 524, 529})

SWAP = Swap(sibling=SIBLING, cooldown=0.0)
SWAP_ONLY = Swap(sibling=SIBLING, cooldown=None)


def retry(wait: float) -> Retry:
    """Return a retry; how many are allowed does not matter here."""
    return Retry(wait=wait, allowed=0)


RETRY = retry(2.0)


def stop(cooldown: float | None = None) -> Stop:
    """Return a stop; its reason does not matter here."""
    return Stop(why="", cooldown=cooldown)


@dataclass(frozen=True)
class Case:
    id: str
    kind: str
    status: int | None
    fresh: Decision
    """With retries left and a healthy sibling."""
    spent: Decision
    """With the retries spent and a healthy sibling."""
    alone: Decision
    """With the retries spent and no sibling."""
    failure: dict[str, Any] = field(default_factory=dict)
    standing: dict[str, Any] = field(default_factory=dict)


def transient(kind: str, status: int | None) -> Case:
    return Case(f"{kind} {status}", kind, status, RETRY, SWAP, stop(0.0))


TABLE = [
    *(transient("server_error", status) for status in (500, 502, 503, 520, 522)),
    transient("server_error", None),
    transient("overloaded", 529),
    transient("overloaded", None),
    transient("timeout", 504),
    transient("timeout", None),
    transient("truncated", None),
    transient("empty_response", None),
    transient("rate_limit", 429),
    transient("network", None),
    transient("unknown", 503),
    transient("unknown", 429),
    Case("redirect", "network", 307, SWAP, SWAP, stop(0.0), failure={"should_retry": False}),
    Case("server error not listed", "server_error", 501, RETRY, stop(), stop()),
    Case("unknown 409, not listed", "unknown", 409, RETRY, stop(), stop()),
    Case("unknown 418, not listed", "unknown", 418, stop(), stop(), stop()),
    Case("unknown without a status", "unknown", None, stop(), stop(), stop()),
    Case("rate limit not listed is still degraded", "rate_limit", 498, RETRY, stop(0.0), stop(0.0)),
    Case("refused", "network", None, SWAP, SWAP, stop(0.0), {"code": "refused"}),
    Case("no such host", "network", None, SWAP, SWAP, stop(0.0), {"code": "no_such_host"}),
    Case("reset", "network", None, RETRY, SWAP, stop(0.0), {"code": "reset"}),
    Case("tls", "network", None, RETRY, SWAP, stop(0.0), {"code": "tls"}),
    Case("quota", "quota", 402, SWAP, SWAP, stop(0.0)),
    Case("quota by another status", "quota", 400, stop(0.0), stop(0.0), stop(0.0)),
    Case(
        "quota with a reset", "quota", 402,
        Swap(sibling=SIBLING, cooldown=900.0), Swap(sibling=SIBLING, cooldown=900.0), stop(900.0),
        standing={"resets_in": 900.0},
    ),
    Case("auth not listed", "auth", 401, stop(), stop(), stop()),
    Case("auth listed is degraded only by a swap", "auth", 429, SWAP, SWAP, stop()),
    Case("not found not listed", "not_found", 404, stop(), stop(), stop()),
    Case("not found listed", "not_found", 429, SWAP, SWAP, stop()),
    Case("malformed call", "tool_call_malformed", None, RETRY, SWAP_ONLY, stop()),
    Case("malformed call, not listed", "tool_call_malformed", 400, RETRY, stop(), stop()),
    Case("too large for this route", "request_too_large", 413, SWAP_ONLY, SWAP_ONLY, stop()),
    Case("history rejected", "history_rejected", 400, SWAP_ONLY, SWAP_ONLY, stop()),
    Case("bad request not listed", "bad_request", 400, stop(), stop(), stop()),
    Case("bad request listed", "bad_request", 429, SWAP_ONLY, SWAP_ONLY, stop()),
    Case("overflow", "context_overflow", 400, stop(), stop(), stop()),
    Case("overflow with a listed status", "context_overflow", 429, stop(), stop(), stop()),
    Case("content filter", "content_filter", 500, stop(), stop(), stop()),
    Case("refusal", "refusal", None, stop(), stop(), stop()),
    Case("cancelled", "cancelled", None, stop(), stop(), stop()),
    Case(
        "no capacity", "overloaded", 429, SWAP, SWAP, stop(0.0), {"lacks_capacity": True},
    ),
    Case("a failed probe", "server_error", 503, SWAP, SWAP, stop(0.0), standing={"is_probe": True}),
    Case(
        "a probe that met another failure", "server_error", 501, RETRY, stop(), stop(),
        standing={"is_probe": True},
    ),
    Case(
        "hint within the longest wait", "rate_limit", 429,
        retry(20.0), Swap(sibling=SIBLING, cooldown=20.0), stop(20.0), {"retry_after": 20.0},
    ),
    Case(
        "hint below the backoff", "overloaded", 529,
        RETRY, Swap(sibling=SIBLING, cooldown=1.0), stop(1.0), {"retry_after": 1.0},
    ),
    Case(
        "hint above the longest wait", "rate_limit", 429,
        Swap(sibling=SIBLING, cooldown=3600.0), Swap(sibling=SIBLING, cooldown=3600.0),
        stop(3600.0), {"retry_after": 3600.0},
    ),
    Case(
        "a reset within the longest wait", "rate_limit", 429,
        retry(20.0), Swap(sibling=SIBLING, cooldown=20.0), stop(20.0),
        standing={"resets_in": 20.0},
    ),
    Case(
        "a reset after the longest wait", "rate_limit", 429,
        Swap(sibling=SIBLING, cooldown=3600.0), Swap(sibling=SIBLING, cooldown=3600.0),
        stop(3600.0), standing={"resets_in": 3600.0},
    ),
    Case("a reset that has passed", "rate_limit", 429, RETRY, SWAP, stop(0.0),
         standing={"resets_in": -5.0}),
    Case("the provider says not to retry", "server_error", 500, SWAP, SWAP, stop(0.0),
         {"should_retry": False}),
    Case("the provider says to retry", "bad_request", 429, SWAP_ONLY, SWAP_ONLY, stop(),
         {"should_retry": True}),
]  # fmt: skip


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.id)
def test_the_decision_table(case: Case) -> None:
    failure = Failure(kind=FailureKind(case.kind), message="", status=case.status, **case.failure)
    limits = Limits(max_retries=3, max_swaps=2, statuses=LISTED, max_wait=60.0)

    decisions = [
        decide(failure, StepState(backoff=2.0, **standing, **case.standing), limits)
        for standing in (
            {"sibling": SIBLING, "sibling_is_healthy": True},
            {"sibling": SIBLING, "sibling_is_healthy": True, "retries": 3},
            {"retries": 3},
        )
    ]

    assert [_without_why(decision) for decision in decisions] == [
        case.fresh,
        case.spent,
        case.alone,
    ]


def test_every_kind_has_a_row() -> None:
    assert {case.kind for case in TABLE} == set(FailureKind)


@pytest.mark.parametrize(
    ("standing", "decision"),
    [
        pytest.param({"retries": 2}, RETRY, id="the last retry"),
        pytest.param({"retries": 3, "swaps": 1}, SWAP, id="the last swap"),
        pytest.param({"retries": 3, "swaps": 2}, stop(0.0), id="the cap is reached"),
        pytest.param(
            {"retries": 3, "sibling_is_healthy": False}, SWAP, id="bounce to a degraded sibling"
        ),
        pytest.param({"retries": 0, "swaps": 2}, RETRY, id="the last route has its own retries"),
    ],
)
def test_budgets(standing: dict[str, Any], decision: Decision) -> None:
    failure = Failure(kind=FailureKind.SERVER_ERROR, message="", status=503)
    given: dict[str, Any] = {"sibling": SIBLING, "sibling_is_healthy": True, "backoff": 2.0}

    made = decide(
        failure,
        StepState(**given | standing),
        Limits(max_retries=3, max_swaps=2, statuses=LISTED, max_wait=60.0),
    )

    assert _without_why(made) == decision


def test_the_listed_statuses_move_a_step_and_no_others_do() -> None:
    listed = FallbackConfig(fallback_models_by_model={}).fallback_on_errors
    limits = Limits(max_retries=3, max_swaps=2, statuses=listed, max_wait=60.0)
    spent = StepState(backoff=2.0, retries=3, sibling=SIBLING, sibling_is_healthy=True)

    moved = {
        status
        for status in range(400, 600)
        for failure in [Failure(kind=FailureKind.UNKNOWN, message="", status=status)]
        if isinstance(decide(failure, spent, limits), Swap)
    }

    assert moved == LISTED


@pytest.mark.parametrize(
    ("kind", "status", "moves"),
    [
        *((FailureKind.SERVER_ERROR, status, True) for status in (521, 523, 525, 526, 527, 530)),
        pytest.param(FailureKind.SERVER_ERROR, 403, True, id="a challenge"),
        pytest.param(FailureKind.AUTH, 403, False, id="a key"),
        pytest.param(FailureKind.SERVER_ERROR, 501, False, id="not implemented"),
    ],
)
@pytest.mark.parametrize("listed", [{520}, {500}], ids=["520 listed", "520 not listed"])
def test_the_edge_moves_a_step_where_its_unknown_error_does(
    kind: FailureKind, status: int, moves: bool, listed: set[int]
) -> None:
    limits = Limits(max_retries=3, max_swaps=2, statuses=frozenset(listed), max_wait=60.0)
    spent = StepState(backoff=2.0, retries=3, sibling=SIBLING, sibling_is_healthy=True)

    made = decide(Failure(kind=kind, message="", status=status), spent, limits)

    assert isinstance(made, Swap) is (moves and 520 in listed)


@pytest.mark.parametrize("is_healthy", [True, False], ids=["sibling healthy", "sibling degraded"])
@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(Failure(kind=FailureKind.NETWORK, message="", code="refused"), id="refused"),
        pytest.param(
            Failure(kind=FailureKind.OVERLOADED, message="", status=529, lacks_capacity=True),
            id="no capacity",
        ),
    ],
)
def test_a_route_that_is_better_left_is_retried_only_without_a_healthy_sibling(
    failure: Failure, *, is_healthy: bool
) -> None:
    made = decide(
        failure,
        StepState(backoff=2.0, sibling=SIBLING, sibling_is_healthy=is_healthy),
        Limits(max_retries=3, max_swaps=2, statuses=LISTED, max_wait=60.0),
    )

    assert _without_why(made) == (SWAP if is_healthy else RETRY)


@pytest.mark.parametrize(
    ("kind", "status", "decision"),
    [
        pytest.param("server_error", 503, RETRY, id="transient"),
        pytest.param("quota", 402, stop(), id="money"),
        pytest.param("auth", 401, stop(), id="auth"),
    ],
)
def test_without_a_configuration_there_is_no_swap_and_no_cooldown(
    kind: str, status: int, decision: Decision
) -> None:
    made = decide(
        Failure(kind=FailureKind(kind), message="", status=status),
        StepState(backoff=2.0),
        Limits(max_retries=5, max_wait=60.0),
    )

    assert _without_why(made) == decision


def test_no_computed_wait_is_longer_than_the_longest_allowed() -> None:
    made = decide(
        Failure(kind=FailureKind.SERVER_ERROR, message="", status=503),
        StepState(backoff=8.0),
        Limits(max_retries=5, max_wait=5.0),
    )

    assert _without_why(made) == retry(5.0)


OUTAGE = {"kind": "server_error", "status": 503}
AWAITED = Swap(sibling=SIBLING, cooldown=None, awaits_retry=True)


@pytest.mark.parametrize(
    ("failure", "standing", "decision"),
    [
        pytest.param(OUTAGE, {}, AWAITED, id="another step retries the route"),
        pytest.param(OUTAGE, {"retries": 3}, SWAP, id="this step's own retries are spent"),
        pytest.param(OUTAGE, {"sibling_is_healthy": False}, RETRY, id="no healthy sibling"),
        pytest.param(OUTAGE, {"swaps": 2}, RETRY, id="no swap is left"),
        pytest.param({"kind": "server_error", "status": 501}, {}, RETRY, id="status not listed"),
        pytest.param({"kind": "tool_call_malformed"}, {}, RETRY, id="the request's own failure"),
        pytest.param({"kind": "network", "code": "refused"}, {}, SWAP, id="would move anyway"),
        pytest.param(
            {"kind": "rate_limit", "status": 429, "retry_after": 20.0}, {}, AWAITED, id="a hint"
        ),
    ],
)
def test_a_step_leaves_a_route_to_the_step_that_retries_it(
    failure: dict[str, Any], standing: dict[str, Any], decision: Decision
) -> None:
    given: dict[str, Any] = {"sibling": SIBLING, "sibling_is_healthy": True, "backoff": 2.0}

    made = decide(
        Failure(**{"message": "", **failure, "kind": FailureKind(failure["kind"])}),
        StepState(is_retried_elsewhere=True, **given | standing),
        Limits(max_retries=3, max_swaps=2, statuses=LISTED, max_wait=60.0),
    )

    assert _without_why(made) == decision


@pytest.mark.parametrize(
    ("standing", "decision"),
    [
        pytest.param({}, SWAP, id="a healthy sibling"),
        pytest.param({"sibling_is_healthy": False}, RETRY, id="a degraded sibling"),
        pytest.param({"sibling": None}, RETRY, id="no sibling"),
    ],
)
def test_a_route_that_another_step_degraded_is_not_asked_again_beside_a_healthy_sibling(
    standing: dict[str, Any], decision: Decision
) -> None:
    given: dict[str, Any] = {"sibling": SIBLING, "sibling_is_healthy": True, "backoff": 2.0}

    made = decide(
        Failure(kind=FailureKind.SERVER_ERROR, message="", status=503),
        StepState(is_degraded=True, **given | standing),
        Limits(max_retries=3, max_swaps=2, statuses=LISTED, max_wait=60.0),
    )

    assert _without_why(made) == decision


@pytest.mark.parametrize(
    ("hint", "standing", "decision"),
    [
        pytest.param(30.0, {}, retry(30.0), id="the whole allowance"),
        pytest.param(31.0, {}, Swap(sibling=SIBLING, cooldown=31.0), id="over the allowance"),
        pytest.param(
            20.0, {"hinted_wait": 11.0}, Swap(sibling=SIBLING, cooldown=20.0), id="over it in sum"
        ),
        pytest.param(20.0, {"hinted_wait": 10.0}, retry(20.0), id="just within it in sum"),
        pytest.param(1.0, {"hinted_wait": 30.0}, RETRY, id="a hint below the backoff"),
        pytest.param(None, {"hinted_wait": 30.0}, RETRY, id="no hint"),
        pytest.param(45.0, {"sibling_is_healthy": False}, retry(45.0), id="no healthy sibling"),
        pytest.param(45.0, {"swaps": 2}, retry(45.0), id="no swap is left"),
    ],
)
def test_waits_that_a_provider_asks_for_are_bounded_beside_a_healthy_sibling(
    hint: float | None, standing: dict[str, Any], decision: Decision
) -> None:
    given: dict[str, Any] = {"sibling": SIBLING, "sibling_is_healthy": True, "backoff": 2.0}

    made = decide(
        Failure(kind=FailureKind.RATE_LIMIT, message="", status=429, retry_after=hint),
        StepState(**given | standing),
        Limits(max_retries=5, max_swaps=2, statuses=LISTED, max_wait=60.0, max_step_wait=30.0),
    )

    assert _without_why(made) == decision


@pytest.mark.parametrize(
    ("kind", "standing", "retries"),
    [
        pytest.param("server_error", {}, 2, id="a healthy sibling"),
        pytest.param("server_error", {"sibling_is_healthy": False}, 5, id="a degraded sibling"),
        pytest.param("server_error", {"sibling": None}, 5, id="no sibling"),
        pytest.param("server_error", {"swaps": 2}, 5, id="no swap is left"),
        pytest.param("empty_response", {}, 1, id="each retry of an empty answer is paid"),
        pytest.param("empty_response", {"sibling": None}, 1, id="an empty answer, no sibling"),
    ],
)
def test_a_step_retries_less_often_beside_a_healthy_sibling(
    kind: str, standing: dict[str, Any], retries: int
) -> None:
    given: dict[str, Any] = {"sibling": SIBLING, "sibling_is_healthy": True, "backoff": 2.0}
    failure = Failure(kind=FailureKind(kind), message="", status=503)
    limits = Limits(
        max_retries=5, retries_beside_sibling=2, max_swaps=2, statuses=LISTED, max_wait=60.0
    )

    made = [
        isinstance(decide(failure, StepState(retries=done, **given | standing), limits), Retry)
        for done in range(7)
    ]

    assert made == [True] * retries + [False] * (7 - retries)


@pytest.mark.parametrize(
    ("failure", "standing", "swaps", "why"),
    [
        pytest.param(
            {"kind": "server_error", "status": 503}, {"retries": 3}, 0,
            "3 retries on this route are spent, and moving to a sibling is not configured",
            id="unconfigured",
        ),
        pytest.param(
            {"kind": "server_error", "status": 503}, {"retries": 3}, 2,
            "3 retries on this route are spent, and there is no further "
            "route to move to", id="no sibling",
        ),
        pytest.param(
            {"kind": "auth", "status": 401}, {"sibling": SIBLING}, 2,
            "auth is not retried, and status 401 is not in `fallbackOnErrors`", id="not listed",
        ),
        pytest.param(
            {"kind": "server_error", "status": 503},
            {"retries": 3, "swaps": 2, "sibling": SIBLING}, 2,
            "3 retries on this route are spent, and 2 of 2 swaps are made", id="cap",
        ),
        pytest.param(
            {"kind": "rate_limit", "status": 429, "retry_after": 3600.0}, {}, 2,
            "the provider asks for 3600 s, over 60 s, and there is no further "
            "route to move to", id="long hint",
        ),
        pytest.param(
            {"kind": "context_overflow", "status": 400}, {"sibling": SIBLING}, 2,
            "context_overflow is not retried, and no other route would do better", id="overflow",
        ),
        pytest.param(
            {"kind": "quota", "status": 429}, {"sibling": SIBLING}, 2,
            "quota is not retried, and quota never swaps a step here", id="unmoved",
        ),
        pytest.param(
            {"kind": "timeout", "status": None}, {}, 0,
            "no retry is allowed, and moving to a sibling is not configured", id="no retries",
        ),
        pytest.param(
            {"kind": "unknown", "status": None}, {"sibling": SIBLING}, 2,
            "it is not known to be a provider's failure: give the exception a `status_code`, "
            "or classify it with `classify=`", id="an exception nobody knows",
        ),
    ],
)  # fmt: skip
def test_a_stop_says_why(
    failure: dict[str, Any], standing: dict[str, Any], swaps: int, why: str
) -> None:
    failure["kind"] = FailureKind(failure["kind"])

    made = decide(
        Failure(message="", **failure),
        StepState(backoff=2.0, **standing),
        Limits(
            max_retries=0 if failure["kind"] == "timeout" else 3,
            max_swaps=swaps,
            statuses=LISTED,
            never_swap_on=frozenset({FailureKind.QUOTA}),
            max_wait=60.0,
        ),
    )

    assert isinstance(made, Stop)
    assert made.why == why


def _without_why(decision: Decision) -> Decision:
    if isinstance(decision, Retry):
        return replace(decision, allowed=0, is_hinted=False, is_outage=False)
    return stop(decision.cooldown) if isinstance(decision, Stop) else decision


def key(cooldown: float = 0.0, *, is_exact: bool = False) -> NextKey:
    return NextKey(api_key_env="K2", cooldown=cooldown, is_exact=is_exact)


def due(wait: float, cooldown: float = 0.0, *, is_exact: bool = False) -> Retry:
    return replace(retry(wait), api_key_env="K1", cooldown=cooldown, is_exact=is_exact)


NEXT = {"next_key": "K2", "has_keys": True}
DUE = {"due_key": "K1", "due_in": 9.0, "has_keys": True}


@pytest.mark.parametrize(
    ("failure", "standing", "decision"),
    [
        pytest.param({"kind": "rate_limit"}, NEXT, key(), id="a limit"),
        pytest.param(
            {"kind": "rate_limit", "retry_after": 7.0}, NEXT, key(7.0, is_exact=True),
            id="a limit with a hint is left alone exactly so long",
        ),
        pytest.param(
            {"kind": "rate_limit"}, NEXT | {"resets_in": 7.0}, key(7.0, is_exact=True),
            id="a limit with a reset",
        ),
        pytest.param({"kind": "quota", "status": 402}, NEXT, key(), id="money"),
        pytest.param(
            {"kind": "quota", "retry_after": 7.0}, NEXT, key(7.0), id="money with a hint"
        ),
        pytest.param({"kind": "auth", "status": 401}, NEXT, key(), id="auth, not listed"),
        pytest.param(
            {"kind": "auth", "status": 401, "scope": Scope.KEY}, NEXT, key(), id="of the key"
        ),
        pytest.param(
            {"kind": "quota", "scope": Scope.ROUTE}, NEXT | {"sibling": SIBLING},
            Swap(sibling=SIBLING, cooldown=0.0), id="money that is the route's",
        ),
        pytest.param(
            {"kind": "rate_limit", "should_retry": False}, NEXT, key(),
            id="the provider says not to retry",
        ),
        pytest.param({"kind": "server_error", "status": 500}, NEXT, RETRY, id="a server error"),
        pytest.param({"kind": "not_found", "status": 404}, NEXT, stop(), id="not found"),
        pytest.param(
            {"kind": "rate_limit"}, NEXT | {"sibling": SIBLING, "sibling_is_healthy": True}, key(),
            id="before a healthy sibling",
        ),
        pytest.param(
            {"kind": "rate_limit"}, NEXT | {"retries": 3, "swaps": 2}, key(),
            id="with every retry and swap spent",
        ),
        pytest.param(
            {"kind": "quota"}, NEXT | {"repair": "asked for less"}, key(), id="before a repair"
        ),
        pytest.param({"kind": "rate_limit"}, DUE, RETRY, id="no hint: the same key again"),
        pytest.param(
            {"kind": "rate_limit", "retry_after": 30.0}, DUE, due(9.0, 30.0, is_exact=True),
            id="the other key is back first",
        ),
        pytest.param(
            {"kind": "rate_limit", "retry_after": 5.0}, DUE,
            retry(5.0), id="this key is back first",
        ),
        pytest.param(
            {"kind": "rate_limit", "retry_after": 900.0}, DUE | {"due_in": 800.0}, stop(900.0),
            id="both after the longest wait",
        ),
        pytest.param(
            {"kind": "rate_limit", "retry_after": 30.0}, DUE | {"due_retries": 3},
            retry(30.0), id="the other key has no retry left",
        ),
        pytest.param(
            {"kind": "rate_limit"}, DUE | {"retries": 3}, due(9.0), id="this key has no retry left"
        ),
        pytest.param(
            {"kind": "rate_limit"}, DUE | {"retries": 3, "due_retries": 3}, stop(0.0),
            id="no key has a retry left",
        ),
        pytest.param({"kind": "quota"}, DUE, due(9.0), id="money waits for a limited key"),
        pytest.param(
            {"kind": "quota", "status": 402},
            DUE | {"sibling": SIBLING, "sibling_is_healthy": True},
            Swap(sibling=SIBLING, cooldown=0.0), id="money does not wait beside a sibling",
        ),
    ],
)  # fmt: skip
def test_a_failure_of_the_key_takes_another_one(
    failure: dict[str, Any], standing: dict[str, Any], decision: Decision
) -> None:
    given: dict[str, Any] = {"message": "", "status": 429, **failure}
    given["kind"] = FailureKind(given["kind"])
    made = decide(
        Failure(**given),
        StepState(backoff=2.0, **standing),
        Limits(max_retries=3, max_swaps=2, statuses=LISTED, max_wait=60.0),
    )

    assert _without_why(made) == decision


@pytest.mark.parametrize(
    ("kind", "scope", "has_keys", "cooldown"),
    [
        pytest.param("quota", Scope.KEY, True, 0.0, id="the last key"),
        pytest.param("rate_limit", None, True, 0.0, id="a limit of the last key"),
        pytest.param("quota", Scope.ROUTE, True, None, id="the route"),
        pytest.param("server_error", None, True, None, id="a server error"),
        pytest.param("quota", Scope.KEY, False, None, id="the only key"),
    ],
)
def test_without_a_configuration_only_one_of_several_keys_is_degraded(
    kind: str, scope: Scope | None, cooldown: float | None, *, has_keys: bool
) -> None:
    made = decide(
        Failure(kind=FailureKind(kind), message="", status=429, scope=scope),
        StepState(backoff=2.0, retries=5, has_keys=has_keys),
        Limits(max_retries=5, max_wait=60.0),
    )

    assert _without_why(made) == stop(cooldown)
