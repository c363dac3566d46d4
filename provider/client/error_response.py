"""Responses in place of a stream, classified as a `Failure`."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

from ..classify.classify import BODY_LIMIT, classify_response, has_error_object
from ..failure import Failure, FailureKind, Stage
from ..json_value import read_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    import httpx

    from ..catalog.provider import Provider
    from ..wire_name import Wire
    from .response_body import Body

_NO_SUCH_ADDRESS = frozenset({404, 405})
"""Statuses that a wrong base URL has as well; then only the address shows it."""
_PAGE = "a web page, as a wrong `baseUrl` does, or a network that wants a login"
_PATIENCE = 5.0
"""Seconds for the body of an error, after its status has come."""


def is_stream(status: int, content_type: str, wire: Wire) -> bool:
    """True if a response has to be read event by event.

    A response of Gemini, or of a proxy of it, can be one JSON array of events.
    """
    return 200 <= status < 300 and ("json" not in content_type or wire == "gemini")


async def is_event_stream(response: httpx.Response, body: Body, wire: Wire) -> bool:
    """True if *response* has to be read event by event.

    Some servers label an event stream as JSON or as a page, so that only its start tells them
    apart.
    """
    kind = response.headers.get("content-type", "")
    if is_stream(response.status_code, kind, wire):
        return "html" not in kind or not await body.begins_with_page()
    return 200 <= response.status_code < 300 and await body.begins_with_event()


async def read_failure(
    response: httpx.Response, blocks: AsyncIterator[bytes], *, provider: Provider, now: float
) -> Failure:
    """Return the failure that *response* reports, which is not a stream.

    Args:
        blocks: The body of *response*.
        now: Epoch seconds; an HTTP date is counted from it.
    """
    body = await read_body(blocks)
    failure = failure_of_response(
        response.status_code, response.headers, body, provider=provider, now=now
    )
    if response.status_code in _NO_SUCH_ADDRESS or response.is_success:
        failure.message += f" (asked at {_address(response)})"
    return failure


def failure_of_response(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    provider: Provider,
    now: float | None = None,
) -> Failure:
    """Return the failure in a response that is not a stream: an error, or other JSON with a 200."""
    if 200 <= status < 300 and not _has_error(body):
        what = _PAGE if body.lstrip().startswith(b"<") else "JSON that names no error"
        return Failure(
            kind=FailureKind.SERVER_ERROR,
            message=f"answered a request for a stream with {what}",
            stage=Stage.STREAM,
        )
    return classify_response(status, headers, body, provider=provider, wire=provider.wire, now=now)


def _address(response: httpx.Response) -> str:
    """Return the address that was asked, without what may be secret in it."""
    url = response.request.url
    port = "" if url.port is None else f":{url.port}"
    return f"{url.scheme}://{url.host}{port}{url.path}"


async def read_body(blocks: AsyncIterator[bytes]) -> bytes:
    """Return a short body, or as much as arrives in time: the status counts without it."""
    body = bytearray()
    with anyio.move_on_after(_PATIENCE), suppress(Exception):
        async for block in blocks:
            body += block
            if len(body) >= BODY_LIMIT:
                break
    return bytes(body[:BODY_LIMIT])


def _has_error(body: bytes) -> bool:
    try:
        return has_error_object(read_json(body))
    except ValueError:
        return False
