"""`sidestep.langchain`: agents of LangChain, over real sockets."""

from __future__ import annotations

from functools import cached_property, partial
from inspect import isawaitable
from typing import Any

import anyio
import anyio.to_thread
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain_anthropic import ChatAnthropic
from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI

import sidestep
from sidestep import Route
from sidestep.langchain import SidestepMiddleware
from sidestep.session.embed.langchain_messages import request_for

from .outage import (
    CALL,
    CLAUDE,
    MOVES,
    OUTAGES,
    REFUSED,
    STAYING,
    A,
    B,
    Played,
    bad_input,
    first_call,
    played,
    stays,
)

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.filterwarnings("ignore"),  # what a framework warns of is its own
]
LIMIT = 60.0
HELLO = {"messages": [{"role": "user", "content": "Add 1 and 2."}]}
WAYS = pytest.mark.parametrize("way", ["ainvoke", "astream", "invoke", "stream"])


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def claude_of(play: Played, route: Route) -> BaseChatModel:
    class Watched(ChatAnthropic):
        """It takes no HTTP client."""

        @cached_property
        def _async_client(self) -> Any:
            return super()._async_client.with_options(http_client=play.http)

        @cached_property
        def _client(self) -> Any:
            return super()._client.with_options(http_client=play.sync_http)

    base = play.base_url(route).removesuffix("/v1")
    return Watched(model=route.model, base_url=base, api_key="stub-key", max_retries=0)


def agent_of(play: Played, *others: AgentMiddleware[Any, Any, Any], route: str = A) -> Any:
    def build(route: Route) -> BaseChatModel:
        if route.provider == "anthropic":
            return claude_of(play, route)
        return ChatOpenAI(
            model=route.model, base_url=play.base_url(route), api_key="stub-key", max_retries=0,
            http_async_client=play.http,
            http_client=play.sync_http,
            use_responses_api=route.provider == "openai",
        )  # fmt: skip

    ours = SidestepMiddleware(play.middleware, route, build)
    return create_agent(build(Route(route)), tools=[add], middleware=[*others, ours])


async def messages_of(agent: Any, asked: Any, way: str = "ainvoke") -> list[Any]:
    """Return the messages at the end of a run that the method *way* of *agent* makes."""
    modes = ["values", "messages"]
    with anyio.fail_after(LIMIT):
        if way == "ainvoke":
            return list((await agent.ainvoke(asked))["messages"])
        if way == "invoke":
            return list((await anyio.to_thread.run_sync(agent.invoke, asked))["messages"])
        if way == "astream":
            seen = [each async for each in agent.astream(asked, stream_mode=modes)]
        else:
            stream = partial(agent.stream, asked, stream_mode=modes)
            seen = await anyio.to_thread.run_sync(lambda: list(stream()))
    return list(next(value for mode, value in reversed(seen) if mode == "values")["messages"])


@WAYS
@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES)
async def test_an_outage_ends_on_the_sibling(outage: Any, way: str) -> None:
    """The second model call of the run does not ask the dead route again."""
    async with played({A: outage, B: [CALL, "The sum is 3."]}) as play:
        messages = await messages_of(agent_of(play), HELLO, way)
        asked = play.stub.routes

    assert [message.text for message in messages[1:]] == ["", "3", "The sum is 3."]
    assert messages[-1].response_metadata["sidestep"] == {"route": B, "requested": A}
    assert asked == [*([] if outage == REFUSED else [A]), B, B]


@WAYS
@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES)
async def test_an_outage_of_a_model_that_takes_no_client_ends_on_the_sibling(
    outage: Any, way: str
) -> None:
    async with played({CLAUDE: outage, B: "Whole."}) as play:
        messages = await messages_of(agent_of(play, route=CLAUDE), HELLO, way)

    assert messages[-1].text == "Whole."


@pytest.mark.parametrize(("first", "second"), MOVES)
async def test_a_conversation_moves_to_another_wire(first: Route, second: Route) -> None:
    """The stub refuses what the real provider would."""
    async with played({first: [first_call(first), 503], second: "3."}, strict=True) as play:
        messages = await messages_of(agent_of(play, route=first), HELLO)
        asked, sent = play.stub.routes, str(play.stub.requests[-1].body)

    assert [message.text for message in messages[1:]] == ["", "3", "3."]
    assert asked == [first, first, second]
    assert [word in sent for word in ("Hm.", "c2lnbmVk", "rs_")] == [False] * 3


