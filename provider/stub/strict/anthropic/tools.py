"""Rules for the declared tools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ....json_value import listed, mapping, string
from ..anthropic_words import EXTRA, MISSING, NO_OBJECT, REPEATED_NAME
from .request import AnthropicRequest, bad, first_party

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ..complaint import Complaint

NAME = r"^[a-zA-Z0-9_-]{1,128}$"
KNOWN = frozenset(
    {
        *("type", "name", "description", "input_schema", "cache_control", "strict"),
        *("input_examples", "allowed_callers", "defer_loading", "eager_input_streaming"),
    }
)
CHOICES = ("auto", "any", "tool", "none")


def custom(request: AnthropicRequest) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the agent's own tools; the provider's tools have another type."""
    for place, tool in enumerate(listed(request.body.get("tools"))):
        if mapping(tool).get("type", "custom") in ("custom", None):
            yield place, mapping(tool)


def is_a_list_of_objects(request: AnthropicRequest) -> Complaint | None:
    tools = request.body.get("tools")
    if tools is not None and not isinstance(tools, list):
        return bad("tools: Input should be a valid list")
    for place, tool in enumerate(listed(tools)):
        if not isinstance(tool, dict):
            return bad(f"tools.{place}: {NO_OBJECT}")
    return None


def has_names(request: AnthropicRequest) -> Complaint | None:
    for place, tool in custom(request):
        name = tool.get("name")
        if name is None:
            return bad(f"tools.{place}.custom.name: {MISSING}")
        if not isinstance(name, str):
            return bad(f"tools.{place}.custom.name: Input should be a valid string")
        if not re.fullmatch(NAME[1:-1], name):
            return bad(f"tools.{place}.custom.name: String should match pattern '{NAME}'")
    return None


def has_unique_names(request: AnthropicRequest) -> Complaint | None:
    names = [string(mapping(tool).get("name")) for tool in listed(request.body.get("tools"))]
    return bad(REPEATED_NAME) if len(set(names)) < len(names) else None


def has_object_schemas(request: AnthropicRequest) -> Complaint | None:
    for place, tool in custom(request):
        where = f"tools.{place}.custom.input_schema"
        schema = tool.get("input_schema")
        if schema is None:
            return bad(f"{where}: {MISSING}")
        if not isinstance(schema, dict):
            return bad(f"{where}: Input should be a valid dictionary")
        if "type" not in schema:
            return bad(f"{where}.type: {MISSING}")
        if schema["type"] != "object":
            return bad(f"{where}.type: Input should be 'object'")
        if schema.keys() & {"oneOf", "allOf", "anyOf"}:
            return bad(
                f"{where}: input_schema does not support oneOf, allOf, or anyOf at the top level"
            )
    return None


@first_party
def has_no_unknown_tool_key(request: AnthropicRequest) -> Complaint | None:
    for place, tool in custom(request):
        extra = sorted(tool.keys() - KNOWN)
        if extra:
            return bad(f"tools.{place}.custom.{extra[0]}: {EXTRA}")
    return None


@first_party
def chooses_among_tools(request: AnthropicRequest) -> Complaint | None:
    choice = request.body.get("tool_choice")
    if choice is None:
        return None
    kind = mapping(choice).get("type")
    if kind not in CHOICES:
        tags = ", ".join(map(repr, sorted(CHOICES)))
        return bad(
            f"tool_choice: Input tag {kind!r} found using 'type' does not match any of the "
            f"expected tags: {tags}"
        )
    if not listed(request.body.get("tools")):
        return bad("tool_choice: tool_choice may only be specified while providing tools")
    names = {string(mapping(tool).get("name")) for tool in listed(request.body.get("tools"))}
    if kind == "tool" and string(choice.get("name")) not in names:
        return bad(f"Tool '{choice.get('name')}' not found in provided tools")
    return None


TOOL_RULES = (
    is_a_list_of_objects,
    has_names,
    has_unique_names,
    has_object_schemas,
    has_no_unknown_tool_key,
    chooses_among_tools,
)
