"""A turn with tools: each call is run once, each result kept, and each step says who answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import pytest

from sidestep import (
    Budget,
    BudgetExceeded,
    Compacted,
    Event,
    FallbackExhausted,
    FallbackUnsafe,
    Image,
    MemoryStore,
    Message,
    PartsRetracted,
    ProviderError,
    Reasoning,
    Route,
    RouteDegraded,
    Session,
    StepFailed,
    StoreError,
    Summary,
    Text,
    Tool,
    ToolCall,
    ToolRunEnded,
    ToolRunStarted,
    TurnEnded,
)
from sidestep.session.turn.transcript import UNSTARTED, Transcript

from .outage import A, B, Outage

pytestmark = pytest.mark.asyncio

READ = {"name": "read", "input": {"path": "a.py"}}
WRITE = {"name": "write", "input": {"path": "a.py"}}
DONE = {"text": "Done."}


class Tools:
    """Two tools, and what was asked of them."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.began = anyio.Event()
        self.may_end = anyio.Event()
        self.may_end.set()

    async def read(self, path: str) -> str:
        """Read a file."""
        return await self._run("read", path)

    async def write(self, path: str) -> str:
        """Write a file."""
        return await self._run("write", path)

    async def _run(self, name: str, path: str) -> str:
        self.ran.append(f"{name} {path}")
        self.began.set()
        await self.may_end.wait()
        return f"{name} {path}: ok"

    @property
    def options(self) -> dict[str, Any]:
        return {"tools": [Tool(self.read, is_parallel=True), self.write]}


PICTURE = Image("image/png", "iVBORw0KGgo=")


def look() -> Image:
    """Look at the screen."""
    return PICTURE


def calls(message: Message) -> list[tuple[str, str, object]]:
    """Say of each call its tool, its state and what came of it."""
    return [(p.name, p.state, p.output) for p in message.parts if isinstance(p, ToolCall)]


def answers(session: Session) -> list[Message]:
    return [m for m in session.conversation.messages if m.role == "assistant"]


def of(events: list[Event], *kinds: type) -> list[Any]:
    return [event for event in events if isinstance(event, kinds)]


async def test_steps_are_taken_until_none_calls_a_tool() -> None:
    tools = Tools()
    answered = [{"tool_calls": [READ, WRITE]}, {"tool_calls": [WRITE]}, DONE]
    async with Outage({A: answered, B: DONE}, session=tools.options) as outage:
        ended = await outage.session.turn("Mend it.")
        second = outage.stub.requests[1].body

    assert ended == TurnEnded("Done.", A, A)
    assert tools.ran == ["read a.py", "write a.py", "write a.py"]
    assert [calls(message) for message in answers(outage.session)] == [
        [("read", "completed", "read a.py: ok"), ("write", "completed", "write a.py: ok")],
        [("write", "completed", "write a.py: ok")],
        [],
    ]
    assert isinstance(second, dict)
    results = [m["content"] for m in second["messages"] if m["role"] == "tool"]
    assert [str(result) for result in results if "read a.py: ok" in str(result)]
    assert [type(e).__name__ for e in of(outage.events, ToolRunStarted, ToolRunEnded)] == [
        "ToolRunStarted", "ToolRunEnded", "ToolRunStarted", "ToolRunEnded",
        "ToolRunStarted", "ToolRunEnded",
    ]  # fmt: skip


async def test_a_step_that_fails_inside_a_call_runs_nothing_and_is_answered_elsewhere() -> None:
    tools = Tools()
    half = {"reasoning": "Hm.", "tool_calls": [WRITE], "after": 2, "error": 503}
    async with Outage({A: [{"tool_calls": [READ]}, half], B: [{"tool_calls": [WRITE]}, DONE]},
                      session=tools.options) as outage:  # fmt: skip
        ended = await outage.session.turn("Mend it.")

    assert tools.ran == ["read a.py", "write a.py"]
    assert ended.route == B
    assert [(m.route, m.requested, len(m.attempts)) for m in answers(outage.session)] == [
        (A, A, 1), (B, A, 2), (B, A, 1),
    ]  # fmt: skip
    kinds = [attempt.kind for attempt in answers(outage.session)[1].attempts]
    assert kinds == ["server_error", None]


OVER_ALL_WIRES = [A, B, Route("openai/gpt-5.4"), Route("gemini/gemini-3-pro-preview")]


@pytest.mark.parametrize("route", OVER_ALL_WIRES)
async def test_a_model_that_says_nothing_after_its_tools_has_ended_the_turn(route: Route) -> None:
    answered = [{"tool_calls": [READ]}, {"text": ""}, DONE]
    async with Outage({route: answered}, route=route, session=Tools().options) as outage:
        ended = await outage.session.turn("Mend it.")
        again = await outage.session.turn("And then?")

    assert (ended.text, ended.route, again.text) == ("", route, "Done.")
    assert outage.asked == [route, route, route]
    assert outage.clock.slept == []
    assert [len(message.attempts) for message in answers(outage.session)] == [1, 1, 1]


@pytest.mark.parametrize("route", OVER_ALL_WIRES)
async def test_a_model_that_says_nothing_to_the_user_is_asked_again(route: Route) -> None:
    limits: Any = {"maxUpstreamRetryAttempts": 3}
    async with Outage({route: [{"text": ""}, DONE]}, route=route, **limits) as outage:
        ended = await outage.session.turn("Mend it.")

    assert ended.text == "Done."
    assert outage.asked == [route, route]


