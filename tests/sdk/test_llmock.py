"""Every fault of llmock, another project's stub, before our session, on the four wires.

The rows come from llmock's own tables, so that each new fault of llmock is a new row. llmock also
judges our client. It finds nothing wrong, with two exceptions: it does not know siblings
(`UNSEEN`), and in the marked places it differs from the real APIs.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, get_args

import anyio
import pytest
from llmock.chaos import STREAM_FAULT_KINDS, ChaosSettings, StreamChaos
from llmock.completion import FinishReason
from llmock.scenarios import (
    Behavior,
    Delay,
    Fail,
    Reply,
    SlowFirstToken,
    StreamFault,
    StreamFaultKind,
    ToolFault,
    ToolFaultKind,
)
from llmock.scenarios import ToolCall as Called
from llmock.simulation import SUPPORTED_ERROR_STATUS_CODES, _build_error_content
from llmock.testing import LLMockServer

from sidestep import ContextOverflow, SidestepError, Summary, TurnEnded
from sidestep.provider.conversation import Text, ToolCall
from sidestep.session.drill.judge import shown
from sidestep.session.plan.config import FallbackConfig

from .llmock_outage import PRIMARY, SIBLING, WIRES, LlmockOutage

pytestmark = [pytest.mark.asyncio, pytest.mark.filterwarnings("ignore")]

LIMIT = 86_400  # virtual seconds that a test may take
UNSEEN = {"gave_up", "truncated_stream_accepted", "malformed_chunk_ignored"}
"""The complaints of llmock about a request if its last attempt went to a sibling."""

# llmock counts all that it has sent as read, although the client had left.
SENT = defaultdict(set, malformed={"malformed_chunk_ignored"})

each_wire = pytest.mark.parametrize("wire", WIRES)
each_count = pytest.mark.parametrize("times", [1, None], ids=["once", "always"])


@pytest.fixture(scope="module")
def server() -> Iterator[LLMockServer]:
    with LLMockServer() as running:
        yield running


@dataclass(frozen=True)
class Ends:
    """How a turn ends if its first request meets a fault, and if every request does.

    Args:
        once, always: The text of the answer; None: a clear error.
    """

    once: str | None
    always: str | None


CURED = Ends(PRIMARY, SIBLING)
MOVED = Ends(SIBLING, SIBLING)
ENDED = Ends(None, None)
UNLISTED = Ends(PRIMARY, None)
"""It is retried; the coordinator's list of statuses does not have it."""

STATUSES = {
    **dict.fromkeys((408, 429, 500, 502, 503, 504, 529), CURED),
    **dict.fromkeys((402, 413), MOVED),
    **dict.fromkeys((400, 401, 403, 404, 422), ENDED),
    **dict.fromkeys((409, 501), UNLISTED),
}
# A request that is too large for a Claude calls for `compact`, as a conversation that is too long.
STATUSES_OF_WIRE = {("anthropic", 413): ENDED}


def code_of(status: int) -> str:
    """Return the code of the error that llmock answers *status* with."""
    return str(_build_error_content("openai", status)["error"]["code"])


NAMED = [status for status in SUPPORTED_ERROR_STATUS_CODES if code_of(status) != f"http_{status}"]
UNNAMED = [status for status in SUPPORTED_ERROR_STATUS_CODES if status not in NAMED]


async def check(outage: LlmockOutage, text: str | None, error: str = "") -> int:
    """Take a turn that ends with *text*, or with an *error*; return how often llmock was asked."""
    with anyio.fail_after(LIMIT):
        if text is None:
            with pytest.raises(SidestepError, match=error):
                await outage.session.turn("Why does test_parser fail?")
        else:
            ended = await outage.session.turn("Why does test_parser fail?")
            check_answer(outage, ended, text)
        await outage.clock.sleep(0)
    return len(outage.llmock.requests)


