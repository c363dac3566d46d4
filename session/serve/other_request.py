"""Requests that ask for no answer: counts of tokens, and whatever else a provider offers."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio
import h11
import httpx

from ...provider.classify.exception import classify_exception
from ...provider.classify.redirect import redirect_failure
from ...provider.client.error_response import read_body
from ...provider.client.response_body import Body
from ...provider.error import ProviderError
from ...provider.failure import Failure, FailureKind
from ...provider.json_value import write_json
from ...provider.log import logger
from ...provider.relay.own_request import (
    OwnRequest,
    address_of,
    answered_headers,
    kept_headers,
    query_without,
)
from ...provider.relay.raw_response import send
from ...provider.secret import Secret
from ...provider.wire.read_request import RequestError
from ...provider.wire.registry import reader_of
from ..plan.needs import Needs
from .outlet import Outlet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...provider.catalog.provider import Provider
    from ...provider.server.connection import HttpConnection, HttpRequest
    from .access import Caller
    from .connection import Shared
    from .model_request import ModelRequest
    from .served_path import ServedPath

_COUNT_SECONDS = 5.0
_SILENCE = 600.0
"""Seconds in which the response to an unknown request must begin."""
_MOST = 1024 * 1024
"""Bytes of a count's response."""


async def pass_on(
    connection: HttpConnection, shared: Shared, path: ServedPath, request: HttpRequest
) -> Failure | None:
    """Pass *request* on as it is, and its response; return why it cannot be, if so."""
    assert path.provider is not None  # noqa: S101 - a bare path is always a model call
    provider = shared.client.providers[path.provider]
    caller = shared.access.caller(request)
    headers = kept_headers(request.lines, without=caller.hidden)
    if coding := request.headers.get("content-encoding"):
        headers += (("content-encoding", coding),)
    own = OwnRequest(
        provider=provider,
        method=request.method,
        url=address_of(provider, path.rest, _query(request, caller)),
        headers=headers,
        content=request.body or b"",
        secret=_secret(shared, provider, caller),
    )
    async with shared.client.shared_http.slot() as http:
        try:
            response = await _response(http, own)
        except ProviderError as error:
            return error.failure
        body = Body(response)
        try:
            if (refused := _redirect(response, own, caller)) is not None:
                return refused
            await _copy(connection, response, body, own, is_head=request.method == "HEAD")
        finally:
            if not body.is_released:
                await body.abandon()
    return None


async def count_tokens(
    outlet: Outlet, shared: Shared, request: ModelRequest, caller: Caller
) -> Failure | None:
    """Answer with the provider's own count, or with an estimate if it does not count."""
    provider = shared.client.providers.get(request.requested.provider)
    own = None
    if provider is not None:
        own = request.own_request(provider, caller, _secret(shared, provider, caller))
    answered = None if own is None else await _own_count(shared, own)
    if answered is not None:
        status, headers, body = answered
        await outlet.whole(status, headers, body)
        return None
    try:
        read = reader_of(request.call.wire).read(request.body, path=request.path.rest)
    except RequestError as error:
        return _bad_gateway(str(error), 400)
    tokens = Needs.of(read.conversation).tokens or 0
    tokens -= read.conversation.settings.max_output_tokens or 0
    body = write_json(_count(request, max(tokens, 1)))
    await outlet.whole(200, (("content-type", "application/json"),), body)
    return None


async def _own_count(
    shared: Shared, own: OwnRequest
) -> tuple[int, tuple[tuple[str, str], ...], bytes] | None:
    """Return the provider's response; None: it has none, or is not able to count now."""
    with anyio.move_on_after(_COUNT_SECONDS):
        async with shared.client.shared_http.slot() as http:
            return await _counted(http, own)
    return None


