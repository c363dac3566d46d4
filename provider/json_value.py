"""JSON as providers send and take it: parsing, writing, and reading single values."""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping


_FEW = 4
_LINE_ENDS = (
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
    (b"\xc2\x85", b"\\u0085"),
)
"""What some readers take for the end of a line, and how JSON escapes it."""


class JsonTooLarge(ValueError):
    """JSON that no reader here takes: nested too deeply, or with a number of too many digits."""


def read_json(data: bytes | str) -> Any:
    """Return the parsed *data*; a lone surrogate in it becomes a question mark.

    Raises:
        JsonTooLarge: It is nested too deeply, or a number has too many digits.
        ValueError: *data* is not JSON.
    """
    try:
        return from_json(data)
    except (TypeError, ValueError):
        # The strict parser refuses a lone \\ud83d. Some servers send it when they cut an emoji
        # between two tokens; in a variable it raises `TypeError`. Only failures pay for this.
        return _read_leniently(data)


def _read_leniently(data: bytes | str) -> Any:
    try:
        text = json.dumps(json.loads(data), ensure_ascii=False)
    except RecursionError as error:
        raise JsonTooLarge("it is nested too deeply") from error
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError as error:  # the limit of `int`
        raise JsonTooLarge("a number in it has too many digits") from error
    try:
        return from_json(text.encode("utf-8", "replace"))
    except ValueError as error:  # the strict parser takes fewer levels
        raise JsonTooLarge("it is nested too deeply") from error


def is_json(data: bytes) -> bool:
    """True if *data* is JSON; an event that was cut is not."""
    try:
        read_json(data)
    except ValueError:
        return False
    return True


def write_json(value: object) -> bytes:
    """Return *value* as JSON; a lone surrogate in it becomes a question mark."""
    try:
        return to_json(value)
    except (PydanticSerializationError, UnicodeEncodeError):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def write_json_line(value: object) -> bytes:
    """Return *value* as JSON in one line, also for those who end a line at U+2028 or U+0085.

    Source: google-genai reads a stream with ``str.splitlines``.
    """
    data = write_json(value)
    if b"\xe2\x80" in data or b"\xc2\x85" in data:
        for character, escaped in _LINE_ENDS:
            data = data.replace(character, escaped)
    return data


def write_body(body: Mapping[str, object]) -> bytes:
    """Return *body* as JSON, written a message at a time, so that it is never copied whole.

    The buffer grows in place and hands out its bytes without a copy. A body of few messages is
    written at once, which is faster.
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


def mapping(value: object) -> Mapping[str, Any]:
    """Return *value* if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Any]:
    """Return *value* if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def string(value: object) -> str:
    """Return *value* if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def integer(value: object) -> int | None:
    """Return *value* if it is a whole number, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
