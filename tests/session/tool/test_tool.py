"""Tools that run: on asyncio and on trio, to their end, to their timeout, or cancelled."""

from __future__ import annotations

import asyncio
import copy
import functools
import pickle
import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.from_thread
import pytest
import trio.testing

from sidestep import Tool
from sidestep.provider.conversation import Image, Text
from sidestep.session.tool.tool import ToolResult, tools_by_name

from ...virtual import pass_time, passing_backend

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return passing_backend(str(request.param))


async def run(function: Callable[..., object], /, **given: Any) -> ToolResult:
    with anyio.fail_after(60):
        return await Tool(function, name="tool").run(given)


class Double:
    """Doubles, in every way in which a tool can be written."""

    def __call__(self, n: int) -> int:
        return 2 * n

    def plain(self, n: int) -> int:
        return 2 * n

    async def later(self, n: int) -> int:
        await anyio.lowlevel.checkpoint()
        return 2 * n

    def handed_on(self, n: int) -> object:
        return self.later(n)


class LaterDouble(Double):
    async def __call__(self, n: int) -> int:  # type: ignore[override]
        return 2 * n


def times(factor: int, n: int) -> int:
    return factor * n


@functools.wraps(times)
def wrapped(*args: int, **kwargs: int) -> int:
    return times(*args, **kwargs)


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(Double().plain, id="a method"),
        pytest.param(Double().later, id="an asynchronous method"),
        pytest.param(Double().handed_on, id="a coroutine from a plain one"),
        pytest.param(Double(), id="an object"),
        pytest.param(LaterDouble(), id="an asynchronous object"),
        pytest.param(lambda n: 2 * n, id="a lambda"),
        pytest.param(functools.partial(times, 2), id="a partial"),
        pytest.param(functools.partial(times, factor=2), id="a partial by name"),
        pytest.param(functools.partial(Double().later), id="an asynchronous partial"),
        pytest.param(functools.partial(wrapped, 2), id="a wrapped one"),
    ],
)
async def test_a_tool_says_what_its_function_returns(function: Callable[..., object]) -> None:
    result = await run(function, n=4)

    assert (result.output, result.is_error) == ("8", False)


async def test_a_plain_function_does_not_hold_up_the_loop() -> None:
    goes_on = threading.Event()
    outputs: list[object] = []

    async def wait() -> None:
        outputs.append((await run(lambda: goes_on.wait(60))).output)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        goes_on.set()

    assert outputs == ["true"]


async def test_pictures_are_handed_on() -> None:
    picture = Image("image/png", "AAAA")

    assert (await run(lambda: ["here", picture])).output == [Text("here"), picture]


async def test_a_long_output_is_cut() -> None:
    result = await Tool(lambda: "x" * 100_000, name="tool").run({})

    assert 49_990 <= len(result.output) <= 50_000
    assert "characters were left out here" in result.output


def raises(error: BaseException) -> Callable[[], None]:
    def tool() -> None:
        raise error

    return tool


class Untold(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param(ValueError("no such file"), "ValueError: no such file", id="a message"),
        pytest.param(ValueError(), "ValueError", id="no message"),
        pytest.param(Untold(), "Untold", id="one that cannot be told"),
        pytest.param(TimeoutError("slow"), "TimeoutError: slow", id="a timeout of its own"),
        pytest.param(OSError("a\0\ud800"), "OSError: a��", id="what cannot be sent"),
        pytest.param(
            ExceptionGroup("two", [ValueError("a"), ExceptionGroup("one", [OSError("b")])]),
            "ValueError: a\nOSError: b",
            id="a group",
        ),
    ],
)
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "asynchronous"])
async def test_what_a_tool_raises_is_told_to_the_model(
    error: Exception, told: str, is_async: bool
) -> None:
    async def later() -> None:
        raise error

    result = await run(later if is_async else raises(error))

    assert (result.output, result.is_error) == (told, True)


class Unshown:
    def __str__(self) -> str:
        raise RuntimeError("no text")


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        pytest.param(Unshown(), "RuntimeError: no text", id="no text"),
        pytest.param(nested(100_000), "RecursionError: ", id="too deep"),
    ],
)
async def test_a_tool_whose_output_cannot_be_shown_is_said_to_have_run(
    value: object, why: str
) -> None:
    result = await run(lambda: value)

    assert result.is_error
    assert f"It ran to its end, but what it returned cannot be shown ({why}" in str(result.output)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # on trio only a scope cancels
async def test_a_tool_that_waits_for_what_was_cancelled_does_not_end_the_turn() -> None:
    async def waits() -> None:
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task

    result = await Tool(waits, name="tool").run({})

    assert result.is_error
    assert result.output == "'tool' broke off: what it waited for was cancelled."


async def test_what_a_tool_raises_is_bounded() -> None:
    result = await Tool(raises(ValueError("x" * 1000)), name="tool", longest=200).run({})

    assert result.is_error
    assert 190 <= len(result.output) <= 200


