"""JSON Schemas in the subset of OpenAPI that a Gemini before 2.5 takes, which loses details.

Source: ai.google.dev/api/caching (Schema) and the types of the google-genai package 2.34, read on
2026-11-29; for undocumented refusals
github.com/anomalyco/opencode/pull/12911 and github.com/nodetool-ai/nodetool/pull/4761.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .schema import Schema, resolve, rooted

_DEEPEST = 32
_MOST = 4096
"""The largest number of schemas that one can become; double references could grow without end."""

_KEYWORDS: Mapping[str, frozenset[str]] = {
    "string": frozenset({"minLength", "maxLength", "pattern"}),
    "number": frozenset({"minimum", "maximum"}),
    "integer": frozenset({"minimum", "maximum"}),
    "boolean": frozenset(),
    "array": frozenset({"minItems", "maxItems"}),
    "object": frozenset({"minProperties", "maxProperties"}),
}
"""The keywords that are kept for each type, beside its description."""
_FORMATS: Mapping[str, frozenset[str]] = {
    "string": frozenset({"date-time"}),
    "number": frozenset({"float", "double"}),
    "integer": frozenset({"int32", "int64"}),
}
_IMPLIED_BY = {
    "object": ("properties", "required", "additionalProperties", "patternProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
"""The keywords that imply a type which is not named."""
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array"}
_ANYTHING = "string"
"""The type if any type is allowed: one must be named, and text can hold anything."""


def for_gemini_subset(schema: Mapping[str, Any]) -> Schema:
    """Return *schema* without what Gemini's ``parameters`` refuses.

    References are resolved; a circular or broken one, and what is nested too deeply, becomes any
    object. ``oneOf`` becomes ``anyOf``, several types become several schemas, and only string
    constants are kept.
    """
    return _Lowering(schema).lower(rooted(schema), frozenset({"#"}))


class _Lowering:
    """The conversion of one schema to the subset."""

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
            names = names or [_implied_type(schema)]
            made = [self._typed(name, schema, refs, depth) for name in names]
        return _described(made or [{"type": _ANYTHING}], schema, is_nullable=is_nullable)

    def _whole_of(
        self, schema: Mapping[str, Any], refs: frozenset[str], depth: int
    ) -> tuple[Mapping[str, Any], frozenset[str]]:
        """Return *schema* with its reference resolved and its ``allOf`` joined into it."""
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
                made = _joined(made, whole)
        return made, refs

    def _typed(
        self, name: str, schema: Mapping[str, Any], refs: frozenset[str], depth: int
    ) -> Schema:
        """Return the schema for values of the type *name*."""
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
        """Return the properties of an object and of its alternatives."""
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


def _joined(schema: Mapping[str, Any], other: Mapping[str, Any]) -> Schema:
    """Return *schema* with the keywords of *other* that it does not have."""
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
    """Return the constants that are strings; empty strings are refused."""
    return [value for value in _constants(schema) if isinstance(value, str) and value]


def _types(schema: Mapping[str, Any]) -> tuple[list[str], bool]:
    """Return the types that are named, and whether a value can be null."""
    type_ = schema.get("type")
    named = type_ if isinstance(type_, list) else [type_]
    constants = _constants(schema)
    is_nullable = "null" in named or schema.get("nullable") is True or None in constants
    return [name for name in named if isinstance(name, str) and name in _KEYWORDS], is_nullable


def _is_null(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return False
    return schema.get("type") in ("null", ["null"]) or _constants(schema) == [None]


def _implied_type(schema: Mapping[str, Any]) -> str:
    """Return the type that *schema* implies without naming it."""
    for value in _constants(schema):
        if value is not None:
            return _TYPES.get(type(value), "object")
    for name, keywords in _IMPLIED_BY.items():
        if any(keyword in schema for keyword in keywords):
            return name
    return _ANYTHING


def _described(made: list[Schema], schema: Mapping[str, Any], *, is_nullable: bool) -> Schema:
    """Return one schema of those *made*, with the description of *schema*.

    Nothing else can stand beside ``anyOf``, so each alternative gets the description.
    """
    for each in made:
        for key in ("title", "description"):
            if isinstance(text := schema.get(key), str) and (len(made) == 1 or key not in each):
                each[key] = text
        if is_nullable:
            each["nullable"] = True
    return made[0] if len(made) == 1 else {"anyOf": made}