@pytest.mark.parametrize(
    ("call", "state", "told"),
    [
        pytest.param(
            {"name": "nope", "input": {}}, "error", "There is no tool 'nope'", id="unknown"
        ),
        pytest.param({"name": "read", "input": {}}, "error", "path", id="an argument is missing"),
    ],
)
async def test_a_call_that_cannot_be_run_is_told_to_the_model(
    call: dict[str, Any], state: str, told: str
) -> None:
    async with Outage({A: [{"tool_calls": [call]}, DONE]}, session=Tools().options) as outage:
        ended = await outage.session.turn("Mend it.")

    assert ended.text == "Done."
    ((_, was, output),) = calls(answers(outage.session)[0])
    assert was == state
    assert told in str(output)


async def test_what_is_said_meanwhile_goes_between_two_steps() -> None:
    tools = Tools()
    async with Outage({A: [{"tool_calls": [READ]}, DONE]}, session=tools.options) as outage:
        outage.session.on_event = lambda event: (
            outage.session.steer("Hurry.") if isinstance(event, ToolRunStarted) else None
        )
        await outage.session.turn("Mend it.")

    roles = [message.role for message in outage.session.conversation.messages]
    assert roles == ["user", "assistant", "user", "assistant"]


async def test_a_turn_that_calls_tools_for_ever_ends_with_its_steps() -> None:
    tools = Tools()
    options = {**tools.options, "max_steps": 3}
    async with Outage({A: [{"tool_calls": [READ]}]}, session=options) as outage:
        with pytest.raises(BudgetExceeded, match="3 steps"):
            await outage.session.turn("Mend it.")

    assert len(tools.ran) == 3


UNFIT = {"name": "write", "input": {"way": "a.py"}}
UNKNOWN = {"name": "rm", "input": {"path": "a.py"}}
HUGE = {"name": "write", "input": {"path": "x" * 100}}


@pytest.mark.parametrize("route", [A, B])
@pytest.mark.parametrize("eager", [False, True], ids=["at the end", "eager"])
@pytest.mark.parametrize(
    ("wrong", "most"),
    [
        pytest.param([UNFIT], 5, id="arguments that do not fit"),
        pytest.param([UNKNOWN], 5, id="an unknown tool"),
        pytest.param([HUGE], 5, id="arguments that are too long"),
        pytest.param([UNFIT, UNKNOWN], 5, id="both in one answer"),
        pytest.param([UNFIT], 2, id="another number"),
    ],
)
async def test_a_turn_of_nothing_but_wrong_calls_ends(
    route: Route, wrong: list[Any], most: int, *, eager: bool
) -> None:
    tools = Tools()
    options = {"tools": [Tool(tools.write, longest_input=50)], "eager": eager}
    if most != 5:
        options["max_wrong_answers"] = most
    answered = [{"tool_calls": wrong, "times": most}, {"tool_calls": [WRITE]}, DONE]
    async with Outage({route: answered}, route=route, session=options) as outage:
        with pytest.raises(BudgetExceeded, match=f"{most} answers in a row.*{wrong[-1]['name']}"):
            await outage.session.turn("Mend it.")
        asked = len(outage.asked)
        ended = await outage.session.turn(None)

    assert (asked, ended.text, tools.ran) == (most, "Done.", ["write a.py"])
    states = [state for message in answers(outage.session) for _, state, _ in calls(message)]
    assert states == ["error"] * len(wrong) * most + ["completed"]


@pytest.mark.parametrize("eager", [False, True], ids=["at the end", "eager"])
@pytest.mark.parametrize(
    "right",
    [pytest.param([WRITE], id="a call that fits"), pytest.param([UNFIT, WRITE], id="one of two")],
)
async def test_wrong_calls_are_counted_in_a_row(right: list[Any], *, eager: bool) -> None:
    tools = Tools()
    wrong = {"tool_calls": [UNFIT], "times": 4}
    answered = [wrong, {"tool_calls": right}, wrong, {"tool_calls": right}, wrong, DONE]
    options = {**tools.options, "eager": eager}
    async with Outage({A: answered}, session=options) as outage:
        ended = await outage.session.turn("Mend it.")

    assert ended.text == "Done."
    assert len(outage.asked) == 15


async def test_a_tool_that_fails_is_no_wrong_call() -> None:
    def write(path: str) -> str:
        """Write a file."""
        raise OSError(f"{path} is read-only")

    answered = [{"tool_calls": [WRITE], "times": 8}, DONE]
    async with Outage({A: answered}, session={"tools": [write]}) as outage:
        ended = await outage.session.turn("Mend it.")

    assert ended.text == "Done."


async def test_an_eager_tool_that_ran_in_a_failed_answer_keeps_its_result_and_runs_once() -> None:
    tools = Tools()
    broken = {"reasoning": "Hm.", "tool_calls": [WRITE, READ], "after": 3, "error": 503}
    options = {**tools.options, "eager": True}
    async with Outage({B: [broken], A: DONE}, route=B, session=options) as outage:
        ended = await outage.session.turn("Mend it.")

    assert tools.ran == ["write a.py"]
    assert ended == TurnEnded("Done.", A, B)
    first, last = answers(outage.session)
    assert calls(first) == [("write", "completed", "write a.py: ok")]
    assert [part.text for part in first.parts if isinstance(part, Reasoning)] == ["Hm."]
    assert (first.route, first.requested, last.route) == (B, B, A)
    assert [event.route for event in of(outage.events, RouteDegraded)] == [B]
    assert len(of(outage.events, PartsRetracted)) == 1
    assert outage.asked == [B, A]


async def test_an_eager_tool_begins_before_the_answer_has_ended() -> None:
    tools = Tools()
    tools.may_end = anyio.Event()
    seen: list[str] = []

    def listen(event: Event) -> None:
        seen.append(type(event).__name__)
        if type(event).__name__ == "StepEnded":
            tools.may_end.set()

    answer = {"tool_calls": [READ, READ]}
    options = {**tools.options, "eager": True}
    async with Outage({B: [answer, DONE]}, route=B, session=options) as outage:
        outage.session.on_event = listen
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(outage.session.turn, "Mend it.")
                await tools.began.wait()
                tools.may_end.set()

    assert seen.index("ToolRunStarted") < seen.index("StepEnded")
    assert tools.ran == ["read a.py", "read a.py"]


