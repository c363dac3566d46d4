"""Several keys of one provider: the next healthy one is taken before a retry and before a swap."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import (
    Failure,
    FailureKind,
    FallbackExhausted,
    KeyChanged,
    PatienceStarted,
    ProviderError,
    RetryPolicy,
    Route,
    RouteDegraded,
    Scope,
    Sidestep,
    StepFailed,
    UnavailableRoute,
)
from sidestep.session.event import AttemptFailed, AttemptStarted, Event
from sidestep.session.event_json import to_json
from sidestep.session.step.move_policy import MoveHistory
from sidestep.session.step.waiter import drive

from ...property import examples
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
FORBIDDEN = no(FailureKind.AUTH, 403, scope=Scope.KEY_ON_ROUTE)
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
    held: Mapping[str, str] = MappingProxyType({}),
    journal: Path | None = None,
    **settings: Any,
) -> Sidestep:
    """Return an engine whose provider ``house`` has *keys*; without *siblings*, without a map."""
    house = {"wire": "openai-chat", "baseUrl": "http://house", "apiKeyEnv": list(keys) or None}
    other = {"wire": "openai-chat", "baseUrl": "http://other", "apiKeyEnv": "OTHER"}
    environ = {"SIDESTEP_PROVIDERS": json.dumps({"house": house, "other": other})}
    environ |= {name: value for name, value in VALUES.items() if name not in unset}
    environ |= held
    if siblings is not None:
        config = {"fallbackModelsByModel": {A: list(siblings)}, "maxUpstreamRetryAttempts": 2}
        environ["SIDESTEP_FALLBACK_CONFIG"] = json.dumps(config | settings)
    policy = RetryPolicy(jitter=0.0, retries=2)
    return Sidestep.from_env(environ, clock=clock, policy=policy, journal=journal)


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
        id="retries are counted anew for each key, and a retry goes to the key that is back first",
        replies={A1: [limited(1.0)], A2: [limited(1.0)]}, asked=[A1, A2, A2, A1, A2, A1],
        slept=[2.0, 4.0, 4.0, 8.0], ends=None, left={A1: 60.0}, settings=ALONE,
    ),
    Case(
        id="a key that is back first is waited for beside a healthy sibling too",
        replies={A1: [limited(9.0), "hello"], A2: [limited(30.0)]}, asked=[A1, A2, A1],
        slept=[9.0], left={A2: 21.0},
    ),
    Case(
        id="a refused key is not waited for, however soon its cooldown ends",
        replies={A1: [FORBIDDEN], A2: [limited(30.0), "hello"]}, asked=[A1, A2, A2],
        slept=[30.0], settings={"cooldownSeconds": 5},
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
    *(
        Case(
            id=f"a key that no header takes is passed over: {what}",
            replies={A2: [SPENT], A3: HI}, asked=[A2, A3], left={A2: 60.0, S2: 60.0},
            settings={"keys": KEYS, "held": {ONE: text}},
        )
        for what, text in (
            ("empty", ""),
            ("spaces", " \t\n"),
            ("two lines", "sk-live-0123456789\nsk-live-9876543210"),
            ("a control character", "sk-live-\x1b0123456789"),
            ("a letter beyond ASCII", "sk-live-\u20ac0123456789"),
        )
    ),
    Case(
        id="a line break after a key is no part of it",
        replies={A1: HI}, asked=[A1], settings={"held": {ONE: "sk-live-0123456789\r\n"}},
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


@each_form
async def test_the_events_and_the_log_name_the_key_of_each_attempt(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    events: list[Event] = []
    middleware = engine(clock)
    agent = Agent({A1: [SPENT], A2: [limited(90.0)], OUT: HI})
    await run(middleware.step(A, on_event=events.append), agent.call)

    started = [e.api_key_env for e in events if isinstance(e, AttemptStarted)]
    failed = [e.api_key_env for e in events if isinstance(e, AttemptFailed)]
    degraded = [(e.api_key_env, e.scope, e.seconds) for e in events if isinstance(e, RouteDegraded)]
    assert started == [ONE, TWO, None]
    assert failed == [ONE, TWO]
    assert degraded == [(ONE, Scope.KEY, 60.0), (TWO, Scope.KEY_ON_ROUTE, 90.0)]
    (changed,) = [e for e in events if isinstance(e, KeyChanged)]
    assert (changed.route, changed.api_key_env, changed.next_key_env) == (A, ONE, TWO)
    assert to_json(changed)["failure"]["kind"] == "quota"
    assert f"changed key route={A} key={ONE} to={TWO} reason=quota status=402" in caplog.text
    assert f"degraded route={A} key={TWO} reason=rate_limit for=90s" in caplog.text


@each_form
async def test_the_error_of_a_step_names_the_key_of_each_attempt(clock: VirtualClock) -> None:
    agent = Agent({A1: [SPENT], A2: [REFUSED], OUT: [REFUSED]})
    middleware = engine(clock, fallbackOnErrors=[401])
    with pytest.raises(FallbackExhausted) as caught:
        await run(middleware.step(A), agent.call)

    assert "1. house/a with K1 quota 402: no; 2. house/a with K2 auth 401: no" in str(caught.value)
    assert "3. other/x auth 401: no" in str(caught.value)
    assert [each.api_key_env for each in caught.value.attempts] == [ONE, TWO, "OTHER"]


@each_form
async def test_an_attempt_hands_out_its_key_while_it_runs_and_nowhere_else(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Planted values: none is in an event, a log line, a journal, an error, a repr or a pickle."""
    caplog.set_level("DEBUG")
    events: list[Event] = []
    agent = Agent({A1: [SPENT], A2: [limited()], OUT: [no(FailureKind.AUTH, 401)]})
    seen: list[tuple[str | None, str]] = []

    async def call(attempt: Any) -> str:
        seen.append((attempt.api_key, repr(attempt)))
        return await agent.call(attempt)

    journal = tmp_path / "journal"
    middleware = engine(clock, journal=journal, fallbackOnErrors=[401, 402, 429])
    step = middleware.step(A, on_event=events.append)
    with pytest.raises(StepFailed) as caught:
        await run(step, call)

    assert [key for key, _ in seen] == [VALUES[ONE]] + [VALUES[TWO]] * 3 + [None]
    assert [attempt.api_key for attempt in step.attempts] == [None] * 5
    told = f"{events!r} {[to_json(e) for e in events]} {seen[0][1]} {step!r} {caught.value!r}"
    told += f"{caplog.text} {caught.value} {pickle.dumps(caught.value)!r} {caught.value.attempts!r}"
    written = journal.read_text()
    assert (
        '"event":"KeyChanged","route":"house/a","api_key_env":"K1","next_key_env":"K2"' in written
    )
    told += f"{written} {middleware.status()!r} {middleware.degraded.snapshot()!r}"
    assert "K2" in told
    assert [value for value in VALUES.values() if value in told] == []


