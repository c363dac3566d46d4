"""Refusals in OpenAI's words, for Chat Completions and for Responses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...json_value import mapping
from .complaint import Complaint

JSON_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),
    (str, "a string"),
    (int, "an integer"),
    (float, "a decimal"),
    (list, "an array"),
    (dict, "an object"),
)
NAME = r"^[a-zA-Z0-9_-]+$"
LONGEST_NAME = 64
NOT_AT_ROOT = frozenset({"oneOf", "anyOf", "allOf", "enum", "not"})


def kind_of(value: object) -> str:
    """Return OpenAI's name for the JSON type of *value*."""
    return next((name for kind, name in JSON_KINDS if isinstance(value, kind)), "null")


def wrong_kind(where: str, expected: str, value: object) -> Complaint:
    """Return the refusal of a *value* that has the wrong JSON type."""
    got = kind_of(value)
    shown = got if got == "null" else f"{got} instead"
    message = f"Invalid type for '{where}': expected {expected}, but got {shown}."
    return Complaint(message=message, param=where, code="invalid_type")


def invalid(where: str, why: str, *, code: str = "invalid_value") -> Complaint:
    """Return the refusal of the value at *where*."""
    return Complaint(message=f"Invalid '{where}': {why}", param=where, code=code)


def too_long(where: str, longest: int, length: int) -> Complaint:
    """Return the refusal of a long string, as capture openai_400_tool_id_too_long has it."""
    why = (
        f"string too long. Expected a string with maximum length {longest}, "
        f"but got a string with length {length} instead."
    )
    return invalid(where, why, code="string_above_max_length")


def missing(where: str) -> Complaint:
    """Return the refusal of a request that has nothing at *where*."""
    message = f"Missing required parameter: '{where}'."
    return Complaint(message=message, param=where, code="missing_required_parameter")


def unsupported(name: str, more: str = "") -> Complaint:
    """Return the refusal of a parameter that the model does not take."""
    message = f"Unsupported parameter: '{name}' is not supported with this model.{more}"
    return Complaint(message=message, param=name, code="unsupported_parameter")


def wrong_effort(where: str, effort: object, model: str, taken: tuple[str, ...]) -> Complaint:
    """Return the refusal of an *effort* that *model* does not take.

    Source: openai/codex and github.com/davidmigloz/langchain_dart/pull/760, read on 2026-11-30.
    """
    *others, last = map(repr, taken)
    message = (
        f"Unsupported value: '{effort}' is not supported with the '{model}' model. Supported "
        f"values are: {', '.join(others)}, and {last}."
    )
    return Complaint(message=message, param=where, code="unsupported_value")


def unknown_parameter(where: str) -> Complaint:
    """Return the refusal of a parameter that the API does not know."""
    message = f"Unknown parameter: '{where}'."
    return Complaint(message=message, param=where, code="unknown_parameter")


def wrong_function(
    function: Mapping[str, Any], where: str, *, is_openai: bool = True
) -> Complaint | None:
    """Return what is wrong with the *function* declared at *where*; None for nothing.

    Args:
        is_openai: Apply OpenAI's own rules for schemas too.
    """
    found = wrong_name(function.get("name"), f"{where}.name")
    if found is not None:
        return found
    schema = function.get("parameters")
    why = None if schema is None else _wrong_schema(mapping(schema), is_openai=is_openai)
    if why is None:
        return None
    message = f"Invalid schema for function '{function['name']}': {why}"
    param = f"{where}.parameters"
    return Complaint(message=message, param=param, code="invalid_function_parameters")


def _wrong_schema(schema: Mapping[str, Any], *, is_openai: bool) -> str | None:
    kind = schema.get("type")
    if kind != "object":
        return f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
    if not is_openai:
        return None
    if schema.keys() & NOT_AT_ROOT:
        return (
            "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at "
            "the top level."
        )
    for name, each in mapping(schema.get("properties")).items():
        # Deeper arrays are not checked.
        if mapping(each).get("type") == "array" and "items" not in each:
            return f"In context=('properties', '{name}'), array schema missing items."
    return None


def wrong_name(name: object, where: str) -> Complaint | None:
    """Return what is wrong with the *name* of a function; None for nothing."""
    if name is None:
        return missing(where)
    if not isinstance(name, str):
        return wrong_kind(where, "a string", name)
    if len(name) > LONGEST_NAME:
        return too_long(where, LONGEST_NAME, len(name))
    if not re.fullmatch(NAME[1:-1], name):
        why = f"string does not match pattern. Expected a string that matches the pattern '{NAME}'."
        return invalid(where, why)
    return None