async def test_a_cancelled_tool_is_joined_and_the_conversation_goes_on() -> None:
    tools = Tools()
    tools.may_end = anyio.Event()
    async with Outage({A: [{"tool_calls": [WRITE, READ]}, DONE]}, session=tools.options) as outage:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(outage.session.turn, "Mend it.")
                await tools.began.wait()
                tasks.cancel_scope.cancel()
        assert calls(answers(outage.session)[0]) == [
            ("write", "interrupted", None),
            ("read", "interrupted", "This call was not run: the turn ended before it began."),
        ]
        ended = await outage.session.turn("Go on.")

    assert ended.text == "Done."
    assert tools.ran == ["write a.py"]
    assert outage.middleware.degraded.snapshot() == {}


@pytest.mark.parametrize("route", [A, B], ids=["chat", "anthropic"])
@pytest.mark.parametrize("eager", [False, True], ids=["at the end", "eager"])
async def test_a_call_that_comes_twice_is_run_once(route: Route, *, eager: bool) -> None:
    """As agno#2336."""
    tools = Tools()
    twice = {"tool_calls": [{"id": "toolu_1", **WRITE}, {"id": "toolu_1", **WRITE}]}
    options = {**tools.options, "eager": eager}
    async with Outage({route: [twice, DONE]}, route=route, session=options) as outage:
        await outage.session.turn("Mend it.")

    assert tools.ran == ["write a.py"]
    assert calls(answers(outage.session)[0]) == [("write", "completed", "write a.py: ok")]


@pytest.mark.parametrize("eager", [False, True], ids=["at the end", "eager"])
async def test_two_calls_of_one_id_have_each_its_own_result(*, eager: bool) -> None:
    tools = Tools()
    other = {"name": "write", "input": {"path": "b.py"}}
    both = {"tool_calls": [{"id": "call_1", **WRITE}, {"id": "call_1", **other}]}
    options = {**tools.options, "eager": eager}
    async with Outage({A: [both, DONE]}, session=options) as outage:
        await outage.session.turn("Mend it.")

    assert tools.ran == ["write a.py", "write b.py"]
    outputs = [call[2] for call in calls(answers(outage.session)[0])]
    assert outputs == ["write a.py: ok", "write b.py: ok"]


async def test_of_a_cancelled_eager_answer_a_call_that_had_not_begun_is_not_kept() -> None:
    tools, closed = Tools(), anyio.Semaphore(0)
    tools.may_end = anyio.Event()

    def listen(event: Event) -> None:
        if type(event).__name__ == "ToolCallEnded":
            closed.release()

    answered = [{"text": "So.", "tool_calls": [WRITE, WRITE]}, DONE]
    options = {**tools.options, "eager": True}
    async with Outage({B: answered}, route=B, session=options) as outage:
        outage.session.on_event = listen
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(outage.session.turn, "Mend it.")
                await tools.began.wait()
                await closed.acquire()
                await closed.acquire()
                tasks.cancel_scope.cancel()
        kept = await outage.session.transcript.store.load()
        await outage.session.turn("Go on.")

    assert calls(answers(outage.session)[0]) == [("write", "interrupted", None)]
    assert list(kept.values()) == outage.session.conversation.messages[: len(kept)]
    assert tools.ran == ["write a.py"]


class CancelledStore(MemoryStore):
    """A store; asyncio itself cancels the turn while it writes."""

    def __init__(self, at: str) -> None:
        super().__init__()
        self.at = at

    async def append(self, message: Message) -> int:
        key = await super().append(message)
        await self._cancel(f"append {message.role}")
        return key

    async def save_part(self, key: int, index: int, part: Any) -> None:
        await super().save_part(key, index, part)
        await self._cancel(f"save {part.state}")

    async def _cancel(self, what: str) -> None:
        if what == self.at:
            self.at = ""
            self.turn.cancel()
            for _ in range(3):
                await anyio.lowlevel.checkpoint()

    turn: asyncio.Task[TurnEnded]


@pytest.mark.parametrize(
    ("at", "ran", "kept"),
    [
        pytest.param("append user", [], None, id="the prompt"),
        pytest.param("append assistant", [], "interrupted", id="the answer"),
        pytest.param("save running", [], "interrupted", id="what begins"),
        pytest.param("save completed", ["write a.py"], "completed", id="a result"),
    ],
)
async def test_a_write_is_known_to_be_done_though_asyncio_cancels_its_task(
    at: str, ran: list[str], kept: str | None
) -> None:
    tools, store = Tools(), CancelledStore(at)
    options = {**tools.options, "store": store}
    async with Outage({A: [{"tool_calls": [WRITE]}, DONE]}, session=options) as outage:
        store.turn = asyncio.create_task(outage.session.turn("Mend it."))
        with anyio.fail_after(60), pytest.raises(asyncio.CancelledError):
            await store.turn
        messages = list(outage.session.conversation.messages)

        assert [*(await store.load()).values()] == messages
        assert tools.ran == ran
        states = [call[1] for m in messages for call in calls(m)]
        assert states == ([] if kept is None else [kept])
        assert outage.middleware.degraded.snapshot() == {}