@each_form
async def test_an_attempt_names_its_key_also_where_the_provider_has_one_or_none(
    clock: VirtualClock,
) -> None:
    middleware = engine(clock, keys=[ONE], siblings=None)
    seen = []

    async def call(attempt: Any) -> str:
        seen.append((attempt.api_key_env, attempt.api_key))
        return "hello"

    for route in ("house/a", "other/x", "ollama/x", "nobody/x"):
        await run(middleware.step(route), call)

    assert seen == [(ONE, VALUES[ONE]), ("OTHER", None), (None, None), (None, None)]


@pytest.mark.parametrize(
    ("history", "out", "asked"),
    [
        pytest.param(MoveHistory(route=A, api_key_env=TWO), [], A2, id="its key"),
        pytest.param(MoveHistory(route=A), [], A1, id="no key is known"),
        pytest.param(MoveHistory(route=A, api_key_env="GONE"), [], A1, id="a key of the past"),
        pytest.param(MoveHistory(route=A, api_key_env=TWO), [TWO], A1, id="its key is out"),
        pytest.param(MoveHistory(route=B, api_key_env=TWO), [], A1, id="it was elsewhere"),
        pytest.param(MoveHistory(api_key_env=TWO), [], A1, id="nothing answered"),
        pytest.param(MoveHistory(route=A, api_key_env=TWO), [ONE, TWO], A1, id="each is out"),
    ],
)
@each_form
async def test_a_conversation_stays_with_its_key_while_that_is_healthy(
    clock: VirtualClock, history: MoveHistory, out: list[str], asked: str
) -> None:
    middleware = engine(clock, siblings=None)
    for seconds, name in enumerate(out, 60):
        middleware.degraded.degrade(("house", name), cooldown=seconds)
    agent = Agent({A1: HI, A2: HI})
    await run(middleware.step(A, history=history), agent.call)

    assert agent.asked == [asked]


