""""""

from __future__ import annotations

import copy
import json
from types import MappingProxyType

import pytest
from hypothesis import given

from sidestep.provider.wire.schema.gemini import for_gemini
from sidestep.provider.wire.schema.openai import for_openai
from sidestep.provider.wire.schema.openapi_subset import for_gemini_subset

from ....property import examples
from .schemas import SCHEMAS, Case, Schema, of

WHOLE = [
    Case("nothing", {}, {"type": "object"}),
    Case("constant", of(a={"const": "x"}), of(a={"enum": ["x"]})),
    Case("constant null", of(a={"const": None}), of(a={"enum": [None]})),
    Case("constant beside others", of(a={"const": 1, "enum": [1, 2]}), of(a={"enum": [1]})),
    Case("a property named const", of(const={"type": "string"}), of(const={"type": "string"})),
    Case(
        "a property named items",
        of(items={"const": 1}, properties={"const": 2}),
        of(items={"enum": [1]}, properties={"enum": [2]}),
    ),
    Case(
        "a value that looks like a schema",
        of(a={"default": {"const": 1}, "examples": [{"$schema": "x"}]}),
        of(a={"default": {"const": 1}, "examples": [{"$schema": "x"}]}),
    ),
    Case(
        "schemas in lists and in names",
        {
            "type": "object",
            "$defs": {"n": {"const": 1}},
            "anyOf": [{"const": 2}, True],
            "patternProperties": {"^a": {"items": [{"const": 3}]}},
            "additionalProperties": {"not": {"const": 4}},
            "dependencies": {"a": ["b"], "c": {"const": 5}},
        },
        {
            "type": "object",
            "$defs": {"n": {"enum": [1]}},
            "anyOf": [{"enum": [2]}, True],
            "patternProperties": {"^a": {"items": [{"enum": [3]}]}},
            "additionalProperties": {"not": {"enum": [4]}},
            "dependencies": {"a": ["b"], "c": {"enum": [5]}},
        },
    ),
    Case("dialect", {"$schema": "x", **of(a={"$schema": "x"})}, of(a={})),
    Case("no type", {"properties": {}}, of()),
    Case("another type", {"type": ["object", "null"]}, {"type": "object"}),
    Case(
        "a reference and what may stand beside it",
        {**of(a={"$ref": "#/$defs/n", "description": "N.", "title": "A"}), "$defs": {"n": {}}},
        {**of(a={"$ref": "#/$defs/n", "description": "N."}), "$defs": {"n": {}}},
    ),
    Case(
        "a reference at the root",
        {"$ref": "#/$defs/n", "$defs": {"n": of(a={"$ref": "#/$defs/n"})}},
        {**of(a={"$ref": "#/$defs/n"}), "$defs": {"n": of(a={"$ref": "#/$defs/n"})}},
    ),
    Case("a reference to itself", {"$ref": "#"}, {"type": "object"}),
    Case("a reference to elsewhere", {"$ref": "https://a.b/c"}, {"type": "object"}),
    Case("a reference to nothing", {"$ref": "#/$defs/n"}, {"type": "object"}),
    Case(
        "what is no schema",
        {"properties": 1, "items": None},
        {"type": "object", "properties": 1, "items": None},
    ),
]


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case.id)
def test_for_gemini(case: Case) -> None:
    assert for_gemini(case.schema) == case.made


NEEDS = {"required": ["a"]}
ANY = {"type": "array", "items": {}}

OPENAI = [
    Case("nothing", {}, of()),
    Case("an object", of(a={"const": 1}), of(a={"const": 1})),
    Case(
        "a choice at the root", {**of(a={}), "oneOf": [{"required": ["a"]}]}, {**of(a={}), **NEEDS}
    ),
    Case("properties in a choice", {"anyOf": [of(a={}), of(b={})]}, of(a={}, b={})),
    Case("a list of values at the root", {**of(a={}), "enum": [{}], "not": {}}, of(a={})),
    Case(
        "a list of what is not said", of(a={"type": "array"}), of(a={"type": "array", "items": {}})
    ),
    Case(
        "a list or nothing, deep below",
        of(a={"anyOf": [of(b={"type": ["array", "null"]})]}),
        of(a={"anyOf": [of(b={"type": ["array", "null"], "items": {}})]}),
    ),
    Case(
        "a list of something",
        of(a={"type": "array", "items": {"type": "string"}}),
        of(a={"type": "array", "items": {"type": "string"}}),
    ),
    Case("a property named type", of(type={"type": "string"}), of(type={"type": "string"})),
    Case(
        "a reference at the root",
        {"$ref": "#/$defs/a~1b", "$defs": {"a/b": of(a={})}},
        {**of(a={}), "$defs": {"a/b": of(a={})}},
    ),
]


@pytest.mark.parametrize("case", OPENAI, ids=lambda case: case.id)
def test_for_openai(case: Case) -> None:
    assert for_openai(case.schema) == case.made


def nested(depth: int) -> Schema:
    schema: Schema = {"const": "x"}
    for _ in range(depth):
        schema = of(a=schema)
    return schema


def test_a_schema_may_be_nested_deeper_than_functions_can() -> None:
    made = for_gemini(nested(5000))

    for _ in range(5000):
        made = made["properties"]["a"]
    assert made == {"enum": ["x"]}
    assert len(json.dumps(for_gemini_subset(nested(5000)))) < 5000


def test_a_mapping_that_cannot_be_changed_will_do() -> None:
    schema = MappingProxyType(of(a={"const": "x"}))

    assert for_gemini(schema) == of(a={"enum": ["x"]})


@given(SCHEMAS)
@examples(60)
def test_for_gemini_twice_is_as_once_and_changes_nothing(schema: Schema) -> None:
    before = copy.deepcopy(schema)

    once = for_gemini(schema)

    assert for_gemini(once) == once
    assert once["type"] == "object"
    assert schema == before