@stays
@WAYS
async def test_a_conversation_stays_on_the_route_that_answered(
    way: str, policy: str, second: Route
) -> None:
    async with played(STAYING, cooldown_seconds=0, return_policy=policy) as play:
        agent = agent_of(play)
        first = await messages_of(agent, HELLO, way)
        await messages_of(agent, {"messages": [*first, HumanMessage("Again.")]}, way)

        assert play.stub.routes == [A, B, B, second]


@WAYS
@pytest.mark.parametrize(
    "outage", [each for each in OUTAGES.values() if each != REFUSED],
    ids=[name for name, each in OUTAGES.items() if each != REFUSED],
)  # fmt: skip
async def test_an_outage_in_the_middle_keeps_the_results_of_tools(outage: Any, way: str) -> None:
    async with played({A: [CALL, outage], B: "The sum is 3."}) as play:
        messages = await messages_of(agent_of(play), HELLO, way)
        asked, sent = play.stub.routes, play.last_messages

    assert [message.text for message in messages[1:]] == ["", "3", "The sum is 3."]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    assert sent[-1]["content"] == "3"
    assert asked == [A, A, B]


@pytest.mark.parametrize("way", ["astream", "stream"])
async def test_text_that_is_void_is_reported_as_a_custom_event(way: str) -> None:
    async with played({A: OUTAGES["cut"], B: "Whole."}) as play:
        stream = partial(agent_of(play).stream, HELLO, stream_mode=["messages", "custom"])
        if way == "stream":
            came = await anyio.to_thread.run_sync(lambda: list(stream()))
        else:
            modes = ["messages", "custom"]
            came = [each async for each in agent_of(play).astream(HELLO, stream_mode=modes)]
    seen = [value if mode == "custom" else value[0] for mode, value in came]

    (retracted,) = [each for each in seen if isinstance(each, dict)]
    chunks = [each for each in seen if isinstance(each, AIMessageChunk)]
    void = [each.text for each in chunks if each.id == retracted["message_id"]]
    assert retracted["type"] == "sidestep.retracted"
    assert retracted["route"] == A
    assert "".join(void) == "Half an "
    assert "".join(each.text for each in chunks[len(void) :]) == "Whole."
    assert seen.index(retracted) == len(void)


async def test_text_is_shown_as_it_comes() -> None:
    """The first part is seen before the end is sent."""
    async with played(
        {A: {"text": "One two", "chunk": 4, "after": 1, "stall": True}, B: "x"}
    ) as play:
        seen = []
        async for chunk, _ in agent_of(play).astream(HELLO, stream_mode="messages"):
            if chunk.text:
                seen.append((chunk.text, list(play.stub.routes)))

    assert seen[0] == ("One ", [A])


@WAYS
async def test_interrupt_ends_the_run_only_if_text_was_shown(way: str) -> None:
    async with played({A: OUTAGES["cut"], B: "Whole."}, on_partial="interrupt") as play:
        if "invoke" in way:
            messages = await messages_of(agent_of(play), HELLO)
            assert messages[-1].text == "Whole."
            return
        with pytest.raises(sidestep.StreamInterrupted) as raised:
            await messages_of(agent_of(play), HELLO, way)

    assert raised.value.emitted == "Half an "


async def test_interrupt_knows_what_the_newest_stream_of_events_showed() -> None:
    async def read(agent: Any) -> None:
        events = agent.astream_events(HELLO, version="v3")
        async for _ in await events if isawaitable(events) else events:
            pass

    async with played({A: OUTAGES["cut"], B: "Whole."}, on_partial="interrupt") as play:
        with anyio.fail_after(LIMIT), pytest.raises(sidestep.StreamInterrupted) as raised:
            await read(agent_of(play))

    assert raised.value.emitted == "Half an "


def thinking(route: str | None) -> AIMessage:
    stamp = {"sidestep": {"route": route, "requested": route}} if route else {}
    return AIMessage(
        content=[
            {"type": "thinking", "thinking": "Hm.", "signature": "proof"},
            {"type": "text", "text": "Four."},
        ],
        response_metadata=stamp,
    )