@pytest.mark.parametrize(
    ("history", "out", "asked"),
    [
        pytest.param(MoveHistory(route=A, api_key_env=TWO), [], A2, id="its key"),
        pytest.param(MoveHistory(route=A, api_key_env=TWO), [TWO], A1, id="its key is out"),
        pytest.param(MoveHistory(route=A), [], A1, id="no key is known"),
        pytest.param(MoveHistory(route=SAME, api_key_env=TWO), [], A1, id="it was elsewhere"),
        pytest.param(None, [], A1, id="no history"),
    ],
)
@each_form
async def test_a_conversation_that_moves_back_finds_its_key_again(
    clock: VirtualClock, history: MoveHistory | None, out: list[str], asked: str
) -> None:
    middleware = engine(clock, fallbackModelsByModel={B: A}, maxUpstreamRetryAttempts=0)
    for name in out:
        middleware.degraded.degrade(("house", name), cooldown=60.0)
    agent = Agent({A1: HI, A2: HI, OUT: [DOWN]})
    await run(middleware.step(B, history=history), agent.call)

    assert agent.asked == [OUT, asked]


@each_form
async def test_a_conversation_that_may_not_move_takes_the_next_key_all_the_same(
    clock: VirtualClock,
) -> None:
    middleware = engine(clock, movePolicy="first_call")
    agent = Agent({A1: [SPENT], A2: HI})
    history = MoveHistory(holds_calls=True, route=A, api_key_env=ONE)

    assert await run(middleware.step(A, history=history), agent.call) == "hello"
    assert agent.asked == [A1, A2]


@each_form
async def test_a_tool_that_has_started_keeps_a_step_from_the_next_key(clock: VirtualClock) -> None:
    middleware = engine(clock)
    agent = Agent({A1: [SPENT], A2: HI})

    async def call(attempt: Any) -> str:
        attempt.tool_started("send_mail")
        return await agent.call(attempt)

    with pytest.raises(StepFailed, match="send_mail"):
        await run(middleware.step(A), call)
    assert agent.asked == [A1]
    assert not middleware.degraded.is_available(middleware.active.keys.of(A)[0])


@each_form
async def test_the_next_step_starts_with_the_healthy_key_and_probes_the_other_after_its_cooldown(
    clock: VirtualClock,
) -> None:
    middleware = engine(clock)
    agent = Agent({A1: [SPENT, "again"], A2: HI})
    for _ in range(2):
        await run(middleware.step(A), agent.call)
    clock.now += 60
    events: list[Event] = []
    await run(middleware.step(A, on_event=events.append), agent.call)

    assert agent.asked == [A1, A2, A2, A1]
    assert [type(e).__name__ for e in events if "Probe" in type(e).__name__] == [
        "ProbeStarted", "ProbeEnded",
    ]  # fmt: skip
    assert middleware.degraded.is_available(middleware.active.keys.of(SAME)[0])


@each_form
async def test_a_probe_that_its_key_fails_leaves_the_route_to_the_next_key(
    clock: VirtualClock,
) -> None:
    """The route was degraded and is due; the refusal of one key says nothing of it."""
    middleware = engine(clock)
    middleware.degraded.degrade(A, cooldown=60)
    clock.now += 60
    agent = Agent({A1: [SPENT], A2: HI})

    assert await run(middleware.step(A), agent.call) == "hello"
    assert agent.asked == [A1, A2]
    assert middleware.degraded.is_available(A)


@each_form
async def test_an_answer_with_one_key_forgives_no_other(clock: VirtualClock) -> None:
    middleware = engine(clock)
    agent = Agent({A1: [limited(30.0)], A2: HI})
    await run(middleware.step(A), agent.call)
    clock.now += 10

    assert middleware.degraded.seconds_left(middleware.active.keys.of(A)[0]) == 20.0
    assert middleware.healthy(A) == A


