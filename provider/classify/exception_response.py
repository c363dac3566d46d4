"""The classification of a response that another library's exception holds.

An SDK keeps the response, or only the parsed body, under names of its own. For an error inside a
stream it raises an exception with the status of the response, which was 200, or without a status.
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
from .unread_body import take_body

if TYPE_CHECKING:
    from urllib.error import HTTPError

    from ..catalog.provider import Provider
    from ..failure import Failure
    from ..route import Route
    from ..wire_name import Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """What the caller knows about the call that failed.

    Args:
        route: The route that was called; None: the provider is recognised by the SDK, if possible.
        provider: The provider of the route with its configured facts; None: looked up by the route.
        now: Epoch seconds; an HTTP date is counted from it if the response has no ``date``.
    """

    route: Route | None = None
    provider: Provider | None = None
    now: float | None = None


_NOT_READ = (
    "; its body was not read, so that nothing else is known: call `await response.aread()` "
    "before `raise_for_status()`"
)
"""After the message of httpx or httpx2, the only ones that have the attribute."""


def read(error: BaseException, context: CallContext) -> Failure | None:
    """Return the failure that the response on *error* reports; None: it holds no such response."""
    response = peek(error, "response")
    status = _status(error, response)
    if status is None:
        return _read_stream_error(error, context)
    body = _body(error, response)
    provider, wire = _provider_and_wire(error, context, body)
    headers = _headers(error, response)
    failure = classify_response(
        status, headers, body, provider=provider, wire=wire, route=context.route, now=context.now
    )
    if not body:
        failure.message = describe(error)
        if peek(response, "is_stream_consumed") is False:
            failure.message += _NOT_READ
    if _is_success(response):
        failure.stage = Stage.STREAM
    _complete(failure, error)
    return failure


def _read_stream_error(error: BaseException, context: CallContext) -> Failure | None:
    """Return the failure of an error object that an SDK found inside a stream."""
    value = _parsed(peek(error, "body"))
    if not (value.get("error") or value.get("message")):
        value = mapping(value.get("data"))  # generated SDKs wrap an event so
        if not has_error_object(value):
            return None
    provider, wire = _provider_and_wire(error, context, _to_json(value))
    failure = classify_error_object(value, provider=provider, wire=wire, route=context.route)
    _complete(failure, error)
    return failure


def _complete(failure: Failure, error: BaseException) -> None:
    """Add to *failure* what the SDK has parsed from the response."""
    seconds, request_id = peek(error, "retry_after"), peek(error, "request_id")
    if failure.retry_after is None and isinstance(seconds, int | float) and 0 < seconds < math.inf:
        failure.retry_after = float(seconds)
    failure.request_id = failure.request_id or (request_id if isinstance(request_id, str) else None)


def _status(error: BaseException, response: object) -> int | None:
    """Return the status of the response; None: it has none.

    Some SDKs call it a code; it is read last, because aiohttp warns about that name.
    """
    for owner, name in (
        (error, "status_code"),
        (response, "status_code"),
        (response, "status"),
        (error, "status"),
        (error, "code"),
    ):
        value = peek(owner, name)
        if _is_status(value):
            # aiohttp puts its own 400 on a response that it cannot read.
            is_made_up = is_named(error, "HttpProcessingError") or (
                is_named(error.__cause__, "HttpProcessingError")
            )
            return None if is_made_up else int(value)
    return None


def _is_status(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 300 <= value <= 599


def _is_success(response: object) -> bool:
    """True if the response itself was a success, so that the error came inside it."""
    statuses = (peek(response, "status_code"), peek(response, "status"))
    return any(isinstance(status, int) and 200 <= status < 300 for status in statuses)


def _headers(*owners: object) -> dict[str, str]:
    for owner in owners:
        headers = peek(owner, "headers")
        if _are_headers(headers):
            return {str(name).lower(): str(value) for name, value in headers.items()}
    return {}


def _are_headers(value: object) -> TypeGuard[Mapping[str, str]]:
    """True if *value* has the methods of a mapping; `urllib` keeps headers as a mail's."""
    return isinstance(value, Mapping) or is_named(value, "Message")


def _body(error: BaseException, response: object) -> bytes:
    """Return the response's body, written again if the SDK keeps only the parsed form."""
    for value in (
        peek(response, "content"),
        peek(error, "body"),
        peek(error, "details"),
        peek(response, "text"),
    ):
        if isinstance(value, bytes | str) and value:
            return value if isinstance(value, bytes) else value.encode("utf-8", "replace")
        if isinstance(value, Mapping | list) and value:
            return _to_json(value)
    return take_body(error) if _is_of_urllib(error) else b""


def _is_of_urllib(error: BaseException) -> TypeGuard[HTTPError]:
    return is_named(error, "HTTPError") and type(error).__module__ == "urllib.error"


def _parsed(body: object) -> Mapping[str, object]:
    if isinstance(body, str | bytes):
        with suppress(ValueError):
            return mapping(read_json(body))
    return body if isinstance(body, Mapping) else {}


def _to_json(value: object) -> bytes:
    with suppress(Exception):
        return write_json(value)
    return b""


def _provider_and_wire(
    error: BaseException, context: CallContext, body: bytes
) -> tuple[Provider | str, Wire]:
    """Return the provider that answered, and its wire: by the route, or else by the SDK."""
    if context.provider is not None:
        return context.provider, context.provider.wire
    name = context.route.provider if context.route is not None else ""
    if not name:
        name = next((PROVIDER_OF_SDK.get(root, "") for root in roots_of(error)), "")
    provider = catalog().get(name)
    if provider is not None:
        return provider.name, provider.wire
    if "google" in roots_of(error) or name == "gemini":
        return name or "gemini", "gemini"
    is_anthropic = b'"type":"error"' in body.replace(b" ", b"")
    return name, "anthropic" if is_anthropic else "openai-chat"


def roots_of(error: BaseException) -> list[str]:
    """Return the packages that the class of *error* and its parents come from."""
    return [cls.__module__.partition(".")[0] for cls in type(error).__mro__]


def is_named(error: object, name: str) -> bool:
    """True if the class of *error*, or one of its parents, is called *name*."""
    return name in (cls.__name__ for cls in type(error).__mro__)


def peek(owner: object, name: str) -> object:
    """Return the attribute *name* of *owner*; None: there is none, or reading it fails."""
    with suppress(Exception):
        return getattr(owner, name, None)
    return None


def describe(error: BaseException) -> str:
    """Return *error* in one line, even if its own text cannot be read."""
    text = ""
    with suppress(Exception):
        text = shorten(str(error))
    name = type(error).__name__
    return f"{name}: {text}" if text else name
