"""Several keys of one provider: the next healthy one is taken before a retry and before a swap."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from sidestep import (
    Failure,
    FailureKind,
    ProviderError,
    RetryPolicy,
    Route,
    Scope,
    Sidestep,
    StepFailed,
)

from ...virtual import VirtualClock
from .form import each_form, run

A, SAME, B = Route("house/a"), Route("house/b"), Route("other/x")
ONE, TWO, THREE = KEYS = ("K1", "K2", "K3")
VALUES = {name: f"sk-planted-{name.lower()}-000111222333" for name in KEYS}

pytestmark = pytest.mark.asyncio


def no(
    kind: FailureKind,
    status: int | None = None,
    *,
    scope: Scope | None = None,
    hint: float | None = None,
) -> ProviderError:
    """Return what a call raises."""
    return ProviderError(
        Failure(kind=kind, message="no", status=status, scope=scope, retry_after=hint)
    )


def limited(hint: float | None = None) -> ProviderError:
    return no(FailureKind.RATE_LIMIT, 429, hint=hint)


REFUSED = no(FailureKind.AUTH, 401, scope=Scope.KEY)
SPENT = no(FailureKind.QUOTA, 402, scope=Scope.KEY)
DAILY = no(FailureKind.QUOTA, 429, scope=Scope.KEY_ON_ROUTE)
DOWN = no(FailureKind.SERVER_ERROR, 500)

Replies = Mapping[str, Sequence[str | ProviderError]]


class Agent:
    """An agent that plays what each route answers to each key, the last reply again and again."""

    def __init__(self, replies: Replies) -> None:
        self.replies = {place: list(given) for place, given in replies.items()}
        self.asked: list[str] = []

    async def call(self, attempt: Any) -> str:
        place = f"{attempt.route} {attempt.api_key_env}"
        self.asked.append(place)
        given = self.replies[place]
        reply = given.pop(0) if len(given) > 1 else given[0]
        if isinstance(reply, ProviderError):
            raise reply
        return reply


def engine(
    clock: VirtualClock,
    *,
    keys: Sequence[str] = (ONE, TWO),
    siblings: Sequence[Route] | None = (B,),
    unset: Sequence[str] = (),
    **settings: Any,
) -> Sidestep:
    """Return an engine whose provider ``house`` has *keys*; without *siblings*, without a map."""
    house = {"wire": "openai-chat", "baseUrl": "http://house", "apiKeyEnv": list(keys) or None}
    other = {"wire": "openai-chat", "baseUrl": "http://other", "apiKeyEnv": "OTHER"}
    environ = {"SIDESTEP_PROVIDERS": json.dumps({"house": house, "other": other})}
    environ |= {name: value for name, value in VALUES.items() if name not in unset}
    if siblings is not None:
        config = {"fallbackModelsByModel": {A: list(siblings)}, "maxUpstreamRetryAttempts": 2}
        environ["SIDESTEP_FALLBACK_CONFIG"] = json.dumps(config | settings)
    policy = RetryPolicy(jitter=0.0, retries=2)
    return Sidestep.from_env(environ, clock=clock, policy=policy)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@dataclass(kw_only=True)
class Case:
    """A step for A.

    Args:
        asked: The routes and keys that are asked, in order.
        ends: The answer; None: the step fails.
        left: Seconds for which each route and key is degraded afterwards.
    """

    id: str
    replies: Replies
    asked: Sequence[str]
    ends: str | None = "hello"
    slept: Sequence[float] = ()
    left: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


A1, A2, A3, S1, S2, OUT = (
    "house/a K1", "house/a K2", "house/a K3", "house/b K1", "house/b K2", "other/x OTHER",
)  # fmt: skip
HI = ["hello"]
ALONE = {"siblings": None}

MOVES = [
    Case(id="the first key answers", replies={A1: HI}, asked=[A1]),
    Case(
        id="a limit takes the next key until the cooldown ends",
        replies={A1: [limited()], A2: HI}, asked=[A1, A2], left={A1: 60.0},
    ),
    Case(
        id="a limit takes the next key until its hint ends",
        replies={A1: [limited(7.0)], A2: HI}, asked=[A1, A2], left={A1: 7.0},
    ),
    Case(
        id="a hint of an hour delays no other key",
        replies={A1: [limited(3000.0)], A2: HI}, asked=[A1, A2], left={A1: 3000.0},
    ),
    Case(
        id="a refused key is out on every route, although its status is not listed",
        replies={A1: [REFUSED], A2: HI}, asked=[A1, A2], left={A1: 60.0, S1: 60.0},
    ),
    Case(
        id="credits that are used up are out on every route",
        replies={A1: [SPENT], A2: HI}, asked=[A1, A2], left={A1: 60.0, S1: 60.0},
    ),
    Case(
        id="one model's own quota is out on its route only",
        replies={A1: [DAILY], A2: HI}, asked=[A1, A2], left={A1: 60.0},
    ),
    Case(
        id="a failure of the route takes no other key",
        replies={A1: [DOWN], OUT: HI}, asked=[A1] * 3 + [OUT], slept=[2.0, 4.0],
        left={A1: 60.0, A2: 60.0},
    ),
    Case(
        id="a limit that is the route's takes no other key",
        replies={A1: [no(FailureKind.RATE_LIMIT, 429, scope=Scope.ROUTE)], OUT: HI},
        asked=[A1] * 3 + [OUT], slept=[2.0, 4.0], left={A1: 60.0, A2: 60.0},
    ),
    Case(
        id="a bad request takes no other key",
        replies={A1: [no(FailureKind.BAD_REQUEST, 400)]}, asked=[A1], ends=None,
    ),
    Case(
        id="each key spent, then a sibling elsewhere before one of the same provider",
        replies={A1: [SPENT], A2: [SPENT], OUT: HI}, asked=[A1, A2, OUT],
        left={A1: 60.0, A2: 60.0, S1: 60.0, S2: 60.0}, settings={"siblings": [SAME, B]},
    ),
    Case(
        id="each model quota spent, then the sibling of the same provider",
        replies={A1: [DAILY], A2: [DAILY], S1: HI}, asked=[A1, A2, S1],
        left={A1: 60.0, A2: 60.0}, settings={"siblings": [SAME, B]},
    ),
    Case(
        id="one key spent, one limited: the sibling of the same provider has the other key",
        replies={A1: [SPENT], A2: [limited(90.0)], S2: HI}, asked=[A1, A2, S2],
        left={A1: 60.0, S1: 60.0, A2: 90.0}, settings={"siblings": [SAME, B]},
    ),
    Case(
        id="each key limited: the wait is that of the first to come back, with that key",
        replies={A1: [limited(9.0), "hello"], A2: [limited(30.0)]}, asked=[A1, A2, A1],
        slept=[9.0], left={A2: 21.0}, settings=ALONE,
    ),
    Case(
        id="each key limited: the last one comes back first",
        replies={A1: [limited(30.0)], A2: [limited(5.0), "hello"]}, asked=[A1, A2, A2],
        slept=[5.0], left={A1: 25.0}, settings=ALONE,
    ),
    Case(
        id="each key limited for longer than any wait",
        replies={A1: [limited(900.0)], A2: [limited(300.0)], OUT: HI}, asked=[A1, A2, OUT],
        left={A1: 900.0, A2: 300.0},
    ),
    Case(
        id="a spent key waits for a limited one if there is no sibling",
        replies={A1: [limited(9.0), "hello"], A2: [SPENT]}, asked=[A1, A2, A1],
        slept=[9.0], left={A2: 51.0, S2: 51.0}, settings=ALONE,
    ),
    Case(
        id="a spent key waits for nobody beside a healthy sibling",
        replies={A1: [limited(9.0)], A2: [SPENT], OUT: HI}, asked=[A1, A2, OUT],
        left={A1: 9.0, A2: 60.0, S2: 60.0},
    ),
    Case(
        id="retries are counted anew for each key",
        replies={A1: [limited(1.0)], A2: [limited(1.0)]},
        asked=[A1, A2, A2, A2, A1, A1], ends=None, slept=[2.0, 4.0, 8.0, 2.0],
        settings=ALONE | {"keys": (ONE, TWO)},
    ),
    Case(
        id="without a map only keys rotate",
        replies={A1: [SPENT], A2: HI}, asked=[A1, A2], left={A1: 60.0, S1: 60.0}, settings=ALONE,
    ),
    Case(
        id="without a map a failure of the route degrades nothing",
        replies={A1: [DOWN]}, asked=[A1] * 3, ends=None, slept=[2.0, 4.0], settings=ALONE,
    ),
    Case(
        id="three keys in their order",
        replies={A1: [SPENT], A2: [REFUSED], A3: HI}, asked=[A1, A2, A3],
        left={A1: 60.0, A2: 60.0, S1: 60.0, S2: 60.0}, settings={"keys": KEYS},
    ),
    Case(
        id="a key that is not set is passed over",
        replies={A2: [SPENT], A3: HI}, asked=[A2, A3], left={A2: 60.0, S2: 60.0},
        settings={"keys": KEYS, "unset": [ONE]},
    ),
    Case(
        id="of three keys one is set: as with one key",
        replies={A2: [REFUSED]}, asked=[A2], ends=None,
        settings={"keys": KEYS, "unset": [ONE, THREE]},
    ),
    Case(
        id="no key is set: the first one",
        replies={A1: [REFUSED]}, asked=[A1], ends=None, settings={"unset": KEYS},
    ),
    Case(
        id="one key: a refusal that is not listed degrades nothing",
        replies={A1: [REFUSED]}, asked=[A1], ends=None,
        settings={"keys": [ONE], "siblings": [SAME, B]},
    ),
    Case(
        id="one key: a refusal that is listed takes the provider out",
        replies={A1: [REFUSED], OUT: HI}, asked=[A1, OUT], left={A1: 60.0, S1: 60.0},
        settings={"keys": [ONE], "siblings": [SAME, B], "fallbackOnErrors": [401]},
    ),
    Case(
        id="one key: credits that are used up take the provider out",
        replies={A1: [SPENT], OUT: HI}, asked=[A1, OUT], left={A1: 60.0, S1: 60.0},
        settings={"keys": [ONE], "siblings": [SAME, B]},
    ),
    Case(
        id="one key: a model's own quota leaves the other models",
        replies={A1: [DAILY], S1: HI}, asked=[A1, S1], left={A1: 60.0},
        settings={"keys": [ONE], "siblings": [SAME, B]},
    ),
    Case(
        id="one key, no map: nothing is degraded",
        replies={A1: [SPENT]}, asked=[A1], ends=None, settings=ALONE | {"keys": [ONE]},
    ),
]  # fmt: skip


@each_form
@pytest.mark.parametrize("case", MOVES, ids=lambda case: case.id)
async def test_a_step_takes_the_next_key(clock: VirtualClock, case: Case) -> None:
    middleware = engine(clock, **case.settings)
    agent = Agent(case.replies)
    try:
        answer: str | None = await run(middleware.step(A), agent.call)
    except (ProviderError, StepFailed):
        answer = None

    assert agent.asked == list(case.asked)
    assert answer == case.ends
    assert clock.slept == list(case.slept)
    ring, health = middleware.active.keys, middleware.degraded
    left = {}
    for key in (*ring.of(A), *ring.of(SAME)):
        name = key.api_key_env or ONE
        if (seconds := health.seconds_left(key)) > 0:
            left[f"{key.route} {name}"] = seconds
    assert left == {place: seconds for place, seconds in case.left.items() if place != OUT}
