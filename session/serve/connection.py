"""One client's connection to the local address, and where each of its requests goes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import anyio
import h11

from ...provider.error import ProviderError
from ...provider.failure import Failure, FailureKind
from ...provider.json_value import write_json
from ...provider.log import logger
from ...provider.server.call_path import path_of
from ...provider.server.connection import HttpConnection
from ...provider.wire.registry import writer_of
from .model_request import MAX_BODY, ModelRequest
from .models import listed_at
from .other_request import count_tokens, pass_on
from .outlet import ClientLeft, Outlet
from .pages import Page
from .served_path import ServedPath, wire_of
from .served_step import ServedStep

if TYPE_CHECKING:
    from ...provider.client.client import Client
    from ...provider.server.connection import HttpRequest
    from ...provider.server.tcp_socket import Socket
    from ...provider.wire_name import Wire
    from ..step.middleware import Sidestep
    from .access import Access
    from .memory import AnswerMemory
    from .pages import Pages
    from .served_step import Hold

REQUEST_SECONDS = 300.0
"""Seconds in which a request must have come."""
MAX_TARGET = 32_768
"""Bytes of a path with its query, because httpx sends no URL of more than 65,536."""
_NEVER = frozenset({"TRACE", "CONNECT"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What all connections to one address share.

    Args:
        status_after: Seconds after which the status line of a stream goes out.
        ping_every: Seconds between two pings.
    """

    middleware: Sidestep
    client: Client
    access: Access
    memory: AnswerMemory
    pages: Pages
    hold: Hold
    status_after: float
    ping_every: float


class ServeConnection(HttpConnection):
    """One client's connection."""

    def __init__(self, sock: Socket, shared: Shared) -> None:
        super().__init__(sock, max_body=MAX_BODY, request_seconds=REQUEST_SECONDS)
        self._shared = shared

    def takes(self, head: HttpRequest) -> bool:
        """True if a request with *head* is not refused."""
        return self._shared.access.why_refused(head) is None

    async def answer(self, request: HttpRequest) -> bool:
        """Answer *request*; return True if the client left before the end of the answer."""
        return await self.while_connected(partial(self._answer_or_report, request))

    async def reject(self, why: str) -> None:
        """Answer what is not valid HTTP."""
        failure = Failure(
            kind=FailureKind.BAD_REQUEST, status=400, message=f"this is not valid HTTP: {why}"
        )
        await self._refuse(failure, "openai-chat")

    async def _answer_or_report(self, request: HttpRequest) -> None:
        """Answer *request*; a mistake of ours is logged, and the client gets a 500."""
        try:
            await self._answer(request)
        except (OSError, ClientLeft):
            return  # the connection is closed, because the answer has not ended
        except Exception:
            logger.exception("a request to the local address failed")
            if self.http.our_state is not h11.SEND_RESPONSE:
                raise
            message = "sidestep could not answer this request; its log says why"
            failure = Failure(kind=FailureKind.UNKNOWN, status=500, message=message)
            await self._refuse(failure, "openai-chat")

    async def _answer(self, request: HttpRequest) -> None:
        shared, path = self._shared, path_of(request.target)
        served = ServedPath.at(path, shared.client.providers)
        refused = shared.access.why_refused(request)
        if refused is None and request.body is None:
            refused = _not_served(413, f"the body has more than {MAX_BODY} bytes")
        if refused is None:
            refused = await self._serve_at(path, served, request)
        if refused is not None:
            await self._refuse(refused, wire_of(path, request.headers, served))

    async def _serve_at(
        self, path: str, served: ServedPath | None, request: HttpRequest
    ) -> Failure | None:
        """Answer *request*; return why it is refused, if it is."""
        if (refused := _unreadable(path, request)) is not None:
            return refused
        if (
            request.method in {"GET", "HEAD"}
            and (page := await self._page(path, request)) is not None
        ):
            await self._outlet().whole(page.status, page.headers, page.body)
            return None
        if served is None:
            return _not_served(404, f"nothing is served at {path!r}")
        if served.is_unsafe:
            how = "write it without '..', '//' and spaces"
            return _not_served(400, f"the path {served.rest!r} is not passed on: {how}")
        if served.call is None:
            return await pass_on(self, self._shared, served, request)
        if request.method != "POST":
            return _not_served(405, f"{path!r} takes POST, got {request.method!r}")
        try:
            model_request = ModelRequest.of(
                request, served, served.call,
                middleware=self._shared.middleware, providers=self._shared.client.providers,
            )  # fmt: skip
        except ProviderError as error:
            return error.failure
        return await self._serve(model_request)

    async def _serve(self, request: ModelRequest) -> Failure | None:
        shared = self._shared
        caller = shared.access.caller(request.http)
        if request.call.is_count:
            return await count_tokens(self._outlet(), shared, request, caller)
        outlet = self._outlet(request)
        step = ServedStep(
            request,
            caller,
            outlet,
            middleware=shared.middleware,
            client=shared.client,
            memory=shared.memory,
            hold=shared.hold,
        )
        async with anyio.create_task_group() as tasks:
            outlet.start(tasks)
            await step.run()
            outlet.rest()
        return None

    async def _page(self, path: str, request: HttpRequest) -> Page | None:
        """Return a page of ours, or a list of models, at *path*; None: neither is there."""
        if (found := await self._shared.pages.at(path)) is not None:
            return found
        models = listed_at(path, request.headers, self._shared.middleware)
        return None if models is None else Page("application/json", write_json(models))

    def _outlet(self, request: ModelRequest | None = None) -> Outlet:
        stream = None
        if request is not None and request.is_stream:
            ping = writer_of(request.call.wire)(model=request.model).ping()
            stream = request.stream_headers, ping
        shared = self._shared
        return Outlet(self, stream, first=shared.status_after, every=shared.ping_every)

    async def _refuse(self, failure: Failure, wire: Wire) -> None:
        refusal = writer_of(wire).refusal(failure)
        headers = tuple(refusal.headers.items())
        if failure.status == 426:
            headers += (("upgrade", "HTTP/1.1"),)
        await self._outlet().whole(refusal.status, headers, refusal.body)


def _unreadable(path: str, request: HttpRequest) -> Failure | None:
    """Return why *request* is neither answered nor passed on, wherever it leads; None: it may be.

    An answer to TRACE repeats the request, so that the client would get our key.
    """
    if "upgrade" in request.headers:
        return _not_served(426, f"{path!r} is served over plain HTTP only")
    if request.method in _NEVER:
        return _not_served(405, f"{request.method} is not served")
    if len(request.target) > MAX_TARGET:
        return _not_served(414, f"the path and the query have more than {MAX_TARGET} bytes")
    return None


def _not_served(status: int, message: str) -> Failure:
    return Failure(kind=FailureKind.BAD_REQUEST, status=status, message=message, should_retry=False)
