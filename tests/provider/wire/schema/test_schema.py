from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.wire.schema.gemini import for_gemini
from sidestep.provider.wire.schema.openai import for_openai
from sidestep.provider.wire.schema.openapi_subset import for_gemini_subset

from ....property import examples

Schema = dict[str, Any]


@dataclass
class Case:
    id: str
    schema: Schema
    made: Schema


def of(**properties: object) -> Schema:
    return {"type": "object", "properties": properties}


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


STRING = {"type": "string"}
NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}

SUBSET = [
    Case("nothing", {}, {"type": "object"}),
    Case(
        "what is kept",
        {
            **of(
                a={"type": "string", "title": "A", "description": "An a.", "minLength": 1},
                b={"type": "integer", "minimum": 1, "maximum": 2, "format": "int32"},
                c={"type": "array", "items": {"type": "boolean"}, "maxItems": 3},
            ),
            "required": ["a", "z", 1],
        },
        {
            **of(
                a={"type": "string", "title": "A", "description": "An a.", "minLength": 1},
                b={"type": "integer", "minimum": 1, "maximum": 2, "format": "int32"},
                c={"type": "array", "items": {"type": "boolean"}, "maxItems": 3},
            ),
            "required": ["a"],
        },
    ),
    Case(
        "what is lost",
        {
            "$schema": "x",
            "additionalProperties": False,
            "patternProperties": {"a": {}},
            "$defs": {},
            **of(
                a={"type": "string", "format": "uri", "default": "x", "examples": ["y"]},
                b={"type": "number", "exclusiveMinimum": 0, "multipleOf": 2, "format": "int32"},
            ),
        },
        of(a=STRING, b={"type": "number"}),
    ),
    Case(
        "strings to choose from",
        of(a={"enum": ["x", "", "y"]}),
        of(a={**STRING, "enum": ["x", "y"]}),
    ),
    Case("numbers to choose from", of(a={"enum": [1, 2]}), of(a={"type": "integer"})),
    Case(
        "a constant",
        of(a={"const": "x"}, b={"const": True}),
        of(a={**STRING, "enum": ["x"]}, b={"type": "boolean"}),
    ),
    Case(
        "null as one of the values",
        of(a={"enum": ["x", None]}),
        of(a={**STRING, "enum": ["x"], "nullable": True}),
    ),
    Case("null as a type", of(a={"type": ["string", "null"]}), of(a={**STRING, "nullable": True})),
    Case("nothing but null", of(a={"type": "null"}), of(a={**STRING, "nullable": True})),
    Case(
        "several types",
        of(a={"type": ["string", "array", "null"], "description": "A.", "maxLength": 9}),
        of(
            a={
                "anyOf": [
                    {**STRING, "maxLength": 9, "description": "A.", "nullable": True},
                    {"type": "array", "items": STRING, "description": "A.", "nullable": True},
                ]
            }
        ),
    ),
    Case(
        "one of several",
        of(a={"oneOf": [{"const": "x"}, {"type": "integer"}], "title": "A"}),
        of(
            a={
                "anyOf": [
                    {**STRING, "enum": ["x"], "title": "A"},
                    {"type": "integer", "title": "A"},
                ]
            }
        ),
    ),
    Case(
        "one or null",
        of(a={"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "A."}),
        of(a={"type": "integer", "nullable": True, "description": "A."}),
    ),
    Case(
        "a choice in a choice",
        of(a={"anyOf": [{"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, STRING]}),
        of(a={"anyOf": [{"type": "integer"}, {"type": "boolean"}, STRING]}),
    ),
    Case(
        "a choice of what is required",
        {**of(a=STRING), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        of(a=STRING),
    ),
    Case(
        "a choice at the root",
        {"oneOf": [of(a=STRING), {"$ref": "#/$defs/n"}], "$defs": {"n": of(b={"type": "integer"})}},
        of(a=STRING, b={"type": "integer"}),
    ),
    Case(
        "all of several",
        of(
            a={
                "allOf": [
                    {**of(x=STRING), "required": ["x"]},
                    {"properties": {"y": {}}, "required": ["y"]},
                ]
            }
        ),
        of(a={**of(x=STRING, y=STRING), "required": ["x", "y"]}),
    ),
    Case(
        "references",
        {
            **of(a={"$ref": "#/$defs/n", "description": "A."}, b={"$ref": "#/definitions/m"}),
            "$defs": {"n": {"type": "integer", "description": "N."}},
            "definitions": {"m": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
        },
        of(
            a={"type": "integer", "description": "A."},
            b={"type": "array", "items": {"type": "integer", "description": "N."}},
        ),
    ),
    Case(
        "a reference that leads back",
        {**of(a={"$ref": "#/$defs/n"}, b={"$ref": "#"}), "$defs": {"n": NODE}},
        of(a=of(next={"type": "object"}), b={"type": "object"}),
    ),
    Case(
        "references in a ring",
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"type": "object"},
    ),
    Case(
        "a reference to nothing",
        of(a={"$ref": "#/$defs/n"}, b={"$ref": 1}),
        of(a={"type": "object"}, b={"type": "object"}),
    ),
    Case(
        "types that are not named",
        of(a={"properties": {}}, b={"items": {}}, c={"minimum": 1}, d={}, e=True),
        of(
            a={"type": "object"},
            b={"type": "array", "items": STRING},
            c={"type": "number", "minimum": 1},
            d=STRING,
            e=STRING,
        ),
    ),
    Case(
        "a tuple",
        of(a={"prefixItems": [STRING, {"type": "integer"}]}),
        of(a={"type": "array", "items": {"anyOf": [STRING, {"type": "integer"}]}}),
    ),
    Case(
        "what is no schema",
        {
            "properties": {"a": {"type": 1, "enum": 2, "format": [3], "items": 4}},
            "required": 5,
            "allOf": 6,
            "anyOf": 7,
        },
        of(a={"type": "array", "items": STRING}),
    ),
]


@pytest.mark.parametrize("case", SUBSET, ids=lambda case: case.id)
def test_for_gemini_subset(case: Case) -> None:
    assert for_gemini_subset(case.schema) == case.made


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


@pytest.mark.parametrize("keyword", ["allOf", "anyOf"])
def test_the_subset_ends_also_where_schemas_are_in_each_other(keyword: str) -> None:
    schema: Schema = STRING
    for _ in range(3000):
        schema = {keyword: [schema, STRING]}

    assert for_gemini_subset(of(a=schema))


def test_references_that_double_do_not_grow_without_end() -> None:
    """Thirty definitions, each of which names the next one twice, would be a thousand million."""
    twice = {
        f"d{n}": of(a={"$ref": f"#/$defs/d{n + 1}"}, b={"$ref": f"#/$defs/d{n + 1}"})
        for n in range(30)
    }

    made = for_gemini_subset({**of(a={"$ref": "#/$defs/d0"}), "$defs": {**twice, "d30": STRING}})

    assert len(json.dumps(made)) < 1_000_000


def test_a_mapping_that_cannot_be_changed_will_do() -> None:
    schema = MappingProxyType(of(a={"const": "x"}))

    assert for_gemini(schema) == of(a={"enum": ["x"]})


SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
REFS = st.sampled_from(
    ["#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#/$defs/c/items", "x", ""]
)
TYPES = st.sampled_from(["object", "string", "integer", "array", "null", "boolean", "any"])
NAMES = st.sampled_from(["a", "b", "const", "items", "$ref", "enum"])


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    maps = st.dictionaries(NAMES, inner, max_size=2)
    several = st.lists(inner, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, max_size=3),
            "const": SCALARS,
            "enum": st.lists(SCALARS, max_size=3),
            "$ref": REFS,
            "$schema": st.text(max_size=3),
            "description": st.text(max_size=3),
            "format": st.sampled_from(["date-time", "uri", "int32"]),
            "default": SCALARS | st.fixed_dictionaries({"const": SCALARS}),
            "minimum": st.integers(0, 9),
            "required": st.lists(NAMES | SCALARS, max_size=3),
            "properties": maps | SCALARS,
            "$defs": maps,
            "items": inner | several,
            "additionalProperties": inner | st.booleans(),
            "anyOf": several | SCALARS,
            "oneOf": several,
            "allOf": several,
            "not": inner,
        },
    )


SCHEMAS = schemas(st.recursive(st.booleans() | st.just({}), schemas, max_leaves=4))


@given(SCHEMAS)
@examples(60)
def test_for_gemini_twice_is_as_once_and_changes_nothing(schema: Schema) -> None:
    before = copy.deepcopy(schema)

    once = for_gemini(schema)

    assert for_gemini(once) == once
    assert once["type"] == "object"
    assert schema == before


ALLOWED = {
    *("type", "title", "description", "nullable", "format", "enum", "minimum", "properties"),
    *("required", "items"),
}


def check_subset(schema: Schema) -> None:
    if "anyOf" in schema:
        assert schema.keys() == {"anyOf"}
        assert len(schema["anyOf"]) > 1
        for each in schema["anyOf"]:
            check_subset(each)
        return
    assert schema.keys() <= ALLOWED
    assert schema["type"] in {"string", "integer", "number", "boolean", "array", "object"}
    assert "enum" not in schema or schema["type"] == "string"
    assert all(isinstance(value, str) and value for value in schema.get("enum", []))
    assert set(schema.get("required", ())) <= schema.get("properties", {}).keys()
    assert ("items" in schema) is (schema["type"] == "array")
    for each in [
        *schema.get("properties", {}).values(),
        *([schema["items"]] if "items" in schema else []),
    ]:
        check_subset(each)


@given(SCHEMAS)
@examples(60)
def test_the_subset_holds_nothing_that_is_refused(schema: Schema) -> None:
    before = copy.deepcopy(schema)

    made = for_gemini_subset(schema)

    assert made["type"] == "object"
    check_subset(made)
    assert schema == before