def check_answer(outage: LlmockOutage, ended: TurnEnded, text: str) -> None:
    """Check that nothing but *text* is returned, shown and kept, with the route that gave it."""
    assert (ended.text, ended.route) == (text, outage.routes[text])
    answer = outage.session.conversation.messages[-1]
    kept = [part.text for part in answer.parts if isinstance(part, Text)]
    assert (kept, len(answer.parts), answer.route) == ([text], 1, outage.routes[text])
    assert shown(outage.events) == text


@each_wire
@each_count
@pytest.mark.parametrize("status", NAMED)
async def test_a_status_that_llmock_has_a_name_for(
    server: LLMockServer, wire: str, status: int, times: int | None
) -> None:
    ends = STATUSES_OF_WIRE.get((wire, status), STATUSES[status])
    text = ends.always if times is None else ends.once
    async with LlmockOutage(server, wire, Fail(status, times=times)) as outage:
        await check(outage, text, f" {status}: ")

        assert await outage.found() - UNSEEN == set()
        assert text == SIBLING or not await outage.found()


@pytest.mark.parametrize("status", UNNAMED)
async def test_a_status_that_llmock_has_no_name_for(server: LLMockServer, status: int) -> None:
    """The edge's own statuses move; else the coordinator's list says what moves."""
    listed = FallbackConfig(fallback_models_by_model={}).fallback_on_errors
    text = SIBLING if status in {*listed, 521, 523, 525, 526, 527, 530} else None
    wire = WIRES[status % len(WIRES)]
    async with LlmockOutage(server, wire, Fail(status, times=None)) as outage:
        asked = await check(outage, text, f" {status}: ")

        is_retried = status >= 500 or status in {425, 499}
        assert asked == (3 if is_retried else 1) + (text is not None)
        assert await outage.found() - UNSEEN == set()


@each_wire
@pytest.mark.parametrize("status", [status for status, ends in STATUSES.items() if ends != CURED])
async def test_a_status_that_the_coordinator_lists_moves(
    server: LLMockServer, wire: str, status: int
) -> None:
    """But a conversation that is too long does not."""
    text = None if (wire, status) in STATUSES_OF_WIRE else SIBLING
    fault = Fail(status, times=None)
    async with LlmockOutage(server, wire, fault, fallbackOnErrors=[status]) as outage:
        await check(outage, text)


@each_wire
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, PRIMARY), (0.1, PRIMARY), (7, PRIMARY), (45, SIBLING), (61, SIBLING), (7200, SIBLING)],
)
async def test_a_route_is_not_asked_before_the_time_it_named(
    server: LLMockServer, wire: str, status: int, seconds: float, text: str
) -> None:
    async with LlmockOutage(server, wire, Fail(status, retry_after=seconds)) as outage:
        await check(outage, text)

        assert sum(outage.clock.slept) >= (seconds if text == PRIMARY else 0)
        assert await outage.found() == ({"gave_up"} if text == SIBLING else set())


@each_wire
@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.parametrize("kind", get_args(StreamFaultKind))
async def test_a_stream_that_always_breaks_is_left(
    server: LLMockServer, wire: str, kind: str, after: int
) -> None:
    fault = StreamFault(kind, after_chunks=after, stall_seconds=300, times=None)
    async with LlmockOutage(server, wire, fault) as outage:
        assert await check(outage, SIBLING) == 4

        assert await outage.found() - UNSEEN == set()


@each_wire
@pytest.mark.parametrize("kind", get_args(StreamFaultKind))
async def test_a_stream_that_breaks_anywhere_is_asked_for_again(
    server: LLMockServer, wire: str, kind: str
) -> None:
    """If no more than the count and the end marker is missing, the answer is whole."""
    retried = []
    for after in range(100):
        fault = StreamFault(kind, after_chunks=after, stall_seconds=300)
        async with LlmockOutage(server, wire, fault) as outage:
            asked = await check(outage, PRIMARY)
            was_cut = any(record.fault for record in outage.llmock.requests)
            if not was_cut:
                break
            retried.append(asked == 2)
            assert asked == 1 or await outage.found() <= SENT[kind]

    assert len(retried) > 4
    assert all(retried[:-2])


