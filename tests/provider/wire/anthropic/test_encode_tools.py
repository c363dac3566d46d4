"""Tools in an Anthropic request: schemas and the choice."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from sidestep.provider.conversation import (
    Settings,
    ToolSpec,
)

from .requests import (
    READ,
    USER,
    answer,
    body_of,
    call,
    target,
)

UNION = {"anyOf": [{"type": "string"}, {"type": "null"}]}

A = {
    "type": "object",
    "properties": {"kind": {"const": "a"}, "x": UNION},
    "required": ["kind", "x"],
}

B = {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]}
BOTH_KINDS = {"anyOf": [{"const": "a"}, {"const": "b"}]}
EITHER = {"kind": BOTH_KINDS, "x": UNION}
OF_SELF = {"$defs": {"S": {"anyOf": [{"$ref": "#/$defs/S"}, B]}}}

SCHEMAS = [
    pytest.param(READ.input_schema, READ.input_schema, id="an object"),
    pytest.param({"type": "object", "anyOf": []}, {"type": "object"}, id="no choice"),
    pytest.param({}, {"type": "object"}, id="empty"),
    pytest.param({"properties": {"x": {}}}, {"type": "object", "properties": {"x": {}}}, id="bare"),
    pytest.param({"type": ["object", "null"]}, {"type": "object"}, id="an object or null"),
    pytest.param({"type": "string", "enum": ["a"]}, {"type": "object"}, id="a string"),
    pytest.param({"type": 7}, {"type": "object"}, id="no type at all"),
    pytest.param(
        {"anyOf": [A, B], "description": "d"},
        {"description": "d", "type": "object", "properties": EITHER, "required": ["kind"]},
        id="anyOf",
    ),
    pytest.param(
        {"type": "object", "oneOf": [A, {"type": "null"}, {"type": "string"}, True]},
        {"type": "object", "properties": A["properties"], "required": ["kind", "x"]},
        id="oneOf with what cannot be arguments",
    ),
    pytest.param(
        {"properties": {"y": {}}, "required": ["y"], "allOf": [A, B]},
        {
            "type": "object",
            "properties": {
                "y": {},
                "kind": {"allOf": [{"const": "a"}, {"const": "b"}]},
                "x": UNION,
            },
            "required": ["y", "kind", "x"],
        },
        id="allOf",
    ),
    pytest.param(
        {"properties": {"x": {"minLength": 1}}, "required": ["x"], "anyOf": [A, B]},
        {
            "type": "object",
            "properties": {"x": {"allOf": [{"minLength": 1}, UNION]}, "kind": BOTH_KINDS},
            "required": ["x", "kind"],
        },
        id="a property of the root and of a branch",
    ),
    pytest.param(
        {"anyOf": [A, {"type": "object"}]},
        {"type": "object", "properties": A["properties"]},
        id="a branch that requires nothing",
    ),
    pytest.param(
        {"$ref": "#/$defs/A~1b", "$defs": {"A/b": B}},
        {
            "$defs": {"A/b": B},
            "type": "object",
            "properties": B["properties"],
            "required": ["kind"],
        },
        id="a reference",
    ),
    pytest.param(
        {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}], "$defs": {"A": A, "B": B}},
        {"$defs": {"A": A, "B": B}, "type": "object", "properties": EITHER, "required": ["kind"]},
        id="a choice of references",
    ),
    pytest.param(
        {"$ref": "#/$defs/S", **OF_SELF},
        {**OF_SELF, "type": "object", "properties": B["properties"]},
        id="a reference to itself",
    ),
    pytest.param(
        {"$ref": "https://a.example/s.json"}, {"type": "object"}, id="a reference elsewhere"
    ),
    pytest.param({"$ref": "#/$defs/A"}, {"type": "object"}, id="a reference to nothing"),
    pytest.param({"$ref": 7, "anyOf": {}}, {"type": "object"}, id="neither is what it should be"),
]


@pytest.mark.parametrize(("schema", "sent"), SCHEMAS)
def test_schemas_have_an_object_at_their_root(schema: dict[str, Any], sent: dict[str, Any]) -> None:
    before = copy.deepcopy(schema)

    body = body_of(tools=[ToolSpec("t", input_schema=schema)])

    assert body["tools"] == [{"name": "t", "input_schema": sent}]
    assert schema == before


AUTO, NONE, ANY = {"type": "auto"}, {"type": "none"}, {"type": "any"}
NAMED = {"type": "tool", "name": "read"}
ONE = {"disable_parallel_tool_use": True}

CHOICES = [
    pytest.param(Settings(), {}, None, id="nothing"),
    pytest.param(Settings(tool_choice="auto"), {}, AUTO, id="auto"),
    pytest.param(Settings(tool_choice="none"), {}, NONE, id="none"),
    pytest.param(Settings(tool_choice="required"), {}, ANY, id="required"),
    pytest.param(Settings(tool_choice="read"), {}, NAMED, id="a name"),
    pytest.param(Settings(tool_choice="write"), {}, AUTO, id="the name of no tool"),
    pytest.param(Settings(parallel_tool_calls=True), {}, None, id="parallel"),
    pytest.param(Settings(parallel_tool_calls=False), {}, {**AUTO, **ONE}, id="one"),
    pytest.param(
        Settings(tool_choice="required", parallel_tool_calls=False),
        {},
        {**ANY, **ONE},
        id="any one",
    ),
    pytest.param(
        Settings(tool_choice="none", parallel_tool_calls=False), {}, NONE, id="none, not one"
    ),
    pytest.param(
        Settings(tool_choice="required"), {"can_force_tool": False}, AUTO, id="cannot be forced"
    ),
    pytest.param(
        Settings(tool_choice="required", reasoning="none"),
        {"can_force_tool": False},
        ANY,
        id="can be forced, because it does not think",
    ),
    pytest.param(
        Settings(tool_choice="read", reasoning="low", max_output_tokens=9000),
        {"thinking": "manual"},
        AUTO,
        id="not forced while it thinks by a budget",
    ),
    pytest.param(
        Settings(tool_choice="read", reasoning="low"), {}, NAMED, id="forced while it thinks"
    ),
    pytest.param(
        Settings(tool_choice="required", reasoning="max"), {}, ANY, id="any while it thinks"
    ),
    pytest.param(
        Settings(tool_choice="required", reasoning="low"),
        {"can_force_tool": False},
        AUTO,
        id="never forced",
    ),
    pytest.param(
        Settings(tool_choice="read", reasoning="none"), {}, NAMED, id="forced, and not thinking"
    ),
    pytest.param(
        Settings(tool_choice="read"),
        {"unsupported_parameters": frozenset({"tool_choice"})},
        None,
        id="unsupported_parameters",
    ),
]


@pytest.mark.parametrize(("settings", "facts", "choice"), CHOICES)
def test_the_choice_of_tools(
    settings: Settings, facts: dict[str, Any], choice: dict[str, Any] | None
) -> None:
    body = body_of(to=target(**facts), tools=[READ], settings=settings)

    assert body.get("tool_choice") == choice


def test_a_tool_is_forced_by_the_name_that_the_target_knows() -> None:
    body = body_of(tools=[ToolSpec("read file")], settings=Settings(tool_choice="read file"))

    assert body["tools"] == [{"name": "read_file", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == {"type": "tool", "name": "read_file"}


def test_no_choice_without_tools() -> None:
    assert "tool_choice" not in body_of(settings=Settings(tool_choice="required"))


@pytest.mark.parametrize("asked", [None, "auto", "required", "read"])
def test_tools_declared_because_they_were_called_are_not_called_again(asked: str | None) -> None:
    body = body_of([USER, answer(call())], settings=Settings(tool_choice=asked))

    assert body["tools"] == [{"name": "read", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == NONE
