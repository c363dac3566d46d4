"""Schemas in the subset that an older Gemini takes."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given

from sidestep.provider.wire.schema.openapi_subset import for_gemini_subset

from ....property import examples
from .schemas import SCHEMAS, Case, Schema, of

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