@each_form
async def test_a_degraded_sibling_elsewhere_comes_before_one_whose_key_is_spent(
    clock: VirtualClock,
) -> None:
    middleware = engine(clock, siblings=[SAME, B])
    middleware.degraded.degrade(B, cooldown=60)
    agent = Agent({A1: [SPENT], A2: [SPENT], OUT: HI})
    await run(middleware.step(A), agent.call)

    assert agent.asked == [A1, A2, OUT]


@each_form
async def test_the_right_to_retry_follows_the_key(clock: VirtualClock) -> None:
    """K3 is healthy again when the retries have begun."""
    middleware = engine(clock, keys=KEYS, siblings=None)
    middleware.degraded.degrade((A, THREE), cooldown=5)
    agent = Agent({A1: [limited(1.0)], A2: [limited(1.0)], A3: HI})
    retried = []

    async def call(attempt: Any) -> str:
        retried.append([name for name in KEYS if middleware.degraded.is_retried((A, name))])
        return await agent.call(attempt)

    await run(middleware.step(A), call)

    assert agent.asked == [A1, A2, A2, A1, A3]
    assert retried == [[], [], [TWO], [ONE], []]


class BusyClock(VirtualClock):
    """Time in which another step degrades the first key while this one sleeps."""

    middleware: Sidestep

    async def sleep(self, seconds: float) -> None:
        self.wait(seconds)

    def wait(self, seconds: float) -> None:
        self.middleware.degraded.degrade((A, ONE), cooldown=60)
        super().wait(seconds)


@pytest.mark.parametrize(
    ("back", "siblings", "asked"),
    [
        pytest.param(5.0, None, A2, id="another key has come back"),
        pytest.param(50.0, (B,), OUT, id="a sibling is healthy"),
        pytest.param(50.0, None, A1, id="there is nothing else"),
    ],
)
@each_form
async def test_a_step_that_waits_for_a_key_which_another_step_degrades_goes_on_elsewhere(
    back: float, siblings: tuple[Route, ...] | None, asked: str
) -> None:
    clock = BusyClock()
    clock.middleware = middleware = engine(clock, siblings=siblings)
    middleware.degraded.degrade((A, TWO), cooldown=back)
    agent = Agent({A1: [limited(8.0), "hello"], A2: HI, OUT: HI})
    await run(middleware.step(A), agent.call)

    assert agent.asked == [A1, asked]
    assert clock.slept == [8.0]


async def test_healthy_passes_over_a_route_with_each_key_out(clock: VirtualClock) -> None:
    middleware = engine(clock, siblings=[SAME, B])
    starts = []
    for name in (ONE, TWO):
        middleware.degraded.degrade(("house", name), cooldown=60, kind=FailureKind.QUOTA)
        starts.append(middleware.healthy(A))
    step = middleware.step(A)
    await run(step, Agent({OUT: HI}).call)

    assert starts == [A, B]
    assert step.skipped == {A: "out of quota", SAME: "out of quota"}


async def test_steps_that_meet_a_limited_key_together_send_it_one_request_each(
    clock: VirtualClock,
) -> None:
    middleware = engine(clock)
    agent = Agent({A1: [limited(30.0)], A2: HI})

    async def call(attempt: Any) -> str:
        await anyio.lowlevel.checkpoint()
        return await agent.call(attempt)

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(middleware.step(A).run, call)
    await middleware.step(A).run(call)

    assert (agent.asked.count(A1), agent.asked.count(A2)) == (20, 21)


async def test_threads_share_what_their_keys_taught_them() -> None:
    """In real time, because each thread has a step of its own; nobody waits."""
    middleware = engine(VirtualClock())
    agent = Agent({A1: [SPENT], A2: HI})
    first = middleware.step_sync(A)
    for attempt in first:
        with attempt:
            raise SPENT
        break
    first.close()

    def work() -> None:
        for attempt in middleware.step_sync(A):
            with attempt:
                drive(agent.call(attempt))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert agent.asked == [A2] * 8


async def test_keys_rotate_on_trio(clock: VirtualClock) -> None:
    agent = Agent({A1: [SPENT], A2: HI})

    async def take() -> Any:
        return await engine(clock).step(A).run(agent.call)

    assert await anyio.to_thread.run_sync(lambda: anyio.run(take, backend="trio")) == "hello"
    assert agent.asked == [A1, A2]


