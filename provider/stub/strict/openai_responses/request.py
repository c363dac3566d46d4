"""A request in OpenAI Responses as the rules read it, and those about its parameters."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ....catalog.model import reasons_as_openai
from ....json_value import integer, listed, mapping
from ..complaint import Complaint
from ..openai_chat.request import invalid, missing, unsupported, wrong_kind
from ..openai_chat.settings import wrong_function
from ..request import StrictRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


# Source: the types of the openai package 3.57, read on 2026-11-29.
KNOWN = frozenset(
    {
        *("background", "context_management", "conversation", "include", "input", "instructions"),
        *("max_output_tokens", "max_tool_calls", "metadata", "model", "parallel_tool_calls"),
        *("previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_retention"),
        *("prompt_cache_options", "reasoning", "safety_identifier", "service_tier", "store"),
        *("stream", "stream_options", "temperature", "text", "tool_choice", "tools"),
        *("top_logprobs", "top_p", "truncation", "user"),
    }
)
LEAST_TOKENS = 16
SAMPLING = ("temperature", "top_p", "top_logprobs")
ENCRYPTED = "reasoning.encrypted_content"


class Said(StrictRequest):
    """A request to judge."""

    @cached_property
    def items(self) -> list[Mapping[str, Any]]:
        """All items of the input; a string is one message of the user's, and none of them."""
        return [mapping(each) for each in listed(self.body.get("input"))]

    @property
    def is_reasoning(self) -> bool:
        return reasons_as_openai(self.route.model)

    @property
    def continues(self) -> bool:
        """More came before than the request holds."""
        return any(self.body.get(key) for key in ("previous_response_id", "conversation", "prompt"))

    def kind(self, index: int) -> str:
        """Return the type of item *index*; what has a role and no type is a message."""
        item = self.items[index]
        kind = item.get("type", "message" if "role" in item else None)
        return kind if isinstance(kind, str) else ""


def has_input(said: Said) -> Complaint | None:
    given = said.body.get("input")
    if given is not None and not isinstance(given, str | list):
        return wrong_kind("input", "one of a string or array of objects", given)
    if given or said.continues:
        return None
    message = (
        "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be "
        "provided."
    )
    return Complaint(message=message, param="input", code="missing_required_parameter")


def has_no_unknown_parameter(said: Said) -> Complaint | None:
    for name in said.body:
        if name not in KNOWN:
            message = f"Unknown parameter: '{name}'."
            return Complaint(message=message, param=name, code="unknown_parameter")
    return None


def samples_only_where_taken(said: Said) -> Complaint | None:
    if not said.is_reasoning:
        return None
    given = (name for name in SAMPLING if said.body.get(name) is not None)
    return next((unsupported(name) for name in given), None)


def reasons_only_where_it_can(said: Said) -> Complaint | None:
    if said.is_reasoning:
        return None
    if mapping(said.body.get("reasoning")).get("effort") is not None:
        return unsupported("reasoning.effort")
    if ENCRYPTED in listed(said.body.get("include")):
        message = "Encrypted content is not supported with this model."
        return Complaint(message=message, param="include")
    return None


def asks_for_enough(said: Said) -> Complaint | None:
    value = said.body.get("max_output_tokens")
    if value is None:
        return None
    if integer(value) is None:
        return wrong_kind("max_output_tokens", "an integer", value)
    if value < LEAST_TOKENS:
        why = (
            f"integer below minimum value. Expected a value >= {LEAST_TOKENS}, but got {value} "
            "instead."
        )
        return invalid("max_output_tokens", why, code="integer_below_min_value")
    return None


def has_tools_in_form(said: Said) -> Complaint | None:
    tools = said.body.get("tools")
    if tools is not None and not isinstance(tools, list):
        return wrong_kind("tools", "an array of objects", tools)
    for place, tool in enumerate(listed(tools)):
        if not isinstance(tool, dict):
            return wrong_kind(f"tools[{place}]", "an object", tool)
        if tool.get("type") is None:
            return missing(f"tools[{place}].type")
        if tool["type"] == "function":
            found = wrong_function(tool, f"tools[{place}]")
            if found is not None:
                return found
    return None


SETTING_RULES = (
    has_input,
    has_no_unknown_parameter,
    samples_only_where_taken,
    reasons_only_where_it_can,
    asks_for_enough,
    has_tools_in_form,
)
