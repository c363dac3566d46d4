"""Gemini's ``generateContent``: reading a client's request.

Source: ai.google.dev/api/generate-content and the types of the google-genai package 2.34, read on
2026-11-30. The API takes names in camelCase and in snake_case.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote

from ...conversation import Conversation, Image, Reasoning, Text, ToolCall, ToolSpec
from ...json_value import write_json
from ..history import History
from ..protocol import new_call_id
from ..read_request import ReadRequest, Report, RequestError, body_fields
from ..schema.from_openapi import from_openapi
from .read_settings import note_other_parameters, read_settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...conversation import Output, Part
    from ..read_request import Fields

_MODEL = re.compile(r".*?models/([^:?]+)(?::(\w+))?(?:\?(.*))?\Z", re.DOTALL)
_STREAM = "streamGenerateContent"
_ANSWERS = frozenset({"output", "error", "result"})


def read(body: bytes | Mapping[str, Any], *, path: str = "") -> ReadRequest:
    """Return the request in *body*.

    Args:
        path: The path with its query: it names the model, and whether the answer is streamed.

    Raises:
        RequestError: The body is not a request of this wire; the message says where.
    """
    report = Report()
    fields = body_fields(body, report, has_snake_case=True)
    model, method, query = _path(path)
    if "generateContentRequest" in fields:  # the request for a count
        fields = fields.object("generateContentRequest")
    history = History()
    history.add("system", _texts(fields))
    system = len(history.messages)
    for content in fields.objects("contents"):
        _read_content(content, history)
    history.check(fields, "contents", system=system)
    tools = tuple(tool for each in fields.objects("tools") for tool in _tools(each))
    note_other_parameters(fields)
    return ReadRequest(
        conversation=Conversation(history.messages, tools, read_settings(fields)),
        model=model,
        is_streamed=method == _STREAM,
        is_array=method == _STREAM and "sse" not in query.get("alt", ()),
        unreadable=report.unreadable,
        left_out=report.left_out,
    )


def _path(path: str) -> tuple[str, str, Mapping[str, Sequence[str]]]:
    """Return the model, the method and the query in *path*."""
    found = _MODEL.match(path)
    if found is None:
        raise RequestError("the path", "names no model: write /models/MODEL:generateContent")
    return unquote(found[1]), found[2] or "", parse_qs(found[3] or "")


def _texts(fields: Fields) -> list[Part]:
    """Return the instructions of the system, which may also be a string."""
    if isinstance(instruction := fields.get("systemInstruction"), str):
        return [Text(instruction)]
    parts = fields.object("systemInstruction").objects("parts")
    read = (_text_or_image(part) for part in parts)
    return [part for part in read if part is not None]


def _read_content(content: Fields, history: History) -> None:
    match content.string("role"):
        case "user" | "function" | None:
            _read_user(content, history)
        case "model":
            parts = (_model_part(part) for part in content.objects("parts"))
            history.add("assistant", [part for part in parts if part is not None])
        case _:
            raise RequestError(content.place("role"), "must be 'user' or 'model'")


def _read_user(content: Fields, history: History) -> None:
    """Read the results of tools in a content of the user, and then the rest of it."""
    parts: list[Part] = []
    for part in content.objects("parts"):
        if "functionResponse" in part:
            _read_result(part.object("functionResponse"), history)
        elif (read := _text_or_image(part)) is not None:
            parts.append(read)
    history.add("user", parts)


def _read_result(result: Fields, history: History) -> None:
    id_ = result.string("id") or ""
    if not history.is_open(id_):  # an older model has no ids
        id_ = history.open_id(result.needed("name")) or id_
    response = result.mapping("response") or {}
    output, is_error = _output(response)
    images = [part for each in result.objects("parts") if (part := _text_or_image(each))]
    whole: Output = [*([Text(output)] if output else []), *images] if images else output
    history.add_result(result, id_, whole, is_error=is_error)


def _output(response: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the text of a result, and whether it is an error; other objects become JSON."""
    if len(response) == 1:
        ((name, value),) = response.items()
        if name in _ANSWERS:
            text = value if isinstance(value, str) else write_json(value).decode()
            return text, name == "error"
    return write_json(response).decode() if response else "", False


def _text_or_image(part: Fields) -> Text | Image | None:
    data = part.object("inlineData")
    if "text" in part:
        return Text(part.string("text") or "")
    if (kind := data.string("mimeType") or "").startswith("image/"):
        return Image(kind, data.needed("data"))
    part.cannot_move(f"a part with {_kind(part)}")
    return None


def _model_part(part: Fields) -> Part | None:
    signature = part.string("thoughtSignature") or None
    if "functionCall" in part:
        call = part.object("functionCall")
        id_, name = call.string("id") or new_call_id(), call.needed("name")
        return ToolCall(id_, name, call.mapping("args") or {}, signature=signature)
    if "text" not in part and not (signature and set(part.names()) <= _PROOF):
        part.cannot_move(f"a part with {_kind(part)}")
        return None
    text = part.string("text") or ""
    if part.flag("thought"):
        return Reasoning(text, signature=signature)
    return Text(text, signature=signature)


_PROOF = frozenset({"thoughtSignature", "thought_signature", "thought"})


def _kind(part: Fields) -> str:
    """Return what a part holds, in words."""
    data = part.object("inlineData").string("mimeType")
    names = [name for name in part.names() if name not in _PROOF]
    return f"`{names[0] if names else 'nothing'}`" + (f" of type {data!r}" if data else "")


def _tools(tool: Fields) -> list[ToolSpec]:
    """Return the functions that a tool declares; what the provider runs itself is noted."""
    for name in tool.names():
        if name not in {"functionDeclarations", "function_declarations"}:
            tool.cannot_move(f"a tool `{name}`")
    return [_declared(each) for each in tool.objects("functionDeclarations")]


def _declared(function: Fields) -> ToolSpec:
    schema = function.mapping("parametersJsonSchema")
    if schema is None:
        subset = function.mapping("parameters")
        schema = {"type": "object"} if subset is None else from_openapi(subset)
    return ToolSpec(function.needed("name"), function.string("description") or "", schema)
