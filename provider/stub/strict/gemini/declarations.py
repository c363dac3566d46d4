"""Rules for the declared functions."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from ....json_value import integer, listed, string
from ..complaint import Complaint
from .request import GeminiRequest, lacking, snake, unknown, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
NAME_WORDS = (
    "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, "
    "A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."
)
TOOLS = frozenset(
    {
        *("functionDeclarations", "googleSearch", "googleSearchRetrieval", "codeExecution"),
        *("urlContext", "googleMaps", "computerUse", "fileSearch", "mcpServers"),
    }
)
DECLARATION = frozenset(
    {
        *("name", "description", "behavior", "parameters", "parametersJsonSchema"),
        *("response", "responseJsonSchema"),
    }
)
# Source: ai.google.dev/api/caching (Schema), read on 2026-11-29.
SCHEMA = frozenset(
    {
        *("type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems"),
        *("properties", "required", "minProperties", "maxProperties", "minLength", "maxLength"),
        *("pattern", "example", "anyOf", "propertyOrdering", "default", "items", "minimum"),
        "maximum",
    }
)
TYPES = ("type_unspecified", "string", "number", "integer", "boolean", "array", "object", "null")
"""The types, in the order of their numbers, which the API takes as well as their names."""
FORMATS = {
    "string": frozenset({"enum", "date-time"}),
    "number": frozenset({"float", "double"}),
    "integer": frozenset({"int32", "int64"}),
}
LIST_WORDS = "Proto field is not repeating, cannot start list."


def has_tools_in_form(request: GeminiRequest) -> Complaint | None:
    tools = request.read.get("tools")
    for at, tool in enumerate(listed([tools] if isinstance(tools, dict) else tools)):
        if not isinstance(tool, dict):
            return unreadable(f"tools[{at}]", "type.googleapis.com/Tool", tool)
        extra = sorted(tool.keys() - TOOLS)
        if extra:
            return unknown(extra[0], f"tools[{at}]")
    for where, function in request.functions():
        extra = sorted(function.keys() - DECLARATION)
        if extra:
            return unknown(extra[0], where)
    return None


def has_names(request: GeminiRequest) -> Complaint | None:
    for where, function in request.functions():
        if not NAME.fullmatch(string(function.get("name"))):
            return lacking(f"{where}.name", NAME_WORDS)
    return None


def has_unique_names(request: GeminiRequest) -> Complaint | None:
    counts = Counter(string(function.get("name")) for _, function in request.functions())
    for name, count in counts.items():
        if count > 1:
            return Complaint(message=f"Duplicate function declaration found: {name}")
    return None


def has_schemas_that_it_reads(request: GeminiRequest) -> Complaint | None:
    for where, function in request.functions():
        if function.get("parameters") is None:
            continue
        if function.get("parametersJsonSchema") is not None:
            why = "only one of parameters and parameters_json_schema may be set"  # made up
            return lacking(where, why)
        for at, schema in _schemas(function["parameters"], f"{where}.parameters"):
            found = _unread(schema, at)
            if found is not None:
                return found
    return None


def _schemas(schema: object, where: str) -> Iterator[tuple[str, object]]:
    """Yield *schema* and all schemas inside it, with their paths."""
    yield where, schema
    if not isinstance(schema, dict):
        return
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for place, (_, each) in enumerate(properties.items()):
            yield from _schemas(each, f"{where}.properties[{place}].value")
    for place, each in enumerate(listed(schema.get("anyOf"))):
        yield from _schemas(each, f"{where}.any_of[{place}]")
    if "items" in schema:
        yield from _schemas(schema["items"], f"{where}.items")


def _unread(schema: object, where: str) -> Complaint | None:
    if not isinstance(schema, dict):
        return unreadable(where, "type.googleapis.com/Schema", schema)
    for name in schema:
        if name not in SCHEMA:
            return unknown(name, where)
    for name in ("type", "format", "description", "items"):
        if isinstance(schema.get(name), list):
            why = f"Invalid JSON payload received. Unknown name \"{snake(name)}\" at '{where}': "
            return Complaint(message=why + LIST_WORDS)
    kind = _kind(schema.get("type"))
    if "type" in schema and kind not in TYPES:
        return unreadable(f"{where}.type", "TYPE_ENUM", schema["type"])
    for place, value in enumerate(listed(schema.get("enum"))):
        if not isinstance(value, str):
            return unreadable(f"{where}.enum[{place}]", "TYPE_STRING", value)
    return _unfit(schema, kind, where)


def _kind(value: object) -> str:
    """Return the type that *value* names or numbers; empty if it is neither."""
    number = integer(value)
    if number is not None:
        return TYPES[number] if 0 <= number < len(TYPES) else ""
    return string(value).lower()


def _unfit(schema: dict[str, object], kind: str, where: str) -> Complaint | None:
    """Return the refusal of keywords that do not fit the type."""
    if schema.get("enum") is not None and kind != "string":
        return lacking(f"{where}.enum", "only allowed for STRING type")
    formats = FORMATS.get(kind)
    if formats is not None and schema.get("format", next(iter(formats))) not in formats:
        choices = " and ".join(f"'{each}'" for each in sorted(formats, reverse=True))
        return lacking(f"{where}.format", f"only {choices} are supported for {kind.upper()} type")
    if kind == "array" and schema.get("items") is None:
        return lacking(f"{where}.items", "missing field.")
    properties = schema.get("properties")
    names = properties.keys() if isinstance(properties, dict) else set[str]()
    for place, name in enumerate(listed(schema.get("required"))):
        if name not in list(names):
            return lacking(f"{where}.required[{place}]", "property is not defined")
    return None


DECLARATION_RULES = (
    has_tools_in_form,
    has_names,
    has_unique_names,
    has_schemas_that_it_reads,
)
