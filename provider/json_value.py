"""JSON as providers send and take it: read, written, and read value by value."""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping


_FEW = 4


def read_json(data: bytes | str) -> Any:
    """Parse JSON that a provider sent; half a surrogate pair in it becomes a question mark.

    Raises:
        ValueError: It is not JSON.
    """
    try:
        return from_json(data)
    except (TypeError, ValueError):
        # The strict parser refuses a lone \\ud83d, which some servers send when they cut an emoji
        # between two tokens; of one that is spelled out in a variable it says that it is no text.
        # Only what fails pays for the second look.
        try:
            text = json.dumps(json.loads(data), ensure_ascii=False)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
        return from_json(text.encode("utf-8", "replace"))


def is_json(data: bytes) -> bool:
    """Say whether *data* is JSON; an event that was cut is not."""
    try:
        read_json(data)
    except ValueError:
        return False
    return True


def write_json(value: object) -> bytes:
    """Spell *value* for a request; half a surrogate pair in it becomes a question mark."""
    try:
        return to_json(value)
    except (PydanticSerializationError, UnicodeEncodeError):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def write_body(body: Mapping[str, object]) -> bytes:
    """Spell *body* as `write_json` does, but a message at a time, so that no copy of all is made.

    The buffer grows in place, and gives away its bytes without copying them. What has a few
    messages only is spelled in one go, which takes less.
    """
    if all(len(value) <= _FEW for value in body.values() if isinstance(value, list)):
        return write_json(body)
    whole = BytesIO()
    before = b"{"
    for name, value in body.items():
        whole.write(before + write_json(name) + b":")
        if isinstance(value, list) and value:
            for index, each in enumerate(value):
                whole.write(b"," if index else b"[")
                whole.write(write_json(each))
            whole.write(b"]")
        else:
            whole.write(write_json(value))
        before = b","
    whole.write(b"}" if body else b"{}")
    return whole.getvalue()


def read_arguments(text: str) -> dict[str, Any] | None:
    """Parse a call's arguments; None where they are not a JSON object. Nothing means none."""
    if not text or text.isspace():
        return {}
    try:
        value = read_json(text)
    except ValueError:
        return None
    if value is None:
        return {}
    return value if isinstance(value, dict) else None


def mapping(value: object) -> Mapping[str, Any]:
    """Return *value* where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Any]:
    """Return *value* where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def string(value: object) -> str:
    """Return *value* where it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def integer(value: object) -> int | None:
    """Return *value* where it is a whole number, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
