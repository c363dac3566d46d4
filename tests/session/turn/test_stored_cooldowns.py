"""A session that is resumed knows the cooldowns that ran when it was stored."""

from __future__ import annotations

import json
import math
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from sidestep import FallbackConfig, MemoryStore, Route, SidestepError, SqliteStore
from sidestep.provider.conversation import Cooldown, Message, Text
from sidestep.provider.failure import FailureKind
from sidestep.session.plan.active_plan import ActivePlan
from sidestep.session.plan.keyed_route import HealthUnit
from sidestep.session.plan.load import load_plan
from sidestep.session.plan.retry import RetryPolicy
from sidestep.session.step.degraded import DegradedRoutes
from sidestep.session.step.stored_cooldown import cooldowns_at, restore_cooldowns
from sidestep.session.step.tally import AttemptTally

from ...command import environment, scenario, stub
from ...virtual import VirtualClock
from .outage import A, B, Outage

NOW = 1_796_000_000.0
C, ELSEWHERE = Route("groq/c"), Route("zai/glm")
KEYS = {"groq": {"apiKeyEnv": ["K1", "K2"]}}
ENVIRON = {
    "SIDESTEP_FALLBACK_CONFIG": json.dumps(
        {"fallbackModelsByModel": {A: [B, C]}, "maxCooldownSeconds": 600, "providers": KEYS}
    ),
    "K1": "one",
    "K2": "two",
}


class Process:
    """The health map of one process, and its configuration."""

    def __init__(self, environ: dict[str, str] = ENVIRON) -> None:
        self.clock = VirtualClock()
        self.active = ActivePlan.of(load_plan(environ), RetryPolicy(), environ)
        self.degraded = DegradedRoutes(timer=self.clock.time)
        self.degraded.keys = self.active.keys
        self.tally = AttemptTally()

    def restore(self, *stored: Cooldown, now: float = NOW) -> dict[HealthUnit, float]:
        """Restore what was *stored*; return the seconds left of each cooldown."""
        restore_cooldowns(
            stored, self.degraded, active=self.active, requested=A, tally=self.tally, now=now
        )
        return {unit: past.seconds for unit, past in self.degraded.cooldowns().items()}


def at(seconds: float, **fields: Any) -> Cooldown:
    return Cooldown(**{"name": A, "until": NOW + seconds, **fields})


@pytest.mark.parametrize(
    ("stored", "left"),
    [
        pytest.param([], {}, id="nothing"),
        pytest.param([at(60.0)], {A: 60.0}, id="a route"),
        pytest.param([at(60.0), at(5.0, name=B)], {A: 60.0, B: 5.0}, id="two routes"),
        pytest.param([at(0.0)], {A: 0.0}, id="one that ends now"),
        pytest.param([at(-900.0)], {A: -900.0}, id="one that waits for its probe"),
        pytest.param([at(-3_600.0)], {}, id="one that is too old"),
        pytest.param([at(601.0)], {A: 600.0}, id="longer than any cooldown"),
        pytest.param([at(1e12)], {A: 600.0}, id="a clock that was set back"),
        pytest.param([at(-1e12)], {}, id="a clock that was set on"),
        pytest.param([at(math.inf)], {}, id="no end"),
        pytest.param([at(-math.inf)], {}, id="no beginning"),
        pytest.param([at(math.nan)], {}, id="no number"),
        pytest.param([at(60.0, name=ELSEWHERE)], {}, id="a route that is not configured"),
        pytest.param([at(60.0, name="")], {}, id="no name"),
        pytest.param([at(60.0, name="/")], {}, id="no route"),
        pytest.param([at(60.0, name=C)], {C: 60.0}, id="a route with any key"),
        pytest.param(
            [at(60.0, name=C, api_key_env="K2")], {(C, "K2"): 60.0}, id="a key on a route"
        ),
        pytest.param(
            [at(60.0, name="groq", api_key_env="K2")], {("groq", "K2"): 60.0}, id="a key"
        ),
        pytest.param(
            [at(60.0, name="anthropic")], {("anthropic", None): 60.0}, id="the only key"
        ),
        pytest.param(
            [at(60.0, name="groq", api_key_env="K3")], {}, id="a key that is not configured"
        ),
        pytest.param([at(60.0, name="groq")], {}, id="no key, where there are several"),
        pytest.param([at(60.0, name="zai")], {}, id="the key of another provider"),
    ],
)  # fmt: skip
def test_what_is_restored(stored: list[Cooldown], left: dict[HealthUnit, float]) -> None:
    assert Process().restore(*stored) == pytest.approx(left)


SEVERAL = {"SIDESTEP_PROVIDERS": json.dumps({A.provider: {"apiKeyEnv": ["K1", "K2"]}})}
OFF = {
    **json.loads(ENVIRON["SIDESTEP_FALLBACK_CONFIG"]),
    "maxFallbackAttempts": 0,
    "providers": {A.provider: {"apiKeyEnv": ["K1", "K2"]}},
}