async def test_a_plain_tool_is_joined_though_asyncio_cancels_its_task() -> None:
    def write(path: str) -> str:
        """Write a file."""
        anyio.from_thread.run_sync(turn.cancel)
        return f"wrote {path}"

    async with Outage({A: [{"tool_calls": [WRITE]}, DONE]}, session={"tools": [write]}) as outage:
        turn = asyncio.create_task(outage.session.turn("Mend it."))
        with anyio.fail_after(60), pytest.raises(asyncio.CancelledError):
            await turn

        assert calls(answers(outage.session)[0]) == [("write", "completed", "wrote a.py")]


class SlowStore(MemoryStore):
    """A store that takes its time over a call's result."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.may_end = anyio.Event(), anyio.Event()

    async def save_part(self, key: int, index: int, part: Any) -> None:
        if part.state == "completed":
            self.began.set()
            await self.may_end.wait()
        await super().save_part(key, index, part)


async def test_a_result_is_not_undone_by_the_next_call_of_an_eager_answer() -> None:
    store = SlowStore()
    transcript = Transcript(store)
    begun = ToolCall("a", "write", {}, state="running")
    message = Message("assistant", [begun], route=A, requested=A)
    await transcript.append(message)
    ended = replace(begun, state="completed", output="ok")

    def longer(stored: Message) -> Message:
        return replace(stored, parts=[*stored.parts, ToolCall("b", "write", {})])

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(transcript.set_call, message, 0, ended)
            await store.began.wait()
            tasks.start_soon(transcript.change, message, longer)
            await anyio.wait_all_tasks_blocked()
            store.may_end.set()

    (kept,) = (await store.load()).values()
    assert calls(kept) == [("write", "completed", "ok"), ("write", "pending", None)]


class FailingStore(MemoryStore):
    """A store that a test breaks."""

    def __init__(self, *, fails: Callable[[str], bool]) -> None:
        super().__init__()
        self.fails = fails

    async def append(self, message: Message) -> int:
        if self.fails(f"append {message.role}"):
            raise StoreError("the disk is full")
        return await super().append(message)

    async def save_part(self, key: int, index: int, part: Any) -> None:
        if self.fails(f"save {part.state}"):
            raise StoreError("the disk is full")
        await super().save_part(key, index, part)

    async def rewrite(self, key: int, message: Message) -> None:
        states = {part.state for part in message.parts if isinstance(part, ToolCall)}
        if any(self.fails(f"rewrite {state}") for state in states):
            raise StoreError("the disk is full")
        await super().rewrite(key, message)

    async def check(self) -> None:
        if self.fails("check"):
            raise StoreError("the disk is gone")
        await super().check()


async def test_a_tool_whose_call_cannot_be_kept_does_not_run() -> None:
    tools = Tools()
    store = FailingStore(fails=lambda what: what == "save running")
    async with Outage({A: [{"tool_calls": [WRITE]}]},
                      session={**tools.options, "store": store}) as outage:  # fmt: skip
        with pytest.raises(StoreError, match="disk is full"):
            await outage.session.turn("Mend it.")

    assert tools.ran == []


async def test_a_call_that_the_store_refused_to_close_is_closed_by_the_next_turn() -> None:
    tools = Tools()
    store = FailingStore(fails=lambda what: what.startswith("save"))
    async with Outage({A: [{"tool_calls": [WRITE]}, DONE]},
                      session={**tools.options, "store": store}) as outage:  # fmt: skip
        with pytest.raises(StoreError, match="disk is full"):
            await outage.session.turn("Mend it.")
        store.fails = lambda _what: False
        await outage.session.turn("Go on.")

    kept = [*(await store.load()).values()]
    assert calls(kept[1]) == [("write", "interrupted", UNSTARTED)]
    assert kept == outage.session.conversation.messages
    assert tools.ran == []


@pytest.mark.parametrize("eager", [False, True], ids=["at the end", "eager"])
async def test_a_result_that_the_store_never_takes_does_not_block_the_session(
    *, eager: bool
) -> None:
    tools = Tools()
    refused = {"save completed", "rewrite completed"}
    store = FailingStore(fails=lambda what: what in refused)
    options = {**tools.options, "store": store, "eager": eager}
    answered = [{"tool_calls": [WRITE, READ]}, DONE]
    async with Outage({B: answered}, route=B, session=options) as outage:
        with pytest.raises(StoreError, match="disk is full"):
            await outage.session.turn("Mend it.")
        ended = await outage.session.turn(None)

    assert ended.text == "Done."
    states = {state for message in answers(outage.session) for _, state, _ in calls(message)}
    assert states == {"interrupted"}
    assert [*(await store.load()).values()] == outage.session.conversation.messages


class ForeignStore(FailingStore):
    """An agent's own store, whose driver raises what it likes."""

    async def append(self, message: Message) -> int:
        try:
            return await super().append(message)
        except StoreError as error:
            raise ConnectionResetError("the database has gone away") from error


@pytest.mark.parametrize("role", ["user", "assistant"])
async def test_what_a_store_of_the_agent_raises_is_a_store_error(role: str) -> None:
    store = ForeignStore(fails=lambda what: what == f"append {role}" and is_gone)
    async with Outage({A: DONE, B: DONE}, session={"store": store}) as outage:
        is_gone = True
        with pytest.raises(StoreError, match="ConnectionResetError: the database has gone away"):
            await outage.session.turn("Mend it.")
        is_gone = False
        ended = await outage.session.turn("Mend it." if role == "user" else None)

    assert ended.text == "Done."
    assert set(outage.asked) == {A}


