"""What comes in place of a stream, to a `Failure`."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

from .classify import BODY_LIMIT, classify_response, has_error_object
from .failure import Failure, FailureKind, Stage
from .wire import read_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    import httpx

    from .catalog import Provider

_PATIENCE = 5.0
"""Seconds for the body of an error whose status came already."""


async def read_refusal(
    response: httpx.Response, blocks: AsyncIterator[bytes], *, provider: Provider, now: float
) -> Failure | None:
    """Read an answer that is an error; None where a stream comes, of which nothing is read.

    Args:
        blocks: The body of *response*.
        now: Epoch seconds, which an HTTP date is counted from.
    """
    is_success = 200 <= response.status_code < 300
    if is_success and "json" not in response.headers.get("content-type", ""):
        return None
    body = await read_body(blocks)
    return name_refusal(response.status_code, response.headers, body, provider=provider, now=now)


def name_refusal(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    provider: Provider,
    now: float | None = None,
) -> Failure:
    """Name what came in place of a stream: an error, or with a 200 perhaps other JSON."""
    if 200 <= status < 300 and not _tells_of_error(body):
        return Failure(
            kind=FailureKind.SERVER_ERROR,
            message="answered a request for a stream with JSON that tells of no error",
            stage=Stage.STREAM,
        )
    return classify_response(status, headers, body, provider=provider, wire=provider.wire, now=now)


async def read_body(blocks: AsyncIterator[bytes]) -> bytes:
    """Read a short body, or what comes of it: the status counts without it."""
    body = bytearray()
    with anyio.move_on_after(_PATIENCE), suppress(Exception):
        async for block in blocks:
            body += block
            if len(body) >= BODY_LIMIT:
                break
    return bytes(body[:BODY_LIMIT])


def _tells_of_error(body: bytes) -> bool:
    try:
        return has_error_object(read_json(body))
    except ValueError:
        return False
