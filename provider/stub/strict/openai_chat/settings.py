"""Rules for the parameters of a request and for its tools."""

from __future__ import annotations

from collections import Counter

from ....json_value import listed, mapping, string
from ..anthropic_words import REPEATED_NAME
from ..complaint import Complaint
from ..model_facts import DEEPSEEK_FORCED, is_kimi_thinking, openai_efforts
from ..openai_values import out_of_range, too_many, wrong_strict_format, wrong_strict_function
from ..openai_words import invalid, missing, unsupported, wrong_effort, wrong_function, wrong_kind
from .dialects import mistral_unreadable
from .request import ChatRequest

EMPTY = "empty array. Expected an array with minimum length 1, but got an empty array instead."
MOST_STOPS = 4
MOST_TOOLS = 128
REFUSED_BY_THINKING = (
    *("top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias"),
    "stop",
)
"""What a model of OpenAI does not take while it thinks. Source: huggingface/smolagents#1671."""


def has_messages(request: ChatRequest) -> Complaint | None:
    messages = request.body.get("messages")
    if request.vendor == "mistral" and not isinstance(messages, list):
        return mistral_unreadable("missing", "messages", "Field required")
    if messages is None:
        return missing("messages")
    if not isinstance(messages, list):
        return wrong_kind("messages", "an array of objects", messages)
    if not messages:
        return invalid("messages", EMPTY, code="empty_array")
    return None


def has_no_unknown_parameter(request: ChatRequest) -> Complaint | None:
    allowed = request.dialect.known
    if allowed is None:
        return None
    extra = (name for name in request.body if name not in allowed)
    return next((request.dialect.unknown(name) for name in extra), None)


def names_the_token_limit(request: ChatRequest) -> Complaint | None:
    if request.is_reasoning and request.body.get("max_tokens") is not None:
        return unsupported("max_tokens", " Use 'max_completion_tokens' instead.")
    both = (request.body.get("max_tokens"), request.body.get("max_completion_tokens"))
    if request.vendor in {"openai", "cerebras"} and None not in both:
        message = (
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        )
        return Complaint(message=message, code="invalid_parameter_combination")
    return None


def samples_only_where_taken(request: ChatRequest) -> Complaint | None:
    temperature = request.body.get("temperature")
    if request.vendor == "moonshot" and is_kimi_thinking(request.route.model):
        if temperature not in (None, 1):
            return Complaint(message="invalid temperature: only 1 is allowed for this model")
        return None
    if not request.is_thinking:
        return None
    if temperature not in (None, 1):
        message = (
            f"Unsupported value: 'temperature' does not support {temperature} with this model. "
            "Only the default (1) value is supported."
        )
        return Complaint(message=message, param="temperature", code="unsupported_value")
    names = (name for name in REFUSED_BY_THINKING if request.body.get(name) is not None)
    return next((unsupported(name) for name in names), None)


def reasons_only_where_it_can(request: ChatRequest) -> Complaint | None:
    effort = request.body.get("reasoning_effort")
    if request.vendor != "openai" or effort is None:
        return None
    if not request.is_reasoning:
        return request.dialect.unknown("reasoning_effort")
    taken = openai_efforts(request.route.model)
    if effort in taken:
        return None
    return wrong_effort("reasoning_effort", effort, request.route.model, taken)


def forces_no_tool_where_deepseek_thinks(request: ChatRequest) -> Complaint | None:
    """Source: deepseek-ai/DeepSeek-V3#1376."""
    choice = request.body.get("tool_choice")
    if request.vendor != "deepseek" or choice in (None, "auto", "none"):
        return None
    return Complaint(message=DEEPSEEK_FORCED) if request.is_thinking_at_deepseek else None


def streams_what_it_asks_for(request: ChatRequest) -> Complaint | None:
    if request.vendor != "openai" or request.body.get("stream_options") is None:
        return None
    if request.body.get("stream") is True:
        return None
    message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    return Complaint(message=message, param="stream_options")