async def _counted(
    http: httpx.AsyncClient, own: OwnRequest
) -> tuple[int, tuple[tuple[str, str], ...], bytes] | None:
    """Return the response of a provider that has answered the count, as `_own_count` does."""
    try:
        response = await _response(http, own)
    except ProviderError:
        return None
    body, content = Body(response), bytearray()
    try:
        with _reading(own):
            async for block in body.blocks:
                content += block
                if len(content) > _MOST:
                    return None
        await body.release()
    except ConnectionAbortedError:
        return None
    finally:
        if not body.is_released:
            await body.abandon()
    status = response.status_code
    if 300 <= status < 400 or status in {404, 429} or status >= 500:
        return None
    headers = answered_headers(response.headers.multi_items(), own.secret)
    return status, headers, own.secret.redact_body(bytes(content))


def _count(request: ModelRequest, tokens: int) -> dict[str, object]:
    if request.call.wire == "gemini":
        return {"totalTokens": tokens}
    is_openai = request.call.wire == "openai-responses"
    return {"input_tokens": tokens} | ({"object": "response.input_tokens"} if is_openai else {})


async def _response(http: httpx.AsyncClient, own: OwnRequest) -> httpx.Response:
    """Return the response to *own*, whatever its status.

    Raises:
        ProviderError: There is none.
    """
    with anyio.move_on_after(_SILENCE):
        try:
            return await send(http, own)
        except Exception as error:
            failure = classify_exception(error)
            if failure.kind is FailureKind.UNKNOWN:
                raise
            message = own.secret.redact(f"{own.provider.name} cannot be reached: {failure.message}")
            raise ProviderError(_bad_gateway(message, 502, failure.kind)) from None
    raise ProviderError(_bad_gateway("the provider did not answer", 504, FailureKind.TIMEOUT))


async def _copy(
    connection: HttpConnection,
    response: httpx.Response,
    body: Body,
    own: OwnRequest,
    *,
    is_head: bool,
) -> None:
    headers = answered_headers(response.headers.multi_items(), own.secret)
    has_body = not is_head and response.status_code not in {204, 304}
    if has_body and response.status_code >= 400 and own.secret.key:
        text = own.secret.redact_body(await read_body(body.blocks))
        await Outlet.plain(connection).whole(response.status_code, headers, text)
        return
    length = None if has_body else _length(response) if is_head else 0
    head = connection.begin(response.status_code, headers, length=length)
    await connection.sock.send(head)
    if has_body:
        with _reading(own):
            async for block in body.blocks:
                await connection.send_event(h11.Data(data=block))
        await body.release()
    await connection.send_event(h11.EndOfMessage())


def _redirect(response: httpx.Response, own: OwnRequest, caller: Caller) -> Failure | None:
    """Return why *response* does not go to a client with our token; None: it does.

    A client that follows a redirect sends what it has for a key along, and it has our token.
    """
    failure = redirect_failure(response.status_code, response.headers, now=None)
    if failure is None or not caller.hidden:
        return None
    message = own.secret.redact(f"{own.provider.name} {failure.message}")
    return _bad_gateway(message, 502, failure.kind)


def _length(response: httpx.Response) -> int:
    """Return how long the body is that a ``HEAD`` asks about; 0: the provider does not say."""
    length = response.headers.get("content-length", "")
    is_same = "content-encoding" not in response.headers
    return int(length) if is_same and re.fullmatch(r"[0-9]{1,18}", length) else 0


@contextmanager
def _reading(own: OwnRequest) -> Iterator[None]:
    """Log in one line why an answer could not be read to its end, which is no mistake of ours.

    Raises:
        ConnectionAbortedError: It could not, so that the client's connection has to end as well.
    """
    try:
        yield
    except (httpx.HTTPError, ProviderError) as error:
        what = own.secret.redact(f"{type(error).__name__}: {error}")
        logger.warning("an answer of %s that was passed on failed: %s", own.provider.name, what)
        raise ConnectionAbortedError from None


def _query(request: HttpRequest, caller: Caller) -> str:
    return query_without(request.target.partition("?")[2], caller.hidden)


def _secret(shared: Shared, provider: Provider, caller: Caller) -> Secret:
    """Return the key of ours to send; without one, the client's own stays."""
    if caller.may_use_our_keys and not caller.has_key:
        return shared.client.secret(provider)
    return Secret(None)


def _bad_gateway(message: str, status: int, kind: FailureKind = FailureKind.BAD_REQUEST) -> Failure:
    return Failure(kind=kind, message=message, status=status)
