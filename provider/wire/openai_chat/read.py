"""OpenAI Chat Completions and its dialects: reading a client's request.

Source: the request types of the openai package 3.57, and the dialects that `encode.py` names, read
on 2026-11-30.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...conversation import Conversation, Image, Reasoning, Settings, Text, ToolCall, ToolSpec
from ...json_value import listed, mapping, string
from ..data_url import image_of
from ..history import History, arguments_in
from ..read_request import ReadRequest, Report, RequestError, body_fields
from .read_settings import note_other_parameters, read_effort

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...conversation import Output, Part
    from ..read_request import Fields

_WORDS: Mapping[str, str] = MappingProxyType(
    {"auto": "auto", "none": "none", "required": "required", "any": "required"}
)
"""The choices of a tool in one word; ``any`` is Mistral's."""
_TAG = re.compile(r"\s*<think>\n?(.*?)\n?</think>(?:\n\n)?(.*)\Z", re.DOTALL)


def read(body: bytes | Mapping[str, Any], *, path: str = "") -> ReadRequest:
    """Return the request in *body*; *path* has nothing that the body has not.

    Raises:
        RequestError: The body is not a request of this wire; the message says where.
    """
    report = Report()
    fields = body_fields(body, report)
    model = fields.needed("model")
    history = History()
    for message in fields.objects("messages"):
        _read_message(message, history)
    history.check(fields, "messages")
    tools = tuple(tool for each in fields.objects("tools") if (tool := _tool(each)) is not None)
    note_other_parameters(fields)
    return ReadRequest(
        conversation=Conversation(history.messages, tools, _settings(fields)),
        model=model,
        is_streamed=fields.flag("stream") or False,
        wants_usage=fields.object("stream_options").flag("include_usage") or False,
        unreadable=report.unreadable,
        left_out=report.left_out,
    )


def _read_message(message: Fields, history: History) -> None:
    match message.string("role"):
        case "system" | "developer":
            history.add("system", _parts(message))
        case "user":
            history.add("user", _parts(message))
        case "assistant":
            history.add("assistant", _answer(message))
        case "tool":
            id_ = message.needed("tool_call_id")
            history.add_result(message, id_, _output(message), is_error=False)
        case "function":
            message.cannot_move("a message of role 'function'")
        case _:
            where = message.place("role")
            raise RequestError(where, "must be 'system', 'user', 'assistant' or 'tool'")
    if message.get("name") and message.get("role") != "tool":
        message.report.leave_out("`name` of messages")


def _parts(message: Fields) -> list[Part]:
    """Return the texts and pictures of a message; what else it holds is noted."""
    parts = (_text_or_image(block) for block in message.content("content"))
    return [part for part in parts if part is not None]


def _text_or_image(block: Fields) -> Text | Image | None:
    kind = block.needed("type")
    if kind == "text":
        return Text(block.string("text") or "")
    if kind == "image_url":
        is_string = isinstance(block.get("image_url"), str)
        owner, name = (block, "image_url") if is_string else (block.object("image_url"), "url")
        return image_of(block, owner.needed(name))
    block.cannot_move(f"a part of type {kind!r}")
    return None


def _output(message: Fields) -> Output:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    return [part for part in _parts(message) if isinstance(part, Text | Image)]


def _answer(message: Fields) -> list[Part]:
    """Return the parts of an answer: thinking, text, calls."""
    parts: list[Part] = _thinking(message)
    for block in message.content("content"):
        parts += _answer_parts(block)
    if refusal := message.string("refusal"):
        parts.append(Text(refusal))
    for name in ("function_call", "audio", "images"):
        if message.get(name):
            message.cannot_move(f"`{name}` in an answer")
    if message.get("annotations"):
        message.report.leave_out("annotations")
    calls = (_call(call) for call in message.objects("tool_calls"))
    return [*parts, *(call for call in calls if call is not None)]


def _answer_parts(block: Fields) -> list[Part]:
    match block.needed("type"):
        case "text":
            return _untagged(block.string("text") or "")
        case "refusal":
            return [Text(block.string("refusal") or "")]
        case "thinking":  # Mistral's
            thoughts = map(mapping, listed(block.get("thinking")))
            return [Reasoning("".join(string(thought.get("text")) for thought in thoughts))]
        case kind:
            block.cannot_move(f"a part of type {kind!r}")
            return []


def _untagged(text: str) -> list[Part]:
    """Return *text*, and before it the thinking that MiniMax's models write in a tag."""
    found = _TAG.match(text)
    if found is None:
        return [Text(text)] if text else []
    return [Reasoning(found[1]), *([Text(found[2])] if found[2] else [])]


def _thinking(message: Fields) -> list[Part]:
    """Return the thinking beside an answer; if several fields have it, they have the same text."""
    details = listed(message.get("reasoning_details"))
    text = message.string("reasoning")
    field_name = "reasoning" if text else None
    text = text or message.string("reasoning_content")
    # DeepSeek and Kimi want their thinking back also where it is empty.
    if not text and not details:
        return []
    return [Reasoning(text or "", details=tuple(map(mapping, details)), field_name=field_name)]


def _call(call: Fields) -> ToolCall | None:
    kind = call.string("type") or "function"
    if kind != "function":
        call.cannot_move(f"a call of type {kind!r}")
        return None
    function = call.object("function")
    proof = mapping(mapping(call.get("extra_content")).get("google"))
    signature = string(proof.get("thought_signature")) or None
    name, arguments = function.needed("name"), arguments_in(function)
    return ToolCall(call.needed("id"), name, arguments, signature=signature)


def _tool(tool: Fields) -> ToolSpec | None:
    """Return the declaration of a function; None: it is a tool of another kind."""
    kind = tool.string("type") or "function"
    if kind != "function":
        tool.cannot_move(f"a tool of type {kind!r}")
        return None
    function = tool.object("function")
    if function.flag("strict"):
        tool.report.leave_out("`strict` of tools")
    schema = function.mapping("parameters") or {"type": "object", "properties": {}}
    return ToolSpec(function.needed("name"), function.string("description") or "", schema)


def _settings(fields: Fields) -> Settings:
    longest = fields.limit("max_completion_tokens")
    return Settings(
        max_output_tokens=fields.limit("max_tokens") if longest is None else longest,
        reasoning=read_effort(fields),
        temperature=fields.number("temperature"),
        top_p=fields.number("top_p"),
        tool_choice=_choice(fields),
        parallel_tool_calls=fields.flag("parallel_tool_calls"),
        cache_key=fields.string("prompt_cache_key"),
    )


def _choice(fields: Fields) -> str | None:
    choice = fields.get("tool_choice")
    if choice is None:
        return None
    if isinstance(choice, str) and choice in _WORDS:
        return _WORDS[choice]
    chosen = fields.object("tool_choice")
    if chosen.get("type") == "function":
        return chosen.object("function").needed("name")
    chosen.cannot_move(f"a choice of type {chosen.get('type')!r}")
    return None
