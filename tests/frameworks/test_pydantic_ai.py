"""`sidestep.pydantic_ai`: agents of pydantic-ai, over real sockets."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

import sidestep
from sidestep import Route
from sidestep.pydantic_ai import SidestepModel

from .outage import (
    CALL,
    CLAUDE,
    GPT,
    MOVES,
    OUTAGES,
    REFUSED,
    STAYING,
    A,
    B,
    Played,
    bad_input,
    first_call,
    no_model,
    played,
    stays,
)

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.filterwarnings("ignore"),  # what a framework warns of is its own
]
LIMIT = 60.0
SHOWN_FIRST = ("error in the stream", "cut", "stall")
"""The outages in which output came before the fault."""


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def model_of(play: Played, route: Route) -> Model:
    base = play.base_url(route)
    if route.provider == "anthropic":
        claude = AsyncAnthropic(
            base_url=base.removesuffix("/v1"),
            api_key="stub-key",
            max_retries=0,
            http_client=play.http,
        )
        return AnthropicModel(route.model, provider=AnthropicProvider(anthropic_client=claude))
    client = AsyncOpenAI(base_url=base, api_key="stub-key", max_retries=0, http_client=play.http)
    kind = OpenAIResponsesModel if route.provider == "openai" else OpenAIChatModel
    return kind(route.model, provider=OpenAIProvider(openai_client=client))


def agent_of(play: Played, route: str = A, **options: Any) -> Any:
    def build(route: Route) -> Model:
        return model_of(play, route)

    return Agent(SidestepModel(play.middleware, route, build, **options), tools=[add])


async def messages_of(agent: Any, way: str, **options: Any) -> list[Any]:
    """Run *agent*, streamed if *way* says so, and return all messages."""

    async def read(_: Any, events: Any) -> None:
        async for _event in events:
            pass

    with anyio.fail_after(LIMIT):
        if way != "request":
            options["event_stream_handler"] = read
        return list((await agent.run("Add 1 and 2.", **options)).all_messages())


def results_in(messages: list[Any]) -> list[Any]:
    return [
        part.content
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


WAYS = [
    pytest.param(way, outage, id=f"{way}-{name}")
    for way in ("request", "whole", "live")
    for name, outage in OUTAGES.items()
    if way != "live" or name not in SHOWN_FIRST
]


def options_of(way: str) -> dict[str, Any]:
    return {} if way == "request" else {"stream": way}


@pytest.mark.parametrize(("way", "outage"), WAYS)
async def test_an_outage_ends_on_the_sibling(way: str, outage: Any) -> None:
    """The second request of the run does not ask the dead route again."""
    async with played({A: outage, B: [CALL, "The sum is 3."]}) as play:
        messages = await messages_of(agent_of(play, **options_of(way)), way)
        asked = play.stub.routes

    assert [part.content for part in messages[-1].parts] == ["The sum is 3."]
    assert results_in(messages) == [3]
    assert messages[-1].metadata == {"sidestep": {"route": B, "requested": A}}
    assert asked == [*([] if outage == REFUSED else [A]), B, B]


@stays
@pytest.mark.parametrize("way", ["request", "whole", "live"])
async def test_a_conversation_stays_on_the_route_that_answered(
    way: str, policy: str, second: Route
) -> None:
    async with played(STAYING, cooldown_seconds=0, return_policy=policy) as play:
        agent = agent_of(play, **options_of(way))
        first = await messages_of(agent, way)
        await messages_of(agent, way, message_history=first)

        assert play.stub.routes == [A, B, B, second]


@pytest.mark.parametrize(
    ("way", "outage"), [row for row in WAYS if row.values[1] != REFUSED]
)  # fmt: skip
async def test_an_outage_in_the_middle_keeps_the_results_of_tools(way: str, outage: Any) -> None:
    async with played({A: [CALL, outage], B: "The sum is 3."}) as play:
        messages = await messages_of(agent_of(play, **options_of(way)), way)
        asked, sent = play.stub.routes, play.last_messages

    assert [part.content for part in messages[-1].parts] == ["The sum is 3."]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    assert sent[-1]["content"] == "3"
    assert asked == [A, A, B]


@pytest.mark.parametrize(("first", "second"), MOVES)
async def test_a_conversation_moves_to_another_wire(first: Route, second: Route) -> None:
    """The stub refuses what the real provider would."""
    async with played({first: [first_call(first), 503], second: "3."}, strict=True) as play:
        messages = await messages_of(agent_of(play, first), "request")
        asked, sent = play.stub.routes, str(play.stub.requests[-1].body)

    assert messages[-1].parts[0].content == "3."
    assert asked == [first, first, second]
    assert [word in sent for word in ("Hm.", "c2lnbmVk", "rs_")] == [False] * 3


@pytest.mark.parametrize("name", SHOWN_FIRST)
async def test_live_a_failure_after_output_ends_the_run_and_the_next_starts_elsewhere(
    name: str,
) -> None:
    async with played({A: OUTAGES[name], B: "Whole."}) as play:
        agent = agent_of(play, stream="live")
        with pytest.raises(sidestep.StreamInterrupted) as raised:
            await messages_of(agent, "live")
        await messages_of(agent, "live")
        asked = play.stub.routes

    assert raised.value.emitted == "Half an "
    assert asked == [A, B]


async def texts_of(agent: Any) -> list[str]:
    async with agent.run_stream("Hi") as answer:
        return [text async for text in answer.stream_text(delta=True, debounce_by=None)]


@pytest.mark.parametrize(
    ("stream", "texts"),
    [
        pytest.param("whole", ["One two three"], id="whole"),
        pytest.param("live", ["One ", "two ", "thre", "e"], id="live"),
    ],
)
async def test_live_events_are_passed_on_as_they_come(stream: str, texts: list[str]) -> None:
    async with played({A: {"text": "One two three", "chunk": 4}, B: "x"}) as play:
        with anyio.fail_after(LIMIT):
            assert await texts_of(agent_of(play, stream=stream)) == texts


async def test_live_text_is_shown_before_the_end_was_sent() -> None:
    seen: list[str] = []

    async def read(agent: Any) -> None:
        async with agent.run_stream("Hi") as answer:
            async for text in answer.stream_text(delta=True, debounce_by=None):
                seen.append(text)  # noqa: PERF401 - what raises would take them along

    async with played({A: OUTAGES["stall"], B: "x"}) as play:
        with anyio.fail_after(LIMIT), pytest.raises(sidestep.StreamInterrupted):
            await read(agent_of(play, stream="live"))

    assert "".join(seen) == "Half an "


@pytest.mark.parametrize("reads_on", [True, False], ids=["and read on", "and left"])
@pytest.mark.parametrize("stream", ["whole", "live"])
async def test_a_stream_that_is_cancelled_is_no_fault_of_the_route(
    stream: str, reads_on: bool
) -> None:
    async with played({A: {"text": "One two three", "chunk": 4, "pace": 0.2}, B: "x"}) as play:
        with anyio.fail_after(LIMIT):
            async with agent_of(play, stream=stream).run_stream("Hi") as answer:
                texts = answer.stream_text(delta=True, debounce_by=None)
                await anext(texts)
                await answer.cancel()
                if reads_on:
                    async for _ in texts:
                        pass
        assert play.middleware.degraded.snapshot() == {}
        assert play.stub.routes == [A]


@pytest.mark.parametrize("way", ["request", "whole"])
async def test_an_answer_that_is_held_is_never_interrupted(way: str) -> None:
    async with played({A: OUTAGES["cut"], B: "Whole."}, on_partial="interrupt") as play:
        messages = await messages_of(agent_of(play, **options_of(way)), way)

    assert messages[-1].parts[0].content == "Whole."


def thinking(route: str | None, provider: str) -> ModelResponse:
    return ModelResponse(
        parts=[
            ThinkingPart("Hm.", id="rs_1", signature="proof", provider_name=provider),
            TextPart("Four.", id="msg_1", provider_name=provider),
        ],
        provider_name=provider,
        metadata={"sidestep": {"route": route, "requested": route}} if route else None,
    )


HISTORIES = [
    pytest.param(CLAUDE, "anthropic", CLAUDE, True, id="its own"),
    pytest.param(CLAUDE, "anthropic", None, True, id="of nobody, so of the requested route"),
    pytest.param(CLAUDE, "anthropic", B, False, id="of another route"),
    pytest.param(GPT, "openai", GPT, True, id="its own, over Responses"),
    pytest.param(GPT, "openai", B, False, id="of another route with the same provider's name"),
]


@pytest.mark.parametrize(("route", "provider", "writer", "kept"), HISTORIES)
async def test_only_its_own_reasoning_goes_to_a_route(
    route: Route, provider: str, writer: str | None, kept: bool
) -> None:
    history = [ModelRequest([UserPromptPart("2 and 2?")]), thinking(writer, provider)]
    async with played({route: "Seven.", B: "x"}) as play:
        await messages_of(agent_of(play, route), "request", message_history=history)
        sent = str(play.stub.requests[-1].body)

    assert [word in sent for word in ("Hm.", "proof", "Four.")] == [kept, kept, True]
    assert ("msg_1" in sent) is (kept and provider == "openai")


@bad_input
async def test_bad_input_is_refused_before_a_request(
    middleware: Any, route: str, build: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        SidestepModel(middleware, route, build, stream="live")


async def test_another_way_to_stream_is_refused_before_a_request() -> None:
    way: Any = "held"
    with pytest.raises(ValueError, match="'whole' or 'live'"):
        SidestepModel(sidestep.Sidestep(), A, no_model, stream=way)


async def test_a_sibling_without_a_model_is_passed_over() -> None:
    third = Route("zai/glm")
    skipped: list[Any] = []
    async with played({A: 503, B: "never", third: "Hello."}) as play:
        play.middleware.on_event = skipped.append

        def build(route: Route) -> Model:
            if route == B:
                raise KeyError("GROQ_API_KEY")
            return model_of(play, route)

        agent = Agent(SidestepModel(play.middleware, A, build))
        with anyio.fail_after(LIMIT):
            ended = await agent.run("Hi")

    (event,) = [each for each in skipped if isinstance(each, sidestep.CandidateSkipped)]
    assert ended.output == "Hello."
    assert "KeyError" in event.reason
