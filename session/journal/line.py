"""An event as a line of the journal, without prompt, answer, tool output or key."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...provider.failure import Failure, FailureKind
from ...provider.secret import is_secret_name, redact_keys
from ..event import (
    ReasoningDelta,
    TextDelta,
    ToolCallEnded,
    ToolCallStarted,
    ToolRunEnded,
    TurnEnded,
)
from ..event_json import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..event import Event

VERSION = 1
LONGEST = 4096
"""Bytes of a line, its end included."""

NOT_WRITTEN = (TextDelta, ReasoningDelta, ToolCallStarted)
"""Events that are not written at all."""
_WORDS = ("text", "input", "output", "prompt")
"""Fields that hold prompts and answers, unless their value is a number, which counts tokens."""
_OPTIONAL = ("api_key_env", "reset_at")
"""Fields that are written only if they have a value."""
_WHOLE, _LEAST = 1024, 32
"""Longest text in a line that is too long, at first and at last; ids are shorter."""


def describe(event: Event, environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Return *event* as it is written, without its ``step`` and ``attempt``; None: it is not.

    Of an error only the class is written, because its message may quote anything.

    Args:
        environ: Variables; the values of those that are named like secrets are never written.
    """
    if isinstance(event, NOT_WRITTEN):
        return None
    record = to_json(_without_texts(event))
    failure = getattr(event, "failure", None)
    if isinstance(failure, Failure):
        record["failure"] = _redacted(record["failure"], failure, environ)
    if "error" in record:
        record["error"] = _class_of(record["error"])
    if isinstance(event, TurnEnded):
        record["characters"] = len(event.text)
    return {name: value for name, value in record.items() if not _is_left_out(name, value)}


def line(record: Mapping[str, Any]) -> bytes:
    """Return *record* as a line; if it is too long, its texts are cut, and ``cut`` is true."""
    plain = {name: _plain(value) for name, value in record.items()}
    encoded = _encoded(plain)
    size = _WHOLE
    while len(encoded) > LONGEST and size >= _LEAST:
        encoded = _encoded(_cut(plain, size) | {"cut": True})
        size //= 2
    if len(encoded) > LONGEST:
        ids = {name: plain.get(name) for name in ("at", "session", "turn", "step", "attempt")}
        encoded = _encoded(_cut(ids | {"event": plain.get("event"), "cut": True}, _LEAST))
    return encoded


def _without_texts(event: Event) -> Event:
    """Return *event* without fields that may be large and are not written."""
    if isinstance(event, ToolRunEnded):
        return replace(event, output=None)
    return replace(event, input={}) if isinstance(event, ToolCallEnded) else event


def _is_left_out(name: str, value: object) -> bool:
    is_count = isinstance(value, int | float)
    is_unset = value is None and name in _OPTIONAL
    return is_unset or name in ("step", "attempt") or (name in _WORDS and not is_count)


def _class_of(error: object) -> object:
    """Return the class of ``Class: message``, or of an object with both."""
    if isinstance(error, dict):
        return error.get("class")
    return error.partition(":")[0] if isinstance(error, str) else None


def _redacted(
    record: dict[str, Any], failure: Failure, environ: Mapping[str, str]
) -> dict[str, Any]:
    """Return *record*, a failure, without keys, and without the message of a bug."""
    if failure.kind is FailureKind.UNKNOWN and failure.status is None:
        cause = "" if failure.cause is None else type(failure.cause).__name__
        return record | {"message": cause}
    secrets = [value for name, value in environ.items() if is_secret_name(name)]
    return {
        name: redact_keys(value, secrets) if isinstance(value, str) else value
        for name, value in record.items()
    }


def _plain(value: object) -> object:
    """Return *value* as JSON can hold it."""
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, int) else type(value).__name__


def _cut(value: Any, size: int) -> Any:
    """Return *value* with every text in it cut to *size* characters."""
    if isinstance(value, dict):
        return {name: _cut(each, size) for name, each in value.items()}
    if isinstance(value, list):
        return [_cut(each, size) for each in value]
    is_long = isinstance(value, str) and len(value) > size
    return f"{value[: size - 1]}…" if is_long else value


def _encoded(record: Mapping[str, Any]) -> bytes:
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace") + b"\n"
