"""What the journal says of an event: one line, with no prompt, answer, tool output or key in it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...provider.failure import Failure, FailureKind
from ...provider.secret import names_a_secret, without_keys
from ..event import (
    ReasoningDelta,
    TextDelta,
    ToolCallEnded,
    ToolCallStarted,
    ToolRunEnded,
    TurnEnded,
    to_json,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..event import Event

VERSION = 1
LONGEST = 4096
"""Bytes of a line, its end included."""

UNHEARD = (TextDelta, ReasoningDelta, ToolCallStarted)
"""What is not written at all."""
_WORDS = ("text", "input", "output", "prompt")
"""Fields that hold what was said; where they hold a number, they count it."""
_WHOLE, _LEAST = 1024, 32
"""Characters of a text in a line that is too long, at first and at last; an id has fewer."""


def describe(event: Event, environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Return what is written of *event*, its ``step`` and ``attempt`` left out; None: nothing.

    Of an error only the class is written: the message of somebody else's may quote anything.

    Args:
        environ: Whose secrets are written nowhere.
    """
    if isinstance(event, UNHEARD):
        return None
    told = to_json(_silenced(event))
    failure = getattr(event, "failure", None)
    if isinstance(failure, Failure):
        told["failure"] = _hushed(told["failure"], failure, environ)
    if "error" in told:
        told["error"] = _class_of(told["error"])
    if isinstance(event, TurnEnded):
        told["characters"] = len(event.text)
    return {name: value for name, value in told.items() if not _is_unsaid(name, value)}


def line(record: Mapping[str, Any]) -> bytes:
    """Return *record* as a line; where it would be too long, its texts are cut, and it says so."""
    plain = {name: _plain(value) for name, value in record.items()}
    written = _written(plain)
    size = _WHOLE
    while len(written) > LONGEST and size >= _LEAST:
        written = _written(_cut(plain, size) | {"cut": True})
        size //= 2
    if len(written) > LONGEST:
        ids = {name: plain.get(name) for name in ("at", "session", "turn", "step", "attempt")}
        written = _written(_cut(ids | {"event": plain.get("event"), "cut": True}, _LEAST))
    return written


def _silenced(event: Event) -> Event:
    """Return *event* without what might be large, and is not written."""
    if isinstance(event, ToolRunEnded):
        return replace(event, output=None)
    return replace(event, input={}) if isinstance(event, ToolCallEnded) else event


def _is_unsaid(name: str, value: object) -> bool:
    is_count = isinstance(value, int | float)
    return name in ("step", "attempt") or (name in _WORDS and not is_count)


def _class_of(error: object) -> object:
    """Return the class in ``Class: message``, or in an object that has both."""
    if isinstance(error, dict):
        return error.get("class")
    return error.partition(":")[0] if isinstance(error, str) else None


def _hushed(told: dict[str, Any], failure: Failure, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return a failure as it is *told*, without keys, and without the words of a bug."""
    if failure.kind is FailureKind.UNKNOWN and failure.status is None:
        cause = "" if failure.cause is None else type(failure.cause).__name__
        return told | {"message": cause}
    secrets = [value for name, value in environ.items() if names_a_secret(name)]
    return {
        name: without_keys(value, secrets) if isinstance(value, str) else value
        for name, value in told.items()
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
    """Return *value* with every text in it brought down to *size* characters."""
    if isinstance(value, dict):
        return {name: _cut(each, size) for name, each in value.items()}
    if isinstance(value, list):
        return [_cut(each, size) for each in value]
    is_long = isinstance(value, str) and len(value) > size
    return f"{value[: size - 1]}…" if is_long else value


def _written(record: Mapping[str, Any]) -> bytes:
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace") + b"\n"
