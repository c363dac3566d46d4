"""OpenAI Chat Completions and its dialects: encoding a request.

Source: the types of the packages openai 3.57, groq 1.7, cerebras-cloud-sdk 1.91 and mistralai,
openrouter.ai/docs (reasoning tokens, tool calling), api-docs.deepseek.com (thinking mode),
docs.z.ai, platform.moonshot.ai and platform.minimax.io (their chat completion), read on
2026-11-30. The content of a message with only calls is null, not an empty string:
github.com/earendil-works/pi/issues/3365 and github.com/PTFOPlayer/TinyHarness/pull/36.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...conversation import Image, Message, Reasoning, Text, ToolCall
from ...handover.note import Note
from ...handover.tool_name import api_name_of
from ...json_value import write_json
from ..cache_markers import mark_chat
from ..schema.object_root import object_schema
from ..schema.openai import for_openai
from .encode_settings import can_disable_thinking, excludes_forcing, limits, reasoning
from .think_tag import with_tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ...conversation import Output, Part, ToolSpec
    from ...handover.handover import Handover
    from ...handover.target import Target

BRIDGE = "I have read the results."
"""The text of an answer that is made up because one must stand between results and the user."""

_FIELDS = frozenset({"reasoning", "reasoning_content"})
"""The fields in which reasoning comes."""

_SEPARATOR = "\n\n"


def headers(key: str | None) -> dict[str, str]:
    """Return the headers of this wire, with *key* if there is one."""
    return {} if key is None else {"authorization": f"Bearer {key}"}


def path(_target: Target) -> str:
    """Return the path that is appended to the provider's base URL."""
    return "/chat/completions"


