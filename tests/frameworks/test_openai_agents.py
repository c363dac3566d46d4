"""`sidestep.openai_agents`: agents of openai-agents, over real sockets."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from agents import (
    Agent,
    Model,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    ToolCallOutputItem,
    function_tool,
)
from openai import AsyncOpenAI
from openai.types.shared import Reasoning

import sidestep
from sidestep import Route
from sidestep.openai_agents import Retracted, SidestepModelProvider

from .outage import (
    CALL,
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
    played,
    stays,
)  # fmt: skip

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.filterwarnings("ignore"),  # what a framework warns of is its own
]
LIMIT = 60.0
MINI = Route("openai/gpt-5-mini")
ASKED = "Add 1 and 2."
WAYS = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def model_of(play: Played, route: Route) -> Model:
    client = AsyncOpenAI(
        base_url=play.base_url(route), api_key="stub-key", max_retries=0, http_client=play.http
    )
    if route.provider == "openai":
        return OpenAIResponsesModel(route.model, openai_client=client)
    return OpenAIChatCompletionsModel(route.model, openai_client=client)


def config_of(play: Played, route: str = A, **settings: Any) -> RunConfig:
    def build(route: Route) -> Model:
        return model_of(play, route)

    return RunConfig(
        model_provider=SidestepModelProvider(play.middleware, route, build),
        model_settings=ModelSettings(**settings),
        tracing_disabled=True,
    )


AGENT = Agent(name="adder", tools=[function_tool(add)])


async def run(
    config: RunConfig, asked: Any = ASKED, *, streamed: bool, agent: Any = AGENT, **options: Any
) -> tuple[Any, list[Any]]:
    """Return the result and the raw events that were seen."""
    seen: list[Any] = []
    with anyio.fail_after(LIMIT):
        if not streamed:
            return await Runner.run(agent, asked, run_config=config, **options), seen
        result = Runner.run_streamed(agent, asked, run_config=config, **options)
        async for event in result.stream_events():
            if event.type == "raw_response_event":
                seen.append(event.data)  # noqa: PERF401 - what raises would take them along
        return result, seen


def results_in(result: Any) -> list[Any]:
    return [item.output for item in result.new_items if isinstance(item, ToolCallOutputItem)]


@WAYS
@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES)
async def test_an_outage_ends_on_the_sibling(outage: Any, streamed: bool) -> None:
    """The second model call of the run does not ask the dead route again."""
    async with played({A: outage, B: [CALL, "The sum is 3."]}) as play:
        result, _ = await run(config_of(play), streamed=streamed)
        asked = play.stub.routes

    assert (result.final_output, results_in(result)) == ("The sum is 3.", [3])
    assert result.to_input_list()[-1]["provider_data"]["sidestep"] == {"route": B, "requested": A}
    assert asked == [*([] if outage == REFUSED else [A]), B, B]


@stays
@WAYS
async def test_a_conversation_stays_on_the_route_that_answered(
    policy: str, second: Route, streamed: bool
) -> None:
    async with played(STAYING, cooldown_seconds=0, return_policy=policy) as play:
        first, _ = await run(config_of(play), streamed=streamed)
        asked = [*first.to_input_list(), {"role": "user", "content": "Again."}]
        await run(config_of(play), asked, streamed=streamed)

        assert play.stub.routes == [A, B, B, second]


@WAYS
@pytest.mark.parametrize(
    "outage", [each for each in OUTAGES.values() if each != REFUSED],
    ids=[name for name, each in OUTAGES.items() if each != REFUSED],
)  # fmt: skip
async def test_an_outage_in_the_middle_keeps_the_results_of_tools(
    outage: Any, streamed: bool
) -> None:
    async with played({A: [CALL, outage], B: "The sum is 3."}) as play:
        result, _ = await run(config_of(play), streamed=streamed)
        asked, sent = play.stub.routes, play.last_messages

    assert (result.final_output, results_in(result)) == ("The sum is 3.", [3])
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    assert sent[-1]["content"] == "3"
    assert asked == [A, A, B]


@pytest.mark.parametrize(
    ("first", "second"),
    [move for move in MOVES if {each.provider for each in move} == {"openai", "groq"}],
)
async def test_a_conversation_moves_to_another_wire(first: Route, second: Route) -> None:
    """The stub refuses what the real provider would."""
    async with played({first: [first_call(first), 503], second: "3."}, strict=True) as play:
        result, _ = await run(config_of(play, first), streamed=False)
        asked, sent = play.stub.routes, str(play.stub.requests[-1].body)

    assert (result.final_output, results_in(result)) == ("3.", [3])
    assert asked == [first, first, second]
    assert [word in sent for word in ("Hm.", "c2lnbmVk", "rs_")] == [False] * 3


async def test_text_that_is_void_is_reported_by_a_raw_event() -> None:
    async with played({A: OUTAGES["cut"], B: "Whole."}) as play:
        _, seen = await run(config_of(play), streamed=True)

    (retracted,) = [each for each in seen if isinstance(each, Retracted)]
    at = seen.index(retracted)
    texts = [
        "".join(each.delta for each in part if each.type == "response.output_text.delta")
        for part in (seen[:at], seen[at:])
    ]
    assert (retracted.type, retracted.route) == ("sidestep.retracted", A)
    assert texts == ["Half an ", "Whole."]


async def test_text_is_shown_as_it_comes() -> None:
    """The first part is seen before the end of the first answer."""
    seen: list[str] = []
    async with played({A: OUTAGES["stall"], B: "Whole."}) as play:
        result = Runner.run_streamed(AGENT, ASKED, run_config=config_of(play))
        with anyio.fail_after(LIMIT):
            async for event in result.stream_events():
                if getattr(getattr(event, "data", None), "delta", ""):
                    seen = seen or [event.data.delta, *play.stub.routes]

    assert seen == ["Half", A]


@WAYS
async def test_interrupt_ends_the_run_only_if_text_was_shown(streamed: bool) -> None:
    async with played({A: OUTAGES["cut"], B: "Whole."}, on_partial="interrupt") as play:
        if not streamed:
            result, _ = await run(config_of(play), streamed=False)
            assert result.final_output == "Whole."
            return
        with pytest.raises(sidestep.StreamInterrupted) as raised:
            await run(config_of(play), streamed=True)

    assert raised.value.emitted == "Half an "


def items_of(writer: str | None) -> list[Any]:
    stamp: Any = {"route": writer, "requested": writer}
    noted = {"provider_data": {"sidestep": stamp}} if writer else {}
    text = {"type": "output_text", "text": "Four.", "annotations": []}
    return [
        {"role": "user", "content": "2 and 2?"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "proof", **noted},
        {
            "type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
            "content": [text], **noted,
        },
        {"role": "user", "content": "And 3?"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("writer", "kept"),
    [
        pytest.param(GPT, True, id="its own"),
        pytest.param(None, True, id="of nobody, so of the requested route"),
        pytest.param(B, False, id="of another route"),
        pytest.param(MINI, False, id="of another model of the same provider"),
    ],
)
async def test_only_its_own_reasoning_goes_to_a_route(writer: str | None, kept: bool) -> None:
    async with played({GPT: "Seven.", B: "x"}) as play:
        await run(config_of(play, GPT), items_of(writer), streamed=False)
        sent = str(play.stub.requests[-1].body)

    assert [word in sent for word in ("proof", "rs_1", "msg_1", "Four.")] == [kept] * 3 + [True]
    assert "sidestep" not in sent
    assert "provider_data" not in sent


async def test_the_reasoning_of_the_requested_route_stays_there() -> None:
    async with played({GPT: 503, B: "Seven."}) as play:
        result, _ = await run(config_of(play, GPT), items_of(None), streamed=False)
        sent = play.last_messages

    assert result.final_output == "Seven."
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert "proof" not in str(sent)


@pytest.mark.parametrize(
    ("sibling", "kept"), [pytest.param(MINI, True, id="same"), pytest.param(B, False, id="other")]
)
async def test_cache_settings_go_to_no_other_provider(sibling: Route, kept: bool) -> None:
    async with played({GPT: 503, sibling: "Hello."}) as play:
        config = config_of(play, GPT, prompt_cache_retention="24h")
        await run(config, streamed=False)
        bodies = [str(request.body) for request in play.stub.requests]

    assert ["prompt_cache_retention" in body for body in bodies] == [True, kept]


@pytest.mark.parametrize(
    ("asked", "effort", "sent"),
    [
        pytest.param(None, None, None, id="added for the default model of the framework"),
        pytest.param(None, "high", "high", id="of the agent itself"),
        pytest.param(str(A), "none", "none", id="of the agent itself, whose model is named"),
    ],
)
async def test_a_route_gets_the_settings_of_the_agent_and_not_those_of_another_model(
    asked: str | None, effort: Any, sent: str | None
) -> None:
    own = {"model_settings": ModelSettings(reasoning=Reasoning(effort=effort))} if effort else {}
    async with played({A: 503, B: "Hello."}) as play:
        await run(config_of(play), streamed=False, agent=Agent(name="x", model=asked, **own))
        bodies: list[Any] = [request.body for request in play.stub.requests]

    assert [each.get("reasoning_effort") for each in bodies] == [sent, sent]
    assert ["verbosity" in each for each in bodies] == [False, False]


async def test_a_conversation_that_the_provider_keeps_moves_to_none_of_its_models_elsewhere() -> (
    None
):
    skipped: list[Any] = []
    async with played({GPT: 503, B: "never", MINI: "Hello."}) as play:
        play.middleware.on_event = skipped.append
        result, _ = await run(config_of(play, GPT), streamed=False, previous_response_id="resp_1")
        asked = play.stub.routes

    (event,) = [each for each in skipped if isinstance(each, sidestep.CandidateSkipped)]
    assert (result.final_output, asked) == ("Hello.", [GPT, MINI])
    assert "`previous_response_id` refers to what only openai has" in event.reason


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        pytest.param(None, [A], id="none, so the provider's"),
        pytest.param(str(B), [B], id="a route"),
    ],
)
async def test_the_model_of_an_agent_is_the_requested_route(
    model: str | None, asked: list[str]
) -> None:
    async with played({A: "a", B: "b"}) as play:
        await run(config_of(play), streamed=False, agent=Agent(name="x", model=model))
        assert play.stub.routes == asked


@bad_input
async def test_bad_input_is_refused_before_a_request(
    middleware: Any, route: str, build: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        SidestepModelProvider(middleware, route, build)


async def test_an_agent_whose_model_is_no_route_is_refused_before_a_request() -> None:
    async with played({A: "a"}) as play:
        with pytest.raises(ValueError, match="provider/model"):
            await run(config_of(play), streamed=False, agent=Agent(name="x", model="gpt-5"))
        assert play.stub.routes == []


async def test_a_sibling_without_a_model_is_passed_over() -> None:
    third = Route("zai/glm")
    skipped: list[Any] = []
    async with played({A: 503, B: "never", third: "Hello."}) as play:
        play.middleware.on_event = skipped.append

        def build(route: Route) -> Model:
            if route == B:
                raise KeyError("GROQ_API_KEY")
            return model_of(play, route)

        provider = SidestepModelProvider(play.middleware, A, build)
        config = RunConfig(model_provider=provider, tracing_disabled=True)
        result, _ = await run(config, streamed=False)

    (event,) = [each for each in skipped if isinstance(each, sidestep.CandidateSkipped)]
    assert result.final_output == "Hello."
    assert "KeyError" in event.reason
