"""What was said, as OpenTelemetry's GenAI conventions write it: JSON, without keys.

Source: open-telemetry/semantic-conventions-genai, model/gen-ai/gen-ai-input-messages.json,
gen-ai-output-messages.json, gen-ai-system-instructions.json and gen-ai-tool-definitions.json,
read on 2026-11-30.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...provider.conversation import Image, Reasoning, Text, ToolCall
from ...provider.secret import redact_shapes
from . import convention as name
from .text import whole_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...provider.conversation import Conversation, Message, Output, Part


def request_content(conversation: Conversation) -> dict[str, str]:
    """Return the attributes with what a request sends."""
    messages = conversation.messages
    system = [part for each in messages if each.role == "system" for part in each.parts]
    rest = [message for each in messages if each.role != "system" for message in _written_of(each)]
    found = {name.INPUT_MESSAGES: as_json(rest)}
    if system:
        found[name.SYSTEM_INSTRUCTIONS] = as_json([_part(part) for part in system])
    if conversation.tools:
        found[name.TOOL_DEFINITIONS] = as_json(
            [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.input_schema,
                }
                for tool in conversation.tools
            ]
        )
    return found


def answer_content(parts: Sequence[Part], stop: str | None) -> dict[str, str]:
    """Return the attribute with an answer."""
    said = {"role": "assistant", "parts": [_part(part) for part in parts], "finish_reason": stop}
    return {name.OUTPUT_MESSAGES: as_json([said])}


def turn_content(prompt: str | None, system: str | None) -> dict[str, str]:
    """Return the attributes with what a turn begins with."""
    found = {}
    if prompt is not None:
        said = {"role": "user", "parts": [_part(Text(prompt))]}
        found[name.INPUT_MESSAGES] = as_json([said])
    if system is not None:
        found[name.SYSTEM_INSTRUCTIONS] = as_json([_part(Text(system))])
    return found


def as_json(value: object) -> str:
    """Return *value* as JSON, without what looks like a key."""
    return redact_shapes(whole_text(json.dumps(value, ensure_ascii=False, default=str)))


def result_of(output: Output | None) -> object:
    """Return the output of a tool as plain data."""
    return [_part(part) for part in output] if isinstance(output, list) else output


def _written_of(message: Message) -> Iterator[dict[str, Any]]:
    """Return the message, and after it the results of its calls as a message of their own."""
    yield {"role": message.role, "parts": [_part(part) for part in message.parts]}
    results = [
        {"type": "tool_call_response", "id": part.id, "response": result_of(part.output)}
        for part in message.parts
        if isinstance(part, ToolCall) and part.output is not None
    ]
    if results:
        yield {"role": "tool", "parts": results}


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "content": part.text}
        case Reasoning():
            return {"type": "reasoning", "content": part.text}
        case ToolCall():
            call = {"type": "tool_call", "id": part.id, "name": part.name}
            return {**call, "arguments": part.input}
        case Image():  # not its bytes, because a backend cuts long attributes
            return {"type": "image", "mime_type": part.media_type}
