"""Tools, choice, thinking and limits in a request to Gemini."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from sidestep import Route
from sidestep.provider.conversation import (
    Effort,
    Settings,
    ToolSpec,
)
from sidestep.provider.handover.target import Target

from .requests import GO, NEWEST, Wired, request, said, target

OLD = Route("gemini/gemini-2.0-flash")


def declared(*functions: Wired) -> Wired:
    return {"tools": [{"functionDeclarations": [*functions]}]}


def calling(**config: Any) -> Wired:
    return {"toolConfig": {"functionCallingConfig": config}}


READ = ToolSpec(
    "read", "Read.", {"properties": {"kind": {"const": "a"}}, "additionalProperties": False}
)

READ_TOOL = {
    "name": "read",
    "description": "Read.",
    "parametersJsonSchema": {
        "type": "object",
        "properties": {"kind": {"enum": ["a"]}},
        "additionalProperties": False,
    },
}

READ_SUBSET = {
    "name": "read",
    "description": "Read.",
    "parameters": {"type": "object", "properties": {"kind": {"type": "string", "enum": ["a"]}}},
}


@dataclass
class Asked:
    """What settings add to a request."""

    id: str
    settings: Settings
    fields: Wired
    tools: list[ToolSpec] = field(default_factory=list)
    to: Target = NEWEST


SETTINGS = [
    Asked("nothing", Settings(), {}),
    Asked(
        "tools",
        Settings(),
        declared(READ_TOOL, {"name": "ls", "parametersJsonSchema": {"type": "object"}}),
        [READ, ToolSpec("ls")],
    ),
    Asked(
        "tools of an old model",
        Settings(),
        declared(READ_SUBSET, {"name": "ls"}),
        [READ, ToolSpec("ls")],
        target(OLD),
    ),
    Asked(
        "tools of a backend that does not know JSON Schema",
        Settings(),
        declared(READ_SUBSET),
        [READ],
        target(unsupported_parameters=frozenset({"parametersJsonSchema"})),
    ),
    Asked(
        "any tool or none",
        Settings(tool_choice="auto"),
        declared(READ_TOOL) | calling(mode="AUTO"),
        [READ],
    ),
    Asked(
        "no tool", Settings(tool_choice="none"), declared(READ_TOOL) | calling(mode="NONE"), [READ]
    ),
    Asked(
        "any tool",
        Settings(tool_choice="required", parallel_tool_calls=False),
        declared(READ_TOOL) | calling(mode="ANY"),
        [READ],
    ),
    Asked(
        "the name of a tool, as it is called there",
        Settings(tool_choice="9 lives"),
        declared({"name": "_9_lives", "parametersJsonSchema": {"type": "object"}})
        | calling(mode="ANY", allowedFunctionNames=["_9_lives"]),
        [ToolSpec("9 lives")],
    ),
    Asked(
        "a tool that no one may be made to call",
        Settings(tool_choice="read"),
        declared(READ_TOOL) | calling(mode="AUTO"),
        [READ],
        target(can_force_tool=False),
    ),
    Asked("a choice without tools", Settings(tool_choice="required"), {}),
    Asked(
        "limits and sampling",
        Settings(max_output_tokens=99, temperature=0.0, top_p=0.5, cache_key="s1"),
        {"generationConfig": {"maxOutputTokens": 99, "temperature": 0.0, "topP": 0.5}},
    ),
    Asked(
        "a limit above the model's",
        Settings(max_output_tokens=99),
        {"generationConfig": {"maxOutputTokens": 9}},
        to=target(max_answer_tokens=9),
    ),
    Asked("sampling that is not taken", Settings(top_p=0.5), {}, to=target(takes_sampling=False)),
    Asked("an effort of one that does not think", Settings(reasoning="high"), {}, to=target(OLD)),
    Asked(
        "what is left out",
        Settings(max_output_tokens=99, temperature=0.0, reasoning="low", tool_choice="auto"),
        declared(READ_TOOL)
        | {"generationConfig": {"maxOutputTokens": 99, "thinkingConfig": {"thinkingLevel": "LOW"}}},
        [READ],
        target(unsupported_parameters=frozenset({"toolConfig", "temperature", "includeThoughts"})),
    ),
    Asked(
        "all of what there is left out",
        Settings(temperature=0.0, reasoning="low"),
        {},
        to=target(unsupported_parameters=frozenset({"temperature", "thinkingConfig"})),
    ),
]


@pytest.mark.parametrize("case", SETTINGS, ids=lambda case: case.id)
def test_settings_become_parameters(case: Asked) -> None:
    body = request(GO, tools=case.tools, settings=case.settings, to=case.to)

    assert body == {"contents": [said()], **case.fields}


def levelled(level: str) -> Wired:
    return {"thinkingLevel": level, "includeThoughts": True}


def budgeted(tokens: int) -> Wired:
    return {"thinkingBudget": tokens, "includeThoughts": True}


@pytest.mark.parametrize(
    ("model", "effort", "config"),
    [
        pytest.param("gemini-3-flash-preview", "none", {"thinkingLevel": "MINIMAL"}, id="3 none"),
        pytest.param("gemini-3-flash-preview", "minimal", levelled("MINIMAL"), id="3 minimal"),
        pytest.param("gemini-3-flash-preview", "low", levelled("LOW"), id="3 low"),
        pytest.param("gemini-3-flash-preview", "medium", levelled("MEDIUM"), id="3 medium"),
        pytest.param("gemini-3-flash-preview", "high", levelled("HIGH"), id="3 high"),
        pytest.param("gemini-3-flash-preview", "max", levelled("HIGH"), id="3 max"),
        pytest.param("gemini-3-pro-preview", "medium", levelled("HIGH"), id="3 pro medium"),
        pytest.param("gemini-3.1-pro-preview", "medium", levelled("MEDIUM"), id="3.1 pro medium"),
        pytest.param("gemini-3.1-pro-preview", "minimal", levelled("LOW"), id="3.1 pro minimal"),
        pytest.param("gemini-3.7-flash", "none", {"thinkingLevel": "LOW"}, id="3.7 flash none"),
        pytest.param("gemini-flash-latest", "minimal", levelled("LOW"), id="newest flash"),
        pytest.param("gemini-3.9-flash-lite", "minimal", levelled("MINIMAL"), id="newer lite"),
        pytest.param("gemini-2.5-flash", "none", {"thinkingBudget": 0}, id="2.5 none"),
        pytest.param("gemini-2.5-pro", "none", {"thinkingBudget": 128}, id="2.5 pro none"),
        pytest.param("gemini-2.5-flash", "minimal", budgeted(512), id="2.5 minimal"),
        pytest.param("gemini-2.5-pro", "low", budgeted(1024), id="2.5 low"),
        pytest.param("gemini-2.5-flash", "medium", budgeted(8192), id="2.5 medium"),
        pytest.param("gemini-2.5-flash", "high", budgeted(24576), id="2.5 high"),
        pytest.param("gemini-2.5-flash", "xhigh", budgeted(24576), id="2.5 xhigh"),
    ],
)
def test_an_effort_becomes_what_the_model_takes(model: str, effort: Effort, config: Wired) -> None:
    body = request(GO, settings=Settings(reasoning=effort), to=target(Route(f"gemini/{model}")))

    assert body["generationConfig"] == {"thinkingConfig": config}