@pytest.mark.parametrize(
    ("replies", "asked", "out"),
    [
        pytest.param(
            {A1: [limited(300.0), "hello"], A2: [REFUSED], OUT: [REFUSED]},
            [A1, A2, OUT, A1], (A, "rate_limit 429", 300.0, ONE), id="the second is refused",
        ),
        pytest.param(
            {A1: [SPENT], A2: [limited(300.0), "hello"], OUT: [REFUSED]},
            [A1, A2, OUT, A1, A2], (A, "rate_limit 429", 300.0, TWO), id="the first is spent",
        ),
        pytest.param(
            {A1: [limited(500.0)], A2: [limited(400.0), "hello"], OUT: [REFUSED]},
            [A1, A2, OUT, A2], (A, "rate_limit 429", 400.0, TWO), id="both are limited",
        ),
        pytest.param({A1: [REFUSED], A2: [SPENT], OUT: [REFUSED]}, [A1, A2, OUT], None, id="none"),
    ],
)  # fmt: skip
@each_form
async def test_patience_waits_for_a_key_that_comes_back_by_itself_and_for_no_other(
    clock: VirtualClock,
    replies: Replies,
    asked: Sequence[str],
    out: tuple[Route, str, float, str] | None,
) -> None:
    events: list[Event] = []
    middleware = engine(clock, patienceSeconds=3600, fallbackOnErrors=[401, 402, 429])
    agent = Agent(replies)
    with suppress(StepFailed):
        await run(middleware.step(A, on_event=events.append), agent.call)

    assert agent.asked == list(asked)
    waits = [e.routes for e in events if isinstance(e, PatienceStarted)]
    assert waits == ([] if out is None else [(UnavailableRoute(*out),)])


WORDS = (limited(), limited(3.0), limited(200.0), SPENT, REFUSED, DAILY, DOWN, "hello")


@each_form
@given(data=st.data())
@examples(60)
async def test_the_attempts_of_a_step_are_bounded_whatever_the_keys_answer(data: Any) -> None:
    clock = VirtualClock()
    keys = data.draw(st.sampled_from([(), (ONE,), (ONE, TWO), KEYS]), "keys")
    siblings = data.draw(st.sampled_from([None, (B,), (SAME, B), (SAME,)]), "siblings")
    retries = data.draw(st.integers(0, 2), "retries")
    cooldown = data.draw(st.sampled_from([0, 5, 60]), "cooldown")
    settings = {"maxUpstreamRetryAttempts": retries, "cooldownSeconds": cooldown}
    middleware = engine(clock, keys=keys, siblings=siblings, **settings)
    swaps = 0 if siblings is None else 2
    retries = 2 if siblings is None else retries
    events: list[Event] = []
    for _ in range(4):
        reply = data.draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12), "replies")
        before, calls = len(clock.slept), 0

        async def call(attempt: Any, reply: Any = reply) -> str:
            nonlocal calls
            word = reply[min(calls, len(reply) - 1)]
            calls += 1
            clock.now += data.draw(st.sampled_from([0.0, 0.0, 4.0, 70.0]))
            if isinstance(word, ProviderError):
                raise ProviderError(replace(word.failure))
            return str(word)

        step = middleware.step(A, on_event=events.append)
        with suppress(ProviderError, StepFailed):
            await run(step, call)
        assert 1 <= calls <= (retries + 1) * (swaps + 1) * max(1, len(keys))
        assert all(wait <= 60.0 for wait in clock.slept[before:])
        assert step.is_over
        clock.now += data.draw(st.sampled_from([0.0, 10.0, 100.0]))
    started = sum(type(event).__name__ == "ProbeStarted" for event in events)
    assert started == sum(type(event).__name__ == "ProbeEnded" for event in events)


async def test_the_status_counts_the_attempts_of_each_key(clock: VirtualClock) -> None:
    middleware = engine(clock)
    agent = Agent({A1: [SPENT], A2: HI})
    for _ in range(3):
        await middleware.step(A).run(agent.call)

    status = [each for each in middleware.status().routes if each.route == A]
    assert [(s.api_key_env, s.state, s.attempts, s.successes) for s in status] == [
        (ONE, "degraded", 1, 0),
        (TWO, "healthy", 3, 3),
    ]
