"""OpenAI Responses: encoding a request.

Source: the request types of the openai package 3.57 and
developers.openai.com/api/docs/guides/reasoning (encrypted reasoning items), read on 2026-11-29.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from ...conversation import Image, Reasoning, Text, ToolCall
from ...handover.tool_name import api_name_of
from ...json_value import write_json
from ..effort import nearest_effort, openai_efforts
from ..schema.openai import for_openai

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...conversation import Message, Output, Part, Settings, ToolSpec
    from ...handover.handover import Handover
    from ...handover.target import Target

Item = dict[str, Any]

MIN_TOKENS = 16
"""The lowest limit; a lower one is refused with ``integer_below_min_value``.

Source: github.com/earendil-works/pi/issues/6265.
"""
_FREE = frozenset({"auto", "none"})


def headers(key: str | None) -> dict[str, str]:
    """Return the headers of this wire, with *key* if there is one."""
    return {} if key is None else {"authorization": f"Bearer {key}"}


def path(_target: Target) -> str:
    """Return the path that is appended to the provider's base URL."""
    return "/responses"


def encode(handover: Handover) -> dict[str, Any]:
    """Return the body of a request; it shares strings and schemas with the conversation."""
    target = handover.target
    body: dict[str, Any] = {"model": target.route.model, "stream": True, "store": False}
    if handover.system:
        body["instructions"] = "\n\n".join(handover.system)
    body["input"] = [item for message in handover.messages for item in _items(message)]
    body |= _reasoning(handover.settings, target)
    body |= _tools(handover)
    body |= _limits(handover.settings, target)
    return {
        name: value for name, value in body.items() if name not in target.unsupported_parameters
    }


def _items(message: Message) -> Iterator[Item]:
    """Yield the items of one message; the results of its calls come last."""
    if message.role != "assistant":
        role = "developer" if message.role == "system" else "user"
        yield {"type": "message", "role": role, "content": list(_content(message.parts))}
        return
    for part in message.parts:
        match part:
            case Text():
                yield _answer(part)
            case Reasoning():
                yield _thought(part)
            case ToolCall():
                yield _call(part)
            case Image():
                pass
            case _:
                assert_never(part)
    for part in message.parts:
        if isinstance(part, ToolCall):
            yield {
                "type": "function_call_output",
                "call_id": part.id,
                "output": _output(part.output),
            }


def _content(parts: Sequence[Part]) -> Iterator[Item]:
    for part in parts:
        if isinstance(part, Text):
            yield {"type": "input_text", "text": part.text}
        elif isinstance(part, Image):
            url = f"data:{part.media_type};base64,{part.data}"
            yield {"type": "input_image", "detail": "auto", "image_url": url}


def _answer(text: Text) -> Item:
    """Return a text of the model as the item that it was; without an id as a plain message.

    Source: servers that check requests by the types of the openai package refuse a list of
    ``output_text`` without an id,
    github.com/MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark/issues/138.
    """
    about = {} if text.phase is None else {"phase": text.phase}
    if text.item_id is None:
        return {"type": "message", "role": "assistant", "content": text.text, **about}
    content = [{"type": "output_text", "text": text.text, "annotations": []}]
    identity = {"id": text.item_id, "status": "completed"}
    return {"type": "message", **identity, "role": "assistant", "content": content, **about}


def _thought(reasoning: Reasoning) -> Item:
    is_content = reasoning.field_name == "content"
    summary = [] if is_content or not reasoning.text else [_part("summary_text", reasoning.text)]
    known = {"id": reasoning.item_id, "encrypted_content": reasoning.encrypted}
    item: Item = {"type": "reasoning", "summary": summary}
    item |= {name: value for name, value in known.items() if value is not None}
    if is_content and reasoning.text:
        item["content"] = [_part("reasoning_text", reasoning.text)]
    return item


def _part(kind: str, text: str) -> Item:
    return {"type": kind, "text": text}


def _call(call: ToolCall) -> Item:
    identity = {} if call.item_id is None else {"id": call.item_id}
    return {
        "type": "function_call",
        **identity,
        "call_id": call.id,
        "name": call.name,
        "arguments": write_json(call.input).decode(),
    }


def _output(output: Output | None) -> str | list[Item]:
    if isinstance(output, list):
        return list(_content(output))
    return output or ""


def _reasoning(settings: Settings, target: Target) -> dict[str, Any]:
    """Return the parameters about thinking, which is encrypted because nothing is stored."""
    if target.thinking == "none":
        return {}
    fields: dict[str, Any] = {"include": ["reasoning.encrypted_content"]}
    if target.effort_form == "as asked":
        effort_asked = {"reasoning": {"effort": settings.reasoning}}
        return fields if settings.reasoning is None else fields | effort_asked
    efforts = openai_efforts(target.route.model)
    if not efforts:
        return {}
    if settings.reasoning is not None:
        effort = nearest_effort(settings.reasoning, efforts)
        summary = {} if effort == "none" else {"summary": "auto"}
        fields["reasoning"] = {"effort": effort, **summary}
    return fields


def _tools(handover: Handover) -> dict[str, Any]:
    """Return the parameters about tools; without tools they are refused, so that there are none."""
    if not handover.tools:
        return {}
    fields: dict[str, Any] = {"tools": [_tool(tool) for tool in handover.tools]}
    if handover.settings.tool_choice is not None:
        fields["tool_choice"] = _choice(handover.settings.tool_choice, handover)
    if handover.settings.parallel_tool_calls is not None:
        fields["parallel_tool_calls"] = handover.settings.parallel_tool_calls
    return fields


def _choice(choice: str, handover: Handover) -> str | Item:
    if choice not in _FREE and not handover.target.can_force_tool:
        return "auto"
    if choice in _FREE or choice == "required":
        return choice
    return {"type": "function", "name": api_name_of(choice, handover.renamed)}


def _tool(tool: ToolSpec) -> Item:
    described = {"description": tool.description} if tool.description else {}
    return {
        "type": "function",
        "name": tool.name,
        **described,
        "parameters": for_openai(tool.input_schema),
        "strict": False,  # the default here is True
    }


def _limits(settings: Settings, target: Target) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    if settings.max_output_tokens is not None:
        longest = target.longest(settings.max_output_tokens)
        limits[target.token_limit] = max(MIN_TOKENS, longest)
    if target.samples_at(settings.reasoning):
        limits |= {"temperature": settings.temperature, "top_p": settings.top_p}
    if target.takes_cache_key:
        limits["prompt_cache_key"] = settings.cache_key
    return {name: value for name, value in limits.items() if value is not None}