@pytest.mark.parametrize("eager", [False, True], ids=["at the end", "eager"])
async def test_a_cancellation_passes_although_nothing_can_be_stored(*, eager: bool) -> None:
    tools = Tools()
    tools.may_end = anyio.Event()
    store = FailingStore(fails=lambda what: what == "save interrupted" and is_full)
    options = {**tools.options, "store": store, "eager": eager}
    async with Outage({B: [{"tool_calls": [WRITE]}, DONE]}, route=B, session=options) as outage:
        is_full = True
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(outage.session.turn, "Mend it.")
                await tools.began.wait()
                tasks.cancel_scope.cancel()
        is_full = False
        ended = await outage.session.turn(None)

    assert ended.text == "Done."
    assert calls(answers(outage.session)[0]) == [("write", "interrupted", None)]
    assert tools.ran == ["write a.py"]


async def test_an_answer_that_cannot_be_kept_is_shown() -> None:
    store = FailingStore(fails=lambda what: what == "append assistant")
    async with Outage({A: {"text": "hello"}}, session={"store": store}) as outage:
        with pytest.raises(StoreError, match="disk is full"):
            await outage.session.turn("hi")

    (ended,) = of(outage.events, TurnEnded)
    assert (ended.text, ended.route) == ("hello", A)
    assert ended.error == {"class": "StoreError", "message": "the disk is full"}


async def test_where_the_store_cannot_be_read_a_step_does_not_move_but_its_route_is_degraded() -> (
    None
):
    store = FailingStore(fails=lambda what: what == "check")
    async with Outage({A: {"status": 503}, B: DONE}, session={"store": store}) as outage:
        with pytest.raises(ProviderError) as caught:
            await outage.session.turn("hi")
        assert list(outage.middleware.degraded.snapshot()) == [A]

    assert outage.asked == [A]
    assert "store cannot be read (the disk is gone)" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("settings", "asked", "error"),
    [
        pytest.param({}, [A, A, B], None, id="rebuild"),
        pytest.param({"movePolicy": "first_call"}, [A, A], ProviderError, id="first call"),
        pytest.param(
            {"movePolicy": "idempotent", "idempotentTools": ["read"]}, [A, A, B], None,
            id="idempotent, listed",
        ),
        pytest.param(
            {"movePolicy": "idempotent", "idempotentTools": ["write"]}, [A, A], FallbackUnsafe,
            id="idempotent, not listed",
        ),
    ],
)  # fmt: skip
async def test_the_policy_says_whether_a_conversation_with_calls_moves(
    settings: dict[str, Any], asked: list[str], error: type[Exception] | None
) -> None:
    tools = Tools()
    answered = {A: [{"tool_calls": [READ]}, {"status": 503}], B: DONE}
    async with Outage(answered, session=tools.options, **settings) as outage:
        if error is None:
            await outage.session.turn("Mend it.")
        else:
            with pytest.raises(error) as caught:
                await outage.session.turn("Mend it.")
            assert list(outage.middleware.degraded.snapshot()) == [A]
            assert not isinstance(caught.value, FallbackUnsafe) or caught.value.tool == "read"

    assert outage.asked == asked


ONE_RULE = """
[limits]
max_upstream_retry_attempts = 1
[[rules]]
task_class = "coding"
[[rules.candidates]]
provider = "openrouter"
model = "anthropic/claude-sonnet-5"
"""


@pytest.mark.parametrize("eager", [False, True], ids=["at the end", "eager"])
@pytest.mark.parametrize(
    ("environ", "asked"),
    [
        pytest.param(
            {"SIDESTEP_FALLBACK_CONFIG": '{"fallbackModelsByModel": {}, '
             '"maxUpstreamRetryAttempts": 1}'}, A, id="an empty map",
        ),
        pytest.param(
            {"SIDESTEP_FALLBACK_CONFIG": json.dumps(
                {"fallbackModelsByModel": {B: A}, "maxUpstreamRetryAttempts": 1})},
            A, id="a map of others",
        ),
        pytest.param({"SIDESTEP_ROUTING_RULES": ONE_RULE}, "coding", id="one candidate"),
        pytest.param(
            {"SIDESTEP_HINT": "openrouter:anthropic/claude-sonnet-5"}, A, id="one element"
        ),
    ],
)  # fmt: skip
async def test_a_chain_of_one_runs_tools_as_without_a_configuration(
    environ: dict[str, str], asked: str, *, eager: bool
) -> None:
    """Livekit #1207: round a single model the wrapper said nothing and ran no tool."""
    told = []
    for given, route in ((environ, asked), ({}, str(A))):
        tools = Tools()
        answered = {A: [{"tool_calls": [READ, WRITE]}, {"status": 503}, DONE]}
        outage = Outage(answered)
        outage.environ = dict(given)
        async with outage:
            session = Session(
                route, middleware=outage.middleware, client=outage.client, eager=eager,
                on_event=outage.events.append, **tools.options,
            )  # fmt: skip
            ended = await session.turn("Mend it.")
            bodies = [received.body for received in outage.stub.requests]
        happened = [type(event).__name__ for event in outage.events]
        kept = [calls(message) for message in answers(session)]
        told.append((ended, tools.ran, kept, bodies, happened))

    assert told[0] == told[1]
    assert told[0][1] == ["read a.py", "write a.py"]


QUOTA = {"status": 402, "body": {"error": {"message": "The quota is used up.", "code": 402}}}
TEXT_ONLY = {
    "status": 400,
    "body": {"error": {"message": "unknown variant `image_url`, expected `text`", "code": 400}},
}
BLIND, UNTOLD = Route("zai/glm-4.6"), Route("house/text-1")