@pytest.mark.parametrize(
    ("writer", "kept"),
    [
        pytest.param(CLAUDE, True, id="its own"),
        pytest.param(None, True, id="of nobody, so of the requested route"),
        pytest.param(B, False, id="of the sibling"),
    ],
)
async def test_only_its_own_reasoning_goes_to_a_route(writer: str | None, kept: bool) -> None:
    history = [HumanMessage("2 and 2?"), thinking(writer), HumanMessage("And 3?")]
    async with played({CLAUDE: "Seven.", B: "x"}) as play:
        await agent_of(play, route=CLAUDE).ainvoke({"messages": history})
        sent = play.last_messages

    assert [block["type"] for block in sent[1]["content"]] == [
        *(["thinking"] if kept else []),
        "text",
    ]


@pytest.mark.parametrize(
    ("sibling", "kept"),
    [
        pytest.param(B, False, id="another provider"),
        pytest.param(Route("anthropic/claude-opus-5"), True, id="another model of the same"),
    ],
)
async def test_cache_settings_go_to_no_other_provider(sibling: Route, kept: bool) -> None:
    cache = AnthropicPromptCachingMiddleware(min_messages_to_cache=0)
    async with played({CLAUDE: 503, sibling: "Hello."}) as play:
        messages = await messages_of(agent_of(play, cache, route=CLAUDE), HELLO)
        bodies = [str(request.body) for request in play.stub.requests]

    assert messages[-1].text == "Hello."
    assert ["cache_control" in body for body in bodies] == [True, kept]


CACHED: Any = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("requested", "route", "kept"),
    [
        pytest.param(CLAUDE, Route("anthropic/claude-opus-5"), ["cache_control", "key"], id="same"),
        pytest.param(
            CLAUDE, Route("openrouter/anthropic/claude-x"), ["cache_control"], id="claude"
        ),
        pytest.param(CLAUDE, B, [], id="another"),
        pytest.param(B, CLAUDE, [], id="another to a claude"),
    ],
)
async def test_cache_settings_are_dropped_wherever_they_stand(
    requested: Route, route: Route, kept: list[str]
) -> None:
    tool = StructuredTool.from_function(add, extras={"cache_control": {}, "other": 1})
    request = ModelRequest(
        model=FakeListChatModel(responses=[]),
        messages=[HumanMessage([CACHED])],
        system_message=SystemMessage([CACHED]),
        tools=[tool, {"name": "raw", "cache_control": {}}],
        model_settings={"cache_control": {}, "prompt_cache_key": "key", "temperature": 0},
    )

    sent = request_for(request, route, requested)

    places = [sent.messages[0].content[0], sent.system_message.content[0], sent.tools[0].extras]
    places += [sent.tools[1], sent.model_settings]
    assert ["cache_control" in place for place in places] == ["cache_control" in kept] * 5
    assert ("prompt_cache_key" in sent.model_settings) is ("key" in kept)
    assert (sent.model_settings["temperature"], sent.tools[0].extras["other"]) == (0, 1)
    assert request.messages[0].content == [CACHED]  # it is the agent's own


@bad_input
async def test_bad_input_is_refused_before_a_request(
    middleware: Any, route: str, build: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        SidestepMiddleware(middleware, route, build)


async def test_a_sibling_without_a_model_is_passed_over() -> None:
    third = Route("zai/glm")
    skipped: list[Any] = []
    async with played({A: 503, B: "never", third: "Hello."}) as play:
        play.middleware.on_event = skipped.append

        def build(route: Route) -> BaseChatModel:
            if route == B:
                raise KeyError("GROQ_API_KEY")
            return ChatOpenAI(
                model=route.model, base_url=play.base_url(route), api_key="stub-key", max_retries=0
            )

        ours = SidestepMiddleware(play.middleware, A, build)
        messages = await messages_of(create_agent(build(A), middleware=[ours]), HELLO)

    (event,) = [each for each in skipped if isinstance(each, sidestep.CandidateSkipped)]
    assert messages[-1].text == "Hello."
    assert "KeyError" in event.reason
