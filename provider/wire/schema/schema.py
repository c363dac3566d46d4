"""JSON Schemas: walking through one, and resolving its references, without changing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Callable

Schema = dict[str, Any]

SCHEMAS = frozenset(
    {
        *("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"),
        *("additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema"),
        *("anyOf", "oneOf", "allOf", "not", "if", "then", "else"),
    }
)
"""The keywords that hold a schema or a list of schemas."""
MAPS = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
"""The keywords that hold schemas by name; such a name is not a keyword."""


def rooted(schema: Mapping[str, Any]) -> Schema:
    """Return a shallow copy of *schema* with an object as its root, not a reference to one."""
    root = dict(schema)
    seen: set[str] = set()
    while isinstance(ref := root.pop("$ref", None), str) and ref not in seen:
        seen.add(ref)
        root = {**resolve(schema, ref), **root}
    root["type"] = "object"
    return root


def resolve(schema: Mapping[str, Any], ref: str) -> Mapping[str, Any]:
    """Return the schema that *ref* names inside the whole *schema*; empty: there is none."""
    found: object = schema
    path = unquote(ref[1:]) if ref.startswith("#") else None
    if path is None or (path and not path.startswith("/")):
        return {}
    for step in path.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = dict(zip(map(str, range(len(found))), found, strict=True))
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def change_below(
    schema: Schema, change: Callable[[Mapping[str, Any]], Schema], changed: list[Schema]
) -> None:
    """Replace each schema directly in *schema* by the result of *change*; add it to *changed*."""

    def put(value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        made = change(value)
        changed.append(made)
        return made

    for key, value in schema.items():
        if key in MAPS and isinstance(value, Mapping):
            schema[key] = {name: put(each) for name, each in value.items()}
        elif key in SCHEMAS:
            is_list = isinstance(value, list)
            schema[key] = [put(each) for each in value] if is_list else put(value)
