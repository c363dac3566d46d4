"""Events as plain data, for JSON."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any

from ..provider.failure import Failure
from .event import Event, UnavailableRoute


def to_json(event: Event) -> dict[str, Any]:
    """Return *event* as plain data, with its class name under ``event``."""
    pairs = ((field.name, getattr(event, field.name)) for field in fields(event))
    return {"event": type(event).__name__} | {name: _value_to_json(value) for name, value in pairs}


def _value_to_json(value: object) -> object:
    if isinstance(value, Failure):
        return failure_to_json(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple):
        return [_value_to_json(each) for each in value]
    if isinstance(value, UnavailableRoute):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, list):  # the output of a tool, with images in it
        from ..provider.conversation_json import part_to_json

        return [part_to_json(part) for part in value]
    return value


def failure_to_json(failure: Failure) -> dict[str, Any]:
    """Return the fields of *failure* that events and the journal record, as plain data."""
    return {
        "kind": failure.kind,
        "status": failure.status,
        "code": failure.code,
        "message": failure.message,
        "retry_after": failure.retry_after,
        "reset_at": failure.reset_at and failure.reset_at.isoformat(),
        "stage": failure.stage,
        "request_id": failure.request_id,
    }