def encode(handover: Handover) -> dict[str, Any]:
    """Return *handover* as the body of a request for a stream.

    The body shares values with the conversation, and must not be changed.
    """
    target = handover.target
    body: dict[str, Any] = {
        "model": target.route.model,
        "messages": list(_messages(handover)),
        **_tools(handover),
        **limits(handover.settings, target),
        **reasoning(handover.settings, target),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    for name in target.unsupported_parameters:
        body.pop(name, None)
    mark_chat(body, most=target.markers)
    return body


def _messages(handover: Handover) -> Iterator[dict[str, Any]]:
    target = handover.target
    is_developer = target.has_developer_role and target.thinking != "none"
    instructor = "developer" if is_developer else "system"
    if handover.system:
        yield {"role": instructor, "content": _SEPARATOR.join(handover.system)}
    for message in _in_accepted_order(handover):
        if message.role == "assistant":
            yield from _answer(message, target)
        else:
            role = instructor if message.role == "system" else "user"
            yield {"role": role, "content": _content(message.parts, target)}


def _in_accepted_order(handover: Handover) -> Iterable[Message]:
    """Return the messages in the order that the target accepts."""
    target = handover.target
    # An answer of only thinking is left out: it has neither content nor calls.
    messages: Iterable[Message] = (
        m for m in handover.messages if any(not isinstance(part, Reasoning) for part in m.parts)
    )
    if target.bridges_results:
        messages = _with_bridges(messages, handover.notes)
    return _joined_neighbours(messages) if target.joins_neighbours else messages


def _with_bridges(messages: Iterable[Message], notes: list[Note]) -> Iterator[Message]:
    """Yield *messages* with an answer between results and the user, which is noted once."""
    note = Note("made", "an answer to results", "the user cannot speak right after them here")
    has_results = False
    for message in messages:
        if has_results and message.role != "assistant":
            if note not in notes:
                notes.append(note)
            yield Message("assistant", [Text(BRIDGE)])
        yield message
        has_results = message.has_calls


def _joined_neighbours(messages: Iterable[Message]) -> Sequence[Message]:
    """Return *messages* with neighbours of one role joined."""
    joined: list[Message] = []
    for message in messages:
        last = joined[-1] if joined else None
        if last is not None and last.role == message.role and not last.has_calls:
            last.parts += message.parts
        else:
            joined.append(Message(message.role, [*message.parts]))
    return joined


def _answer(message: Message, target: Target) -> Iterator[dict[str, Any]]:
    """Yield an answer, and then the results of its calls."""
    calls = [part for part in message.parts if isinstance(part, ToolCall)]
    encoded: dict[str, Any] = {"role": "assistant", "content": _text(message.parts) or None}
    thoughts = [part for part in message.parts if isinstance(part, Reasoning)]
    if thoughts:
        encoded |= _thinking(thoughts, message.parts, target)
    if calls:
        encoded["tool_calls"] = [_call(call) for call in calls]
    yield encoded
    for call in calls:
        content = _result(call.output, target)
        yield {"role": "tool", "tool_call_id": call.id, "content": content}


def _thinking(
    thoughts: Sequence[Reasoning], parts: Sequence[Part], target: Target
) -> dict[str, Any]:
    """Return the fields of an answer that hold its thinking."""
    if target.reasoning_form in {"details", "as issued"}:
        return _as_issued(thoughts, target)
    match target.reasoning_in_content:
        case "chunks":
            return {
                "content": [_chunk(part) for part in parts if isinstance(part, Text | Reasoning)]
            }
        case "tag":
            return {"content": with_tag(_thoughts(thoughts), _text(parts))}
        case None:
            return {target.reasoning_field: _thoughts(thoughts)}


def _as_issued(thoughts: Sequence[Reasoning], target: Target) -> dict[str, Any]:
    """Return the fields in which *thoughts* came; text without a field goes beside no details."""
    fields: dict[str, Any] = {}
    details = [detail for thought in thoughts for detail in thought.details]
    if details:
        fields["reasoning_details"] = details
    came_in = sorted({thought.field_name for thought in thoughts if thought.field_name} & _FIELDS)
    text = _thoughts(thoughts)
    if text and not details:
        fields[next(iter(came_in), target.reasoning_field)] = text
    return fields


def _chunk(part: Text | Reasoning) -> dict[str, Any]:
    text = {"type": "text", "text": part.text}
    return text if isinstance(part, Text) else {"type": "thinking", "thinking": [text]}


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = write_json(call.input).decode()
    encoded: dict[str, Any] = {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }
    if call.signature:
        encoded["extra_content"] = {"google": {"thought_signature": call.signature}}
    return encoded


def _result(output: Output | None, target: Target) -> str | list[dict[str, Any]]:
    return output if isinstance(output, str) else _content(output or (), target)


def _content(parts: Sequence[Part], target: Target) -> str | list[dict[str, Any]]:
    """Return text as a string; with pictures a list, if *target* takes one."""
    if target.is_plain or not any(isinstance(part, Image) for part in parts):
        return _text(parts)
    return [_block(part) for part in parts if isinstance(part, Text | Image)]


def _block(part: Text | Image) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    url = f"data:{part.media_type};base64,{part.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _text(parts: Iterable[Part]) -> str:
    return _SEPARATOR.join([part.text for part in parts if isinstance(part, Text)])


def _thoughts(thoughts: Iterable[Reasoning]) -> str:
    return _SEPARATOR.join([thought.text for thought in thoughts])


def _tools(handover: Handover) -> dict[str, Any]:
    """Return the parameters about tools; without tools they are refused, so that there are none."""
    settings, unsupported_parameters = handover.settings, handover.target.unsupported_parameters
    cannot_forbid = settings.tool_choice == "none" and "tool_choice" in unsupported_parameters
    if not handover.tools or cannot_forbid:
        return {}
    encoded: dict[str, Any] = {"tools": [_tool(tool, handover.target) for tool in handover.tools]}
    if settings.tool_choice is not None:
        encoded["tool_choice"] = _choice(settings.tool_choice, handover)
    if settings.parallel_tool_calls is not None:
        encoded["parallel_tool_calls"] = settings.parallel_tool_calls
    return encoded


def _tool(tool: ToolSpec, target: Target) -> dict[str, Any]:
    shaped = for_openai if target.takes_openai_schemas else object_schema
    function: dict[str, Any] = {"name": tool.name, "parameters": shaped(tool.input_schema)}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def _choice(choice: str, handover: Handover) -> str | dict[str, Any]:
    """Return the choice of tool; ``auto`` if the model cannot be forced."""
    target = handover.target
    if choice in {"auto", "none"}:
        return choice
    # Some models cannot be forced only while they think.
    has_thinking_off = handover.settings.reasoning == "none" and can_disable_thinking(target)
    if not (target.can_force_tool or has_thinking_off):
        return "auto"
    if excludes_forcing(handover.settings, target):
        why = "it thinks, and then none can be forced"
        handover.note("changed", f"tool_choice {choice!r} to 'auto'", why)
        return "auto"
    if choice == "required":
        return choice
    return {"type": "function", "function": {"name": api_name_of(choice, handover.renamed)}}