@pytest.mark.parametrize(
    ("sibling", "answered", "asked"),
    [
        pytest.param(BLIND, DONE, 1, id="known to see none"),
        pytest.param(UNTOLD, [TEXT_ONLY, DONE], 2, id="says that it sees none"),
    ],
)
async def test_a_picture_keeps_no_conversation_from_a_sibling_without_eyes(
    sibling: Route, answered: Any, asked: int
) -> None:
    answers = {A: [{"tool_calls": [{"name": "look", "input": {}}]}, QUOTA], sibling: answered}
    siblings = {A: sibling}
    async with Outage(answers, session={"tools": [look]}, fallbackModelsByModel=siblings) as outage:
        ended = await outage.session.turn("What is on the screen?")
        sent = [json.dumps(received.body) for received in outage.stub.requests]

    assert (ended.text, ended.route) == ("Done.", sibling)
    assert outage.asked == [A, A] + [sibling] * asked
    assert [PICTURE.data in body for body in sent] == [False, True] + [True] * (asked - 1) + [False]
    assert "An image stood here" in sent[-1]


async def test_where_a_picture_is_refused_all_the_same_the_first_failure_is_told_as_well() -> None:
    """Hermes #33872: the error of a text-only sibling hid why the primary had failed."""
    answers = {A: [{"tool_calls": [{"name": "look", "input": {}}]}, QUOTA], UNTOLD: TEXT_ONLY}
    siblings = {A: UNTOLD}
    async with Outage(answers, session={"tools": [look]}, fallbackModelsByModel=siblings) as outage:
        with pytest.raises(FallbackExhausted) as caught:
            await outage.session.turn("What is on the screen?")

    assert [attempt.route for attempt in caught.value.attempts] == [A, UNTOLD, UNTOLD]
    assert "The quota is used up." in str(caught.value)
    assert "unknown variant" in str(caught.value)


async def test_a_crash_closes_its_call_for_good() -> None:
    store = MemoryStore()
    call = ToolCall("call_1", "write", {"path": "a.py"}, state="running")
    await store.append(Message("user", [Text("Mend it.")]))
    await store.append(Message("assistant", [Reasoning("Hm."), call], route=A, requested=A))
    tools = Tools()
    async with Outage({A: DONE}, session={**tools.options, "store": store}) as outage:
        await outage.session.turn("Go on.")
        sent = str(outage.stub.requests[0].body)

    assert tools.ran == []
    assert calls(answers(outage.session)[0]) == [("write", "interrupted", None)]
    assert "it may have run" in sent


async def test_a_side_call_leaves_the_conversation_alone() -> None:
    async with Outage({A: [DONE, {"text": "A title"}], B: DONE}) as outage:
        await outage.session.turn("hi")
        before = list(outage.session.conversation.messages)
        title = await outage.session.side_call("Write a title.")

    assert title == "A title"
    assert outage.session.conversation.messages == before
    assert outage.session.route == A


async def test_a_conversation_that_is_too_long_is_summarised_and_goes_on() -> None:
    long = {"status": 400, "body": {"error": {"message": "x", "code": "context_length_exceeded"}}}
    tools = Tools()
    first = {"text": "I read it now. " * 100, "tool_calls": [READ]}
    answered = [first, {"tool_calls": [READ]}, long, {"text": "It read."}, DONE]
    options = {**tools.options, "compact": Summary(keep=1)}
    async with Outage({A: answered}, session=options) as outage:
        ended = await outage.session.turn("Mend it.")
        last = str(outage.stub.requests[-1].body)

    assert ended.text == "Done."
    assert of(outage.events, Compacted) == [Compacted(4, 3)]
    assert "It read." in last
    assert "Mend it." in last
    assert [len(calls(m)) for m in answers(outage.session)] == [1, 0]


async def test_a_summary_is_asked_for_elsewhere_where_its_route_fails() -> None:
    """As the change log of claude-code: compaction during an overload."""
    long = {"status": 400, "body": {"error": {"message": "x", "code": "context_length_exceeded"}}}
    tools = Tools()
    answered = [{"tool_calls": [READ]}, {"tool_calls": [READ]}, long, {"status": 503}]
    options = {**tools.options, "compact": Summary(keep=1)}
    async with Outage({A: answered, B: [{"text": "It read."}, DONE]}, session=options) as outage:
        ended = await outage.session.turn("Mend it.")

    assert (ended.text, ended.route) == ("Done.", B)
    assert outage.asked == [A, A, A, A, B, B]
    assert len(of(outage.events, Compacted)) == 1


async def test_a_summary_that_fails_ends_the_turn_and_leaves_the_conversation() -> None:
    long = {"status": 400, "body": {"error": {"message": "x", "code": "context_length_exceeded"}}}
    down = {"status": 503, "times": 2}
    tools = Tools()
    answered = [{"tool_calls": [READ]}, {"tool_calls": [READ]}, long, down, DONE]
    options = {**tools.options, "compact": Summary(keep=1)}
    async with Outage({A: answered, B: down}, session=options, maxFallbackAttempts=1) as outage:
        with pytest.raises(StepFailed, match="503"):
            await outage.session.turn("Mend it.")
        kept = list(outage.session.conversation.messages)

    assert [len(calls(m)) for m in answers(outage.session)] == [1, 1, 0]
    assert kept == [*(await outage.session.transcript.store.load()).values()]
    assert not of(outage.events, Compacted)
    assert tools.ran == ["read a.py", "read a.py"]


async def test_without_a_way_to_shorten_it_a_conversation_that_is_too_long_ends_the_turn() -> None:
    long = {"status": 400, "body": {"error": {"message": "x", "code": "context_length_exceeded"}}}
    async with Outage({A: long}) as outage:
        with pytest.raises(StepFailed, match="too long for"):
            await outage.session.turn("hi")


async def test_a_turn_can_be_read_as_a_stream_of_events() -> None:
    tools = Tools()
    async with Outage({A: [{"tool_calls": [READ]}, DONE]}, session=tools.options) as outage:
        session = outage.session
        async with session.stream("Mend it.") as events:
            seen = [event async for event in events]

    assert seen == outage.events
    assert seen[-1] == TurnEnded("Done.", A, A)


