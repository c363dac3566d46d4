"""JSON Schemas in the subset of OpenAPI that a Gemini before 2.5 takes; some of each is lost.

Source: ai.google.dev/api/caching (Schema) and the types of the google-genai package 2.34, read on
2026-11-29; for what is refused without being written there
github.com/anomalyco/opencode/pull/12911 and github.com/nodetool-ai/nodetool/pull/4761.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .schema import Schema, resolve, rooted

_DEEPEST = 32
_MOST = 4096
"""How many schemas may come of one; what refers to others twice over could double without end."""

_KEYWORDS: Mapping[str, frozenset[str]] = {
    "string": frozenset({"minLength", "maxLength", "pattern"}),
    "number": frozenset({"minimum", "maximum"}),
    "integer": frozenset({"minimum", "maximum"}),
    "boolean": frozenset(),
    "array": frozenset({"minItems", "maxItems"}),
    "object": frozenset({"minProperties", "maxProperties"}),
}
"""What may be said of each type beside its description, and is taken over as it is."""
_FORMATS: Mapping[str, frozenset[str]] = {
    "string": frozenset({"date-time"}),
    "number": frozenset({"float", "double"}),
    "integer": frozenset({"int32", "int64"}),
}
_TOLD_BY = {
    "object": ("properties", "required", "additionalProperties", "patternProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
"""The keywords that tell a type which is not named."""
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array"}
_ANYTHING = "string"
"""Stands for the type where any would do: there must be one, and what is said fits in it."""


def for_gemini_subset(schema: Mapping[str, Any]) -> Schema:
    """Return *schema* without what Gemini's ``parameters`` refuses.

    A reference becomes what it refers to; one that leads back to itself or nowhere, and what is
    nested too deeply, becomes any object. One of several schemas is any of them, several types
    are as many schemas, and of constants only strings are kept.
    """
    return _Lowering(schema).lower(rooted(schema), frozenset({"#"}))


class _Lowering:
    """One schema on its way to the subset."""

    def __init__(self, whole: Mapping[str, Any]) -> None:
        self._whole = whole
        self._count = 0

    def lower(self, schema: object, refs: frozenset[str], depth: int = 0) -> Schema:
        """Return *schema* in the subset.

        Args:
            refs: The references that led here.
        """
        if not isinstance(schema, Mapping):
            return {"type": _ANYTHING}
        self._count += 1
        if depth > _DEEPEST or self._count > _MOST:
            return {"type": "object"}
        schema, refs = self._whole_of(schema, refs, depth)
        names, is_nullable = _types(schema)
        alternatives = _alternatives(schema)
        if alternatives and not names:
            others = [each for each in alternatives if not _is_null(each)]
            is_nullable = is_nullable or len(others) < len(alternatives)
            lowered = (self.lower(each, refs, depth + 1) for each in others)
            made = [one for each in lowered for one in each.get("anyOf", [each])]
        else:
            names = names or [_told_type(schema)]
            made = [self._typed(name, schema, refs, depth) for name in names]
        return _said(made or [{"type": _ANYTHING}], schema, is_nullable=is_nullable)

    def _whole_of(
        self, schema: Mapping[str, Any], refs: frozenset[str], depth: int
    ) -> tuple[Mapping[str, Any], frozenset[str]]:
        """Put into *schema* what it refers to, and all that must hold as well."""
        while "$ref" in schema:
            ref = schema["$ref"]
            found = resolve(self._whole, ref) if isinstance(ref, str) and ref not in refs else {}
            refs |= {ref} if isinstance(ref, str) else set()
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**(found or {"type": "object"}), **rest}
        parts = schema.get("allOf")
        if not isinstance(parts, list):
            return schema, refs
        made = {key: value for key, value in schema.items() if key != "allOf"}
        for part in parts:
            self._count += 1
            if isinstance(part, Mapping) and self._count <= _MOST and depth <= _DEEPEST:
                whole, refs = self._whole_of(part, refs, depth + 1)
                made = _merged(made, whole)
        return made, refs

    def _typed(
        self, name: str, schema: Mapping[str, Any], refs: frozenset[str], depth: int
    ) -> Schema:
        """Return what *schema* says of values of the type *name*."""
        kept = _KEYWORDS[name]
        made = {"type": name, **{key: value for key, value in schema.items() if key in kept}}
        format_ = schema.get("format")
        if isinstance(format_, str) and format_ in _FORMATS.get(name, ()):
            made["format"] = format_
        if name == "string" and (values := _strings(schema)):
            made["enum"] = values
        if name == "array":
            items = schema.get("items", schema.get("prefixItems"))
            each = {"anyOf": items} if isinstance(items, list) else items
            made["items"] = self.lower(each, refs, depth + 1)
        if name == "object":
            made |= self._object(schema, refs, depth)
        return made

    def _object(self, schema: Mapping[str, Any], refs: frozenset[str], depth: int) -> Schema:
        """Return the properties of an object, with those that it has only in some cases."""
        properties = dict(_properties(schema))
        for each in _alternatives(schema):
            if isinstance(each, Mapping):
                case, refs = self._whole_of(each, refs, depth)
                properties = {**_properties(case), **properties}
        if not properties:
            return {}
        made: Schema = {
            "properties": {
                name: self.lower(each, refs, depth + 1) for name, each in properties.items()
            }
        }
        if required := [name for name in _required(schema) if name in properties]:
            made["required"] = required
        return made


def _merged(schema: Mapping[str, Any], other: Mapping[str, Any]) -> Schema:
    """Return *schema* and what *other* says beyond it."""
    made = {**other, **schema}
    if properties := {**_properties(other), **_properties(schema)}:
        made["properties"] = properties
    if required := list(dict.fromkeys([*_required(schema), *_required(other)])):
        made["required"] = required
    return made


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _required(schema: Mapping[str, Any]) -> list[str]:
    names = schema.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _alternatives(schema: Mapping[str, Any]) -> list[object]:
    for key in ("anyOf", "oneOf"):
        if isinstance(each := schema.get(key), list):
            return each
    return []


def _constants(schema: Mapping[str, Any]) -> list[object]:
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else []


def _strings(schema: Mapping[str, Any]) -> list[str]:
    """Return the strings that are listed; an empty one may not stand there."""
    return [value for value in _constants(schema) if isinstance(value, str) and value]


def _types(schema: Mapping[str, Any]) -> tuple[list[str], bool]:
    """Return the types that are named, and whether a value may be null."""
    said = schema.get("type")
    named = said if isinstance(said, list) else [said]
    constants = _constants(schema)
    is_nullable = "null" in named or schema.get("nullable") is True or None in constants
    return [name for name in named if isinstance(name, str) and name in _KEYWORDS], is_nullable


def _is_null(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return False
    return schema.get("type") in ("null", ["null"]) or _constants(schema) == [None]


def _told_type(schema: Mapping[str, Any]) -> str:
    """Return the type that *schema* is about without naming it."""
    for value in _constants(schema):
        if value is not None:
            return _TYPES.get(type(value), "object")
    for name, keywords in _TOLD_BY.items():
        if any(keyword in schema for keyword in keywords):
            return name
    return _ANYTHING


def _said(made: list[Schema], schema: Mapping[str, Any], *, is_nullable: bool) -> Schema:
    """Return one schema of those *made*, described as *schema* is.

    Beside several nothing else may stand, so each of them says it.
    """
    for each in made:
        for key in ("title", "description"):
            if isinstance(text := schema.get(key), str) and (len(made) == 1 or key not in each):
                each[key] = text
        if is_nullable:
            each["nullable"] = True
    return made[0] if len(made) == 1 else {"anyOf": made}