async def test_the_end_of_an_iterator_is_told_as_well() -> None:
    assert (await run(raises(StopIteration()))).is_error


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=["exit", "ctrl-c"])
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "asynchronous"])
async def test_what_ends_the_program_is_let_through(error: BaseException, is_async: bool) -> None:
    async def later() -> None:
        raise error

    with pytest.raises(type(error)):
        await run(later if is_async else raises(error))


async def test_a_timeout_is_told_once_the_function_has_cleaned_up() -> None:
    cleaned: list[bool] = []

    async def tool() -> None:
        pass_time(31)
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            cleaned.append(True)

    with anyio.fail_after(60):
        result = await Tool(tool, timeout=30).run({})

    assert cleaned == [True]
    assert result.is_error
    assert "'tool' was stopped, because it had not ended after 30 s" in str(result.output)


async def test_a_plain_function_that_asks_is_stopped_by_the_timeout() -> None:
    def tool() -> None:
        never = threading.Event()
        anyio.from_thread.run_sync(pass_time, 31)
        while not never.wait(0.001):
            anyio.from_thread.check_cancelled()

    with anyio.fail_after(60):
        result = await Tool(tool, timeout=30).run({})

    assert result.is_error
    assert "was stopped" in str(result.output)


async def test_what_a_plain_function_returns_counts_however_late() -> None:
    passed = threading.Event()

    def tool() -> bool:
        anyio.from_thread.run_sync(pass_time, 31)
        return passed.wait(60)

    async def go_on() -> None:
        await anyio.sleep(31)
        passed.set()

    with anyio.fail_after(600):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(go_on)
            result = await Tool(tool, name="tool", timeout=30).run({})

    assert (result.output, result.is_error) == ("true", False)


async def test_a_cancellation_passes_and_is_joined() -> None:
    cleaned: list[bool] = []
    results: list[ToolResult] = []

    async def tool() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            cleaned.append(True)

    async def call() -> None:
        results.append(await Tool(tool).run({}))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()

    assert (cleaned, results) == ([True], [])


async def test_a_cancellation_waits_for_the_thread_of_a_plain_function() -> None:
    begun, goes_on, ended = threading.Event(), threading.Event(), threading.Event()

    def tool() -> None:
        begun.set()
        goes_on.wait(60)
        ended.set()

    async def let_go() -> None:
        with anyio.CancelScope(shield=True):
            await anyio.wait_all_tasks_blocked()
        goes_on.set()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as outer, anyio.create_task_group() as tasks:
            tasks.start_soon(Tool(tool).run, {})
            await anyio.to_thread.run_sync(begun.wait, 60)
            outer.start_soon(let_go)
            tasks.cancel_scope.cancel()

    assert ended.is_set()


def test_a_tool_has_ten_minutes() -> None:
    result = trio.run(
        Tool(anyio.sleep_forever).run,
        {},
        clock=trio.testing.MockClock(autojump_threshold=0),
    )

    assert "had not ended after 600 s" in str(result.output)


def test_a_tool_without_a_timeout_may_take_a_day() -> None:
    async def tool() -> str:
        await anyio.sleep(86_400)
        return "done"

    result = trio.run(
        Tool(tool, timeout=None).run,
        {},
        clock=trio.testing.MockClock(autojump_threshold=0),
    )

    assert result.output == "done"


COPIES = [
    pytest.param(lambda value: pickle.loads(pickle.dumps(value)), id="pickle"),  # noqa: S301
    pytest.param(copy.copy, id="copy"),
    pytest.param(copy.deepcopy, id="deepcopy"),
]


class Named(Tool):
    """An agent's own kind of tool, which is made in its own way."""

    def __init__(self, name: str) -> None:
        super().__init__(times, name=name)


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        pytest.param(Tool(times, timeout=3.0), {"factor": 2, "n": 3}, id="a function"),
        pytest.param(Tool(functools.partial(times, 2)), {"n": 3}, id="a partial"),
        pytest.param(Tool(Double().later), {"n": 3}, id="a method"),
        pytest.param(Tool(Double(), name="double"), {"n": 3}, id="an object"),
        pytest.param(Named("product"), {"factor": 2, "n": 3}, id="a subclass"),
    ],
)
async def test_a_tool_can_be_copied_and_runs_the_same(
    tool: Tool, given: dict[str, Any], copied: Callable[[Tool], Tool]
) -> None:
    other = copied(tool)

    assert await other.run(given) == ToolResult("6")
    assert (await other.run({})).is_error
    assert other.spec == tool.spec
    assert (type(other), other.timeout) == (type(tool), tool.timeout)


def test_tools_are_found_by_name_and_bare_functions_become_tools() -> None:
    shell = Tool(lambda: None, name="shell")

    tools = tools_by_name([shell, times])

    assert list(tools) == ["shell", "times"]
    assert tools["shell"] is shell
    assert tools["times"].function is times


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tools are named 'times': give one another name"):
        tools_by_name([times, Tool(lambda: None, name="times")])


@pytest.mark.parametrize("longest", [0, -1])
def test_a_tool_that_could_take_no_arguments_is_refused(longest: int) -> None:
    with pytest.raises(
        TypeError, match="`longest_input` of tool 'times' must be a number of bytes"
    ):
        Tool(times, longest_input=longest)
