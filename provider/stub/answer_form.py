"""Read one answer from a scenario's file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..conversation import ToolCall, Usage
from ..error import ConfigError
from .answer import (
    Abort,
    CaptureAnswer,
    ConnectionReset,
    Cut,
    ModelAnswer,
    RefusedConnection,
    Stall,
    StatusAnswer,
    StreamError,
)
from .capture import FRAMING, load_capture
from .typed_table import Table, near, wrong
from .vendor_error import STATUS_BY_WORD

if TYPE_CHECKING:
    from .answer import Answer, Fault

FAULTS = ("error", "cut", "abort", "reset", "stall")
MODEL_KEYS = (
    *("text", "reasoning", "signature", "tool_calls", "usage", "stop"),
    *("chunk", "pace", "delay", "comments", *FAULTS, "after", "keepalive", "times"),
)
STATUS_KEYS = ("status", "headers", "body", "delay", "times")
CAPTURE_KEYS = ("capture", "delay", "times")
REFUSAL_KEYS = ("refuse", "times")


def read_answer(value: object, where: str) -> Answer:
    """Return the answer that *value* describes; *where* is its place in the file.

    Raises:
        ConfigError: A field is wrong.
    """
    obj = Table(value, where)
    if "status" in obj:
        return _status_answer(Table(value, where, STATUS_KEYS))
    if "capture" in obj:
        return _capture_answer(Table(value, where, CAPTURE_KEYS))
    if "refuse" in obj:
        if not Table(value, where, REFUSAL_KEYS).flag("refuse"):
            raise wrong(obj.at("refuse"), False, "true, or be left out")
        return RefusedConnection()
    return _model_answer(Table(value, where, MODEL_KEYS), where)


def _model_answer(obj: Table, where: str) -> ModelAnswer:
    fault = _fault(obj, where)
    if fault is None and not any(key in obj for key in ("text", "reasoning", "tool_calls")):
        raise ConfigError(
            f"{where} answers nothing: give it `text`, `reasoning` or `tool_calls`, a fault "
            f"({', '.join(FAULTS)}), a `status`, a `capture` or `refuse`"
        )
    if fault is None and "after" in obj:
        raise ConfigError(
            f"{obj.at('after')} says when a fault comes, but there is none: add one of "
            f"{', '.join(FAULTS)}, or leave it out"
        )
    if "keepalive" in obj and not isinstance(fault, Stall):
        raise ConfigError(f"{obj.at('keepalive')} goes only with `stall`: leave it out")
    return ModelAnswer(
        text=obj.text("text"),
        reasoning=obj.text("reasoning"),
        signature=obj.text("signature") if "signature" in obj else None,
        tool_calls=_tool_calls(obj.get("tool_calls"), obj.at("tool_calls")),
        chunk=obj.whole("chunk", 16, least=1),
        pace=obj.seconds("pace"),
        delay=obj.seconds("delay"),
        comments=obj.whole("comments", 0),
        usage=_usage(obj) if "usage" in obj else None,
        stop=obj.text("stop") if "stop" in obj else None,
        fault=fault,
        after=obj.whole("after", 0) if "after" in obj else None,
    )


def _fault(obj: Table, where: str) -> Fault | None:
    faults = [key for key in FAULTS if key in obj and (key == "error" or obj.flag(key))]
    if len(faults) > 1:
        raise ConfigError(f"{where} has {' and '.join(faults)}: an answer takes one fault")
    match faults:
        case ["error"]:
            return StreamError(_error(obj.get("error"), obj.at("error")))
        case ["cut"]:
            return Cut()
        case ["abort"]:
            return Abort()
        case ["reset"]:
            return ConnectionReset()
        case ["stall"]:
            return Stall(_keepalive(obj) if "keepalive" in obj else None)
        case _:
            return None


def _keepalive(obj: Table) -> float:
    seconds = obj.seconds("keepalive")
    if not seconds:
        raise wrong(obj.at("keepalive"), seconds, "seconds above 0, or be left out")
    return seconds


def _error(value: object, where: str) -> int | Mapping[str, object]:
    """Return an error object, or the status that a number or an error type stands for."""
    match value:
        case bool():
            pass
        case int() if 400 <= value <= 599:
            return value
        case str() if value in STATUS_BY_WORD:
            return STATUS_BY_WORD[value]
        case str():
            raise ConfigError(
                f"{where} has no words for {value!r}{near(value, STATUS_BY_WORD)}: "
                f"write a status, one of the types "
                f"{', '.join(sorted(STATUS_BY_WORD))}, or the whole error object"
            )
        case Mapping():
            return dict(Table(value, where).items())
    raise wrong(where, value, "an error object, a status from 400 to 599, or an error type")


def _tool_calls(value: object, where: str) -> tuple[ToolCall, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise wrong(where, value, 'a list of {"id", "name", "input"}')
    calls = []
    for number, item in enumerate(value):
        call = Table(item, f"{where}[{number}]", ("id", "name", "input"))
        if not call.text("name"):
            raise ConfigError(f"{call.at('name')} is missing: name the tool that is called")
        calls.append(
            ToolCall(
                id=call.text("id"), name=call.text("name"), input=dict(call.table("input").items())
            )
        )
    return tuple(calls)


def _usage(obj: Table) -> Usage:
    counts = obj.table("usage", ("input", "output", "cache_read", "cache_write"))
    return Usage(**{key: counts.whole(key, 0) for key, _ in counts.items()})


def _status_answer(obj: Table) -> StatusAnswer:
    status = obj.whole("status", 0, least=200, most=599)
    if status in {204, 304}:
        raise wrong(obj.at("status"), status, "a status that may have a body")
    body = obj.get("body")
    if "body" in obj and not isinstance(body, str | Mapping):
        raise wrong(obj.at("body"), body, "an object or a string, or be left out")
    return StatusAnswer(
        status=status,
        headers={
            key.lower(): _header(key, value, obj.at(f"headers[{key!r}]"))
            for key, value in obj.table("headers").items()
        },
        body=body
        if isinstance(body, str)
        else None
        if body is None
        else dict(obj.table("body").items()),
        delay=obj.seconds("delay"),
    )


def _header(key: str, value: object, where: str) -> str:
    if key.lower() in FRAMING:
        raise ConfigError(f"{where} is written by the stub itself: leave it out")
    if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", key):
        raise ConfigError(f"{where} is no name of a header: use letters, digits and hyphens")
    text = str(value)
    is_text = isinstance(value, str | int | float) and not isinstance(value, bool)
    if not is_text or not (text.isascii() and text.isprintable()):
        raise wrong(where, value, "a number, or a string of printable ASCII")
    return text.strip()


def _capture_answer(obj: Table) -> CaptureAnswer:
    try:
        return CaptureAnswer(load_capture(obj.text("capture")), obj.seconds("delay"))
    except ConfigError as error:
        raise ConfigError(f"{obj.at('capture')}: {error}") from error