@dataclass(frozen=True)
class Slow:
    """A wait in seconds, and what llmock finds although it is shorter than our limits."""

    fault: Any
    ends: Ends = CURED
    found: frozenset[str] = frozenset()


IN_TIME = Ends(PRIMARY, PRIMARY)
NO_TIMEOUT = frozenset({"no_read_timeout"})
SLOW = {
    "the answer is late": Slow(Delay(5), IN_TIME),
    "the first token is late": Slow(SlowFirstToken(5), IN_TIME),
    # Untrue: a model that thinks pauses longer than a second.
    "a pause": Slow(StreamFault("stall", stall_seconds=5), IN_TIME, NO_TIMEOUT),
    "the answer is too late": Slow(Delay(300)),
    "the first token is too late": Slow(SlowFirstToken(300)),
    "the pause is too long": Slow(StreamFault("stall", stall_seconds=300)),
}


@each_wire
@each_count
@pytest.mark.parametrize("name", SLOW)
async def test_a_route_that_is_slow_is_waited_for_as_long_as_its_limit(
    server: LLMockServer, wire: str, name: str, times: int | None
) -> None:
    slow = SLOW[name]
    text = slow.ends.always if times is None else slow.ends.once
    async with LlmockOutage(server, wire, replace(slow.fault, times=times)) as outage:
        await check(outage, text)

        assert await outage.found() - UNSEEN == slow.found


FINISHES = {
    **dict.fromkeys(("stop", "length", "tool_calls"), PRIMARY),
    "content_filter": None,
}
# Untrue: the real API ends such an answer as incomplete, llmock as completed.
FINISHES_OF_WIRE = {("openai-responses", "content_filter"): PRIMARY}


@each_wire
@pytest.mark.parametrize("reason", get_args(FinishReason))
async def test_a_reason_to_stop(server: LLMockServer, wire: str, reason: str) -> None:
    """What a filter stopped is not asked for again, here or elsewhere."""
    text = FINISHES_OF_WIRE.get((wire, reason), FINISHES[reason])
    async with LlmockOutage(server, wire, Reply(text=PRIMARY, finish_reason=reason)) as outage:
        assert await check(outage, text, "content_filter|refusal") == 1

        assert await outage.found() == set()


def look(path: str) -> str:
    """Look at a file."""
    return path


TOOL_FAULTS = {
    "malformed_arguments": [("look", "completed")],
    "unknown_tool": [("llmock_unknown_tool", "error")],
}
# Untrue: llmock sends no arguments here, where Gemini would end with MALFORMED_FUNCTION_CALL.
TOOL_FAULTS_OF_WIRE = {("gemini", "malformed_arguments"): [("look", "error")]}


@each_wire
@pytest.mark.parametrize("kind", get_args(ToolFaultKind))
async def test_a_call_that_cannot_run_does_not_run(
    server: LLMockServer, wire: str, kind: str
) -> None:
    """The model calls again, or is told what is wrong."""
    call = Reply(tool_calls=(Called("look", {"path": "parser.py"}),), times=2)
    replies = [call] if kind == "malformed_arguments" and wire != "gemini" else []
    async with LlmockOutage(
        server, wire, ToolFault(kind), *replies, session={"tools": [look]}
    ) as outage:
        ended = await outage.session.turn("Why does test_parser fail?")

        assert (ended.text, ended.route) == (PRIMARY, outage.route)
        parts = [part for each in outage.session.conversation.messages for part in each.parts]
        calls = [(part.name, part.state) for part in parts if isinstance(part, ToolCall)]
        assert calls == TOOL_FAULTS_OF_WIRE.get((wire, kind), TOOL_FAULTS[kind])
        assert await outage.found() == set()


