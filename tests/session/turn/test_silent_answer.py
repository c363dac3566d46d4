"""However an answer breaks off, the tools that it started run to their ends."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from sidestep import Tool, ToolCall, ToolRunEnded
from sidestep.session.event import AttemptFailed

from ...virtual import virtual_backend
from .outage import A, B, Outage

CALLS = [{"name": "slow", "input": {"path": path}} for path in "ab"]

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return virtual_backend(str(request.param))


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"stall": True}, id="silence"),
        pytest.param({"stall": True, "keepalive": 10}, id="only comments"),
        pytest.param({"cut": True}, id="cut"),
        pytest.param({"reset": True}, id="reset"),
        pytest.param({"error": 503}, id="error"),
    ],
)
@pytest.mark.parametrize("is_parallel", [True, False])
async def test_an_eager_tool_outlasts_its_answer(fault: Any, *, is_parallel: bool) -> None:
    async def slow(path: str) -> str:
        """Work until the answer must have broken off."""
        await anyio.sleep(100)
        return f"{path}: done"

    answers = {B: [{"tool_calls": CALLS, "after": 2, **fault}, {"text": "Done."}], A: {"text": "!"}}
    options = {"tools": [Tool(slow, is_parallel=is_parallel)], "eager": True}
    timeouts = {"anthropic": {"connect": 9, "firstEvent": 30, "gap": 30}}
    async with Outage(answers, route=B, session=options, timeouts=timeouts) as outage:
        await outage.session.turn("hi")

    (failed,) = [event for event in outage.events if isinstance(event, AttemptFailed)]
    calls = [
        part
        for message in outage.session.conversation.messages
        for part in message.parts
        if isinstance(part, ToolCall)
    ]
    ended = [event for event in outage.events if isinstance(event, ToolRunEnded)]
    assert failed.failure.kind in {"timeout", "truncated", "server_error", "network"}
    assert calls
    assert all(call.state == "completed" for call in calls)
    assert [event.output for event in ended] == [call.output for call in calls]
