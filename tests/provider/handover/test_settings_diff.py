"""The notes on settings and tools that a request has otherwise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import Route
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.client.rendering import body_of
from sidestep.provider.conversation import Conversation, Message, Settings, Text, ToolSpec
from sidestep.provider.handover.settings_diff import settings_diff
from sidestep.provider.handover.target_facts import target_of

from ..conversations import ROUTES, conversations

LS = ToolSpec("ls", "List.", {"type": "object", "properties": {}})
DOTTED = ToolSpec("fs.ls", "List.", {"type": "object", "properties": {}})
CHOICE = ToolSpec("ls", "List.", {"anyOf": [{"type": "object", "properties": {}}]})

FABLE, HAIKU = "anthropic/claude-fable-5-1", "anthropic/claude-haiku-4-5"
GPT, GPT_4, O3 = "openai/gpt-5.1", "openai/gpt-4.1", "openai-chat/o3"
PRO, FLASH = "gemini/gemini-2.5-pro", "gemini/gemini-2.5-flash"
ZAI, KIMI, GROQ = "zai/glm-4.7", "moonshot/kimi-k2-thinking", "groq/llama-3.3-70b-versatile"
DEEPSEEK = "deepseek/deepseek-v4-pro"
NEAREST = "it is the nearest that is taken here"
NOT_TAKEN = "it is not taken here"

TOLD = [
    pytest.param(GPT_4, {"temperature": 0.5, "top_p": 0.9}, [], id="all is taken"),
    pytest.param(
        GPT,
        {"temperature": 0.5, "top_p": 0.9, "reasoning": "low"},
        [f"dropped temperature 0.5: {NOT_TAKEN}", f"dropped top_p 0.9: {NOT_TAKEN}"],
        id="no sampling",
    ),
    pytest.param(
        HAIKU,
        {"temperature": 0.5, "top_p": 0.9},
        [f"dropped top_p 0.9: {NOT_TAKEN}"],
        id="one of sampling",
    ),
    pytest.param(
        GPT,
        {"max_output_tokens": 5},
        [f"changed max_output_tokens 5 to 16: {NEAREST}"],
        id="the least",
    ),
    pytest.param(GPT, {"reasoning": "high"}, [], id="effort"),
    pytest.param(
        GPT, {"reasoning": "max"}, [f"changed effort 'max' to 'high': {NEAREST}"], id="less effort"
    ),
    pytest.param(
        O3, {"reasoning": "none"}, [f"changed effort 'none' to 'low': {NEAREST}"], id="more effort"
    ),
    pytest.param(
        FABLE, {"reasoning": "none"}, [f"dropped effort 'none': {NOT_TAKEN}"], id="it always thinks"
    ),
    pytest.param(
        GPT_4, {"reasoning": "low"}, [f"dropped effort 'low': {NOT_TAKEN}"], id="it never thinks"
    ),
    pytest.param(GPT_4, {"reasoning": "none"}, [], id="it never thinks anyway"),
    pytest.param(HAIKU, {"reasoning": "low"}, [], id="a budget"),
    pytest.param(FLASH, {"reasoning": "none"}, [], id="a budget of nothing"),
    pytest.param(
        PRO,
        {"reasoning": "none"},
        [f"changed effort 'none' to 'budget': {NEAREST}"],
        id="a budget of something",
    ),
    pytest.param(
        ZAI, {"reasoning": "low"}, [f"changed effort 'low' to 'enabled': {NEAREST}"], id="a switch"
    ),
    pytest.param(ZAI, {"reasoning": "none"}, [], id="a switch that is off"),
    pytest.param(GPT, {"cache_key": "k"}, [], id="cache key"),
    pytest.param(KIMI, {"cache_key": "k"}, [f"dropped cache_key: {NOT_TAKEN}"], id="no cache key"),
]


def told(route: str, settings: dict[str, Any], *tools: ToolSpec) -> list[str]:
    conversation = Conversation([Message("user", [Text("Hi.")])], list(tools), Settings(**settings))
    return told_of(conversation, Route(route), catalog()[Route(route).provider])


def told_of(conversation: Conversation, route: Route, provider: Provider) -> list[str]:
    body, rendering = body_of(conversation, provider, route)
    thinks = target_of(provider, route).thinking != "none"
    notes = settings_diff(
        conversation.settings, conversation.tools, body, renamed=rendering.renamed, thinks=thinks
    )
    return [str(note) for note in notes]


@pytest.mark.parametrize(("route", "settings", "notes"), TOLD)
def test_a_setting_that_is_said_otherwise_is_told(
    route: str, settings: dict[str, Any], notes: list[str]
) -> None:
    assert told(route, settings) == notes


TOOLS = [
    pytest.param(
        GPT, LS, {"tool_choice": "ls", "parallel_tool_calls": False}, [], id="all settings"
    ),
    pytest.param(HAIKU, LS, {"tool_choice": "ls", "parallel_tool_calls": False}, [], id="Claude"),
    pytest.param(HAIKU, LS, {"tool_choice": "none", "parallel_tool_calls": False}, [], id="none"),
    pytest.param(FLASH, LS, {"tool_choice": "required"}, [], id="Gemini"),
    pytest.param(FLASH, LS, {"tool_choice": "ls"}, [], id="Gemini, one tool"),
    pytest.param(
        FLASH,
        LS,
        {"parallel_tool_calls": False},
        [f"dropped parallel_tool_calls: {NOT_TAKEN}"],
        id="not one by one",
    ),
    pytest.param(KIMI, LS, {"parallel_tool_calls": True}, [], id="many at once anyway"),
    pytest.param(
        DEEPSEEK,
        LS,
        {"tool_choice": "required", "reasoning": "high"},
        [f"changed tool_choice 'required' to 'auto': {NEAREST}"],
        id="not forced",
    ),
    pytest.param(
        ZAI,
        LS,
        {"tool_choice": "none"},
        ["dropped the tools: this is the only way to forbid calls"],
        id="no tools at all",
    ),
    pytest.param(
        GPT,
        DOTTED,
        {"tool_choice": "fs.ls"},
        ["changed name 'fs.ls' to 'fs_ls': so it may stand here"],
        id="a name",
    ),
    pytest.param(
        GROQ, CHOICE, {}, ["changed schema of tool 'ls': it has another form here"], id="a schema"
    ),
]


@pytest.mark.parametrize(("route", "tool", "settings", "notes"), TOOLS)
def test_a_tool_that_is_declared_otherwise_is_told(
    route: str, tool: ToolSpec, settings: dict[str, Any], notes: list[str]
) -> None:
    assert told(route, settings, tool) == notes


@given(conversations(), st.sampled_from(sorted(ROUTES)))
def test_every_request_can_be_read(conversation: Conversation, route: Route) -> None:
    assert all(told_of(conversation, route, ROUTES[route]))
