"""Rules for the parameters of a request, and for its messages as a whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ....json_value import integer, listed, mapping, string
from ..anthropic_words import EXTRA, MISSING, NO_OBJECT
from .request import AnthropicRequest, bad, first_party

if TYPE_CHECKING:
    from ..complaint import Complaint

# Source: the types of the anthropic package 2.14.0, beta ones included, read on 2026-11-29.
KNOWN = frozenset(
    {
        *("model", "messages", "max_tokens", "system", "stream", "stop_sequences", "metadata"),
        *("tools", "tool_choice", "thinking", "temperature", "top_k", "top_p", "service_tier"),
        *("cache_control", "container", "context_management", "inference_geo", "output_config"),
        *("mcp_servers", "output_format", "speed", "betas", "fallbacks", "diagnostics"),
        *("billing_policy", "compaction", "fallback_credit_token", "thread", "user_profile_id"),
        "workspace_id",
    }
)
MESSAGE_KEYS = frozenset({"role", "content"})
SYSTEM_KEYS = MESSAGE_KEYS | {"clear_at", "output_config"}
THINKING_TAGS = ("adaptive", "disabled", "enabled")
FORCED = frozenset({"any", "tool"})
LEAST_BUDGET = 1024
EFFORTS = ("low", "medium", "high", "xhigh", "max")
SAMPLING = ("temperature", "top_p", "top_k")


def has_max_tokens(request: AnthropicRequest) -> Complaint | None:
    if "max_tokens" not in request.body:
        return bad(f"max_tokens: {MISSING}")
    value = integer(request.body["max_tokens"])
    if value is None:
        return bad("max_tokens: Input should be a valid integer")
    if value < 1:
        return bad("max_tokens: Input should be greater than or equal to 1")
    return None


def has_messages(request: AnthropicRequest) -> Complaint | None:
    if "messages" not in request.body:
        return bad(f"messages: {MISSING}")
    if not isinstance(request.body["messages"], list):
        return bad("messages: Input should be a valid list")
    if not request.body["messages"]:
        return bad("messages: at least one message is required")
    return None


@first_party
def has_no_unknown_parameter(request: AnthropicRequest) -> Complaint | None:
    return next((bad(f"{name}: {EXTRA}") for name in request.body if name not in KNOWN), None)


def has_messages_of_objects(request: AnthropicRequest) -> Complaint | None:
    for index, message in enumerate(request.body["messages"]):
        place = f"messages.{index}"
        if not isinstance(message, dict):
            return bad(f"{place}: {NO_OBJECT}")
        for key in ("role", "content"):
            if key not in message:
                return bad(f"{place}.{key}: {MISSING}")
        if not isinstance(message["content"], str | list):
            return bad(f"{place}.content: Input should be a valid list")
        known = SYSTEM_KEYS if message["role"] == "system" else MESSAGE_KEYS
        extra = sorted(message.keys() - known)
        if extra and not request.is_facade:
            return bad(f"{place}.{extra[0]}: {EXTRA}")
    return None


def has_known_roles(request: AnthropicRequest) -> Complaint | None:
    for message in request.messages:
        role = message["role"]
        if role not in ("user", "assistant", "system"):
            return bad(
                f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant". '
                "For more information on the messages API, see "
                "https://docs.anthropic.com/en/api/messages"
            )
    return None


def has_system_messages_where_taken(request: AnthropicRequest) -> Complaint | None:
    """Since Opus 4.8 a system message may follow others; one without content may stand first.

    Source: platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages, and the
    message of the first refusal itself, as public gateways record it; read on 2026-11-30.
    """
    if request.is_facade and request.vendor != "openrouter":
        return None
    for index, message in enumerate(request.messages):
        if message["role"] != "system":
            continue
        if not request.facts.takes_system_messages:
            return bad("role 'system' is not supported on this model")
        if message["content"] and not index:
            return bad(
                f"messages.{index}: use the top-level 'system' parameter for the initial system "
                "prompt; the directive-only form (content: [] with output_config) is accepted at "
                "any position"
            )
    return None


def has_a_readable_system(request: AnthropicRequest) -> Complaint | None:
    system = request.body.get("system")
    if system is not None and not isinstance(system, str | list):
        return bad("system: Input should be a valid list")
    for place, block in enumerate(listed(system)):
        if mapping(block).get("type") != "text":
            return bad(f"system.{place}.type: Input should be 'text'")
        if not isinstance(mapping(block).get("text"), str):
            return bad(f"system.{place}.text: {MISSING}")
    return None


@first_party
def thinks_as_the_model_does(request: AnthropicRequest) -> Complaint | None:
    kind, taken = request.thinking, request.facts.thinking
    if "thinking" not in request.body or kind in taken:
        return None
    if kind not in THINKING_TAGS:
        tags = ", ".join(map(repr, THINKING_TAGS))
        return bad(
            f"thinking: Input tag {kind!r} found using 'type' does not match any of the expected "
            f"tags: {tags}"
        )
    if kind == "adaptive":
        return bad("adaptive thinking is not supported on this model")
    if "adaptive" not in taken:
        return bad("thinking: this model does not support thinking")  # made up
    return bad(
        f'"thinking.type.{kind}" is not supported for this model. Use "thinking.type.adaptive" '
        'and "output_config.effort" to control thinking behavior.'
    )


@first_party
def has_no_unknown_thinking_key(request: AnthropicRequest) -> Complaint | None:
    thinking = mapping(request.body.get("thinking"))
    known = {"type"} if request.thinking == "disabled" else {"type", "display"}
    if request.thinking == "enabled":
        known.add("budget_tokens")
    if request.is_thinking and request.facts.binds_prefix:
        known.add("block_binding")
    extra = sorted(thinking.keys() - known)
    return bad(f"thinking.{request.thinking}.{extra[0]}: {EXTRA}") if extra else None


def has_a_budget_within_the_answer(request: AnthropicRequest) -> Complaint | None:
    if request.thinking != "enabled" or request.vendor == "deepseek":
        return None
    budget = mapping(request.body["thinking"]).get("budget_tokens")
    if budget is None and request.is_facade:
        return None
    if budget is None:
        return bad(f"thinking.enabled.budget_tokens: {MISSING}")
    if integer(budget) is None:
        return bad("thinking.enabled.budget_tokens: Input should be a valid integer")
    if budget < LEAST_BUDGET:
        why = f"Input should be greater than or equal to {LEAST_BUDGET}"
        return bad(f"thinking.enabled.budget_tokens: {why}")
    if budget >= request.body["max_tokens"]:
        return bad("`max_tokens` must be greater than `thinking.budget_tokens`.")
    return None


@first_party
def forces_no_tool_where_it_thinks(request: AnthropicRequest) -> Complaint | None:
    """Only a budget of thinking excludes a forced tool.

    Source: langchain-ai/langchain-aws#1141 for adaptive thinking, and recorded requests.
    """
    if string(mapping(request.body.get("tool_choice")).get("type")) not in FORCED:
        return None
    if not request.facts.takes_forced_tools:
        return bad("tool_choice forces tool use is not compatible with this model.")
    if request.thinking == "enabled":
        return bad("Thinking may not be enabled when tool_choice forces tool use.")
    return None


@first_party
def asks_for_a_known_effort(request: AnthropicRequest) -> Complaint | None:
    effort = mapping(request.body.get("output_config")).get("effort")
    if effort is None:
        return None
    taken = request.facts.efforts
    if not taken:
        return bad("This model does not support the effort parameter.")
    if effort not in EFFORTS:
        *others, last = map(repr, EFFORTS)
        return bad(f"output_config.effort: Input should be {', '.join(others)} or {last}")
    if effort in taken:
        return _too_much_effort(request, effort)
    levels = ", ".join(taken)
    return bad(f"This model does not support effort level '{effort}'. Supported levels: {levels}.")


def _too_much_effort(request: AnthropicRequest, effort: str) -> Complaint | None:
    """Models since Opus 4.7 take the highest levels only while they may think.

    Source: anthropics/claude-code#76689.
    """
    is_new = "xhigh" in request.facts.efforts
    if request.thinking != "disabled" or not is_new or effort not in {"xhigh", "max"}:
        return None
    return bad(
        f"output_config.effort '{effort}' is not supported when thinking is disabled on this "
        "model. Use effort 'high' or below, or enable thinking."
    )


@first_party
def samples_only_where_taken(request: AnthropicRequest) -> Complaint | None:
    given = [name for name in SAMPLING if request.body.get(name) is not None]
    if given and request.facts.sampling == "none":
        return bad(f"`{given[0]}` is deprecated for this model.")
    if request.facts.sampling == "one" and {"temperature", "top_p"}.issubset(given):
        return bad(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only "
            "one."
        )
    wrong = (_wrong_sampling(name, request.body[name], request.is_thinking) for name in given)
    return next((found for found in wrong if found is not None), None)


def _wrong_sampling(name: str, value: object, is_thinking: bool) -> Complaint | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return bad(f"{name}: Input should be a valid number")
    if name == "temperature" and not 0 <= value <= 1:
        return bad("temperature: range: 0..1")
    if not is_thinking:
        return None
    if name == "temperature" and value != 1:
        return bad("`temperature` may only be set to 1 when thinking is enabled.")
    if name == "top_p" and not 0.95 <= value <= 1:
        return bad(
            "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
        )
    return bad("`top_k` must be unset when thinking is enabled.") if name == "top_k" else None


@first_party
def ends_with_user(request: AnthropicRequest) -> Complaint | None:
    if request.messages[-1]["role"] != "assistant":
        return None
    if not request.facts.takes_prefill:
        return bad(
            "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )
    content = request.messages[-1]["content"]
    blocks = listed(content)
    text = (
        content if isinstance(content, str) else mapping(blocks[-1] if blocks else {}).get("text")
    )
    if re.search(r"\s\Z", string(text)):
        return bad("messages: final assistant content cannot end with trailing whitespace")
    return None


@first_party
def stops_at_words(request: AnthropicRequest) -> Complaint | None:
    """Source: BerriAI/litellm#3286."""
    for each in listed(request.body.get("stop_sequences")):
        if isinstance(each, str) and not each.strip():
            return bad("stop_sequences: each stop sequence must contain non-whitespace")
    return None


SETTING_RULES = (
    has_max_tokens,
    has_messages,
    has_no_unknown_parameter,
    has_messages_of_objects,
    has_known_roles,
    has_system_messages_where_taken,
    has_a_readable_system,
    thinks_as_the_model_does,
    has_no_unknown_thinking_key,
    has_a_budget_within_the_answer,
    forces_no_tool_where_it_thinks,
    asks_for_a_known_effort,
    samples_only_where_taken,
    stops_at_words,
)
