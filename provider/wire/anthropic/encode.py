"""Anthropic Messages: encoding a request.

Source: platform.claude.com/docs/en/api/messages, platform.claude.com/docs/en/build-with-claude
(thinking, tool use, vision) and the types of the anthropic package 2.14, read on 2026-11-29.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...catalog.model import is_kimi_by_effort
from ...conversation import Image, Message, Reasoning, Text, ToolCall
from ...handover.tool_name import api_name_of
from ..cache_markers import mark_anthropic
from ..effort import BUDGETS, nearest_effort
from ..schema.object_root import object_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...conversation import Effort, Output, Part, ToolSpec
    from ...handover.handover import Handover
    from ...handover.target import Target

VERSION = "2023-06-01"
"""The version that facades also speak."""
DEFAULT_MAX_TOKENS = 4096
MAX_TEMPERATURE = 1.0

EFFORTS: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")
EFFORTS_4_6: tuple[Effort, ...] = ("low", "medium", "high", "max")
"""The efforts of Claude 4.6. Source: platform.claude.com/docs/en/build-with-claude/effort."""
KIMI: tuple[Effort, ...] = ("low", "high", "max")
"""The efforts of Kimi K3. Source: platform.moonshot.ai (its Anthropic API)."""
_LEAST_BUDGET = 1024
"""The least number of thinking tokens; the most is half of the longest answer."""


def headers(key: str | None) -> dict[str, str]:
    """Return the headers of this wire, with *key* if there is one."""
    version = {"anthropic-version": VERSION}
    return version if key is None else {"x-api-key": key, **version}


def path(_target: Target) -> str:
    """Return the path that is appended to the provider's base URL."""
    return "/v1/messages"


def encode(handover: Handover) -> dict[str, Any]:
    """Return the body of a request; what it cannot express is noted in *handover*."""
    target = handover.target
    max_tokens = _max_tokens(handover)
    thinking = _thinking(handover, max_tokens)
    kind = thinking.get("thinking", {}).get("type")
    thinks = bool(thinking) and kind != "disabled"
    body: dict[str, Any] = {"model": target.route.model, "max_tokens": max_tokens, "stream": True}
    if handover.system:
        body["system"] = [_text(text) for text in handover.system]
    body["messages"] = _messages(_visible_messages(handover, thinking, thinks=thinks))
    if handover.tools:
        body["tools"] = [_tool(tool) for tool in handover.tools]
        excludes_forcing = kind == "enabled" or (thinks and target.thinking_excludes_forcing)
        is_off = kind == "disabled"
        body |= _tool_choice(handover, excludes_forcing=excludes_forcing, is_off=is_off)
    body |= thinking
    if target.takes_sampling and not thinks:
        body |= _sampling(handover)
    for name in target.unsupported_parameters:
        body.pop(name, None)
    if "cache_control" not in target.unsupported_parameters:
        mark_anthropic(body, most=target.markers)
    return body


def _max_tokens(handover: Handover) -> int:
    return handover.target.longest(handover.settings.max_output_tokens or DEFAULT_MAX_TOKENS)


def _sampling(handover: Handover) -> dict[str, float]:
    temperature, top_p = handover.settings.temperature, handover.settings.top_p
    if temperature is not None and temperature > MAX_TEMPERATURE:
        handover.note(
            "changed", f"temperature {temperature} to {MAX_TEMPERATURE}", "it is the highest"
        )
        temperature = MAX_TEMPERATURE
    if temperature is not None and not handover.target.takes_temperature_and_top_p:
        top_p = None
    sampling = {"temperature": temperature, "top_p": top_p}
    return {name: value for name, value in sampling.items() if value is not None}