async def test_a_stream_that_is_left_early_cancels_its_turn() -> None:
    tools = Tools()
    tools.may_end = anyio.Event()
    async with Outage({A: [{"tool_calls": [READ]}, DONE]}, session=tools.options) as outage:
        with anyio.fail_after(60):
            async with outage.session.stream("Mend it.") as events:
                async for event in events:
                    if isinstance(event, ToolRunStarted):
                        break
        ended = await outage.session.turn("Go on.")

    assert ended.text == "Done."


async def test_what_ends_a_streamed_turn_is_raised_where_its_block_ends() -> None:
    async with Outage({A: {"status": 401}}) as outage:
        with pytest.raises(ProviderError):
            async with outage.session.stream("hi") as events:
                seen = [event async for event in events]

    assert isinstance(seen[-1], TurnEnded)
    assert seen[-1].error is not None


CUT = {"reasoning": "Hm.", "tool_calls": [WRITE, READ], "after": 3, "error": 503}


SONNET, OPUS = B, Route("anthropic/claude-opus-4-8")


@pytest.mark.parametrize(
    ("settings", "routes", "slept"),
    [
        pytest.param({}, [SONNET, OPUS, SONNET], [4.0], id="two swaps"),
        pytest.param(
            {"maxUpstreamRetryAttempts": 2}, [SONNET, OPUS, SONNET, SONNET, SONNET],
            [4.0, 8.0, 16.0], id="two swaps and two retries",
        ),
        pytest.param({"maxFallbackAttempts": 1}, [SONNET, OPUS], [], id="one swap"),
        pytest.param({"maxWaitSeconds": 1}, [SONNET, OPUS, SONNET], [1.0], id="short waits"),
    ],
)  # fmt: skip
async def test_answers_that_break_off_after_a_tool_ran_end_the_turn_at_some_point(
    settings: dict[str, Any], routes: list[Route], slept: list[float]
) -> None:
    """A next step sees the result, in place of a retry within the step."""
    tools = Tools()
    options = {**tools.options, "eager": True}
    siblings: Any = {"fallbackModelsByModel": {SONNET: OPUS, OPUS: SONNET}}
    answered = {SONNET: [CUT], OPUS: [CUT]}
    outage = Outage(answered, route=SONNET, session=options, **siblings, **settings)
    async with outage:
        outage.middleware.rng.random = lambda: 0.0  # type: ignore[method-assign]
        with pytest.raises(FallbackUnsafe, match="the tool 'write' had run"):
            await outage.session.turn("Mend it.")

    assert outage.asked == routes
    assert tools.ran == ["write a.py"] * len(routes)
    assert outage.clock.slept == slept


async def test_where_no_attempt_is_left_a_broken_answer_whose_tool_ran_goes_on_elsewhere() -> None:
    """The step could neither try again nor move; the next one starts where it is healthy."""
    tools = Tools()
    options = {**tools.options, "eager": True}
    siblings: Any = {"fallbackModelsByModel": {SONNET: OPUS}, "maxFallbackAttempts": 1}
    answered = {SONNET: [{"status": 503}], OPUS: [CUT, DONE]}
    async with Outage(answered, route=SONNET, session=options, **siblings) as outage:
        ended = await outage.session.turn("Mend it.")

    assert ended.text == "Done."
    assert tools.ran == ["write a.py"]


async def test_a_call_of_no_tool_is_no_reason_not_to_try_again() -> None:
    tools = Tools()
    unknown = {"name": "delete", "input": {}}
    broken = {"reasoning": "Hm.", "tool_calls": [unknown, READ], "after": 3, "error": 503}
    options = {**tools.options, "eager": True}
    async with Outage({B: [broken], A: DONE}, route=B, session=options) as outage:
        ended = await outage.session.turn("Mend it.")

    assert ended.text == "Done."
    assert len(answers(outage.session)) == 1
    assert of(outage.events, ToolRunStarted) == []


async def test_a_turn_that_failed_is_gone_on_with_and_its_prompt_sent_once() -> None:
    async with Outage({A: [{"status": 400}, DONE], B: DONE}) as outage:
        with pytest.raises(ProviderError):
            await outage.session.turn("Mend it.")
        ended = await outage.session.turn(None)
        body = outage.stub.requests[-1].body

    assert ended.text == "Done."
    assert isinstance(body, dict)
    assert [message["role"] for message in body["messages"]] == ["user"]


async def test_without_anything_said_there_is_nothing_to_go_on_with() -> None:
    async with Outage({A: DONE}, session={"system": "Be brief."}) as outage:
        with pytest.raises(ValueError, match="the conversation is empty: give a prompt"):
            await outage.session.turn(None)
        await outage.session.turn("Mend it.")

    assert len(outage.stub.requests) == 1


async def test_a_side_call_before_the_first_turn_knows_what_the_store_has() -> None:
    store = MemoryStore()
    async with Outage({A: DONE}) as outage:
        await outage.open(store=store).turn("Mend it.")
        resumed = outage.open(store=store, session_budget=Budget(attempts=2))
        await resumed.side_call("A title?")
        with pytest.raises(BudgetExceeded, match="2 attempts of 2"):
            await resumed.side_call("Another?")
        body = outage.stub.requests[-1].body

    assert isinstance(body, dict)
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]


class Refusing(MemoryStore):
    """A store that has no room for the first message."""

    is_full = True

    async def append(self, message: Message) -> int:
        if self.is_full:
            self.is_full = False
            raise StoreError("no room")
        return await super().append(message)


