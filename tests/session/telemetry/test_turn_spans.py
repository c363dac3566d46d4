"""The spans of turns and tools of our own loop, and what they count."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from typing import Any

import anyio
import httpx
import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind

from sidestep import FallbackExhausted, Tool

from ..turn.outage import A, B, Outage
from .seen import Seen, attributes_of

STEP, FIRST, SECOND = "chat anthropic/claude-sonnet-5", f"attempt {A}", f"attempt {B}"
CALLS = {
    "tool_calls": [{"name": "look", "input": {"at": "a"}}, {"name": "look", "input": {"at": "b"}}]
}
DONE = {"text": "Done."}

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture(autouse=True)
def _nothing_is_left(seen: Seen) -> Iterator[None]:
    yield
    gc.collect()
    assert seen.open == 0
    assert not trace.get_current_span().is_recording()


async def look(at: str) -> str:
    """Look somewhere."""
    await anyio.sleep(0.001)
    return f"seen {at}"


async def test_a_turn_has_a_span_around_its_steps_and_tools(seen: Seen) -> None:
    async with Outage({A: [CALLS, DONE]}, session={"tools": [look]}) as outage:
        seen.watch(outage.middleware, agent_name="tiny")
        with seen.tracer.start_as_current_span("the agent"):
            await outage.session.turn("hi")

    step = [f"    {STEP}", f"      {FIRST}"]
    tools = ["    execute_tool look"] * 2
    assert seen.tree == ["the agent", "  invoke_agent tiny", *step, *tools, *step]
    turn, tool = seen.only("invoke_agent tiny"), seen.named("execute_tool look")[0]
    assert (turn.kind, tool.kind) == (SpanKind.INTERNAL, SpanKind.INTERNAL)
    assert attributes_of(turn) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "tiny",
        "gen_ai.request.model": "anthropic/claude-sonnet-5",
        "sidestep.route": A,
    }
    assert attributes_of(tool) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.agent.name": "tiny",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": attributes_of(tool)["gen_ai.tool.call.id"],
    }


@pytest.mark.parametrize("is_parallel", [False, True], ids=["one by one", "side by side"])
async def test_what_a_tool_does_is_below_its_span(seen: Seen, is_parallel: bool) -> None:
    async def work(at: str) -> str:
        with seen.tracer.start_as_current_span(f"work {at}"):
            await anyio.sleep(0.001)
        return at

    tool = Tool(work, name="look", description="Work.", is_parallel=is_parallel)
    async with Outage({A: [CALLS, DONE]}, session={"tools": [tool]}) as outage:
        seen.watch(outage.middleware)
        await outage.session.turn("hi")

    tools = {span.context.span_id: attributes_of(span) for span in seen.named("execute_tool look")}
    assert len(tools) == 2
    for at in "ab":
        parent = seen.only(f"work {at}").parent
        assert parent is not None
        assert parent.span_id in tools
    assert len({seen.only(f"work {at}").parent.span_id for at in "ab"}) == 2  # type: ignore[union-attr]


async def test_a_tool_that_runs_while_the_answer_streams_is_a_child_of_the_turn(
    seen: Seen,
) -> None:
    options = {"tools": [look], "eager": True}
    async with Outage({A: [CALLS, DONE]}, session=options) as outage:
        seen.watch(outage.middleware)
        await outage.session.turn("hi")

    tools = seen.named("execute_tool look")
    assert [seen.parent_of(tool) for tool in tools] == ["invoke_agent"] * 2
    assert [seen.parent_of(step) for step in seen.named(STEP)] == ["invoke_agent"] * 2


async def test_a_side_call_and_another_agent_in_a_tool_are_below_the_tool(seen: Seen) -> None:
    async def delegate(at: str) -> str:
        """Ask another agent."""
        answer = await outage.session.side_call("what is it about?")
        ended = await outage.open(tools=[]).turn(f"look at {at}")
        return answer + ended.text

    call = {"tool_calls": [{"name": "delegate", "input": {"at": "a"}}]}
    answers = [call, {"text": "an aside"}, {"text": "delegated"}, DONE]
    async with Outage({A: answers}, session={"tools": [delegate]}) as outage:
        seen.watch(outage.middleware)
        await outage.session.turn("hi")

    assert seen.tree == [
        "invoke_agent",
        *(f"  {STEP}", f"    {FIRST}"),
        "  execute_tool delegate",
        *(f"    {STEP}", f"      {FIRST}"),
        "    invoke_agent",
        *(f"      {STEP}", f"        {FIRST}"),
        *(f"  {STEP}", f"    {FIRST}"),
    ]


async def test_a_tool_that_fails_and_a_turn_that_fails_say_so(seen: Seen) -> None:
    async def look(at: str) -> str:
        """Look somewhere."""
        raise OSError(at)

    answers: dict[Any, Any] = {A: [CALLS, {"status": 503}], B: {"status": 503}}
    async with Outage(answers, session={"tools": [look]}) as outage:
        seen.watch(outage.middleware)
        with pytest.raises(FallbackExhausted):
            await outage.session.turn("hi")

    tool, turn = seen.named("execute_tool look")[0], seen.only("invoke_agent")
    assert attributes_of(tool)["error.type"] == "tool_error"
    assert attributes_of(turn)["error.type"] == "FallbackExhausted"


async def test_a_turn_that_is_cancelled_in_a_tool_ends_every_span(seen: Seen) -> None:
    async def look(at: str) -> str:
        """Look somewhere."""
        scope.cancel()
        await anyio.sleep_forever()
        return at

    scope = anyio.CancelScope()
    async with Outage({A: [CALLS, DONE]}, session={"tools": [look]}) as outage:
        seen.watch(outage.middleware)
        with scope:
            await outage.session.turn("hi")

    tool, turn = seen.only("execute_tool look"), seen.only("invoke_agent")
    assert [attributes_of(each)["error.type"] for each in (tool, turn)] == ["cancelled"] * 2


async def test_a_stream_that_is_left_ends_every_span(seen: Seen) -> None:
    answer = {"text": "one two three four", "chunk": 4, "pace": 0.05}
    async with Outage({A: answer}) as outage:
        seen.watch(outage.middleware)
        async with outage.session.stream("hi") as events:
            async for event in events:
                if type(event).__name__ == "TextDelta":
                    break

    assert {attributes_of(span)["error.type"] for span in seen.spans} == {"cancelled"}
    assert seen.tree == ["invoke_agent", f"  {STEP}", f"    {FIRST}"]


async def test_the_step_has_what_was_asked_and_what_the_provider_counted(seen: Seen) -> None:
    async with Outage(
        {A: {"text": "hello"}}, session={"max_output_tokens": 99, "reasoning": "low"}
    ) as outage:
        seen.watch(outage.middleware)
        await outage.session.turn("hi")

    found = attributes_of(seen.only(STEP))
    assert found["gen_ai.request.stream"] is True
    assert found["gen_ai.request.max_tokens"] == 99
    assert found["gen_ai.request.reasoning.level"] == "low"
    assert found["gen_ai.response.finish_reasons"] == ("stop",)
    assert found["gen_ai.usage.input_tokens"] > 0
    assert found["gen_ai.usage.output_tokens"] > 0
    assert found["gen_ai.response.time_to_first_chunk"] > 0


async def test_what_our_own_client_sends_is_below_the_span_of_its_attempt(seen: Seen) -> None:
    """An instrumentation of httpx takes what is current when the request is sent."""
    sent_in: list[trace.SpanContext] = []

    async def send(_: httpx.Request) -> None:
        sent_in.append(trace.get_current_span().get_span_context())

    async with Outage({A: {"status": 503}, B: {"text": "hello"}}) as outage:
        outage.http.event_hooks = {"request": [send]}
        seen.watch(outage.middleware)
        await outage.session.turn("hi")
        await outage.session.side_call("and?")

    attempts = (FIRST, SECOND, SECOND)
    spans = {span.context.span_id: span.name for span in seen.spans if span.context}
    assert [spans[each.span_id] for each in sent_in] == list(attempts)
    assert len({each.span_id for each in sent_in}) == 3


CONTENT = (
    "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions",
    "gen_ai.tool.definitions", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
)  # fmt: skip
SECRET = "sk-" + "abcdefghijklmnopqrstuvwxyz"


async def say(seen: Seen, **options: Any) -> None:
    session = {"tools": [look], "system": "Be brief."}
    async with Outage({A: [CALLS, DONE]}, session=session) as outage:
        seen.watch(outage.middleware, **options)
        await outage.session.turn(f"hi, my key is {SECRET}")


async def test_no_span_holds_what_was_said_unless_it_is_asked_for(seen: Seen) -> None:
    await say(seen)

    texts = str([(span.name, attributes_of(span), span.events) for span in seen.spans])
    assert not any(name in texts for name in CONTENT)
    assert not any(word in texts for word in ("my key", "Be brief", "seen a", "Done."))


async def test_what_was_said_is_in_the_form_of_the_conventions_and_without_keys(
    seen: Seen,
) -> None:
    await say(seen, capture_content=True)

    turn, tool, step = (
        attributes_of(seen.named(name)[-1]) for name in ("invoke_agent", "execute_tool look", STEP)
    )
    assert json.loads(turn["gen_ai.input.messages"]) == [
        {"role": "user", "parts": [{"type": "text", "content": "hi, my key is [key]"}]}
    ]
    assert json.loads(turn["gen_ai.output.messages"]) == [
        {
            "role": "assistant",
            "parts": [{"type": "text", "content": "Done."}],
            "finish_reason": "stop",
        }
    ]
    assert json.loads(tool["gen_ai.tool.call.arguments"]) == {"at": "b"}
    assert json.loads(tool["gen_ai.tool.call.result"]) == "seen b"
    assert json.loads(step["gen_ai.system_instructions"]) == [
        {"type": "text", "content": "Be brief."}
    ]
    user, called, results = json.loads(step["gen_ai.input.messages"])
    assert (user["role"], called["role"], results["role"]) == ("user", "assistant", "tool")
    assert [part["type"] for part in called["parts"]] == ["tool_call"] * 2
    assert [part["response"] for part in results["parts"]] == ["seen a", "seen b"]
    assert json.loads(step["gen_ai.tool.definitions"])[0]["name"] == "look"
    assert SECRET not in str([attributes_of(span) for span in seen.spans])


async def test_half_an_emoji_in_what_was_said_becomes_a_question_mark(seen: Seen) -> None:
    """Because an exporter could not write it, and would lose its whole batch."""
    async with Outage({A: DONE}) as outage:
        seen.watch(outage.middleware, capture_content=True, agent_name="tiny \ud83d")
        await outage.session.turn("hi \ud83d")

    texts = str([attributes_of(span) for span in seen.spans])
    assert "hi ?" in texts
    assert "tiny ?" in texts
    assert "ud83d" not in texts


async def test_the_metrics_count_each_request_with_its_route(seen: Seen) -> None:
    cut = {"text": "half an answer", "cut": True}
    async with Outage({A: cut, B: {"text": "hello"}}) as outage:
        seen.watch(outage.middleware)
        await outage.session.turn("hi")

    providers = {
        found["gen_ai.provider.name"]: count
        for found, count in seen.points("gen_ai.client.inference.operation.input_tokens")
    }
    assert providers == {"openrouter": 1, "anthropic": 1}
    ((step, count),) = seen.points("gen_ai.client.inference.duration")
    assert (step["gen_ai.provider.name"], count) == ("anthropic", 1)
    ((_, calls),) = seen.points("gen_ai.invoke_agent.inference_calls")
    assert calls == 1