@pytest.mark.parametrize(
    ("environ", "stored", "left"),
    [
        pytest.param({}, at(60.0), {}, id="a route"),
        pytest.param({}, at(60.0, name=A.provider), {}, id="the only key"),
        pytest.param(SEVERAL, at(60.0), {}, id="a route with several keys"),
        pytest.param(
            SEVERAL, at(60.0, api_key_env="K2"), {(A, "K2"): 60.0}, id="one of several on a route"
        ),
        pytest.param(
            SEVERAL,
            at(9e9, name=A.provider, api_key_env="K1"),
            {(A.provider, "K1"): 3_600.0},
            id="one of several keys, longer than any cooldown",
        ),
        pytest.param(SEVERAL, at(60.0, api_key_env="K3"), {}, id="a key that is not configured"),
        pytest.param(
            {**SEVERAL, "SIDESTEP_FALLBACK_CONFIG": json.dumps(OFF)},
            at(9e9, api_key_env="K2"),
            {(A, "K2"): 600.0},
            id="a map that is switched off",
        ),
    ],
)  # fmt: skip
def test_without_a_map_only_one_of_several_keys_is_restored(
    environ: dict[str, str], stored: Cooldown, left: dict[HealthUnit, float]
) -> None:
    assert Process(environ).restore(stored) == pytest.approx(left)


def test_what_is_restored_is_due_for_one_probe_after_its_cooldown() -> None:
    process = Process()
    process.restore(at(60.0, kind="overloaded"))

    assert process.degraded.why_unavailable(A) == "degraded"
    process.clock.now += 61.0
    probe = process.degraded.probe(A)
    assert probe is not None
    assert process.degraded.why_unavailable(A) == "probed"
    assert process.degraded.probe(A) is None


@pytest.mark.parametrize(
    ("cooldowns", "seconds"),
    [(1, 20.0), (3, 80.0), (0, 20.0), (-7, 20.0), (10**30, 600.0)],
    ids=["one", "three", "none", "less than none", "too many"],
)
def test_consecutive_cooldowns_go_on_growing(cooldowns: int, seconds: float) -> None:
    process = Process()
    process.restore(at(-1.0, cooldowns=cooldowns))

    left = process.degraded.degrade(A, cooldown=10.0, growth=2.0, max_cooldown=600.0)

    assert left == seconds


@pytest.mark.parametrize("known", [5.0, 300.0], ids=["shorter", "longer"])
def test_what_this_process_knows_is_not_changed(known: float) -> None:
    process = Process()
    process.degraded.degrade(A, cooldown=known)

    assert process.restore(at(60.0)) == {A: known}


@pytest.mark.parametrize(
    ("place", "stored", "left"),
    [
        pytest.param(A, at(60.0), {}, id="the route"),
        pytest.param(B, at(60.0), {A: 60.0}, id="another route"),
        pytest.param((C, "K1"), at(60.0, name=C), {}, id="the route, with a key"),
        pytest.param((C, "K1"), at(60.0, name="groq", api_key_env="K1"), {}, id="the key"),
        pytest.param(
            (C, "K1"), at(60.0, name="groq", api_key_env="K2"), {("groq", "K2"): 60.0},
            id="another key",
        ),
        pytest.param(
            (C, "K1"), at(60.0, name=C, api_key_env="K2"), {(C, "K2"): 60.0},
            id="another key on the route",
        ),
        pytest.param(B, at(60.0, name="anthropic"), {}, id="the only key"),
    ],
)  # fmt: skip
def test_what_this_process_has_asked_it_knows_better(
    place: Any, stored: Cooldown, left: dict[HealthUnit, float]
) -> None:
    process = Process()
    process.tally.answered(place)

    assert process.restore(stored) == pytest.approx(left)


def test_every_entry_comes_back_as_it_was_stored() -> None:
    before, after = Process(), Process()
    units: list[HealthUnit] = [A, C, (C, "K1"), ("groq", "K2"), ("anthropic", None)]
    for seconds, unit in enumerate(units, 1):
        before.degraded.degrade(unit, cooldown=float(seconds), kind=FailureKind.QUOTA)
    before.clock.now += 2.5

    stored = cooldowns_at(before.degraded, NOW)
    after.restore(*stored)

    assert len(stored) == len(units)
    assert after.degraded.cooldowns() == {
        unit: pytest.approx(past) for unit, past in before.degraded.cooldowns().items()
    }


def test_a_message_names_only_so_many() -> None:
    process = Process()
    for number in range(1, 101):
        process.degraded.degrade(Route(f"a/{number}"), cooldown=float(number))

    stored = cooldowns_at(process.degraded, NOW)

    assert [each.name for each in stored] == [f"a/{number}" for number in range(37, 101)]


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("fails", [False, True], ids=["an answer", "a turn that failed"])
async def test_each_message_holds_the_cooldowns_that_run(
    tmp_path: Path, kind: str, *, fails: bool
) -> None:
    store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "session.db")
    answers = {A: {"status": 503}, B: {"status": 503} if fails else {"text": "ok"}}
    async with Outage(answers, session={"store": store}) as outage:
        if fails:
            with pytest.raises(SidestepError):
                await outage.session.turn("Hi.")
        else:
            await outage.session.turn("Hi.")
        prompt, last = (await store.load()).values()
        await store.aclose()

    assert prompt.cooldowns == ()
    assert [each.name for each in last.cooldowns] == ([A, B] if fails else [A])
    assert {each.kind for each in last.cooldowns} == {"server_error"}
    assert last == outage.session.conversation.messages[-1]


