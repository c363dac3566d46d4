"""Tools, choice, thinking and limits in a Responses request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from sidestep import Route
from sidestep.provider.conversation import (
    Settings,
    ToolSpec,
)
from sidestep.provider.handover.target import Target

from .requests import GO, GO_ITEM, READ, elsewhere, request, target

OLD = Route("openai/gpt-4.1")

READ_TOOL = {
    "type": "function",
    "name": "read",
    "description": "Read a file.",
    "parameters": {"type": "object", "properties": {"path": {}}},
    "strict": False,
}

BARE_TOOL = {
    "type": "function",
    "name": "ls",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}

UNREASONING = target(OLD)


@dataclass
class Asked:
    """What settings add to a request."""

    id: str
    settings: Settings
    fields: dict[str, Any]
    tools: list[ToolSpec] = field(default_factory=list)
    to: Target = UNREASONING


THINKS = {"include": ["reasoning.encrypted_content"]}

SETTINGS = [
    Asked("nothing", Settings(), {}),
    Asked("tools", Settings(), {"tools": [READ_TOOL, BARE_TOOL]}, [READ, ToolSpec("ls")]),
    Asked(
        "a tool that must be called",
        Settings(tool_choice="required", parallel_tool_calls=False),
        {"tools": [READ_TOOL], "tool_choice": "required", "parallel_tool_calls": False},
        [READ],
    ),
    Asked(
        "the name of a tool, as it is called there",
        Settings(tool_choice="fs.ls"),
        {
            "tools": [{**BARE_TOOL, "name": "fs_ls"}],
            "tool_choice": {"type": "function", "name": "fs_ls"},
        },
        [ToolSpec("fs.ls")],
    ),
    Asked(
        "a tool that no one may be made to call",
        Settings(tool_choice="read"),
        {"tools": [READ_TOOL], "tool_choice": "auto"},
        [READ],
        target(OLD, can_force_tool=False),
    ),
    Asked("a choice without tools", Settings(tool_choice="required", parallel_tool_calls=True), {}),
    Asked("a limit", Settings(max_output_tokens=4096), {"max_output_tokens": 4096}),
    Asked(
        "a limit above the model's",
        Settings(max_output_tokens=64_000),
        {"max_output_tokens": 32_768},
        to=target(OLD, max_answer_tokens=32_768),
    ),
    Asked("a limit below the API's", Settings(max_output_tokens=1), {"max_output_tokens": 16}),
    Asked(
        "sampling",
        Settings(temperature=0.0, top_p=0.5),
        {"temperature": 0.0, "top_p": 0.5},
    ),
    Asked("sampling of one that reasons", Settings(temperature=0.0), THINKS, to=target()),
    Asked(
        "an effort",
        Settings(reasoning="high"),
        {**THINKS, "reasoning": {"effort": "high", "summary": "auto"}},
        to=target(),
    ),
    Asked(
        "an effort that the model does not take",
        Settings(reasoning="max"),
        {**THINKS, "reasoning": {"effort": "high", "summary": "auto"}},
        to=target(Route("openai/o3")),
    ),
    Asked(
        "no thinking",
        Settings(reasoning="none"),
        {**THINKS, "reasoning": {"effort": "none"}},
        to=target(),
    ),
    Asked(
        "sampling of one that is asked not to think",
        Settings(temperature=0.5, top_p=0.9, reasoning="none"),
        {**THINKS, "reasoning": {"effort": "none"}, "temperature": 0.5, "top_p": 0.9},
        to=target(),
    ),
    Asked(
        "sampling of one that thinks only if it is asked to",
        Settings(temperature=0.5),
        {**THINKS, "temperature": 0.5},
        to=target(Route("openai/gpt-5.4")),
    ),
    Asked(
        "an effort elsewhere",
        Settings(reasoning="xhigh", temperature=0.5),
        {**THINKS, "reasoning": {"effort": "xhigh"}, "temperature": 0.5},
        to=elsewhere("xai/grok-4.3"),
    ),
    Asked(
        "an effort elsewhere, of one that refuses it",
        Settings(reasoning="low", temperature=0.5),
        {"temperature": 0.5},
        to=elsewhere("xai/grok-4-fast"),
    ),
    Asked(
        "OpenAI's model elsewhere",
        Settings(reasoning="max", temperature=0.5),
        {**THINKS, "reasoning": {"effort": "high", "summary": "auto"}},
        to=elsewhere("azure/gpt-5.1"),
    ),
    Asked("an effort of one that does not reason", Settings(reasoning="high"), {}),
    Asked("a cache key", Settings(cache_key="s1"), {"prompt_cache_key": "s1"}),
    Asked(
        "a cache key for another vendor",
        Settings(cache_key="s1"),
        {},
        to=target(OLD, takes_cache_key=False),
    ),
    Asked(
        "what is left out",
        Settings(temperature=1.0, reasoning="low", max_output_tokens=99, tool_choice="auto"),
        {"tools": [READ_TOOL], "max_output_tokens": 99},
        [READ],
        target(
            takes_sampling=True,
            unsupported_parameters=frozenset(
                {"temperature", "reasoning", "include", "tool_choice"}
            ),
        ),
    ),
]


@pytest.mark.parametrize("case", SETTINGS, ids=lambda case: case.id)
def test_settings_become_parameters(case: Asked) -> None:
    assert request(GO, tools=case.tools, settings=case.settings, to=case.to) == {
        "model": case.to.route.model,
        "stream": True,
        "store": False,
        "input": [GO_ITEM],
        **case.fields,
    }