def _thinking(handover: Handover, max_tokens: int) -> dict[str, Any]:
    """Return the parameters about thinking; none of them: the model decides."""
    target, effort = handover.target, handover.settings.reasoning
    fields: dict[str, Any] = {}
    if effort is None or target.thinking == "none":
        return fields
    if effort == "none":
        if target.can_disable_thinking:
            fields["thinking"] = {"type": "disabled"}
    elif target.thinking == "adaptive":
        fields["thinking"] = {"type": "adaptive"}
        fields["output_config"] = {"effort": nearest_effort(effort, _efforts(target))}
    elif (budget := min(BUDGETS[effort], max_tokens // 2)) < _LEAST_BUDGET:
        handover.note("dropped", "thinking", f"max_tokens of {max_tokens} leaves no room for it")
    elif _goes_on_without(handover):
        handover.note("dropped", "thinking", "the answer that goes on did not begin with it")
    else:
        fields["thinking"] = {"type": "enabled", "budget_tokens": budget}
    return {
        name: value for name, value in fields.items() if name not in target.unsupported_parameters
    }


def _efforts(target: Target) -> Sequence[Effort]:
    """Return the efforts that the model takes; models with sampling are older than ``xhigh``."""
    if is_kimi_by_effort(target.route.model):
        return KIMI
    return EFFORTS_4_6 if target.takes_sampling else EFFORTS


def _goes_on_without(handover: Handover) -> bool:
    """True if the answer that goes on, after results of tools, did not begin with thinking.

    All steps since the last user message are one answer. Its first step must begin with thinking,
    because a model with a budget thinks only before the first step. A later step without thinking
    must be the model's own. If the user wrote right after results, either step may be the first.
    """
    messages, route = handover.messages, handover.target.route
    for index in range(len(messages) - 1, -1, -1):
        message, before = messages[index], messages[index - 1] if index else None
        if message.role != "assistant":
            if before is None or (before.role == "assistant" and not before.has_calls):
                return False
        elif isinstance(message.parts[0], Reasoning):
            continue
        elif message.route != route or before is None or before.role != "assistant":
            return True
    return False


def _visible_messages(
    handover: Handover, thinking: Mapping[str, Any], *, thinks: bool
) -> Sequence[Message]:
    """Return the messages, without reasoning if thinking is off.

    With thinking off, the answer that goes on must not hold any, and earlier reasoning is ignored.
    """
    target, messages = handover.target, handover.messages
    is_off = not thinks and ("thinking" in thinking or target.thinking != "adaptive")
    if not is_off or target.missing_reasoning is not None or not any(map(_has_thinking, messages)):
        return messages
    handover.note("dropped", "reasoning", "thinking is off, and then none may be shown")
    return [
        Message(message.role, [part for part in message.parts if not isinstance(part, Reasoning)])
        for message in messages
    ]


def _has_thinking(message: Message) -> bool:
    return any(isinstance(part, Reasoning) for part in message.parts)


def _messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the encoded messages; neighbours of one role are joined, and results come first."""
    encoded: list[dict[str, Any]] = []
    for message in messages:
        _add(encoded, message.role, [_block(part) for part in message.parts])
        if calls := [part for part in message.parts if isinstance(part, ToolCall)]:
            _add(encoded, "user", [_result(call) for call in calls])
    return encoded


def _add(encoded: list[dict[str, Any]], role: str, content: list[dict[str, Any]]) -> None:
    if content and encoded and encoded[-1]["role"] == role:
        encoded[-1]["content"] += content
    elif content:
        encoded.append({"role": role, "content": content})


def _block(part: Part) -> dict[str, Any]:
    match part:
        case Text():
            return _text(part.text)
        case Image():
            source = {"type": "base64", "media_type": part.media_type, "data": part.data}
            return {"type": "image", "source": source}
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.input}
        case Reasoning(redacted=str(data)):
            return {"type": "redacted_thinking", "data": data}
        case Reasoning():
            return {"type": "thinking", "thinking": part.text, "signature": part.signature or ""}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _result(call: ToolCall) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id}
    content = _content(call.output)
    if content:
        result["content"] = content
    if call.is_error:
        result["is_error"] = True
    return result


def _content(output: Output | None) -> str | list[dict[str, Any]]:
    """Return the output of a tool; empty for blank text, because that is refused."""
    if output is None or isinstance(output, str):
        return "" if output is None or output.isspace() else output
    return [_block(part) for part in output]


def _tool(tool: ToolSpec) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": object_schema(tool.input_schema)}


def _tool_choice(
    handover: Handover, *, excludes_forcing: bool, is_off: bool
) -> dict[str, dict[str, Any]]:
    """Return the parameter for the choice of tools; empty: it has its default.

    Args:
        excludes_forcing: It is asked to think in a way in which no tool can be forced. With a
            budget, none can; Claude that thinks as much as it likes takes it.
            Source: github.com/langchain-ai/langchain-aws/pull/1141.
        is_off: Thinking is switched off, so that a model that cannot be forced while it thinks
            can be.
    """
    target, settings = handover.target, handover.settings
    choice = _choice(handover)
    cannot_force = excludes_forcing or not (target.can_force_tool or is_off)
    if choice["type"] in ("any", "tool") and cannot_force:
        why = "it thinks, and then none can be forced"
        why = why if excludes_forcing else "this model cannot be forced"
        handover.note("changed", f"tool_choice {settings.tool_choice!r} to 'auto'", why)
        choice = {"type": "auto"}
    if settings.parallel_tool_calls is False and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    is_default = choice == {"type": "auto"} and settings.tool_choice is None
    return {} if is_default else {"tool_choice": choice}


def _choice(handover: Handover) -> dict[str, Any]:
    """Return the requested choice in the words of this wire."""
    choice = handover.settings.tool_choice
    match choice:
        case None | "auto" | "none":
            return {"type": choice or "auto"}
        case "required":
            return {"type": "any"}
    return {"type": "tool", "name": api_name_of(choice, handover.renamed)}
