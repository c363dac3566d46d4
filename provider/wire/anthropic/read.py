"""Anthropic Messages: reading a client's request.

Cache markers are not kept, because they are placed anew for each route.

Source: platform.claude.com/docs/en/api/messages and the types of the anthropic package 2.14, read
on 2026-11-30.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...conversation import (
    Conversation,
    Image,
    Reasoning,
    Settings,
    Text,
    ToolCall,
    ToolSpec,
)
from ..effort import effort_of_budget, effort_of_word
from ..history import History
from ..read_request import ReadRequest, Report, RequestError, body_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...conversation import Effort, Output, Part
    from ..read_request import Fields

_DEFAULT_EFFORT: Effort = "high"
"""The effort of a model that decides for itself how much it thinks."""
_CHOICES: Mapping[str, str] = MappingProxyType({"auto": "auto", "any": "required", "none": "none"})
_READ = frozenset(
    {
        *("model", "messages", "system", "tools", "max_tokens", "stream", "temperature", "top_p"),
        *("thinking", "output_config", "tool_choice", "cache_control"),
    }
)
_ONLY_THERE: Mapping[str, str] = MappingProxyType(
    {
        "container": "a container",
        "mcp_servers": "servers of MCP that the provider calls",
        "output_format": "a schema for the answer",
        "stop_sequences": "words at which the answer must stop",
    }
)
"""Parameters that change what the answer may be, and that no conversation holds."""


def read(body: bytes | Mapping[str, Any], *, path: str = "") -> ReadRequest:
    """Return the request in *body*; *path* has nothing that the body has not.

    Raises:
        RequestError: The body is not a request of this wire; the message says where.
    """
    report = Report()
    fields = body_fields(body, report)
    model = fields.needed("model")
    history = History()
    history.add("system", [_text(block) for block in fields.content("system")])
    _read_messages(fields, history)
    _note_other_parameters(fields)
    conversation = Conversation(
        history.messages,
        tuple(tool for each in fields.objects("tools") if (tool := _tool(each)) is not None),
        _settings(fields),
    )
    return ReadRequest(
        conversation=conversation,
        model=model,
        is_streamed=fields.flag("stream") or False,
        unreadable=report.unreadable,
        left_out=report.left_out,
    )


def _read_messages(fields: Fields, history: History) -> None:
    system = len(history.messages)
    for message in fields.objects("messages"):
        role = message.string("role")
        if message.get("output_config"):
            message.report.leave_out("`output_config` of messages")
        match role:
            case "user":
                _read_user(message, history)
            case "assistant":
                _read_answer(message, history)
            case "system":
                history.add("system", [_text(block) for block in message.content("content")])
            case _:
                raise RequestError(message.place("role"), "must be 'user' or 'assistant'")
    history.check(fields, "messages", system=system)


def _read_user(message: Fields, history: History) -> None:
    """Read the results of tools in a message of the user, and then the rest of it."""
    parts: list[Part] = []
    for block in message.content("content"):
        if block.get("type") == "tool_result":
            output = _output(block)
            is_error = block.flag("is_error") or False
            history.add_result(block, block.needed("tool_use_id"), output, is_error=is_error)
        elif (part := _text_or_image(block)) is not None:
            parts.append(part)
    history.add("user", parts)


def _read_answer(message: Fields, history: History) -> None:
    parts = (_answer_part(block) for block in message.content("content"))
    history.add("assistant", [part for part in parts if part is not None])


def _answer_part(block: Fields) -> Part | None:
    match block.needed("type"):
        case "thinking":
            text = block.string("thinking") or ""
            return Reasoning(text, signature=block.string("signature") or None)
        case "redacted_thinking":
            return Reasoning(redacted=block.string("data") or "")
        case "tool_use":
            input_ = block.mapping("input") or {}
            return ToolCall(block.needed("id"), block.needed("name"), input_)
        case "fallback":  # a mark of the provider's own, without content
            block.report.leave_out("a block of type 'fallback'")
            return None
        case "text":
            return _text(block)
        case kind:
            block.cannot_move(f"a block of type {kind!r}")
            return None


def _text_or_image(block: Fields) -> Text | Image | None:
    """Return a text or a picture; None: it is another block, which is noted."""
    kind = block.needed("type")
    source = block.object("source")
    if kind == "text":
        return _text(block)
    if kind == "image" and source.get("type") == "base64":
        return Image(source.needed("media_type"), source.needed("data"))
    of = f" by its {source.get('type')}" if kind == "image" else ""
    block.cannot_move(f"a block of type {kind!r}{of}")
    return None


def _text(block: Fields) -> Text:
    if block.get("type") != "text":
        raise RequestError(block.place("type"), "must be 'text'")
    if block.get("citations"):
        block.report.leave_out("citations")
    return Text(block.string("text") or "")


def _output(result: Fields) -> Output:
    content = result.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    parts = (_text_or_image(block) for block in result.content("content"))
    return [part for part in parts if part is not None]


def _tool(tool: Fields) -> ToolSpec | None:
    """Return the declaration of a tool; None: the provider runs or defines it."""
    kind = tool.string("type") or "custom"
    if kind != "custom":
        tool.cannot_move(f"a tool of type {kind!r}")
        return None
    for name in ("strict", "defer_loading", "input_examples", "allowed_callers"):
        if tool.get(name):
            tool.report.leave_out(f"`{name}` of tools")
    schema = tool.mapping("input_schema") or {"type": "object"}
    return ToolSpec(tool.needed("name"), tool.string("description") or "", schema)


def _note_other_parameters(fields: Fields) -> None:
    for name in fields.names():
        if name in _ONLY_THERE and fields.get(name):
            fields.report.cannot_move(_ONLY_THERE[name], name)
        elif name not in _READ and name not in _ONLY_THERE:
            fields.leave_out(name)
    config = fields.object("output_config")
    if "format" in config:
        fields.report.cannot_move(_ONLY_THERE["output_format"], config.place("format"))
    for name in config.names():
        if name not in {"effort", "format"}:
            config.leave_out(name)


def _settings(fields: Fields) -> Settings:
    choice = fields.object("tool_choice")
    is_single = choice.flag("disable_parallel_tool_use")
    return Settings(
        max_output_tokens=fields.limit("max_tokens"),
        reasoning=_effort(fields),
        temperature=fields.number("temperature"),
        top_p=fields.number("top_p"),
        tool_choice=_choice(choice),
        parallel_tool_calls=False if is_single else None,
    )


def _choice(choice: Fields) -> str | None:
    kind = choice.string("type")
    if kind == "tool":
        return choice.needed("name")
    if kind is not None and kind not in _CHOICES:
        raise RequestError(choice.place("type"), "must be 'auto', 'any', 'tool' or 'none'")
    return None if kind is None else _CHOICES[kind]


def _effort(fields: Fields) -> Effort | None:
    """Return how much the model should think; None: the request does not say."""
    thinking = fields.object("thinking")
    kind = thinking.string("type")
    if kind == "disabled":
        return "none"
    if kind == "enabled":
        return effort_of_budget(thinking.limit("budget_tokens") or 0)
    word = fields.object("output_config").string("effort")
    if word is not None and (effort := effort_of_word(word)) is not None:
        return effort
    return _DEFAULT_EFFORT if kind == "adaptive" else None
