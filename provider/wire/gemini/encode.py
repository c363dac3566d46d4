"""Gemini's ``streamGenerateContent``: encoding a request.

Source: ai.google.dev/api/generate-content, /gemini-api/docs/function-calling, /thinking and
/thought-signatures, and the types of the google-genai package 2.34, read on 2026-11-29.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never
from urllib.parse import quote

from ...catalog.model import gemini_version
from ...conversation import Image, Reasoning, Text, ToolCall
from ...handover.tool_name import api_name_of
from ..schema.gemini import for_gemini
from ..schema.openapi_subset import for_gemini_subset
from .thinking_level import budget, level

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...conversation import Message, Settings, ToolSpec
    from ...handover.handover import Handover
    from ...handover.target import Target

Json = dict[str, Any]

_WHOLE = "parametersJsonSchema"
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


def headers(key: str | None) -> dict[str, str]:
    """Return the headers of this wire, with *key* if there is one."""
    return {} if key is None else {"x-goog-api-key": key}


def path(target: Target) -> str:
    """Return the path that is appended to the provider's base URL."""
    return f"/models/{quote(target.route.model, safe='')}:streamGenerateContent?alt=sse"


def encode(handover: Handover) -> dict[str, Any]:
    """Return the body of a request; it shares strings and arguments with the conversation."""
    target = handover.target
    body: dict[str, Any] = {}
    if handover.system:
        body["systemInstruction"] = {"parts": [{"text": text} for text in handover.system]}
    # From Gemini 3 on a call has an id; older models may refuse it as an unknown field.
    # Source: github.com/anomalyco/opencode/pull/50504, github.com/JetBrains/koog/issues/735.
    has_ids = _version(target) >= (3, 0) and "id" not in target.unsupported_parameters
    body["contents"] = _contents(handover.messages, has_ids=has_ids)
    body |= _tools(handover)
    if config := _config(handover.settings, target):
        body["generationConfig"] = config
    return _supported(body, target)


def _version(target: Target) -> tuple[int, int]:
    return gemini_version(target.route.model)


def _supported(fields: Json, target: Target) -> Json:
    return {
        name: value for name, value in fields.items() if name not in target.unsupported_parameters
    }


def _contents(messages: Iterable[Message], *, has_ids: bool) -> list[Json]:
    """Return the encoded messages; neighbours of one role are joined, and results come first."""
    contents: list[Json] = []
    for message in messages:
        if message.role != "assistant":
            _add(contents, "user", _user_parts(message.parts))
            continue
        _add(contents, "model", _model_parts(message, has_ids=has_ids))
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        _add(contents, "user", (_result(call, has_ids=has_ids) for call in calls))
    return contents


def _add(contents: list[Json], role: str, parts: Iterable[Json]) -> None:
    added = list(parts)
    if added and contents and contents[-1]["role"] == role:
        contents[-1]["parts"] += added
    elif added:
        contents.append({"role": role, "parts": added})


def _user_parts(parts: Iterable[object]) -> Iterator[Json]:
    for part in parts:
        if isinstance(part, Text):
            yield {"text": part.text}
        elif isinstance(part, Image):
            yield {"inlineData": _data(part)}


def _data(image: Image) -> Json:
    return {"mimeType": image.media_type, "data": image.data}


def _model_parts(message: Message, *, has_ids: bool) -> Iterator[Json]:
    """Yield the parts of the model, each with the signature that came with it."""
    for part in message.parts:
        match part:
            case Text():
                yield {"text": part.text, **_signature(part)}
            case Reasoning():
                if part.signature:
                    yield {"text": part.text, "thought": True, **_signature(part)}
            case ToolCall():
                call = {"name": part.name, "args": part.input, **_id(part, has_ids=has_ids)}
                yield {"functionCall": call, **_signature(part)}
            case Image():
                pass
            case _:
                assert_never(part)


def _signature(part: Text | Reasoning | ToolCall) -> Json:
    return {"thoughtSignature": part.signature} if part.signature else {}


def _id(call: ToolCall, *, has_ids: bool) -> Json:
    return {"id": call.id} if has_ids else {}


def _result(call: ToolCall, *, has_ids: bool) -> Json:
    """Return the result of a call; pictures stand beside it, without a reference by name.

    Source: such a reference is refused, github.com/googleapis/python-genai/issues/2792.
    """
    output = call.output or ""
    parts = [Text(output)] if isinstance(output, str) else output
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    response = {"error" if call.is_error else "output": text}
    result = {"name": call.name, "response": response, **_id(call, has_ids=has_ids)}
    images = [{"inlineData": _data(part)} for part in parts if isinstance(part, Image)]
    if images:
        result["parts"] = images
    return {"functionResponse": result}


def _tools(handover: Handover) -> Json:
    if not handover.tools:
        return {}
    is_subset = (
        _version(handover.target) < (2, 5) or _WHOLE in handover.target.unsupported_parameters
    )
    declared = [_tool(tool, is_subset=is_subset) for tool in handover.tools]
    fields: Json = {"tools": [{"functionDeclarations": declared}]}
    if handover.settings.tool_choice is not None:
        config = _calling_config(handover.settings.tool_choice, handover)
        fields["toolConfig"] = {"functionCallingConfig": config}
    return fields


def _calling_config(choice: str, handover: Handover) -> Json:
    mode = _MODES.get(choice, "ANY")
    if mode == "ANY" and not handover.target.can_force_tool:
        return {"mode": "AUTO"}
    if choice in _MODES:
        return {"mode": mode}
    return {"mode": mode, "allowedFunctionNames": [api_name_of(choice, handover.renamed)]}


def _tool(tool: ToolSpec, *, is_subset: bool) -> Json:
    declared: Json = {"name": tool.name}
    if tool.description:
        declared["description"] = tool.description
    if not is_subset:
        declared[_WHOLE] = for_gemini(tool.input_schema)
        return declared
    parameters = for_gemini_subset(tool.input_schema)
    if "properties" in parameters:  # an object without properties is refused
        declared["parameters"] = parameters
    return declared


def _config(settings: Settings, target: Target) -> Json:
    config: Json = {}
    if settings.max_output_tokens is not None:
        config[target.token_limit] = target.longest(settings.max_output_tokens)
    if target.takes_sampling:
        config |= {"temperature": settings.temperature, "topP": settings.top_p}
    if thinking := _supported(_thinking(settings, target), target):
        config["thinkingConfig"] = thinking
    return {name: value for name, value in _supported(config, target).items() if value is not None}


def _thinking(settings: Settings, target: Target) -> Json:
    effort = settings.reasoning
    if effort is None or target.thinking == "none":
        return {}
    shown = {} if effort == "none" else {"includeThoughts": True}
    if target.thinking == "adaptive":
        return {"thinkingLevel": level(target.route.model, effort), **shown}
    return {"thinkingBudget": budget(target.route.model, effort), **shown}
