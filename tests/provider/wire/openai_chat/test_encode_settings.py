"""The parameters of a Chat Completions request: tools, length, sampling, effort."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from sidestep import Route
from sidestep.provider.conversation import (
    ToolSpec,
)

from .requests import (
    CEREBRAS,
    DEEPSEEK,
    DOTTED,
    GPT,
    GPT_4,
    GROQ,
    LOCAL,
    MAGISTRAL,
    MINIMAX,
    MOONSHOT,
    OPENROUTER,
    READ,
    SONNET,
    ZAI,
    Object,
    spelled,
    target,
    user,
)

if TYPE_CHECKING:
    from sidestep.provider.conversation import Effort

HAIKU = Route("openrouter/anthropic/claude-haiku-4.5")


def test_a_tool_without_a_description_has_none() -> None:
    body = spelled(GPT, user("a"), tools=[ToolSpec("read")])

    function = {"name": "read", "parameters": {"type": "object", "properties": {}}}
    assert body["tools"] == [{"type": "function", "function": function}]


CHOICE = {"anyOf": [{"properties": {"a": {"type": "array"}}}, {"properties": {"b": {}}}]}

SCHEMAS = [
    pytest.param(GPT, {"a": {"type": "array", "items": {}}, "b": {}}, id="OpenAI"),
    pytest.param(
        Route("openrouter/openai/gpt-5.2"),
        {"a": {"type": "array", "items": {}}, "b": {}},
        id="OpenAI behind OpenRouter",
    ),
    pytest.param(SONNET, {"a": {"type": "array"}, "b": {}}, id="Claude behind OpenRouter"),
    pytest.param(GROQ, {"a": {"type": "array"}, "b": {}}, id="Groq"),
]


@pytest.mark.parametrize(("route", "properties"), SCHEMAS)
def test_arguments_are_an_object_whatever_they_were_declared_as(
    route: Route, properties: Object
) -> None:
    body = spelled(route, user("a"), tools=[ToolSpec("read", "", CHOICE)])

    parameters = {"type": "object", "properties": properties}
    assert body["tools"][0]["function"] == {"name": "read", "parameters": parameters}


SAMPLED = [
    pytest.param(GPT_4, {"temperature": 0.2, "top_p": 0.9}, id="both"),
    pytest.param(Route("openrouter/anthropic/claude-sonnet-4.5"), {"temperature": 0.2}, id="one"),
    pytest.param(SONNET, {}, id="none"),
]


@pytest.mark.parametrize(("route", "sent"), SAMPLED)
def test_as_much_of_sampling_as_is_taken(route: Route, sent: Object) -> None:
    body = spelled(route, user("a"), temperature=0.2, top_p=0.9)

    assert {name: body[name] for name in ("temperature", "top_p") if name in body} == sent


SILENT = [
    pytest.param("gpt-5.4", "none", True, id="5.4, none"),
    pytest.param("gpt-5.4-mini", None, True, id="5.4, which thinks if it is asked to"),
    pytest.param("gpt-5.4", "low", False, id="5.4, low"),
    pytest.param("gpt-5.1", None, True, id="5.1"),
    pytest.param("gpt-5.2-pro", "none", False, id="pro, which always thinks"),
    pytest.param("gpt-5.5", "none", True, id="5.5, none"),
    pytest.param("gpt-5.5", None, False, id="5.5, which thinks unless it is asked not to"),
    pytest.param("gpt-5.6-terra", "none", True, id="5.6, none"),
    pytest.param("gpt-5.6-terra", "minimal", False, id="5.6, minimal"),
    pytest.param("gpt-6-astra", "none", False, id="6, which always thinks"),
    pytest.param("gpt-5-mini", "none", False, id="5, which always thinks"),
    pytest.param("gpt-5.2-chat-latest", None, False, id="chat, which always thinks"),
    pytest.param("o4-mini", None, False, id="o-series"),
    pytest.param("ft:o4-mini-2025-04-16:acme::id", None, False, id="o-series, fine-tuned"),
    pytest.param("gpt-4.1", "high", True, id="4.1, which never thinks"),
]


@pytest.mark.parametrize("provider", ["openai-chat", "azure"])
@pytest.mark.parametrize(("model", "reasoning", "is_sent"), SILENT)
def test_a_model_takes_sampling_while_it_does_not_think(
    model: str, reasoning: Effort | None, is_sent: bool, provider: str
) -> None:
    """Source: fault W28; github.com/vercel/ai/issues/10932, langchain-ai/langchain/pull/35424."""
    body = spelled(
        Route(f"{provider}/{model}"), user("a"), temperature=0.2, top_p=0.9, reasoning=reasoning
    )

    assert ("temperature" in body, "top_p" in body) == (is_sent, is_sent)


FORCED = [
    pytest.param("openrouter/anthropic/claude-opus-4.6", "high", "required", id="4.6"),
    pytest.param("openrouter/anthropic/claude-opus-5", "low", "required", id="5"),
    pytest.param("openrouter/anthropic/claude-fable-5", "low", "required", id="fable 5"),
    pytest.param("openrouter/anthropic/claude-opus-4.5", "high", "auto", id="4.5, by a budget"),
    pytest.param("openrouter/anthropic/claude-opus-5.5", None, "auto", id="5.5, never"),
    pytest.param("openrouter/anthropic/claude-haiku-5.5", "low", "required", id="haiku 5.5"),
    pytest.param("local/claude-opus-5-5", None, "auto", id="5.5 elsewhere, never"),
    pytest.param("deepseek/deepseek-chat", None, "required", id="DeepSeek that does not think"),
    pytest.param("deepseek/deepseek-chat", "high", "auto", id="DeepSeek that is asked to think"),
    pytest.param("deepseek/deepseek-v4-pro", None, "auto", id="DeepSeek that thinks"),
    pytest.param("local/deepseek-v4-pro", None, "required", id="DeepSeek elsewhere"),
]


@pytest.mark.parametrize(("route", "reasoning", "choice"), FORCED)
def test_a_tool_is_forced_unless_the_model_refuses_it(
    route: str, reasoning: Effort | None, choice: str
) -> None:
    """Source: fault W28; github.com/langchain-ai/langchain-aws/pull/1141."""
    body = spelled(
        Route(route), user("a"), tools=[READ], tool_choice="required", reasoning=reasoning
    )

    assert body["tool_choice"] == choice


@pytest.mark.parametrize("reasoning", [None, "none", "low"])
def test_a_claude_that_is_asked_to_think_gets_no_sampling(reasoning: Effort | None) -> None:
    body = spelled(HAIKU, user("a"), temperature=0.2, reasoning=reasoning)

    assert ("temperature" in body) is (reasoning != "low")


def named(name: str) -> Object:
    return {"type": "function", "function": {"name": name}}


CHOICES = [
    pytest.param(GPT, {"tool_choice": "auto"}, "auto", id="auto"),
    pytest.param(GPT, {"tool_choice": "none"}, "none", id="none"),
    pytest.param(GPT, {"tool_choice": "required"}, "required", id="required"),
    pytest.param(GPT, {"tool_choice": "read"}, named("read"), id="named"),
    pytest.param(
        GPT, {"tool_choice": "read.file"}, named("read_file"), id="named, by another name there"
    ),
    pytest.param(DEEPSEEK, {"tool_choice": "read"}, "auto", id="not while it thinks"),
    pytest.param(
        DEEPSEEK,
        {"tool_choice": "read", "reasoning": "none"},
        named("read"),
        id="when it does not think",
    ),
    pytest.param(MOONSHOT, {"tool_choice": "required", "reasoning": "none"}, "auto", id="never"),
    pytest.param(MOONSHOT, {"tool_choice": "none"}, "none", id="none is never forced"),
    *(
        pytest.param(HAIKU, {"tool_choice": asked, "reasoning": effort}, choice, id=f"{id_} Claude")
        for id_, asked, effort, choice in (
            ("named to a thinking", "read", "low", "auto"),
            ("required of a thinking", "required", "high", "auto"),
            ("none of a thinking", "none", "low", "none"),
            ("named to a silenced", "read", "none", named("read")),
            ("required of a free", "required", None, "required"),
        )
    ),
    pytest.param(
        OPENROUTER, {"tool_choice": "read", "reasoning": "low"}, named("read"), id="of OpenAI"
    ),
]


@pytest.mark.parametrize(("route", "settings", "choice"), CHOICES)
def test_which_tool_is_to_be_called(route: Route, settings: Object, choice: object) -> None:
    body = spelled(route, user("a"), tools=[READ, DOTTED], **settings)

    assert body["tool_choice"] == choice
    assert len(body["tools"]) == 2


def test_without_tools_nothing_is_said_of_them() -> None:
    body = spelled(GPT, user("a"), tool_choice="auto", parallel_tool_calls=True)

    assert body.keys() == {"model", "messages", "stream", "stream_options"}


@pytest.mark.parametrize("route", [ZAI, MINIMAX], ids=str)
def test_where_no_call_can_be_forbidden_no_tool_is_named(route: Route) -> None:
    body = spelled(route, user("a"), tools=[READ], tool_choice="none")

    assert body.keys() == {"model", "messages", "stream", "stream_options"}


def test_the_longest_answer_is_no_longer_than_the_model_gives() -> None:
    short = replace(target(LOCAL), max_answer_tokens=50)

    assert spelled(short, user("a"), max_output_tokens=99)["max_tokens"] == 50
    assert spelled(short, user("a"), max_output_tokens=49)["max_tokens"] == 49


def effort(effort: str) -> Object:
    return {"reasoning_effort": effort}


def switched(type_: str, **fields: Any) -> Object:
    return {"thinking": {"type": type_}, **fields}


EFFORTS = [
    pytest.param(GPT, "none", effort("none"), id="openai, none"),
    pytest.param(GPT, "minimal", effort("low"), id="openai, minimal"),
    pytest.param(GPT, "max", effort("max"), id="openai, max"),
    pytest.param(Route("openai-chat/gpt-5"), "none", effort("minimal"), id="gpt-5 always thinks"),
    pytest.param(Route("openai-chat/o3"), "max", effort("high"), id="o3 takes high at most"),
    pytest.param(Route("openai-chat/gpt-5-chat-latest"), "high", {}, id="one for chat"),
    pytest.param(GPT_4, "high", {}, id="openai, a model that does not think"),
    pytest.param(OPENROUTER, "none", {"reasoning": {"enabled": False}}, id="openrouter, none"),
    pytest.param(OPENROUTER, "xhigh", {"reasoning": {"effort": "xhigh"}}, id="openrouter, xhigh"),
    pytest.param(
        Route("openrouter/anthropic/claude-fable-5.1"), "none", {}, id="one that is never silent"
    ),
    pytest.param(GROQ, "none", effort("low"), id="groq, none"),
    pytest.param(GROQ, "max", effort("high"), id="groq, max"),
    pytest.param(Route("groq/llama-3.3-70b"), "high", {}, id="groq, a model that does not think"),
    pytest.param(CEREBRAS, "minimal", effort("low"), id="cerebras, minimal"),
    pytest.param(Route("cerebras/zai-glm-4.7"), "high", {}, id="cerebras, another model"),
    pytest.param(DEEPSEEK, "none", switched("disabled"), id="deepseek, none"),
    pytest.param(
        DEEPSEEK, "minimal", switched("enabled", reasoning_effort="low"), id="deepseek, minimal"
    ),
    pytest.param(DEEPSEEK, "max", switched("enabled", reasoning_effort="max"), id="deepseek, max"),
    pytest.param(ZAI, "none", switched("disabled"), id="zai, none"),
    pytest.param(ZAI, "low", switched("enabled"), id="zai, low"),
    pytest.param(MAGISTRAL, "high", {}, id="mistral"),
    pytest.param(MOONSHOT, "high", {}, id="moonshot"),
    pytest.param(MINIMAX, "high", {}, id="minimax"),
    pytest.param(LOCAL, "high", {"reasoning_effort": "high"}, id="one that we do not know"),
    pytest.param(LOCAL, "max", {"reasoning_effort": "max"}, id="one that we do not know, max"),
    pytest.param(
        Route("azure/gpt-5.1"), "max", {"reasoning_effort": "high"}, id="OpenAI's model elsewhere"
    ),
    pytest.param(Route("azure/gpt-4o"), "high", {}, id="OpenAI's that does not think, elsewhere"),
    pytest.param(Route("xai/grok-4-fast"), "high", {}, id="a Grok that refuses it"),
    pytest.param(
        Route("xai/grok-4.3"), "high", {"reasoning_effort": "high"}, id="a Grok that takes it"
    ),
]


@pytest.mark.parametrize(("route", "asked", "fields"), EFFORTS)
def test_how_much_a_model_is_asked_to_think(route: Route, asked: Any, fields: Object) -> None:
    plain = spelled(route, user("a"))

    body = spelled(route, user("a"), reasoning=asked)

    assert body == {**plain, **fields}
