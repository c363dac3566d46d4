"""Whatever happens to a session, and in whatever order: no tool runs twice, no result is lost.

Writes and reads fail, the process is killed, the turn is cancelled, providers are down or cut their
answers, tools raise. Each seed is one such story; a failure names its seed.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import anyio.lowlevel
import httpx
import pytest

from sidestep import (
    Event,
    MemoryStore,
    Message,
    ProviderError,
    StepFailed,
    StoreError,
    Summary,
    Text,
    ToolCall,
)
from sidestep.provider.conversation import Part
from sidestep.session.turn.transcript import UNSTARTED

from .worker import JOBS, Worker

pytestmark = pytest.mark.asyncio

FAULTY_TURNS, TURNS = 40, 60
"""Faults end after so many turns, and the session must have done its work after so many."""
STORIES = 3
"""Seeds in each test."""


class Killed(BaseException):
    """The process has ended."""


class Chance:
    """How likely each fault is, and the dice."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        most = {"write": 0.3, "read": 0.3, "kill": 0.03, "cut": 0.3, "down": 0.2, "raise": 0.3}
        most |= {"cancel": 0.05, "steer": 0.05, "restart": 0.1, "pause": 0.5}
        self.of: dict[str, float] = {
            name: self.dice.choice([0.0, share / 4, share]) for name, share in most.items()
        }

    def __call__(self, fault: str) -> bool:
        return self.dice.random() < self.of[fault]


class UnreliableStore(MemoryStore):
    """A store that fails, or that is the last thing that its process does."""

    def __init__(self, chance: Chance) -> None:
        super().__init__()
        self.chance = chance
        self.is_dead = False

    async def _step(self, fault: str | None) -> None:
        if self.is_dead or self.chance("kill"):
            self.is_dead = True
            raise Killed
        if fault is not None and self.chance(fault):
            raise StoreError("the disk is full")
        if self.chance("pause"):
            await anyio.lowlevel.checkpoint()

    def held(self) -> list[Message]:
        return list(self._messages.values())

    async def load(self) -> dict[int, Message]:
        await self._step("read")
        return await super().load()

    async def check(self) -> None:
        await self._step("read")

    async def append(self, message: Message) -> int:
        await self._step("write")
        key = await super().append(message)
        await self._step(None)
        return key

    async def save_part(self, key: int, index: int, part: Part) -> None:
        await self._step("write")
        await super().save_part(key, index, part)
        await self._step(None)

    async def rewrite(self, key: int, message: Message) -> None:
        await self._step("write")
        await super().rewrite(key, message)
        await self._step(None)

    async def replace(self, messages: Sequence[Message]) -> list[int]:
        await self._step("write")
        keys = await super().replace(messages)
        await self._step(None)
        return keys


class _Cut(httpx.AsyncByteStream):
    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content
        raise httpx.ReadError("reset")


class UnreliableWorker(Worker):
    """A worker of unreliable providers, with tools that take their time, and may raise."""

    def __init__(self, chance: Chance, **options: Any) -> None:
        self.chance = chance
        super().__init__(**options)
        self.may_break_off = False

    def _answer(self, request: httpx.Request) -> httpx.Response:
        answer = super()._answer(request)
        if self.chance("down"):
            return httpx.Response(503)
        if answer.status_code == 200 and self.chance("cut"):
            half = answer.content[: self.chance.dice.randrange(len(answer.content))]
            return httpx.Response(200, headers=answer.headers, stream=_Cut(half))
        return answer

    async def do(self, job: str) -> str:
        """Do a job."""
        self.done.append(job)
        while self.chance("pause"):
            await anyio.lowlevel.checkpoint()
        if self.chance("raise"):
            raise OSError("no")
        return f"did {job}"


class Story:
    """A session whose life is told by one seed."""

    def __init__(self, seed: int) -> None:
        self.chance = chance = Chance(seed)
        self.store = UnreliableStore(chance)
        self.is_summarised = chance.dice.random() < 0.4
        options: dict[str, Any] = {"store": self.store, "eager": chance.dice.random() < 0.6}
        if self.is_summarised:
            options["compact"] = Summary(keep=chance.dice.randrange(3))
        self.worker = UnreliableWorker(chance, **options)
        if self.is_summarised:
            self.worker.longest = chance.dice.choice([6, 9])
        self.session = self.worker.session
        self.recorded: Mapping[str, object] = {}

    async def play(self) -> None:
        """Take turns until the work is done, and check each."""
        for number in range(TURNS):
            if number == FAULTY_TURNS:
                self.chance.of = dict.fromkeys(self.chance.of, 0.0)
            is_done = await self._turn()
            self._check()
            if is_done:
                return
        raise AssertionError("the session is stuck")

    async def _turn(self) -> bool:
        """Take one turn, come what may; return whether it was answered."""
        is_asked = any(message.role == "user" for message in self.store.held())
        turn = asyncio.create_task(self.session.turn(None if is_asked else "Do it."))
        loop = asyncio.get_running_loop()

        def listen(_: Event) -> None:
            if self.chance("cancel"):
                loop.call_soon(turn.cancel)
            if self.chance("steer"):
                self.session.steer("Hurry.")

        self.session.on_event = listen
        is_answered = False
        try:
            ended = await turn
            assert ended.text == "Done."
            is_answered = True
        except (Killed, asyncio.CancelledError, StoreError, StepFailed, ProviderError):
            pass
        if self.store.is_dead or self.chance("restart"):
            self.store.is_dead = False
            self.session = self.worker.open(store=self.store)
        return is_answered

    def _check(self) -> None:
        held = self.store.held()
        assert len(self.worker.done) == len(set(self.worker.done))
        if self.session.conversation.messages:  # otherwise the store was not read yet
            assert self.session.conversation.messages == held
        if self.is_summarised:
            return
        now = _results(held)
        assert now.items() >= self.recorded.items()
        self.recorded = now
        prompts = [part for each in held if each.role == "user" for part in each.parts]
        assert prompts.count(Text("Do it.")) <= 1

    def check_end(self) -> None:
        """Check that each job was done, if its call was not interrupted."""
        if self.is_summarised:
            return
        calls = _calls(self.store.held())
        unknown = {call.input.get("job") for call in calls if call.state == "interrupted"
                   and call.output != UNSTARTED}  # fmt: skip
        assert {*self.worker.done} | unknown >= {*JOBS}


def _calls(messages: Sequence[Message]) -> list[ToolCall]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolCall)]


def _results(messages: Sequence[Message]) -> Mapping[str, object]:
    return {
        json.dumps(call.input): call.output
        for call in _calls(messages)
        if call.state in {"completed", "error"}
    }


@pytest.mark.parametrize("first", range(0, 60, STORIES))
async def test_no_story_ends_badly(first: int, *, whole: bool) -> None:
    number = 5 * STORIES if whole else STORIES
    for seed in range(first * 1_000, first * 1_000 + number):
        story = Story(seed)
        try:
            await story.play()
            story.check_end()
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
