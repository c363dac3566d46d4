"""What comes in place of a stream, to a `Failure`."""

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

_PATIENCE = 5.0
"""Seconds for the body of an error whose status came already."""


def is_stream(status: int, content_type: str, wire: Wire) -> bool:
    """Say whether an answer is one to be read event by event.

    Gemini's may be one JSON array of what are events elsewhere, and so may one of a proxy of it.
    """
    return 200 <= status < 300 and ("json" not in content_type or wire == "gemini")


async def read_refusal(
    response: httpx.Response, blocks: AsyncIterator[bytes], *, provider: Provider, now: float
) -> Failure | None:
    """Read an answer that is an error; None where a stream comes, of which nothing is read.

    Args:
        blocks: The body of *response*.
        now: Epoch seconds, which an HTTP date is counted from.
    """
    kind = response.headers.get("content-type", "")
    if is_stream(response.status_code, kind, provider.wire):
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
