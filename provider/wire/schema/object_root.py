"""The JSON Schema of a tool's arguments, as one object at its root.

Anthropic refuses a root of another type, and a root that is a choice between schemas. Such a root
becomes one object, as close as possible: it may allow more than before, but never less.

Source: the `InputSchema` of the anthropic package 2.14, and the error ``input_schema does not
support oneOf, allOf, or anyOf at the top level``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...json_value import listed, mapping
from .schema import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

_CHOICES = ("allOf", "anyOf", "oneOf")
_DEEPEST = 4
"""The depth to which references and choices are followed; a schema can refer to itself."""


def object_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return *schema* if its root is an object, or else an object that allows the same values."""
    if schema.get("type") == "object" and not any(name in schema for name in ("$ref", *_CHOICES)):
        return schema
    if not _can_be_object(schema):
        return {"type": "object"}
    rest = {key: value for key, value in schema.items() if key not in ("$ref", *_CHOICES)}
    properties, required = _members(schema, schema, _DEEPEST)
    made = {**rest, "type": "object"}
    if properties:
        made["properties"] = properties
    if required:
        made["required"] = required
    else:
        made.pop("required", None)
    return made


def _can_be_object(schema: Mapping[str, Any]) -> bool:
    """True if *schema* allows an object, as arguments are; ``null`` and strings are none."""
    type_ = schema.get("type", "object")
    return type_ == "object" or (isinstance(type_, list) and "object" in type_)


def _members(
    schema: Mapping[str, Any], root: Mapping[str, Any], depth: int
) -> tuple[dict[str, Any], list[str]]:
    """Return all properties in *schema*, and the names that it always requires."""
    properties = dict(mapping(schema.get("properties")))
    required = list(listed(schema.get("required")))
    if depth == 0:
        return properties, required
    if isinstance(reference := schema.get("$ref"), str):
        members = _members(resolve(root, reference), root, depth - 1)
        _join(properties, required, [members], is_all=True)
    for name in _CHOICES:
        branches = [branch for branch in listed(schema.get(name)) if isinstance(branch, dict)]
        each = [_members(branch, root, depth - 1) for branch in branches if _can_be_object(branch)]
        _join(properties, required, each, is_all=name == "allOf")
    return properties, required


def _join(
    properties: dict[str, Any],
    required: list[str],
    branches: list[tuple[dict[str, Any], list[str]]],
    *,
    is_all: bool,
) -> None:
    """Add the members of *branches* to *properties* and *required*."""
    schemas: dict[str, list[Any]] = {}
    for members, _ in branches:
        for name, schema in members.items():
            seen = schemas.setdefault(name, [])
            if schema not in seen:
                seen.append(schema)
    for name, seen in schemas.items():
        joined = seen[0] if len(seen) == 1 else {"allOf" if is_all else "anyOf": seen}
        own = properties.get(name, joined)
        properties[name] = own if own == joined else {"allOf": [own, joined]}
    for name in dict.fromkeys(name for _, names in branches for name in names):
        is_always = is_all or all(name in names for _, names in branches)
        if is_always and name not in required:
            required.append(name)