async def test_what_is_said_between_two_steps_is_not_lost_where_the_store_has_no_room() -> None:
    async with Outage({A: DONE}, session={"store": Refusing()}) as outage:
        outage.session.steer("Stop.")
        with pytest.raises(StoreError, match="no room"):
            await outage.session.turn("Mend it.")
        await outage.session.turn("Go on.")
        body = outage.stub.requests[-1].body

    assert "Stop." in str(body)


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        pytest.param(None, ["Mend it."], id="goes on"),
        pytest.param("Mend it.", ["Mend it."], id="says it again"),
        pytest.param("Go on.", ["Mend it.", "Go on."], id="says something else"),
    ],
)
@pytest.mark.parametrize("is_new", [True, False], ids=["first turn", "second turn"])
async def test_a_prompt_that_could_not_be_stored_is_kept(
    prompt: str | None, said: list[str], *, is_new: bool
) -> None:
    store = Refusing()
    async with Outage({A: DONE}, session={"store": store}) as outage:
        if not is_new:
            store.is_full = False
            await outage.session.turn("Hello.")
            store.is_full = True
        with pytest.raises(StoreError, match="no room"):
            await outage.session.turn("Mend it.")
        await outage.session.turn(prompt)

    texts = [p for m in outage.session.conversation.messages if m.role == "user" for p in m.parts]
    assert texts == [Text(each) for each in ([] if is_new else ["Hello."]) + said]


async def test_an_eager_result_that_is_stored_late_is_told_at_once() -> None:
    tools = Tools()
    refused = ["save completed"]
    store = FailingStore(fails=lambda what: what in refused and refused.pop() == what)
    options = {**tools.options, "store": store, "eager": True}
    async with Outage({B: [{"tool_calls": [WRITE]}, DONE]}, route=B, session=options) as outage:
        ended = await outage.session.turn("Mend it.")

    assert ended.text == "Done."
    assert [event.state for event in of(outage.events, ToolRunEnded)] == ["completed"]
    assert calls(answers(outage.session)[0]) == [("write", "completed", "write a.py: ok")]
    assert [*(await store.load()).values()] == outage.session.conversation.messages


async def test_only_an_answer_that_could_not_be_stored_is_shown_with_the_error() -> None:
    store = FailingStore(fails=lambda what: what == "save completed")
    answered = {"text": "I write.", "tool_calls": [WRITE]}
    options = {**Tools().options, "store": store}
    async with Outage({A: answered}, session=options) as outage:
        with pytest.raises(StoreError):
            await outage.session.turn("Mend it.")

    assert of(outage.events, TurnEnded)[0].text == ""


async def test_a_session_stays_where_its_data_may_go() -> None:
    said: Any = {"providers": {"openrouter": {"boundary": "eu"}, "anthropic": {"boundary": "us"}}}
    options = {"boundary": "eu"}
    async with Outage({A: [DONE, {"status": 503}], B: DONE}, session=options, **said) as outage:
        await outage.session.turn("Mend it.")
        with pytest.raises(ProviderError) as caught:
            await outage.session.turn("Go on.")

    assert outage.asked == [A, A]
    assert "its boundary is 'us', and the step must stay in 'eu'" in caught.value.__notes__[0]


async def test_another_route_that_is_asked_for_answers_a_conversation_that_may_not_move() -> None:
    tools = Tools()
    answered = {A: [{"tool_calls": [READ]}, DONE], B: DONE}
    async with Outage(answered, session=tools.options, movePolicy="first_call") as outage:
        await outage.session.turn("Mend it.")
        outage.session.route = B
        ended = await outage.session.turn("Go on.")

    assert (ended.route, ended.requested) == (B, B)


async def test_a_session_asks_for_what_a_changed_configuration_calls_so() -> None:
    async with Outage({A: DONE, B: DONE}) as outage:
        environ = outage.environ
        del environ["SIDESTEP_FALLBACK_CONFIG"]
        environ["SIDESTEP_HINT"] = f"openrouter:{A.model},anthropic"
        session = Session("hint", middleware=outage.middleware, client=outage.client)
        first = await session.turn("Mend it.")
        environ["SIDESTEP_HINT"] = f"anthropic:{B.model},openrouter"
        second = await session.turn("Go on.")

    assert (first.route, first.requested) == (A, A)
    assert (second.route, second.requested) == (B, B)
    assert session.conversation.messages[-1].requested == B


async def test_a_call_with_arguments_that_are_too_long_is_not_run_and_kept_shortened() -> None:
    ran: list[str] = []

    def write(text: str) -> None:
        ran.append(text)

    tools = [Tool(write, longest_input=1_000)]
    call = {"tool_calls": [{"name": "write", "input": {"text": "x" * 2_000}}]}
    fits = {"tool_calls": [{"name": "write", "input": {"text": "x"}}]}
    async with Outage({A: [call, fits, DONE]}, session={"tools": tools}) as outage:
        ended = await outage.session.turn("go")
        kept = [part for m in outage.session.conversation.messages for part in m.parts]

    first, second = [part for part in kept if isinstance(part, ToolCall)]
    assert (ended.text, ran) == ("Done.", ["x"])
    assert (first.state, first.is_error, second.state) == ("error", True, "completed")
    assert len(first.input["text"]) < 1_000
    assert "left out here" in first.input["text"]
    assert str(first.output).startswith("'write' was not run: its arguments have 2")
    assert "x" * 1_001 not in str(outage.stub.requests[1].body)


async def test_a_call_of_no_tool_with_arguments_that_are_too_long_is_shortened_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sidestep.session.tool.tool.LONGEST_INPUT", 1_000)
    call = {"tool_calls": [{"name": "nothing", "input": {"text": "x" * 2_000}}]}
    async with Outage({A: [call, DONE]}) as outage:
        await outage.session.turn("go")
        kept = [part for m in outage.session.conversation.messages for part in m.parts]

    made = next(part for part in kept if isinstance(part, ToolCall))
    assert len(made.input["text"]) < 1_000
