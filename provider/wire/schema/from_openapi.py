"""Schemas that a client wrote for Gemini's ``parameters``, as JSON Schemas.

Source: ai.google.dev/api/caching (Schema) and the types of the google-genai package 2.34, which
write types in capitals and long numbers as strings, read on 2026-11-30.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .schema import Schema, change_below

if TYPE_CHECKING:
    from collections.abc import Mapping

_NUMBERS = frozenset(
    {"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"}
)
_UNKNOWN = frozenset({"nullable", "propertyOrdering", "property_ordering", "example"})


def from_openapi(schema: Mapping[str, Any]) -> Schema:
    """Return *schema*, which is in Gemini's subset of OpenAPI, as a JSON Schema."""
    root = _one(schema)
    unread = [root]
    while unread:  # no recursion, because schemas can be nested very deeply
        change_below(unread.pop(), _one, unread)
    return root


def _one(schema: Mapping[str, Any]) -> Schema:
    """Return one schema, with the client's own schemas in it."""
    made = {name: value for name, value in schema.items() if name not in _UNKNOWN}
    if "any_of" in made:
        made["anyOf"] = made.pop("any_of")
    for name in _NUMBERS & made.keys():
        if isinstance(made[name], str) and made[name].isdecimal():
            made[name] = int(made[name])
    if isinstance(kind := made.get("type"), str):
        made["type"] = kind.lower()
        if kind.upper() == "TYPE_UNSPECIFIED":
            del made["type"]
        elif schema.get("nullable") is True:
            made["type"] = [kind.lower(), "null"]
    return made
