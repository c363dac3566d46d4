"""One response to a client: when its status line goes out, and what keeps the client waiting."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

import anyio
import h11

if TYPE_CHECKING:
    from ...provider.server.connection import HttpConnection

Lines = Iterable[tuple[str, str]]


class ClientLeft(BaseException):
    """The client left while something was sent to it."""


class Outlet:
    """Sends one response. Its methods but `keep_alive` are called by one task.

    They raise `ClientLeft`, which no attempt of a step takes for a failure of its route.

    Args:
        first: Seconds after which the status line of a stream goes out, whatever has come.
        every: Seconds between two pings after that.
        stream: The headers of a stream, and what keeps it alive; None: the response is no stream,
            so that nothing goes out before its end.

    Attributes:
        has_begun: The status line has gone out.
    """

    def __init__(
        self,
        connection: HttpConnection,
        stream: tuple[Lines, bytes] | None,
        *,
        first: float,
        every: float,
    ) -> None:
        self.has_begun = False
        self._connection = connection
        self._stream = stream
        self._first = first
        self._every = every
        self._is_over = anyio.Event()
        self._turn = anyio.Lock()

    @classmethod
    def plain(cls, connection: HttpConnection) -> Self:
        """Return the outlet of a response that nothing is sent of before its end."""
        return cls(connection, None, first=math.inf, every=math.inf)

    async def keep_alive(self) -> None:
        """Send the status line of a stream, and then pings, until something else is sent."""
        if self._stream is None:
            return
        headers, ping = self._stream
        seconds = self._first
        while not await self._ends_within(seconds):
            async with self._turn:
                if self._is_over.is_set():
                    return
                try:
                    await self._begin(200, headers, ping)
                except ClientLeft:
                    return  # the connection sees it
            seconds = self._every

    async def _ends_within(self, seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            await self._is_over.wait()
        return self._is_over.is_set()

    def rest(self) -> None:
        """Send no more pings."""
        self._is_over.set()

    async def send(self, headers: Lines, data: bytes) -> None:
        """Send a piece of a stream, after its status line if that has not gone out yet."""
        if self._is_over.is_set():
            if data:
                await self._send(data)
            return
        self.rest()
        async with self._turn:
            await self._begin(200, headers, data)

    async def end(self) -> None:
        """End a stream that has begun."""
        await self._write(self._connection.http.send(h11.EndOfMessage()) or b"")

    async def whole(self, status: int, headers: Lines, body: bytes) -> None:
        """Send a whole response, or only its body if the status line has gone out."""
        self.rest()
        async with self._turn:
            if self.has_begun:
                await self._send(body)
                await self.end()
                return
            self.has_begun = True
            connection = self._connection
            head = connection.begin(status, headers, length=len(body))
            data = b"" if connection.is_head else connection.http.send(h11.Data(data=body)) or b""
            end = connection.http.send(h11.EndOfMessage()) or b""
            await self._write(head + data + end)

    async def _begin(self, status: int, headers: Lines, data: bytes) -> None:
        if self.has_begun:
            await self._send(data)
            return
        self.has_begun = True
        connection = self._connection
        head = connection.begin(status, headers, length=None)
        await self._write(head + (connection.http.send(h11.Data(data=data)) or b""))

    async def _send(self, data: bytes) -> None:
        await self._write(self._connection.http.send(h11.Data(data=data)) or b"")

    async def _write(self, data: bytes) -> None:
        try:
            await self._connection.sock.send(data)
        except OSError as error:
            self._connection.is_closing = True
            raise ClientLeft from error
