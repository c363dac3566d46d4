"""What ends the program, raised by a tool or a listener, reaches the agent as it was raised."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import anyio
import pytest

from sidestep import (
    Event,
    SqliteStore,
    TextDelta,
    Tool,
    ToolCall,
    ToolCallEnded,
    ToolRunEnded,
    ToolRunStarted,
)

from .outage import B, Outage

CALLS = [{"name": "stop", "input": {}}, {"name": "wait", "input": {}}]
ANSWER = {"text": "So.", "tool_calls": CALLS}

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Stop(BaseException):
    """As a Ctrl-C on trio, but asyncio passes it on as well."""


@pytest.mark.parametrize("eager", [False, True], ids=["at the end", "eager"])
@pytest.mark.parametrize("parallel", [False, True], ids=["alone", "parallel"])
@pytest.mark.parametrize(
    "where",
    [
        pytest.param(None, id="in a tool"),
        pytest.param(TextDelta, id="in a listener, at a text"),
        pytest.param(ToolCallEnded, id="in a listener, at a call"),
        pytest.param(ToolRunStarted, id="in a listener, when a tool starts"),
        pytest.param(ToolRunEnded, id="in a listener, when a tool has ended"),
    ],
)
async def test_what_ends_the_program_ends_the_turn(
    where: type[Event] | None, *, parallel: bool, eager: bool
) -> None:
    counted: Counter[str] = Counter()
    is_over = False

    async def stop() -> None:
        """Stop."""
        if where is None:
            raise Stop

    async def wait() -> None:
        """Wait until the turn ends."""
        if not is_over:
            await anyio.sleep_forever()

    def listen(event: Event) -> None:
        counted[type(event).__name__] += 1
        if where is not None and isinstance(event, where) and not is_over:
            raise Stop

    tools = [Tool(stop, is_parallel=parallel), Tool(wait, is_parallel=parallel)]
    options = {"tools": tools, "eager": eager}
    async with Outage({B: [ANSWER, {"text": "Done."}]}, route=B, session=options) as outage:
        outage.session.on_event = listen
        with anyio.fail_after(60), pytest.raises(Stop):
            await outage.session.turn("Go.")
        is_over = True
        ended = await outage.session.turn(None)
        messages = outage.session.conversation.messages

    assert ended.text == "Done."
    assert counted["ToolRunStarted"] == counted["ToolRunEnded"]
    states = {part.state for each in messages for part in each.parts if isinstance(part, ToolCall)}
    assert not states & {"pending", "running"}


@pytest.mark.parametrize("eager", [False, True], ids=["at the end", "eager"])
@pytest.mark.parametrize("is_async", [False, True], ids=["in a thread", "in the loop"])
async def test_a_tool_that_raises_generator_exit_ends_the_turn(
    tmp_path: Path, *, is_async: bool, eager: bool
) -> None:
    def stop() -> None:
        """Stop."""
        raise GeneratorExit

    async def stop_later() -> None:
        """Stop."""
        stop()

    ended: list[str] = []
    tool = Tool(stop_later if is_async else stop, name="stop")
    answer = {"text": "So.", "tool_calls": CALLS[:1]}
    async with (
        SqliteStore(tmp_path / "session.db") as store,
        Outage(
            {B: [answer, {"text": "Done."}]},
            route=B,
            session={"tools": [tool], "eager": eager, "store": store},
        ) as outage,
    ):
        outage.session.on_event = lambda event: ended.append(type(event).__name__)
        with anyio.fail_after(60), pytest.raises(GeneratorExit):
            await outage.session.turn("Go.")
        messages = outage.session.conversation.messages

    assert ended.count("ToolRunEnded") == ended.count("TurnEnded") == 1
    states = {part.state for each in messages for part in each.parts if isinstance(part, ToolCall)}
    assert states == {"interrupted"}
