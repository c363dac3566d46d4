"""Messages and parts as the rows of a session's file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from pydantic_core import from_json

from ...provider.conversation import (
    AttemptRecord,
    Cooldown,
    Image,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolState,
    Usage,
)
from ...provider.conversation_json import message_to_json, part_to_json, read_message
from ...provider.error import ConfigError
from ...provider.route import Route
from ..error import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...provider.conversation import Output, Part

Role = Literal["system", "user", "assistant"]


class MessageRow(NamedTuple):
    """The columns of a message, without its key and position.

    Args:
        usage: JSON, as a conversation file spells it.
        attempts: The same.
        cooldowns: The same.
    """

    role: str
    route: str | None
    requested: str | None
    usage: str | None
    attempts: str | None
    cooldowns: str | None


class PartRow(NamedTuple):
    """The columns of a part, without its message and position.

    Args:
        body: JSON: the part as a conversation file spells it, without its ``type``.
    """

    type: str
    body: str


def write_message(message: Message) -> tuple[MessageRow, list[PartRow]]:
    """Return the row of *message*, and the rows of its parts in order.

    Raises:
        StoreError: It holds a value that JSON cannot spell.
    """
    spelled = message_to_json(message)
    row = MessageRow(
        spelled["role"],
        spelled.get("route"),
        spelled.get("requested"),
        None if message.usage is None else _write(spelled.get("usage", {})),
        _write(spelled["attempts"]) if "attempts" in spelled else None,
        _write(spelled["cooldowns"]) if "cooldowns" in spelled else None,
    )
    return row, [_part_row(part) for part in spelled["parts"]]


def write_part(part: Part) -> PartRow:
    """Return the row of *part*.

    Raises:
        StoreError: It holds a value that JSON cannot spell.
    """
    return _part_row(part_to_json(part))


def _part_row(spelled: dict[str, Any]) -> PartRow:
    return PartRow(spelled.pop("type"), _write(spelled))


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _write(value: object) -> str:
    try:
        text = _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"a part cannot be kept, because it is no JSON ({error}): give a tool's input and "
            "output as strings, numbers, lists and objects"
        ) from error
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)  # half a surrogate pair is no UTF-8, but has an escape
    return text


def read_message_row(row: MessageRow, parts: list[Part]) -> Message:
    """Return the message with the columns *row* and with *parts*.

    Raises:
        ConfigError: It is malformed; the message says where.
    """
    usage = None if row.usage is None else _read(row.usage)
    attempts = [] if row.attempts is None else _read(row.attempts)
    cooldowns = [] if row.cooldowns is None else _read(row.cooldowns)
    try:
        return _known_message(row, usage, attempts, cooldowns, parts)
    except _UNKNOWN:
        columns = row._asdict() | {"usage": usage, "attempts": attempts, "cooldowns": cooldowns}
        message = read_message(columns | {"parts": []})
        message.parts = parts
        return message


def read_part_row(row: PartRow) -> Part:
    """Return the part with the columns *row*.

    Raises:
        ConfigError: It is malformed; the message says where.
    """
    fields = _read(row.body)
    try:
        return _known_part(row.type, fields)
    except _UNKNOWN:
        part = fields | {"type": row.type} if isinstance(fields, dict) else fields
        return read_message({"role": "assistant", "parts": [part]}).parts[0]


def _read(text: str) -> Any:
    try:
        try:
            return from_json(text)
        except ValueError:
            return json.loads(text)  # it also reads half a surrogate pair
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"it is not JSON ({error})") from error


# The form that we write is read here, eight times as fast as by the reader of conversation
# files. Every other form raises one of these, and that reader judges it.
_UNKNOWN = (TypeError, ValueError, KeyError, AttributeError)

_USAGE = dict.fromkeys(("input", "output", "cache_read", "cache_write"), int)
_ATTEMPT = {"route": str, "number": int, "kind": str, "status": int}
_ATTEMPT |= {"seconds": float, "waited": float}
_ATTEMPT |= {"input": int, "output": int, "money": float, "is_estimated": bool}
_ATTEMPT |= {"api_key_env": str}
_ATTEMPT |= {"cold_tokens": int, "cold_money": float}
_COOLDOWN = {"name": str, "until": float, "cooldowns": int, "kind": str, "api_key_env": str}
_PROOFS = {"signature": str, "item_id": str}
_TEXT_FIELDS = {"text": str, **_PROOFS}
_TEXT = {"phase": str, **_TEXT_FIELDS}
_IMAGE = {"media_type": str, "data": str}
_REASONING = {"redacted": str, "details": list, "encrypted": str, "complete": bool, **_TEXT_FIELDS}
_REASONING |= {"field_name": str}
_CALL = {"id": str, "name": str, "input": dict, "state": str, "is_error": bool, **_PROOFS}
_ROLES: Mapping[str, Role] = {role: role for role in get_args(Role)}
_STATES = frozenset(get_args(ToolState))


def _checked(fields: Any, types: Mapping[str, type]) -> dict[str, Any]:
    """Return *fields* if each is one of *types*."""
    for name, value in fields.items():
        if type(value) is not types.get(name):
            raise TypeError(name)
    return fields  # type: ignore[no-any-return]


def _known_message(
    row: MessageRow, usage: Any, attempts: Any, cooldowns: Any, parts: list[Part]
) -> Message:
    return Message(
        _ROLES[row.role],
        parts,
        None if row.route is None else Route(row.route),
        None if row.requested is None else Route(row.requested),
        None if usage is None else Usage(**_checked(usage, _USAGE)),
        tuple([_known_attempt(attempt) for attempt in attempts]),
        tuple([_known_cooldown(each) for each in cooldowns]),
    )


def _known_attempt(value: Any) -> AttemptRecord:
    fields = _checked(value, _ATTEMPT)
    return AttemptRecord(**(fields | {"route": Route(fields["route"])}))


def _known_cooldown(value: Any) -> Cooldown:
    return Cooldown(**_checked(value, _COOLDOWN))


def _known_part(kind: str, fields: Any) -> Part:
    match kind:
        case "text":
            return Text(**_checked(fields, _TEXT))
        case "image":
            return Image(**_checked(fields, _IMAGE))
        case "reasoning":
            return _known_reasoning(fields)
        case "tool_call":
            return _known_call(fields)
    raise ValueError(kind)


def _known_reasoning(fields: Any) -> Reasoning:
    reasoning = Reasoning(**_checked(fields, _REASONING))
    for detail in reasoning.details:
        if type(detail) is not dict:
            raise TypeError(detail)
    reasoning.details = tuple(reasoning.details)
    return reasoning


def _known_call(fields: Any) -> ToolCall:
    others = dict(fields)
    output = _known_output(others.pop("output", None))
    call = ToolCall(**_checked(others, _CALL), output=output)
    if call.state not in _STATES:
        raise ValueError(call.state)
    return call


def _known_output(value: Any) -> Output | None:
    if value is None or isinstance(value, str):
        return value
    return [_known_output_part(part) for part in value]


def _known_output_part(value: Any) -> Text | Image:
    fields = dict(value)
    part = _known_part(fields.pop("type", ""), fields)
    if not isinstance(part, Text | Image):
        raise TypeError(part)
    return part
