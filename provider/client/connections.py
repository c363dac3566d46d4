"""An httpx transport: a request costs the same, however many connections there are.

At the start and at the end of each request, httpcore's pool compares each of its connections with
all others. So each pool here holds one connection.

Source: httpcore 1.0.9, `AsyncConnectionPool._assign_requests_to_connections`.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx

from ..native_cancel import run_to_end
from .timer import call_later

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    _Origin = tuple[bytes, bytes, int | None]

LONGEST_IDLE = 30.0
"""Seconds after which an unused connection closes."""

ONE = httpx.Limits(max_connections=1, keepalive_expiry=LONGEST_IDLE)
_CLOSE = 1.0
"""Seconds to close a connection."""
_MOST = 8_192
_FEWEST = 16
"""The limits of `most_connections`."""


def most_connections() -> int:
    """Return how many connections this process should have: half of the files it may open.

    The soft limit is 256 on macOS and 1,024 on Linux, unless someone has raised it. Windows has no
    such limit.
    """
    try:
        import resource
    except ImportError:
        return _MOST
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY:
        return _MOST
    return min(max(files // 2, _FEWEST), _MOST)


@dataclass(slots=True)
class _Idle:
    """The idle connections to one server, the last used at the end.

    Args:
        untouched: How many at the start have been idle since the last sweep.
    """

    connections: list[httpx.AsyncBaseTransport] = field(default_factory=list)
    untouched: int = 0

    def take(self) -> httpx.AsyncBaseTransport:
        connection = self.connections.pop()
        self.untouched = min(self.untouched, len(self.connections))
        return connection

    def sweep(self) -> list[httpx.AsyncBaseTransport]:
        """Remove and return the connections that have been idle since the last sweep."""
        swept = self.connections[: self.untouched]
        del self.connections[: self.untouched]
        self.untouched = len(self.connections)
        return swept


class Connections(httpx.AsyncBaseTransport):
    """As many connections as there are requests at once; an idle connection is used again.

    No request waits for a connection here, because it would look like a provider that does not
    answer: `SharedHttp` bounds the requests. An idle connection is closed after `LONGEST_IDLE`
    seconds at most, or when another is opened beyond the limit.

    Args:
        new: Returns a transport for one connection, which has the limits `ONE`.
        most: How many connections may be open, the idle ones included.
    """

    def __init__(
        self, new: Callable[[], httpx.AsyncBaseTransport], *, most: float = math.inf
    ) -> None:
        self._new = new
        self._most = most
        self._open: set[httpx.AsyncBaseTransport] = set()
        self._idle: dict[_Origin, _Idle] = {}
        self._stop_timer: Callable[[], None] | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send *request* on an idle connection if there is one, else on a new one."""
        url = request.url
        origin = url.raw_scheme, url.raw_host, url.port
        connection = self._take(origin)
        try:
            if len(self._open) > self._most:
                await self._close_idle()
            response = await connection.handle_async_request(request)
        except BaseException as error:
            if isinstance(error, httpx.RequestError):
                error.request = request
            await self._close(connection)
            raise
        assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101
        response.stream = _Body(response.stream, self, origin, connection)
        response.request = request
        return response

    async def aclose(self) -> None:
        """Close every connection, also one that is in use."""
        if self._stop_timer is not None:
            self._stop_timer()
        self._idle.clear()
        while self._open:
            await self._open.pop().aclose()

    async def release(
        self, origin: _Origin, connection: httpx.AsyncBaseTransport, *, is_whole: bool
    ) -> None:
        """Take back *connection*; it can be used again if its answer *is_whole*."""
        if not is_whole or connection not in self._open:
            await self._close(connection)
            return
        self._idle.setdefault(origin, _Idle()).connections.append(connection)
        if self._stop_timer is None:
            self._stop_timer = call_later(LONGEST_IDLE / 2, self._sweep)

    def _take(self, origin: _Origin) -> httpx.AsyncBaseTransport:
        idle = self._idle.get(origin)
        if idle is not None and idle.connections:
            return idle.take()
        connection = self._new()
        self._open.add(connection)
        return connection

    async def _close_idle(self) -> None:
        """Close one idle connection, if there is one."""
        for idle in self._idle.values():
            if idle.connections:
                await self._close(idle.take())
                return

    async def _sweep(self) -> None:
        """Close unused connections, and plan the next sweep if others are idle."""
        swept = [each for idle in self._idle.values() for each in idle.sweep()]
        self._idle = {origin: idle for origin, idle in self._idle.items() if idle.connections}
        self._stop_timer = call_later(LONGEST_IDLE / 2, self._sweep) if self._idle else None
        for connection in swept:
            await self._close(connection)

    async def _close(self, connection: httpx.AsyncBaseTransport) -> None:
        self._open.discard(connection)
        with suppress(Exception):  # nothing helps if a connection does not close
            await run_to_end(connection.aclose, seconds=_CLOSE)


class _Body(httpx.AsyncByteStream):
    """The body of a response, which gives its connection back when it is closed."""

    def __init__(
        self,
        body: httpx.AsyncByteStream,
        connections: Connections,
        origin: _Origin,
        connection: httpx.AsyncBaseTransport,
    ) -> None:
        self._body = body
        self._connections = connections
        self._origin = origin
        self._connection: httpx.AsyncBaseTransport | None = connection
        self._is_whole = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for block in self._body:
            yield block
        self._is_whole = True

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        is_whole, self._is_whole = self._is_whole, False
        try:
            await self._body.aclose()
            self._is_whole = is_whole
        finally:
            await self._connections.release(self._origin, connection, is_whole=self._is_whole)
