"""What the tests of schema share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]


@dataclass
class Case:
    id: str
    schema: Schema
    made: Schema


def of(**properties: object) -> Schema:
    return {"type": "object", "properties": properties}


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
