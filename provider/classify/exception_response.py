"""The answer that hangs on an exception of another library, to a `Failure`.

An SDK may keep the response, or only what it has parsed of it, under names of its own; inside a
stream it raises what it found with the status of the answer, which was 200, or with none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

from ..catalog.catalog import catalog
from ..failure import Stage
from ..json_value import mapping, read_json, write_json
from .classify import classify_error_object, classify_response, has_error_object, shorten
from .exception_names import PROVIDER_OF_SDK

if TYPE_CHECKING:
    from ..catalog.provider import Provider
    from ..failure import Failure
    from ..route import Route
    from ..wire_name import Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """What is known of the call that failed.

    Args:
        route: Whose facts to read an answer by; None tells the provider from the SDK, if it can.
        provider: The same, with what the configuration says of it; None looks the route's up.
        now: Epoch seconds, which an HTTP date without an own ``date`` is counted from.
    """

    route: Route | None = None
    provider: Provider | None = None
    now: float | None = None


def read(error: BaseException, context: CallContext) -> Failure | None:
    """Name the failure that the answer on *error* tells of; None where there is no such answer."""
    response = peek(error, "response")
    status = _status(error, response)
    if status is None:
        return _told(error, context)
    body = _body(error, response)
    provider, wire = _speaker(error, context, body)
    headers = _headers(error, response)
    failure = classify_response(
        status, headers, body, provider=provider, wire=wire, route=context.route, now=context.now
    )
    if not body:
        failure.message = worded(error)
    if _is_success(response):
        failure.stage = Stage.STREAM
    _complete(failure, error)
    return failure


def _told(error: BaseException, context: CallContext) -> Failure | None:
    """Read the error object that an SDK found inside a stream, whose own status was 200."""
    value = _parsed(peek(error, "body"))
    if not (value.get("error") or value.get("message")):
        value = mapping(value.get("data"))  # as an SDK that is generated wraps an event
        if not has_error_object(value):
            return None
    provider, wire = _speaker(error, context, _written(value))
    failure = classify_error_object(value, provider=provider, wire=wire, route=context.route)
    _complete(failure, error)
    return failure


def _complete(failure: Failure, error: BaseException) -> None:
    """Add what the SDK has read from the answer already."""
    seconds, named = peek(error, "retry_after"), peek(error, "request_id")
    if failure.retry_after is None and isinstance(seconds, int | float) and 0 < seconds < math.inf:
        failure.retry_after = float(seconds)
    failure.request_id = failure.request_id or (named if isinstance(named, str) else None)


def _status(error: BaseException, response: object) -> int | None:
    """Return the status of the answer; some SDKs call it a code, and aiohttp warns if asked so."""
    for owner, name in (
        (error, "status_code"),
        (response, "status_code"),
        (response, "status"),
        (error, "status"),
        (error, "code"),
    ):
        value = peek(owner, name)
        if _is_status(value):
            # aiohttp puts a 400 of its own on an answer that it cannot read.
            is_made_up = is_named(error, "HttpProcessingError") or (
                is_named(error.__cause__, "HttpProcessingError")
            )
            return None if is_made_up else int(value)
    return None


def _is_status(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 300 <= value <= 599


def _is_success(response: object) -> bool:
    """Say whether the answer itself began well, so that the error stood inside it."""
    statuses = (peek(response, "status_code"), peek(response, "status"))
    return any(isinstance(status, int) and 200 <= status < 300 for status in statuses)


def _headers(*owners: object) -> dict[str, str]:
    for owner in owners:
        headers = peek(owner, "headers")
        if isinstance(headers, Mapping):
            return {str(name).lower(): str(value) for name, value in headers.items()}
    return {}


def _body(error: BaseException, response: object) -> bytes:
    """Return the answer's body as it came; an SDK may keep only what it has parsed."""
    for value in (
        peek(response, "content"),
        peek(error, "body"),
        peek(error, "details"),
        peek(response, "text"),
    ):
        if isinstance(value, bytes | str) and value:
            return value if isinstance(value, bytes) else value.encode("utf-8", "replace")
        if isinstance(value, Mapping | list) and value:
            return _written(value)
    return b""


def _parsed(body: object) -> Mapping[str, object]:
    if isinstance(body, str | bytes):
        with suppress(ValueError):
            return mapping(read_json(body))
    return body if isinstance(body, Mapping) else {}


def _written(value: object) -> bytes:
    with suppress(Exception):
        return write_json(value)
    return b""


def _speaker(
    error: BaseException, context: CallContext, body: bytes
) -> tuple[Provider | str, Wire]:
    """Tell whose answer it is: the route's provider, or else that of the SDK."""
    if context.provider is not None:
        return context.provider, context.provider.wire
    name = context.route.provider if context.route is not None else ""
    if not name:
        name = next((PROVIDER_OF_SDK.get(root, "") for root in roots_of(error)), "")
    known = catalog().get(name)
    if known is not None:
        return known.name, known.wire
    if "google" in roots_of(error) or name == "gemini":
        return name or "gemini", "gemini"
    is_anthropic = b'"type":"error"' in body.replace(b" ", b"")
    return name, "anthropic" if is_anthropic else "openai-chat"


def roots_of(error: BaseException) -> list[str]:
    """Return the packages that the class of *error* and its parents come from."""
    return [cls.__module__.partition(".")[0] for cls in type(error).__mro__]


def is_named(error: object, name: str) -> bool:
    """Say whether the class of *error*, or one of its parents, is called *name*."""
    return name in (cls.__name__ for cls in type(error).__mro__)


def peek(owner: object, name: str) -> object:
    """Return an attribute; None where there is none, or where reading it fails."""
    with suppress(Exception):
        return getattr(owner, name, None)
    return None


def worded(error: BaseException) -> str:
    """Say in one line what *error* is; its own words may fail it."""
    said = ""
    with suppress(Exception):
        said = shorten(str(error))
    name = type(error).__name__
    return f"{name}: {said}" if said else name
