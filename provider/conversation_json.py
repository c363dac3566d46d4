"""The JSON form of a conversation: reading and writing it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from .conversation import (
    AttemptRecord,
    Conversation,
    Cooldown,
    Effort,
    Image,
    Message,
    Reasoning,
    Settings,
    Text,
    ToolCall,
    ToolSpec,
    ToolState,
    Usage,
)
from .error import ConfigError
from .json_value import read_json
from .route import Route

if TYPE_CHECKING:
    from .conversation import Output, Part

_TAGS = frozenset({"text", "image", "reasoning", "tool_call"})


class _Table(BaseModel):
    model_config = ConfigDict(
        strict=True, extra="forbid", hide_input_in_errors=True, defer_build=True
    )


class _Text(_Table):
    type: Literal["text"]
    text: str
    signature: str | None = None
    item_id: str | None = None
    phase: str | None = None


class _Image(_Table):
    type: Literal["image"]
    media_type: str
    data: str


class _Reasoning(_Table):
    type: Literal["reasoning"]
    text: str = ""
    signature: str | None = None
    redacted: str | None = None
    details: list[dict[str, Any]] = Field(default_factory=list)
    complete: bool = True
    encrypted: str | None = None
    item_id: str | None = None
    field_name: str | None = None


class _ToolCall(_Table):
    type: Literal["tool_call"]
    id: str
    name: str
    input: dict[str, Any] = Field(default_factory=dict)
    state: ToolState = "pending"
    output: str | list[Annotated[_Text | _Image, Field(discriminator="type")]] | None = None
    is_error: bool = False
    signature: str | None = None
    item_id: str | None = None


class _Usage(_Table):
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


class _Attempt(_Table):
    route: str
    number: int
    kind: str | None = None
    status: int | None = None
    seconds: float = 0.0
    waited: float = 0.0
    input: int | None = None
    output: int | None = None
    money: float | None = None
    is_estimated: bool = False
    api_key_env: str | None = None
    cold_tokens: int | None = None
    cold_money: float | None = None

    @field_validator("route")
    @classmethod
    def _is_a_route(cls, value: str) -> str:
        return Route(value)


class _Cooldown(_Table):
    name: str
    until: float
    cooldowns: int = 1
    kind: str | None = None
    api_key_env: str | None = None


class _Message(_Table):
    role: Literal["system", "user", "assistant"]
    parts: list[Annotated[_Text | _Image | _Reasoning | _ToolCall, Field(discriminator="type")]]
    route: str | None = None
    requested: str | None = None
    usage: _Usage | None = None
    attempts: list[_Attempt] = Field(default_factory=list)
    cooldowns: list[_Cooldown] = Field(default_factory=list)

    @field_validator("route", "requested")
    @classmethod
    def _is_a_route(cls, value: str | None) -> str | None:
        return value if value is None else Route(value)


class _Tool(_Table):
    name: str
    description: str = ""
    input_schema: dict[str, Any] = Field(default_factory=lambda: {"type": "object"})


_Number = Annotated[float, Field(allow_inf_nan=False)]


class _Settings(_Table):
    max_output_tokens: Annotated[int, Field(gt=0)] | None = None
    reasoning: Effort | None = None
    temperature: _Number | None = None
    top_p: _Number | None = None
    tool_choice: str | None = None
    parallel_tool_calls: bool | None = None
    cache_key: str | None = None


class _Conversation(_Table):
    messages: list[_Message]
    tools: list[_Tool] = Field(default_factory=list)
    settings: _Settings = Field(default_factory=_Settings)


def read_conversation(data: bytes | str) -> Conversation:
    """Return the conversation in *data*, which is JSON.

    Raises:
        ConfigError: *data* is not a conversation; the message says where it is wrong.
    """
    try:
        value = read_json(data)
    except ValueError as error:
        raise ConfigError(f"it is not JSON ({error}): write an object with `messages`") from None
    try:
        form = _Conversation.model_validate(value)
        messages = [_message(message) for message in form.messages]
    except ValidationError as error:
        raise ConfigError(_explain(error)) from None
    tools = (ToolSpec(tool.name, tool.description, tool.input_schema) for tool in form.tools)
    return Conversation(messages, tuple(tools), Settings(**form.settings.model_dump()))


def read_message(value: object) -> Message:
    """Return the message that the JSON *value* holds.

    Raises:
        ConfigError: *value* is not a message; the error says where it is wrong.
    """
    try:
        return _message(_Message.model_validate(value))
    except ValidationError as error:
        raise ConfigError(_explain(error)) from None


def message_to_json(message: Message) -> dict[str, Any]:
    """Return *message* as JSON values."""
    fields: dict[str, Any] = {"role": message.role}
    for name, route in (("route", message.route), ("requested", message.requested)):
        if route is not None:
            fields[name] = str(route)
    if message.usage is not None and (usage := _without_none(asdict(message.usage))):
        fields["usage"] = usage
    if message.attempts:
        fields["attempts"] = [_attempt_to_json(attempt) for attempt in message.attempts]
    if message.cooldowns:
        fields["cooldowns"] = [_without_none(asdict(each)) for each in message.cooldowns]
    return fields | {"parts": [part_to_json(part) for part in message.parts]}


def part_to_json(part: Part) -> dict[str, Any]:
    """Return *part* as JSON values."""
    match part:
        case Text():
            text = {"type": "text", "text": part.text} | _proofs(part)
            return text if part.phase is None else text | {"phase": part.phase}
        case Image():
            return {"type": "image", "media_type": part.media_type, "data": part.data}
        case Reasoning():
            fields: dict[str, Any] = {"type": "reasoning", "text": part.text}
            if part.redacted is not None:
                fields["redacted"] = part.redacted
            if part.details:
                fields["details"] = [dict(detail) for detail in part.details]
            if part.encrypted is not None:
                fields["encrypted"] = part.encrypted
            if part.field_name is not None:
                fields["field_name"] = part.field_name
            return fields | _proofs(part) | ({} if part.complete else {"complete": False})
        case ToolCall():
            fields = {"type": "tool_call", "id": part.id, "name": part.name, "input": part.input}
            fields["state"] = part.state
            if part.output is not None:
                fields["output"] = _output_to_json(part.output)
            return fields | ({"is_error": True} if part.is_error else {}) | _proofs(part)


def _attempt_to_json(attempt: AttemptRecord) -> dict[str, Any]:
    fields = _without_none(asdict(attempt)) | {"route": str(attempt.route)}
    if not attempt.is_estimated:
        del fields["is_estimated"]
    return fields


def _output_to_json(output: Output) -> str | list[dict[str, Any]]:
    return output if isinstance(output, str) else [part_to_json(part) for part in output]


def _proofs(part: Text | Reasoning | ToolCall) -> dict[str, Any]:
    return _without_none({"signature": part.signature, "item_id": part.item_id})


def _without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _message(form: _Message) -> Message:
    parts = [_part(part) for part in form.parts]
    route, requested = (name and Route(name) for name in (form.route, form.requested))
    return Message(
        form.role,
        parts,
        route or None,
        requested or None,
        None if form.usage is None else Usage(**form.usage.model_dump()),
        tuple(AttemptRecord(**dict(attempt)) for attempt in form.attempts),
        tuple(Cooldown(**dict(each)) for each in form.cooldowns),
    )


def _part(form: _Text | _Image | _Reasoning | _ToolCall) -> Part:
    match form:
        case _Text() | _Image():
            return _text_or_image(form)
        case _Reasoning():
            fields = form.model_dump(exclude={"type", "details"})
            return Reasoning(**fields, details=tuple(form.details))
        case _ToolCall():
            output = form.output
            return ToolCall(
                **form.model_dump(exclude={"type", "output"}),
                output=[_text_or_image(part) for part in output]
                if isinstance(output, list)
                else output,
            )


def _text_or_image(form: _Text | _Image) -> Text | Image:
    if isinstance(form, _Text):
        return Text(form.text, form.signature, form.item_id, form.phase)
    return Image(form.media_type, form.data)


_PROBLEMS = {
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "it should be an object"),
    "union_tag_not_found": "it has no `type`",
}


def _explain(error: ValidationError) -> str:
    """Return a message that says where the value is wrong, without repeating the value."""
    first, *others = error.errors(include_url=False)
    if first["loc"][-1:] == ("str",) and others and others[0]["type"] != "list_type":
        first = others[0]  # the value is not a text but a list with an error in it
    where, follows_index = "", False
    for step in first["loc"]:
        if isinstance(step, int):
            where += f"[{step}]"
        elif not (follows_index and step in _TAGS) and "[" not in step and step != "str":
            where += f".{step}" if where else step
        follows_index = isinstance(step, int)
    if not where:
        return "a conversation is an object: give it `messages`"
    if first["type"] == "extra_forbidden":
        return f"{where} is not known: leave it out"
    if first["type"] == "missing":
        return f"{where} is missing: write it"
    problem = first["msg"].removeprefix("Value error, ").replace("Input should", "it should", 1)
    if first["type"] == "union_tag_invalid":
        problem = f"its `type` should be one of {first['ctx']['expected_tags']}"
    elif first["loc"][-1:] == ("str",):
        problem = "it should be a string, or a list of texts and images"
    return f"{where} is wrong: {_PROBLEMS.get(first['type'], problem)}"
