"""A session whose provider has two keys: which one it sends, keeps and resumes with, and that no
part of a run holds a key. Everything goes over real sockets, with the keys in the environment.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import traceback
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from sidestep import Client, Message, Session, Sidestep, SidestepError, SqliteStore, Text
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub
from sidestep.session.turn import stored_cooldowns

from ...virtual import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidestep import Event

pytestmark = pytest.mark.asyncio

A, B = "anthropic/claude-sonnet-5", "openrouter/anthropic/claude-sonnet-5"
ONE, TWO = "ANTHROPIC_API_KEY", "WORK_ACCOUNT"
PLANTED = {ONE: "sk-ant-planted-one-0123456789", TWO: "planted.two/0123456789abcdef"}
QUOTED = f"refused {PLANTED[ONE]} and {PLANTED[TWO]}"

OUTAGES: dict[str, dict[str, Any]] = {
    "a rate limit": {"status": 429, "headers": {"retry-after": "60"}},
    "no credits": {"status": 402},
    "a refused key": {"status": 401},
    "a refused key, quoted": {
        "status": 401,
        "headers": {"request-id": PLANTED[ONE]},
        "body": {"type": "error", "error": {"type": "authentication_error", "message": QUOTED}},
    },
}


@dataclass
class Run:
    """One agent in its environment, against a stub, and everything that it left."""

    folder: Path
    answers: Mapping[str, Any]
    environ: dict[str, str] = field(default_factory=lambda: dict(PLANTED))
    clock: VirtualClock = field(default_factory=VirtualClock)
    events: list[Event] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)
    window: int | None = None
    patch: pytest.MonkeyPatch = field(default_factory=pytest.MonkeyPatch)

    async def __aenter__(self) -> Run:
        wall = SimpleNamespace(time=lambda: 1_700_000_000 + self.clock.now)
        self.patch.setattr(stored_cooldowns, "time", wall)  # the wall's clock moves with ours
        answers = {A: {"keys": dict(self.answers)}, B: {"text": "the sibling"}}
        self.stub = Stub(Scenario.parse({"answers": answers}), strict=True, keys=PLANTED)
        await self.stub.__aenter__()
        config = {"fallbackModelsByModel": {A: B}}
        window = {} if self.window is None else {"contextWindow": self.window}
        providers = {name: {**each, **window} for name, each in self.stub.providers().items()}
        self.environ |= {
            "SIDESTEP_PROVIDERS": json.dumps(providers),
            "SIDESTEP_JOURNAL": str(self.folder / "journal"),
        }
        if self.window is None:
            self.environ["SIDESTEP_FALLBACK_CONFIG"] = json.dumps(config)
        else:  # with a hint the first route has to fit as well
            self.environ["SIDESTEP_HINT"] = ",".join(each.replace("/", ":", 1) for each in (A, B))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.patch.undo()
        await self.stub.__aexit__(None, None, None)

    async def session(self, *prompts: str, pause: float = 0.0, compacts: bool = False) -> list[str]:
        """Open the session's file in a new engine, take a turn for each prompt, and close it."""
        middleware = Sidestep.from_env(self.environ, clock=self.clock)
        store = SqliteStore(self.folder / "session")
        texts = []
        async with httpx.AsyncClient(trust_env=False) as http:
            client = Client(http=http, providers=middleware.providers, environ=self.environ)
            session = Session(
                A, middleware=middleware, client=client, store=store, on_event=self.events.append
            )
            for prompt in prompts:
                try:
                    texts.append((await session.turn(prompt)).text)
                except SidestepError as error:
                    self.errors.append(error)
                if compacts:
                    summary = [Message("user", [Text("It went well.")])]
                    await session.transcript.replace(summary)
                self.clock.now += pause
        await store.aclose()
        return texts

    @property
    def sent(self) -> list[str | None]:
        """The variable of each request's key, in order."""
        return [each.api_key_env for each in self.stub.requests]

    def left(self) -> str:
        """Return all that a person could find after the run."""
        files = [path.read_bytes().decode(errors="replace") for path in self.folder.iterdir()]
        traces = ["".join(traceback.format_exception(error)) for error in self.errors]
        failures = [repr(getattr(error, "attempts", "")) for error in self.errors]
        return "\n".join([*files, *traces, *failures, *map(repr, self.events)])


@pytest.fixture(autouse=True)
def logs(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.DEBUG, "sidestep")
    return caplog


def assert_no_key(run: Run, logs: pytest.LogCaptureFixture) -> None:
    left = run.left() + logs.text
    assert "journal" not in left or A in left
    for name, key in PLANTED.items():
        assert key not in left
        assert key[:12] not in left, name


