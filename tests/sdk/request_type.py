"""What the types of the official SDKs say of a request body: what may stand where, and no more."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, create_model
from pydantic_core import SchemaValidator

Check = Callable[[Any], object]
"""Takes a body; raises `pydantic.ValidationError` if the types do not allow it."""

TYPES: Mapping[str, str] = {
    "anthropic": "anthropic.types.message_create_params.MessageCreateParamsStreaming",
    "openai-chat": "openai.types.chat.completion_create_params.CompletionCreateParamsStreaming",
    "openai-responses": "openai.types.responses.response_create_params."
    "ResponseCreateParamsStreaming",
    "groq": "groq.types.chat.completion_create_params.CompletionCreateParams",
    "cerebras": "cerebras.cloud.sdk.types.chat.completion_create_params.CompletionCreateParams",
    "mistral": "mistralai.client.models.ChatCompletionStreamRequestTypedDict",
    "count anthropic": "anthropic.types.message_count_tokens_params.MessageCountTokensParams",
    "count openai-responses": "openai.types.responses.input_token_count_params."
    "InputTokenCountParams",
}
"""The dictionary that is a request of a wire, or of a vendor with types of its own."""

Beyond = Mapping[str, frozenset[str]]
"""Names that may stand beside the types' own: in a body, a message, its parts and its calls."""


def _beyond(body: str = "", message: str = "", part: str = "", call: str = "") -> Beyond:
    levels = {"body": body, "message": message, "part": part, "call": call}
    return {level: frozenset(names.split()) for level, names in levels.items()}


BEYOND: Mapping[tuple[str, str], Beyond] = {
    # The package no longer knows them, and models before Claude 4.7 take them.
    **{
        ("anthropic", vendor): _beyond("temperature top_p")
        for vendor in ("anthropic", "deepseek", "minimax", "moonshot", "zai")
    },
    ("openai-chat", "deepseek"): _beyond("thinking", "reasoning_content"),
    # Source: github.com/Portkey-AI/gateway/issues/1338, which is answered.
    ("openai-chat", "groq"): _beyond("stream_options"),
    ("openai-chat", "moonshot"): _beyond(message="reasoning_content"),
    ("openai-chat", "openrouter"): _beyond("reasoning", "reasoning_details", "cache_control"),
    ("openai-chat", "zai"): _beyond("thinking", "reasoning_content"),
    # An unknown vendor gets its reasoning back as it came. Its model may be a Gemini, and the
    # signatures of a Gemini go back to where they came from.
    # Source: ai.google.dev/gemini-api/docs/thought-signatures, read on 2026-11-29.
    ("openai-chat", "somewhere"): _beyond(
        message="reasoning reasoning_content reasoning_details", call="extra_content"
    ),
}
"""What a vendor's own reference names and the types do not, of each wire and vendor."""


def check_request(body: Mapping[str, Any], wire: str, vendor: str) -> None:
    """Check *body*, as it goes over the wire, by the types of the SDK for it.

    Raises:
        ValidationError: A value is of another type, or a name is not known.
    """
    if wire == "gemini":
        _check_gemini(body)
        return
    name = vendor if wire == "openai-chat" and vendor in TYPES else wire
    _typed(name)([_known(body, BEYOND.get((wire, vendor), _beyond()))])


def check_count(body: Mapping[str, Any], wire: str) -> None:
    """Check *body*, which asks how large a request is, by the types of the SDK for it.

    Raises:
        ValidationError: A value is of another type, or a name is not known.
    """
    if wire == "gemini":  # its package has no type for this; the API takes a whole request
        assert set(body) == {"generateContentRequest"}
        _check_gemini(_without(body["generateContentRequest"], frozenset({"model"})))
        return
    _typed(f"count {wire}")([body])


def _known(body: Mapping[str, Any], beyond: Beyond) -> dict[str, Any]:
    """Return *body* without what may stand in it beyond the types."""
    known = _without(body, beyond["body"])
    if "messages" in known:
        known["messages"] = [_known_message(message, beyond) for message in known["messages"]]
    return known


def _known_message(message: Mapping[str, Any], beyond: Beyond) -> dict[str, Any]:
    known = _without(message, beyond["message"])
    if isinstance(content := known.get("content"), list):
        known["content"] = [_without(part, beyond["part"]) for part in content]
    if "tool_calls" in known:
        known["tool_calls"] = [_without(call, beyond["call"]) for call in known["tool_calls"]]
    return known


def _without(fields: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


@cache
def _typed(name: str) -> Check:
    module, _, attribute = TYPES[name].rpartition(".")
    type_ = getattr(importlib.import_module(module), attribute)
    config = ConfigDict(arbitrary_types_allowed=True)
    adapter: TypeAdapter[Any] = TypeAdapter(list[type_], config=config)  # type: ignore[valid-type]
    validator = SchemaValidator(_exact(adapter.core_schema))
    return lambda bodies: validator.validate_python(bodies, strict=True)


def _exact(schema: Any) -> Any:
    """Return *schema* so that dictionaries take no other names, and iterables are looked into."""
    if isinstance(schema, list | tuple):
        return type(schema)(_exact(each) for each in schema)
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "model":  # takes the answer of a call as it came, but no dictionary
        ref = {"ref": schema["ref"]} if "ref" in schema else {}
        return {"type": "is-instance", "cls": schema["cls"], **ref}
    made = {key: _exact(value) for key, value in schema.items()}
    match made.get("type"):
        case "typed-dict":
            made["extra_behavior"] = "forbid"
        case "generator":
            made["type"] = "list"
    return made


@cache
def _gemini_request() -> type[BaseModel]:
    """Return the body as one model; the package builds it from these, by hand."""
    types: Any = importlib.import_module("google.genai.types")
    fields: dict[str, Any] = {
        "contents": list[types.Content],
        "systemInstruction": (types.Content, None),
        "tools": (list[types.Tool], None),
        "toolConfig": (types.ToolConfig, None),
        "generationConfig": (types.GenerationConfig, None),
    }
    return create_model("Request", __config__=ConfigDict(extra="forbid"), **fields)


def _check_gemini(body: Mapping[str, Any]) -> None:
    """Check *body* by the models of the package, and that they spell every name as it does."""
    read = _gemini_request().model_validate(body)
    assert _names(read.model_dump(mode="json", by_alias=True, exclude_unset=True)) == _names(body)
    types: Any = importlib.import_module("google.genai.types")
    config = {name: body[name] for name in body if name not in ("contents", "generationConfig")}
    types.GenerateContentConfig.model_validate({**config, **body.get("generationConfig", {})})


def _names(value: Any) -> Any:
    """Return *value* with nothing but the names in it."""
    if isinstance(value, list):
        return [_names(each) for each in value]
    return {name: _names(each) for name, each in value.items()} if isinstance(value, dict) else None