@each_wire
@pytest.mark.parametrize("kind", get_args(ToolFaultKind))
async def test_a_model_that_never_calls_well_comes_to_an_end(
    server: LLMockServer, wire: str, kind: str
) -> None:
    """A call that cannot be read moves; one that fits no tool is the model's to correct."""
    moves = kind == "malformed_arguments" and wire != "gemini"
    options = {"tools": [look], "max_steps": 8}
    async with LlmockOutage(server, wire, ToolFault(kind, times=None), session=options) as outage:
        if moves:
            ended = await outage.session.turn("Why does test_parser fail?")
            assert (ended.text, ended.route) == (SIBLING, outage.sibling)
        else:
            with pytest.raises(SidestepError):
                await outage.session.turn("Why does test_parser fail?")
        assert len(outage.llmock.requests) <= 8


@each_wire
@pytest.mark.parametrize("limits", [{"rpm": 2}, {"tpm": 9000}, {"rpm": 3, "tpm": 12_000}], ids=str)
async def test_a_quota_slows_the_turns_down(
    server: LLMockServer, wire: str, limits: dict[str, int]
) -> None:
    options = {"max_output_tokens": 4000}
    async with LlmockOutage(server, wire, session=options) as outage:
        outage.llmock.limits(**limits)
        with anyio.fail_after(LIMIT):
            for _ in range(5):
                ended = await outage.session.turn("And the next test?")
                assert ended.route == outage.routes[ended.text]

        refused = [record for record in outage.llmock.requests if record.status == 429]
        assert refused
        assert await outage.found() - UNSEEN == set()


@each_wire
async def test_a_conversation_that_is_too_long_is_compacted(
    server: LLMockServer, wire: str
) -> None:
    async with LlmockOutage(server, wire, session={"compact": Summary()}) as outage:
        outage.llmock.limits(context_window=300)
        with anyio.fail_after(LIMIT):
            for number in range(6):
                ended = await outage.session.turn(f"{number}. " + "Why? " * 80)
                assert (ended.text, ended.route) == (PRIMARY, outage.route)

        assert any(record.fault == "context_window" for record in outage.llmock.requests)
        assert await outage.found() == set()


@each_wire
async def test_a_conversation_that_is_too_long_ends_clearly_without_compaction(
    server: LLMockServer, wire: str
) -> None:
    async with LlmockOutage(server, wire) as outage:
        outage.llmock.limits(context_window=300)
        with pytest.raises(ContextOverflow):
            await outage.session.turn("Why? " * 400)

        assert len(outage.llmock.requests) == 1


def storm() -> tuple[ChaosSettings, StreamChaos]:
    """Return rates at which nearly every second request meets a fault, of every kind."""
    statuses = dict.fromkeys((429, 500, 503, 504, 529), 0.25 / 5)
    streams = tuple((kind, 0.25 / len(STREAM_FAULT_KINDS)) for kind in STREAM_FAULT_KINDS)
    return (
        ChaosSettings(latency_ms=200, error_rates=statuses),
        StreamChaos(fault_rates=streams, stall_seconds=300, chunk_delay_ms=20),
    )


@each_wire
async def test_no_turn_is_lost_in_a_storm(
    server: LLMockServer, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llmock.chaos.random", random.Random(7))
    async with LlmockOutage(server, wire, is_at_stub=True) as outage:
        outage.state.chaos, outage.state.stream_chaos = storm()
        with anyio.fail_after(LIMIT):
            for _ in range(30):
                ended = await outage.session.turn("And the next test?")
                check_answer(outage, ended, ended.text)
                outage.events.clear()

        assert len({record.fault for record in outage.llmock.requests}) > 3
        assert await outage.found() - UNSEEN <= NO_TIMEOUT


@each_wire
async def test_an_address_at_which_nothing_is_served_is_named(
    server: LLMockServer, wire: str
) -> None:
    async with LlmockOutage(server, wire, base="/nowhere") as outage:
        await check(outage, None, r"not_found 404: .*asked at http://127\.0\.0\.1:\d+/nowhere/")


async def test_every_behaviour_of_llmock_is_played() -> None:
    assert set(get_args(Behavior)) == {
        Delay, Fail, Reply, SlowFirstToken, StreamFault, ToolFault,
    }  # fmt: skip
    assert set(STREAM_FAULT_KINDS) == set(get_args(StreamFaultKind))
