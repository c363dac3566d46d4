"""One HTTP connection of a server on this machine: it reads requests, and sees the client leave."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import h11

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from .tcp_socket import Socket

MAX_HEAD = 65_536
MAX_BODY = 32 * 1024 * 1024
"""Anthropic's limit in bytes. Source: platform.claude.com/docs/en/api/errors"""
_ARRIVED = 0.1
"""Seconds in which a closing server reads requests that have arrived already."""
MAX_AHEAD = 1024 * 1024
"""How many bytes of further requests are read while an answer is being sent."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One HTTP request.

    Args:
        headers: Names in lower case; the values of a repeated header are joined.
        body: None: it was too large to be read, or its head was refused.
        lines: Each header as it came, with its name in lower case.
    """

    method: str
    target: str
    headers: dict[str, str]
    body: bytes | None
    lines: tuple[tuple[str, str], ...] = ()


class HttpConnection:
    """One client's connection, which HTTP keeps alive between requests.

    A server is a subclass with `answer` and `reject`.

    Args:
        max_body: The largest body that is read, in bytes.
        request_seconds: Seconds in which a whole request must have come.

    Attributes:
        http: The state of HTTP on this connection.
        is_closing: True: only a request that has arrived is still read.
        is_head: The request asks for a head without a body.
        is_unread: The body of the request was not read, so that no other request can follow it.
        waits_since: When it began to wait for a request; None: it answers one.
    """

    def __init__(
        self, sock: Socket, *, max_body: int = MAX_BODY, request_seconds: float = math.inf
    ) -> None:
        self.sock = sock
        self.http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        self.is_closing = False
        self.is_head = False
        self.is_unread = False
        self.waits_since: float | None = None
        self._max_body = max_body
        self._request_seconds = request_seconds
        self._reading: anyio.CancelScope | None = None

    async def answer(self, request: HttpRequest) -> bool:
        """Answer *request*; return True if the client left before the end of the answer."""
        raise NotImplementedError

    async def reject(self, why: str) -> None:
        """Answer what is not valid HTTP, because of *why*."""
        raise NotImplementedError

    def takes(self, head: HttpRequest) -> bool:
        """True if the body of a request with *head* is worth reading."""
        return True

    def close_when_idle(self) -> None:
        """Close the connection after the answer that is being sent, or soon if none is.

        A request that has arrived is still answered, because its client would see a reset.
        """
        self.is_closing = True
        if self._reading is not None:
            soon = anyio.current_time() + _ARRIVED
            self._reading.deadline = min(self._reading.deadline, soon)

    async def serve(self) -> None:
        """Answer requests until either side closes the connection."""
        try:
            while await self._serve_one():
                self.http.start_next_cycle()
        except h11.RemoteProtocolError as error:
            # What follows is a piece of the request, which may hold a key.
            await self._reject(str(error).partition(": bytearray(")[0])
        except OSError:
            pass  # the client has left between two answers
        finally:
            self.sock.close()

    async def _serve_one(self) -> bool:
        """Answer one request; return True if another may follow."""
        request = None
        self.waits_since = anyio.current_time()
        seconds = _ARRIVED if self.is_closing else self._request_seconds
        with anyio.move_on_after(seconds) as self._reading:
            request = await self._read()
        self._reading = self.waits_since = None
        if request is None:
            return False
        self.is_head = request.method == "HEAD"
        self.is_unread = request.body is None
        has_left = await self.answer(request)
        if self.is_unread and not has_left:
            await self.sock.drain()
        return self.http.our_state is h11.DONE and self.http.their_state is h11.DONE

    async def _read(self) -> HttpRequest | None:
        """Return the next request; None if the client closes the connection before it."""
        head = await self._next_event()
        if not isinstance(head, h11.Request):
            return None
        _check(head)
        request = _request(head, None)
        if not self.takes(request):
            return request
        body = bytearray()
        while isinstance(event := await self._next_event(), h11.Data):
            body += event.data
            if len(body) > self._max_body:
                return request
        return _request(head, bytes(body)) if isinstance(event, h11.EndOfMessage) else None

    async def _next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return the next part of a request; read from the socket as long as that takes."""
        while (event := self.http.next_event()) is h11.NEED_DATA:
            if self.http.they_are_waiting_for_100_continue:
                await self.send_event(h11.InformationalResponse(status_code=100, headers=[]))
            self.http.receive_data(await self.sock.receive())
        return event

    async def while_connected(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Do *work* until the client leaves; return True if it left before the end."""
        has_left = True
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, tasks.cancel_scope)
            try:
                await work()
                has_left = False
            except OSError:
                pass  # the client left while we wrote
            tasks.cancel_scope.cancel()
        return has_left

    async def _watch(self, working: anyio.CancelScope) -> None:
        """Cancel *working* when the client leaves; keep for later what it sends meanwhile."""
        ahead = 0
        while ahead <= MAX_AHEAD:
            try:
                data = await self.sock.receive()
            except OSError:
                data = b""
            if not data:
                working.cancel()
                return
            ahead += len(data)
            self.http.receive_data(data)

    def begin(
        self, status: int, headers: Iterable[tuple[str, str]], *, length: int | None
    ) -> bytes:
        """Return the head of a response.

        Args:
            length: The bytes of its body; None: it is sent in chunks.
        """
        framing = (
            ("transfer-encoding", "chunked") if length is None else ("content-length", str(length))
        )
        is_last = self.is_unread or self.is_closing
        lines = [*headers, framing, *([("connection", "close")] if is_last else [])]
        return self.encode(h11.Response(status_code=status, headers=lines))

    def encode(self, event: h11.Event) -> bytes:
        """Return one part of a response as it is sent."""
        return self.http.send(event) or b""

    async def send_event(self, event: h11.Event) -> None:
        """Send one part of a response."""
        await self.sock.send(self.encode(event))

    async def _reject(self, why: str) -> None:
        """Answer invalid HTTP, if an answer is still possible."""
        if self.http.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            return
        try:
            await self.reject(why)
            await self.sock.drain()
        except OSError:
            pass


def _check(head: h11.Request) -> None:
    """Refuse a head that h11 takes.

    Raises:
        h11.RemoteProtocolError: It is too long, or does not show beyond doubt where its body ends.
    """
    names = [name for name, _ in head.headers]
    if b"content-length" in names and b"transfer-encoding" in names:
        raise h11.RemoteProtocolError("content-length beside transfer-encoding")
    if len(head.target) + sum(len(name) + len(value) for name, value in head.headers) > MAX_HEAD:
        raise h11.RemoteProtocolError(f"the head has more than {MAX_HEAD} bytes")


def _request(head: h11.Request, body: bytes | None) -> HttpRequest:
    lines = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers)
    headers: dict[str, str] = {}
    for name, value in lines:
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    method, target = head.method.decode("latin-1"), head.target.decode("latin-1")
    return HttpRequest(method, target, headers, body, lines)
