"""Rules for the parameters of a request and for its tools."""

from __future__ import annotations

from ....json_value import integer, listed, mapping
from ..complaint import Complaint
from ..model_facts import DEEPSEEK_FORCED, is_deepseek_thinking, openai_efforts, thinks_as_asked
from ..openai_values import out_of_range, wrong_strict_format, wrong_strict_function
from ..openai_words import (
    invalid,
    missing,
    unknown_parameter,
    unsupported,
    wrong_effort,
    wrong_function,
    wrong_kind,
)
from .request import ResponsesRequest, openai_only

# Source: the types of the openai package 3.57, read on 2026-11-29.
KNOWN = frozenset(
    {
        *("background", "context_management", "conversation", "include", "input", "instructions"),
        *("max_output_tokens", "max_tool_calls", "metadata", "model", "parallel_tool_calls"),
        *("previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_retention"),
        *("prompt_cache_options", "reasoning", "safety_identifier", "service_tier", "store"),
        *("stream", "stream_options", "temperature", "text", "tool_choice", "tools"),
        *("top_logprobs", "top_p", "truncation", "user", "access_programs", "background_options"),
        *("client_metadata", "image", "moderation"),
    }
)
"""With ``client_metadata``, which Codex sends and the API takes, as recorded requests show."""
LEAST_TOKENS = 16
INCLUDED = (
    *("file_search_call.results", "web_search_call.results", "web_search_call.action.sources"),
    *("message.input_image.image_url", "computer_call_output.output.image_url"),
    *("code_interpreter_call.outputs", "reasoning.encrypted_content"),
    "message.output_text.logprobs",
)
SAMPLING = ("temperature", "top_p", "top_logprobs")
ENCRYPTED = "reasoning.encrypted_content"


def has_input(request: ResponsesRequest) -> Complaint | None:
    value = request.body.get("input")
    if value is not None and not isinstance(value, str | list):
        return wrong_kind("input", "one of a string or array of objects", value)
    if value or request.is_continued:
        return None
    message = (
        "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be "
        "provided."
    )
    return Complaint(message=message, param="input", code="missing_required_parameter")


@openai_only
def has_no_unknown_parameter(request: ResponsesRequest) -> Complaint | None:
    for name in request.body:
        if name not in KNOWN:
            return unknown_parameter(name)
    return None


@openai_only
def samples_only_where_taken(request: ResponsesRequest) -> Complaint | None:
    """Sampling is refused while the model thinks."""
    if not request.is_reasoning or not thinks_as_asked(request.route.model, request.effort):
        return None
    names = (name for name in SAMPLING if request.body.get(name) is not None)
    return next((unsupported(name) for name in names), None)


@openai_only
def reasons_only_where_it_can(request: ResponsesRequest) -> Complaint | None:
    if request.is_reasoning:
        return _wrong_effort(request)
    if request.effort is not None:
        return unsupported("reasoning.effort")
    if ENCRYPTED in listed(request.body.get("include")):
        message = "Encrypted content is not supported with this model."
        return Complaint(message=message, param="include")
    return None


def _wrong_effort(request: ResponsesRequest) -> Complaint | None:
    taken = openai_efforts(request.route.model)
    if request.effort is None or request.effort in taken:
        return None
    return wrong_effort("reasoning.effort", request.effort, request.route.model, taken)


def forces_no_tool_where_deepseek_thinks(request: ResponsesRequest) -> Complaint | None:
    """Source: deepseek-ai/DeepSeek-V3#1376, and duolahypercho/codex-router#106."""
    choice = request.body.get("tool_choice")
    is_thinking = is_deepseek_thinking(request.route.model) and request.effort != "none"
    if request.vendor != "deepseek" or not is_thinking or choice in (None, "auto", "none"):
        return None
    return Complaint(message=DEEPSEEK_FORCED)


@openai_only
def asks_for_enough(request: ResponsesRequest) -> Complaint | None:
    value = request.body.get("max_output_tokens")
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


def has_tools_in_form(request: ResponsesRequest) -> Complaint | None:
    tools = request.body.get("tools")
    if tools is not None and not isinstance(tools, list):
        return wrong_kind("tools", "an array of objects", tools)
    for place, tool in enumerate(listed(tools)):
        if not isinstance(tool, dict):
            return wrong_kind(f"tools[{place}]", "an object", tool)
        if tool.get("type") is None:
            return missing(f"tools[{place}].type")
        if tool["type"] == "function" and request.is_openai:
            found = wrong_function(tool, f"tools[{place}]")
            found = found or wrong_strict_function(tool, f"tools[{place}]")
            if found is not None:
                return found
    return None


@openai_only
def has_values_that_it_knows(request: ResponsesRequest) -> Complaint | None:
    """Source: see `openai_values`; public programs quote the message about ``include``."""
    form = mapping(mapping(request.body.get("text")).get("format"))
    found = out_of_range(request.body) or wrong_strict_format(
        form, "text.format.schema", code="invalid_json_schema"
    )
    for place, value in enumerate(listed(request.body.get("include"))):
        if found is None and value not in INCLUDED:
            *others, last = map(repr, INCLUDED)
            message = (
                f"Invalid value: '{value}'. Supported values are: {', '.join(others)}, and {last}."
            )
            found = Complaint(message=message, param=f"include[{place}]", code="invalid_value")
    return found


@openai_only
def chooses_a_declared_function(request: ResponsesRequest) -> Complaint | None:
    """Public programs quote the message, for ``image_generation`` and ``web_search``."""
    choice = mapping(request.body.get("tool_choice"))
    names = {mapping(tool).get("name") for tool in listed(request.body.get("tools"))}
    if choice.get("type") != "function" or choice.get("name") in names:
        return None
    message = f"Tool choice '{choice.get('name')}' not found in 'tools' parameter."
    return Complaint(message=message, param="tool_choice")


SETTING_RULES = (
    has_input,
    has_no_unknown_parameter,
    samples_only_where_taken,
    reasons_only_where_it_can,
    forces_no_tool_where_deepseek_thinks,
    asks_for_enough,
    has_tools_in_form,
    has_values_that_it_knows,
    chooses_a_declared_function,
)