@pytest.mark.asyncio
async def test_a_message_that_is_stored_while_it_streams_holds_them_at_the_end() -> None:
    """Its eager tool had run when its route failed."""

    def look() -> str:
        """Look."""
        return "seen"

    call = {"tool_calls": [{"id": "toolu_1", "name": "look", "input": {}}], "after": 4}
    answers = {B: [call | {"error": 529}, {"text": "ok"}], A: {"text": "ok"}}
    store = MemoryStore()
    options = {"store": store, "tools": [look], "eager": True}
    async with Outage(answers, route=B, session=options) as outage:
        await outage.session.turn("Hi.")
        _, broken, _ = (await store.load()).values()

    assert broken.has_calls
    assert [each.name for each in broken.cooldowns] == [B]


@pytest.mark.asyncio
async def test_another_session_of_the_process_keeps_what_the_process_knows() -> None:
    """Its clock may be another one than the wall's, and its cooldown has ended."""
    store = MemoryStore()
    async with Outage({A: [{"status": 503}, {"text": "ok"}], B: {"text": "ok"}}) as outage:
        await outage.open(store=store).turn("Hi.")
        outage.clock.now += 10_000.0
        await outage.open(store=store).turn("Again.")

    assert outage.asked == [A, B, A]


@pytest.mark.asyncio
async def test_cooldowns_that_another_process_stored_hold_from_the_first_step_on() -> None:
    store = MemoryStore()
    async with Outage({A: {"text": "ok"}, B: {"text": "ok"}}) as outage:
        outage.session.transcript.store = store
        ago = Message("assistant", [Text("ok")], A, A)
        await store.append(Message("user", [Text("Hi.")]))
        ago.cooldowns = (Cooldown(name=A, until=2**40),)
        await store.append(ago)
        await outage.session.turn("Again.")

    assert outage.asked == [B]
    assert (
        outage.middleware.degraded.snapshot()[A]
        <= FallbackConfig(fallback_models_by_model={}).max_cooldown_seconds
    )


def let_pass(file: Path, seconds: float) -> None:
    """Let *seconds* pass for the session in *file*, while no process runs."""
    with closing(sqlite3.connect(file)) as connection, connection:
        rows = connection.execute("SELECT id, cooldowns FROM message WHERE cooldowns IS NOT NULL")
        for key, column in rows.fetchall():
            cooldowns = [each | {"until": each["until"] - seconds} for each in json.loads(column)]
            query = "UPDATE message SET cooldowns = ? WHERE id = ?"
            connection.execute(query, (json.dumps(cooldowns), key))


@pytest.mark.parametrize("fails", [False, True], ids=["the turn moved", "the turn failed"])
def test_a_run_that_is_resumed_does_not_ask_a_dead_route_again(
    tmp_path: Path, *, fails: bool
) -> None:
    """One process a turn; after the cooldown it makes one probe, although four retries are allowed.

    In the row in which the first turn fails the sibling is there again for the second.
    """
    there = [{"status": 400}, {"text": "Hello."}] if fails else {"text": "Hello."}
    played = scenario(tmp_path, {A: {"status": 503}, B: there})
    config = {"fallbackModelsByModel": {A: B}, "maxUpstreamRetryAttempts": 0}
    asked: list[list[str]] = []
    with stub(played) as url:

        def run(*more: str, **settings: int) -> subprocess.CompletedProcess[str]:
            before = len(httpx.get(f"{url}/_stub/requests").json())
            ran = subprocess.run(
                [sys.executable, "-m", "sidestep", "run", "hi", "--model", A, "--session", "s.db",
                 *more],
                cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60, check=False,
                env=environment(
                    SIDESTEP_FALLBACK_CONFIG=config | settings,
                    SIDESTEP_PROVIDERS=httpx.get(f"{url}/_stub/providers").text,
                ),
            )  # fmt: skip
            requests = httpx.get(f"{url}/_stub/requests").json()[before:]
            asked.append([request["route"] for request in requests])
            return ran

        first = run()
        second = run("--resume", maxUpstreamRetryAttempts=4)
        let_pass(tmp_path / "s.db", 61.0)
        third = run("--resume", maxUpstreamRetryAttempts=4)
        fourth = run("--resume", maxUpstreamRetryAttempts=4)

    assert [each.returncode for each in (first, second, third, fourth)] == [int(fails), 0, 0, 0]
    assert asked == [[A, B], [B], [A, B], [B]]
    assert f"{A} is degraded: starting on {B}" in second.stderr
    assert f"trying {A} again after its cooldown" in third.stderr
