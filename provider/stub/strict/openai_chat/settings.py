"""What Chat Completions refuses of a request's parameters and of its tools."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from ....catalog.model import is_kimi_thinking
from ....json_value import listed, mapping, string
from ..complaint import Complaint
from .dialects import mistral_unread
from .request import Said, invalid, missing, too_long, unsupported, wrong_kind

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = r"^[a-zA-Z0-9_-]+$"
LONGEST_NAME = 64
NOT_AT_ROOT = frozenset({"oneOf", "anyOf", "allOf", "enum", "not"})
EMPTY = "empty array. Expected an array with minimum length 1, but got an empty array instead."
REFUSED_BY_REASONING = ("top_p", "presence_penalty", "frequency_penalty", "logprobs", "logit_bias")


def has_messages(said: Said) -> Complaint | None:
    messages = said.body.get("messages")
    if said.vendor == "mistral" and not isinstance(messages, list):
        return mistral_unread("missing", "messages", "Field required")
    if messages is None:
        return missing("messages")
    if not isinstance(messages, list):
        return wrong_kind("messages", "an array of objects", messages)
    if not messages:
        return invalid("messages", EMPTY, code="empty_array")
    return None


def has_no_unknown_parameter(said: Said) -> Complaint | None:
    known = said.dialect.known
    if known is None:
        return None
    return next((said.dialect.unknown(name) for name in said.body if name not in known), None)


def names_the_token_limit(said: Said) -> Complaint | None:
    if said.is_reasoning and said.body.get("max_tokens") is not None:
        return unsupported("max_tokens", " Use 'max_completion_tokens' instead.")
    both = (said.body.get("max_tokens"), said.body.get("max_completion_tokens"))
    if said.vendor in {"openai", "cerebras"} and None not in both:
        message = (
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        )
        return Complaint(message=message, code="invalid_parameter_combination")
    return None


def samples_only_where_taken(said: Said) -> Complaint | None:
    temperature = said.body.get("temperature")
    if said.vendor == "moonshot" and is_kimi_thinking(said.route.model):
        if temperature not in (None, 1):
            return Complaint(message="invalid temperature: only 1 is allowed for this model")
        return None
    if not said.is_reasoning:
        return None
    if temperature not in (None, 1):
        message = (
            f"Unsupported value: 'temperature' does not support {temperature} with this model. "
            "Only the default (1) value is supported."
        )
        return Complaint(message=message, param="temperature", code="unsupported_value")
    given = (name for name in REFUSED_BY_REASONING if said.body.get(name) is not None)
    return next((unsupported(name) for name in given), None)


def reasons_only_where_it_can(said: Said) -> Complaint | None:
    if said.vendor != "openai" or said.is_reasoning:
        return None
    if said.body.get("reasoning_effort") is None:
        return None
    return said.dialect.unknown("reasoning_effort")


def streams_what_it_asks_for(said: Said) -> Complaint | None:
    if said.vendor != "openai" or said.body.get("stream_options") is None:
        return None
    if said.body.get("stream") is True:
        return None
    message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    return Complaint(message=message, param="stream_options")


def has_functions(said: Said) -> Complaint | None:
    tools = said.body.get("tools")
    if tools is None:
        return None
    if not isinstance(tools, list):
        return wrong_kind("tools", "an array of objects", tools)
    if not tools and said.vendor == "openai":
        return invalid("tools", EMPTY, code="empty_array")
    for place, tool in enumerate(tools):
        where = f"tools[{place}]"
        if not isinstance(tool, dict):
            return wrong_kind(where, "an object", tool)
        if tool.get("type") == "function" and not isinstance(tool.get("function"), dict):
            return missing(f"{where}.function")
        if tool.get("type") == "function":
            found = wrong_function(tool["function"], f"{where}.function", is_openai=said.is_openai)
            if found is not None:
                return said.passed_on(found)
    return None


def wrong_function(
    function: Mapping[str, Any], where: str, *, is_openai: bool = True
) -> Complaint | None:
    """Complain of a function that is declared at *where*."""
    found = wrong_name(function.get("name"), f"{where}.name")
    if found is not None:
        return found
    schema = function.get("parameters")
    if schema is None:
        return None
    why = _wrong_schema(mapping(schema), is_openai=is_openai)
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
        # Deeper ones are not looked for.
        if mapping(each).get("type") == "array" and "items" not in each:
            return f"In context=('properties', '{name}'), array schema missing items."
    return None


def wrong_name(name: object, where: str) -> Complaint | None:
    """Complain of the name of a function."""
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


def has_unique_names(said: Said) -> Complaint | None:
    """OpenAI itself takes two functions of one name; those that refuse them word it like this."""
    if said.vendor == "openai":
        return None
    functions = (mapping(mapping(tool).get("function")) for tool in listed(said.body.get("tools")))
    counts = Counter(string(function.get("name")) for function in functions)
    twice = [name for name, count in counts.items() if count > 1 and name]
    if not twice:
        return None
    if said.is_claude:
        return said.passed_on(Complaint(message="tools: Tool names must be unique."))
    return said.passed_on(Complaint(message=f"function name {twice[0]} is duplicated"))


def chooses_among_tools(said: Said) -> Complaint | None:
    if said.vendor != "openai" or said.body.get("tools") is not None:
        return None
    for name in ("tool_choice", "parallel_tool_calls"):
        if said.body.get(name) is not None:
            message = (
                f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified."
            )
            return Complaint(message=message, param=name)
    return None


SETTING_RULES = (
    has_messages,
    has_no_unknown_parameter,
    names_the_token_limit,
    samples_only_where_taken,
    reasons_only_where_it_can,
    streams_what_it_asks_for,
    has_functions,
    has_unique_names,
    chooses_among_tools,
)
