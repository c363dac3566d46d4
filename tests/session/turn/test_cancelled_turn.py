"""A turn with tools may be cancelled at any await, beside another session, and loses nothing."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sidestep import (
    Event,
    MemoryStore,
    Message,
    Session,
    StepEnded,
    StepStarted,
    Tool,
    ToolCall,
    ToolRunEnded,
    ToolRunStarted,
    TurnEnded,
)
from sidestep.session.event import AttemptFailed, AttemptStarted, ProbeEnded, ProbeStarted

from .outage import A, B, Outage
from .test_no_connection_leaks import (
    Way,
    after,
    cancel,
    cancel_a_scope,
    cancel_twice,
    connections,
    end_a_timeout,
    turns_of,
)

CALLS = [
    {"name": name, "input": {"path": path}} for name, path in zip("rrrww", "abcde", strict=True)
]
ANSWERS = {
    A: [{"reasoning": "Hm.", "tool_calls": CALLS}, {"text": "Done.", "chunk": 2}],
    B: {"text": "And I go on.", "chunk": 1},
}

pytestmark = [
    pytest.mark.anyio,
    # What trio says of generators of httpx, which httpx leaves to the collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Async generator .* was garbage collected:ResourceWarning"),
]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Worker:
    """A session with two tools, of which one may run beside itself."""

    def __init__(self, outage: Outage, *, eager: bool) -> None:
        self.ran: Counter[str] = Counter()
        self.store = MemoryStore()
        self.events: list[Event] = []
        self.session: Session = outage.open(
            tools=[Tool(self.r, is_parallel=True), Tool(self.w)], eager=eager, store=self.store
        )
        self.session.on_event = self.events.append

    async def r(self, path: str) -> str:
        """Read a file."""
        return await self._run(path)

    async def w(self, path: str) -> str:
        """Write a file."""
        return await self._run(path)

    async def _run(self, path: str) -> str:
        self.ran[path] += 1
        await after(3)
        return f"{path}: ok"

    def count(self, kind: type[Any]) -> int:
        return sum(isinstance(event, kind) for event in self.events)

    def calls(self) -> list[ToolCall]:
        messages = self.session.conversation.messages
        return [part for each in messages for part in each.parts if isinstance(part, ToolCall)]

    async def check(self) -> None:
        """Check what holds for every session between two turns."""
        assert max(self.ran.values(), default=0) <= 1
        assert {call.state for call in self.calls()} <= {"completed", "error", "interrupted"}
        given = {event.output for event in self.events if isinstance(event, ToolRunEnded)} - {None}
        assert given <= {call.output for call in self.calls()}
        for begun, ended in (
            (StepStarted, StepEnded), (ToolRunStarted, ToolRunEnded), (ProbeStarted, ProbeEnded),
        ):  # fmt: skip
            assert self.count(begun) == self.count(ended)
        steps = [event for event in self.events if isinstance(event, StepEnded)]
        answered = sum(event.error is None for event in steps)
        assert self.count(AttemptStarted) == self.count(AttemptFailed) + answered
        stored: list[Message] = list((await self.store.load()).values())
        assert stored == list(self.session.conversation.messages)


async def story(way: Way, *, turns: int, more: int, eager: bool) -> None:
    """Cancel a turn after *turns* turns of the loop while another session answers; then go on."""
    async with Outage(ANSWERS) as outage:
        worker = Worker(outage, eager=eager)
        other = outage.open()
        other.route = B
        answers: list[str] = []

        async def go_on_beside() -> None:
            answers.append((await other.turn("hi")).text)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(go_on_beside)
            await way(lambda _: worker.session.turn("Do it."), outage, turns, more)
        await after(100)
        in_use = connections(outage.http)
        await worker.check()
        begun = worker.count(TurnEnded)
        ended = await worker.session.turn("Go on.")
        await worker.check()

    assert in_use == (0, 0)
    assert answers == ["And I go on."]
    assert ended.text == "Done."
    assert worker.count(TurnEnded) == begun + 1
    assert outage.middleware.degraded.snapshot() == {}


@pytest.mark.parametrize("way", [cancel, cancel_twice, end_a_timeout, cancel_a_scope])
@pytest.mark.parametrize("eager", [True, False], ids=["eager", "after the answer"])
async def test_whenever_a_turn_is_cancelled_nothing_is_lost_and_nobody_else_notices(
    way: Way, eager: bool, whole: bool, anyio_backend_name: str
) -> None:
    if anyio_backend_name == "trio" and way is not cancel_a_scope:
        pytest.skip("trio cancels by scopes only")
    async with Outage(ANSWERS) as outage:
        length = await turns_of(
            lambda each: Worker(each, eager=eager).session.turn("Do it."), outage
        )
    rng = random.Random(f"{way.__name__} {eager}")
    moments = list(range(length + 5))
    for turns in moments if whole else sorted(rng.sample(moments, 20)):
        try:
            await story(way, turns=turns, more=rng.randint(1, 6), eager=eager)
        except BaseException as error:
            error.add_note(f"cancelled after {turns} turns of the loop")
            raise


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_cancelled_turn_leaves_no_task(whole: bool) -> None:
    rng = random.Random(7)
    async with Outage(ANSWERS) as outage:
        worker = Worker(outage, eager=True)
        length = await turns_of(lambda _: worker.session.turn("Do it."), outage)
        await after(100)
        before = len(asyncio.all_tasks())
        for _ in range(200 if whole else 20):
            each = Worker(outage, eager=True)
            task = asyncio.ensure_future(each.session.turn("Do it."))
            await after(rng.randint(0, length))
            task.cancel()
            await asyncio.wait([task])
        await outage.http.aclose()
        await after(200)

        assert len(asyncio.all_tasks()) <= before