@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES)
async def test_the_second_key_answers_at_once_and_from_then_on(
    outage: dict[str, Any], tmp_path: Path, logs: pytest.LogCaptureFixture
) -> None:
    answers = {ONE: outage, TWO: [{"text": "one"}, {"text": "two"}, {"text": "three"}]}
    async with Run(tmp_path, answers) as run:
        texts = await run.session("Hi.", "Go on.", "And on.")

    assert texts == ["one", "two", "three"]
    assert run.sent == [ONE, TWO, TWO, TWO]
    assert run.clock.slept == []
    assert_no_key(run, logs)
    assert ONE in run.left()
    assert TWO in run.left()


@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES)
async def test_if_each_key_fails_the_sibling_answers_or_the_error_names_no_key(
    outage: dict[str, Any], tmp_path: Path, logs: pytest.LogCaptureFixture
) -> None:
    async with Run(tmp_path, {ONE: outage, TWO: outage}) as run:
        texts = await run.session("Hi.")

    moves = outage["status"] != 401  # which is not listed
    assert texts == (["the sibling"] if moves else [])
    assert run.sent[:2] == [ONE, TWO]
    assert len(run.errors) == (0 if moves else 1)
    assert_no_key(run, logs)


@pytest.mark.parametrize(
    ("restarts", "compacts"),
    [
        pytest.param(False, False, id="the same process"),
        pytest.param(False, True, id="compacted meanwhile"),
        pytest.param(True, False, id="a restart"),
    ],
)
async def test_a_session_keeps_its_key_when_the_first_is_healthy_again(
    tmp_path: Path, logs: pytest.LogCaptureFixture, *, restarts: bool, compacts: bool
) -> None:
    """Because the prompt's cache belongs to the key."""
    answers = {ONE: [{"status": 402}, {"text": "the first"}], TWO: {"text": "the second"}}
    async with Run(tmp_path, answers) as run:
        if restarts:
            texts = await run.session("Hi.")
            run.clock.now += 10_000
            texts += await run.session("Go on.")
        else:
            texts = await run.session("Hi.", "Go on.", pause=10_000, compacts=compacts)

    assert texts == ["the second"] * 2
    assert run.sent[:2] == [ONE, TWO]
    assert set(run.sent[2:]) == {TWO}
    assert_no_key(run, logs)


async def test_a_session_of_an_older_version_is_resumed_with_the_first_key(tmp_path: Path) -> None:
    """Its file names no variables."""
    answers = {ONE: [{"status": 402}, {"text": "the first"}], TWO: {"text": "the second"}}
    async with Run(tmp_path, answers) as run:
        await run.session("Hi.")
        with closing(sqlite3.connect(tmp_path / "session")) as file, file:
            named = file.execute("SELECT attempts FROM message WHERE attempts LIKE ?", [f"%{TWO}%"])
            assert len(named.fetchall()) == 1
            file.execute(
                "UPDATE message SET attempts = replace(replace(attempts, ?, ''), ?, '')",
                [f',"api_key_env":"{ONE}"', f',"api_key_env":"{TWO}"'],
            )
        run.clock.now += 10_000
        texts = await run.session("Go on.")

    assert texts == ["the first"]
    assert run.sent == [ONE, TWO, ONE]


async def test_a_resumed_session_counts_its_tokens_with_its_key(tmp_path: Path) -> None:
    answers = {ONE: [{"status": 402}, {"text": "the first"}], TWO: {"text": "the second"}}
    async with Run(tmp_path, answers, window=1_800) as run:
        for _ in range(2):
            await run.session("word " * 800)
            run.clock.now += 10_000

    assert [each.api_key_env for each in run.stub.counts] == [ONE, TWO]


async def test_a_session_whose_key_is_gone_takes_another(tmp_path: Path) -> None:
    answers = {ONE: [{"status": 402}, {"text": "the first"}], TWO: {"text": "the second"}}
    async with Run(tmp_path, answers) as run:
        texts = await run.session("Hi.")
        run.clock.now += 10_000
        del run.environ[TWO]
        texts += await run.session("Go on.")

    assert texts == ["the second", "the first"]
    assert run.sent == [ONE, TWO, ONE]


async def test_only_the_second_key_is_set(tmp_path: Path) -> None:
    answers = {ONE: {"text": "the first"}, TWO: {"text": "the second"}}
    async with Run(tmp_path, answers) as run:
        del run.environ[ONE]
        texts = await run.session("Hi.")

    assert texts == ["the second"]
    assert run.sent == [TWO]


async def test_a_client_with_providers_of_its_own_sends_its_own_key(tmp_path: Path) -> None:
    """A program may give the client other providers than the engine knows, with other keys."""
    async with Run(tmp_path, {ONE: {"text": "the first"}, TWO: {"text": "the second"}}) as run:
        known = Sidestep.from_env(run.environ).providers
        del run.environ["SIDESTEP_PROVIDERS"]
        middleware = Sidestep.from_env(run.environ, clock=run.clock)
        async with httpx.AsyncClient(trust_env=False) as http:
            environ = {TWO: PLANTED[TWO]}
            client = Client(http=http, providers=known, environ=environ)
            ended = await Session(A, middleware=middleware, client=client).turn("Hi.")

    assert ended.text == "the second"
    assert run.sent == [TWO]
