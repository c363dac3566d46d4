"""OpenAI Responses: reading a client's request.

Source: the request types of the openai package 3.57, and the requests of Codex
(codex-rs/core/src/client.rs), read on 2026-11-30.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...conversation import Conversation, Image, Reasoning, Settings, Text, ToolCall, ToolSpec
from ..data_url import image_of
from ..effort import effort_of_word
from ..history import History, arguments_in
from ..read_request import ReadRequest, Report, RequestError, body_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...conversation import Effort, Output, Part
    from ..read_request import Fields

_READ = frozenset(
    {
        *("model", "input", "instructions", "tools", "stream", "max_output_tokens", "top_p"),
        *("temperature", "tool_choice", "parallel_tool_calls", "prompt_cache_key"),
        *("reasoning", "text", "include", "store", "stream_options"),
    }
)
_ONLY_THERE: Mapping[str, str] = MappingProxyType(
    {
        "previous_response_id": "an answer that only the provider has",
        "conversation": "a conversation that only the provider has",
        "prompt": "a prompt that only the provider has",
        "background": "an answer in the background",
    }
)
"""Parameters that change what the answer may be, and that no conversation holds."""
_SEPARATOR = "\n\n"


def read(body: bytes | Mapping[str, Any], *, path: str = "") -> ReadRequest:
    """Return the request in *body*; *path* has nothing that the body has not.

    Raises:
        RequestError: The body is not a request of this wire; the message says where.
    """
    report = Report()
    fields = body_fields(body, report)
    model = fields.needed("model")
    _note_other_parameters(fields)
    items = _Items()
    if instructions := fields.string("instructions"):
        items.history.add("system", [Text(instructions)])
    _read_input(fields, items)
    tools = tuple(tool for each in fields.objects("tools") if (tool := _tool(each)) is not None)
    return ReadRequest(
        conversation=Conversation(items.history.messages, tools, _settings(fields)),
        model=model,
        is_streamed=fields.flag("stream") or False,
        unreadable=report.unreadable,
        left_out=report.left_out,
    )


class _Items:
    """Puts items together: those of the model that stand in a row are one answer."""

    def __init__(self) -> None:
        self.history = History()
        self._answer: list[Part] = []

    def add(self, part: Part) -> None:
        """Add the next part of an answer."""
        self._answer.append(part)

    def close(self) -> None:
        """End the answer, because something that is not the model's follows."""
        self.history.add("assistant", self._answer)
        self._answer = []


def _read_input(fields: Fields, items: _Items) -> None:
    value = fields.get("input")
    if isinstance(value, str):
        items.history.add("user", [Text(value)])
        return
    system = len(items.history.messages)
    for item in fields.objects("input"):
        _read_item(item, items)
    items.close()
    items.history.check(fields, "input", system=system)


def _read_item(item: Fields, items: _Items) -> None:
    match item.string("type") or "message":
        case "message":
            _read_message(item, items)
        case "reasoning":
            items.add(_thought(item))
        case "function_call":
            _read_call(item, items)
        case "function_call_output":
            items.close()
            id_ = item.needed("call_id")
            items.history.add_result(item, id_, _output(item), is_error=False)
        case kind:
            item.cannot_move(f"an item of type {kind!r}")


def _read_message(item: Fields, items: _Items) -> None:
    role = item.string("role")
    if role == "assistant":
        for block in item.content("content"):
            _check_answer_part(block)
        texts = [
            block.string("text") or block.string("refusal") for block in item.content("content")
        ]
        text = "".join(filter(None, texts))
        if text:
            items.add(Text(text, item_id=item.string("id"), phase=item.string("phase")))
        return
    items.close()
    parts = [p for block in item.content("content") if (p := _text_or_image(block)) is not None]
    match role:
        case "user":
            items.history.add("user", parts)
        case "system" | "developer":
            items.history.add("system", parts)
        case _:
            where = item.place("role")
            raise RequestError(where, "must be 'user', 'assistant', 'system' or 'developer'")


def _check_answer_part(block: Fields) -> None:
    kind = block.needed("type")
    if kind not in {"output_text", "text", "refusal", "input_text"}:
        block.cannot_move(f"a part of type {kind!r}")
    if block.get("annotations"):
        block.report.leave_out("annotations")


def _text_or_image(block: Fields) -> Text | Image | None:
    kind = block.needed("type")
    if kind in {"input_text", "text", "output_text"}:
        return Text(block.string("text") or "")
    if kind == "input_image" and (url := block.string("image_url")) is not None:
        return image_of(block, url)
    block.cannot_move(f"a part of type {kind!r}")
    return None


def _thought(item: Fields) -> Reasoning:
    summary = [part.string("text") or "" for part in item.objects("summary")]
    content = [part.string("text") or "" for part in item.objects("content")]
    is_content = bool(content) and not summary
    return Reasoning(
        _SEPARATOR.join(content if is_content else summary),
        encrypted=item.string("encrypted_content"),
        item_id=item.string("id"),
        field_name="content" if is_content else None,
    )


def _read_call(item: Fields, items: _Items) -> None:
    if item.get("namespace"):
        item.cannot_move("a call in a namespace")
    call = ToolCall(item.needed("call_id"), item.needed("name"), arguments_in(item))
    call.item_id = item.string("id")
    items.add(call)


def _output(item: Fields) -> Output:
    value = item.get("output")
    if value is None or isinstance(value, str):
        return value or ""
    parts = (_text_or_image(block) for block in item.content("output"))
    return [part for part in parts if part is not None]


def _tool(tool: Fields) -> ToolSpec | None:
    """Return the declaration of a function; None: it is a tool of another kind."""
    kind = tool.needed("type")
    if kind != "function":
        tool.cannot_move(f"a tool of type {kind!r}")
        return None
    if tool.flag("strict"):
        tool.report.leave_out("`strict` of tools")
    schema = tool.mapping("parameters") or {"type": "object", "properties": {}}
    return ToolSpec(tool.needed("name"), tool.string("description") or "", schema)


def _note_other_parameters(fields: Fields) -> None:
    for name in fields.names():
        if name in _ONLY_THERE and fields.get(name):
            fields.report.cannot_move(_ONLY_THERE[name], name)
        elif name not in _READ and name not in _ONLY_THERE:
            fields.leave_out(name)
    text = fields.object("text")
    if text.object("format").get("type") not in (None, "text"):
        fields.report.cannot_move("a schema for the answer", text.place("format"))
    text.leave_out(*(name for name in text.names() if name != "format"))


def _settings(fields: Fields) -> Settings:
    return Settings(
        max_output_tokens=fields.limit("max_output_tokens"),
        reasoning=_effort(fields),
        temperature=fields.number("temperature"),
        top_p=fields.number("top_p"),
        tool_choice=_choice(fields),
        parallel_tool_calls=fields.flag("parallel_tool_calls"),
        cache_key=fields.string("prompt_cache_key"),
    )


def _effort(fields: Fields) -> Effort | None:
    word = fields.object("reasoning").string("effort")
    effort = None if word is None else effort_of_word(word)
    if word is not None and effort is None:
        fields.report.leave_out(f"the effort {word!r}")
    return effort


def _choice(fields: Fields) -> str | None:
    choice = fields.get("tool_choice")
    if choice is None:
        return None
    if choice in ("auto", "none", "required"):
        return str(choice)
    chosen = fields.object("tool_choice")
    if chosen.get("type") == "function":
        return chosen.needed("name")
    chosen.cannot_move(f"a choice of type {chosen.get('type')!r}")
    return None