def has_functions(request: ChatRequest) -> Complaint | None:
    tools = request.body.get("tools")
    if tools is None:
        return None
    if not isinstance(tools, list):
        return wrong_kind("tools", "an array of objects", tools)
    if not tools and request.vendor == "openai":
        return invalid("tools", EMPTY, code="empty_array")
    for place, tool in enumerate(tools):
        where = f"tools[{place}]"
        if not isinstance(tool, dict):
            return wrong_kind(where, "an object", tool)
        if tool.get("type") == "function" and not isinstance(tool.get("function"), dict):
            return missing(f"{where}.function")
        if tool.get("type") == "function" and request.dialect.checks_functions:
            found = wrong_function(
                tool["function"], f"{where}.function", is_openai=request.is_openai
            )
            if found is None and request.vendor == "openai":
                found = wrong_strict_function(tool["function"], f"{where}.function")
            if found is not None:
                return request.from_upstream(found)
    return None


def has_unique_names(request: ChatRequest) -> Complaint | None:
    """OpenAI itself takes two functions of one name; the other known vendors refuse them."""
    if request.vendor == "openai" or not request.dialect.checks_functions:
        return None
    functions = (
        mapping(mapping(tool).get("function")) for tool in listed(request.body.get("tools"))
    )
    counts = Counter(string(function.get("name")) for function in functions)
    twice = [name for name, count in counts.items() if count > 1 and name]
    if not twice:
        return None
    if request.is_claude:
        return request.from_upstream(Complaint(message=REPEATED_NAME))
    return request.from_upstream(Complaint(message=f"function name {twice[0]} is duplicated"))


def chooses_among_tools(request: ChatRequest) -> Complaint | None:
    if request.vendor != "openai" or request.body.get("tools") is not None:
        return None
    for name in ("tool_choice", "parallel_tool_calls"):
        if request.body.get(name) is not None:
            message = (
                f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified."
            )
            return Complaint(message=message, param=name)
    return None


def has_values_in_range(request: ChatRequest) -> Complaint | None:
    if request.vendor == "groq":
        return _wrong_at_groq(request)
    if request.vendor != "openai":
        return None
    body = request.body
    return (
        out_of_range(body)
        or too_many(body, "stop", MOST_STOPS)
        or too_many(body, "tools", MOST_TOOLS)
        or _wrong_combination(request)
    )


def _wrong_at_groq(request: ChatRequest) -> Complaint | None:
    """Return Groq's refusal of a setting that it does not support.

    Source: console.groq.com/docs/openai for what it is, read on 2026-11-30; public programs quote
    the messages about ``n`` and ``reasoning_effort``.
    """
    if request.body.get("n") not in (None, 1):
        return Complaint(message="'n' : number must be at most 1")
    refused = [
        name for name in ("logprobs", "top_logprobs", "logit_bias") if request.body.get(name)
    ]  # made up: the message is that of `reasoning_effort`
    is_plain = request.route.model.rpartition("/")[2].startswith(("llama-3", "llama-4", "gemma"))
    if is_plain and request.body.get("reasoning_effort") is not None:
        refused.append("reasoning_effort")
    if not refused:
        return None
    return Complaint(message=f"`{refused[0]}` is not supported with this model")


def _wrong_combination(request: ChatRequest) -> Complaint | None:
    """Source: ultimatejimmy/xray.koplugin#33 (JSON); public programs quote the other message."""
    body, kind = request.body, string(mapping(request.body.get("response_format")).get("type"))
    if body.get("top_logprobs") is not None and body.get("logprobs") is not True:
        message = "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled."
        return Complaint(message=message, param="top_logprobs")
    if kind == "json_object" and "json" not in str(body.get("messages")).casefold():
        message = (
            "'messages' must contain the word 'json' in some form, to use 'response_format' of "
            "type 'json_object'."
        )
        return Complaint(message=message, param="messages")
    form = mapping(mapping(body.get("response_format")).get("json_schema"))
    return wrong_strict_format(form, "response_format")


def chooses_a_declared_function(request: ChatRequest) -> Complaint | None:
    """Public programs quote the message; no public report of it was found."""
    name = mapping(mapping(request.body.get("tool_choice")).get("function")).get("name")
    if request.vendor != "openai" or not isinstance(name, str):
        return None
    functions = (mapping(mapping(t).get("function")) for t in listed(request.body.get("tools")))
    if name in {function.get("name") for function in functions}:
        return None
    message = (
        f"Invalid value for 'tool_choice': no function named '{name}' was specified in the "
        "'tools' parameter."
    )
    return Complaint(message=message, param="tool_choice")


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
    chooses_a_declared_function,
    has_values_in_range,
    forces_no_tool_where_deepseek_thinks,
)
