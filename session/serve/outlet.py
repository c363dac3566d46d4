"""One response to a client: when its status line goes out, and what keeps the client waiting."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Self

import anyio
import anyio.lowlevel
import h11

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from ...provider.server.connection import HttpConnection

Lines = Iterable[tuple[str, str]]

_PIECE = 262_144
"""Bytes of an answer that are written at once."""


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
        self._sent_at = -math.inf
        self._is_over = anyio.Event()
        self._tasks: TaskGroup | None = None
        self._unsent = bytearray()
        self._turn = anyio.Lock(fast_acquire=True)  # to write to the socket

    @classmethod
    def plain(cls, connection: HttpConnection) -> Self:
        """Return the outlet of a response that nothing is sent of before its end."""
        return cls(connection, None, first=math.inf, every=math.inf)

    @property
    def is_behind(self) -> bool:
        """True while the client has not taken all that was sent."""
        return bool(self._unsent)

    def start(self, tasks: TaskGroup) -> None:
        """Keep a stream alive in *tasks*, which are cancelled if the client leaves."""
        self._tasks = tasks
        tasks.start_soon(self.keep_alive)

    async def keep_alive(self) -> None:
        """Send the status line of a stream, and a ping whenever nothing is sent, until `rest`."""
        if self._stream is None:
            return
        headers, ping = self._stream
        seconds = self._first
        while not await self._ends_within(seconds):
            seconds = self._sent_at + self._every - anyio.current_time()
            if seconds > 0:
                continue  # something else was sent
            try:
                await self._write(self._piece(headers, ping))
            except ClientLeft:
                return  # the connection sees it
            seconds = self._every

    async def _ends_within(self, seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            await self._is_over.wait()
        return self._is_over.is_set()

    def rest(self) -> None:
        """Send no more pings."""
        if not self._is_over.is_set():
            self._is_over.set()

    async def send(self, headers: Lines, data: bytes, *, ends_event: bool = False) -> None:
        """Send a piece of a stream, after its status line if that has not gone out yet.

        Args:
            ends_event: Pings may follow, because the piece ends where an event ends.
        """
        if not ends_event:
            self.rest()
        await self._write(self._piece(headers, data))

    def send_now(self, headers: Lines, data: bytes, *, ends_event: bool = False) -> None:
        """Send a piece of a stream without a wait; what the client does not take yet follows."""
        assert self._tasks is not None  # noqa: S101 - it has been started
        if not ends_event:
            self.rest()
        self._unsent += self._piece(headers, data)
        try:
            if not self._push():
                self._tasks.start_soon(self._send_rest)
        except ClientLeft:
            self._tasks.cancel_scope.cancel()

    async def _send_rest(self) -> None:
        assert self._tasks is not None  # noqa: S101 - this is one of them
        try:
            await self._write(b"")
        except ClientLeft:
            self._tasks.cancel_scope.cancel()

    async def end(self) -> None:
        """End a stream that has begun."""
        self.rest()
        await self._write(self._connection.encode(h11.EndOfMessage()))

    async def whole(self, status: int, headers: Lines, body: bytes) -> None:
        """Send a whole response, or only its body if the status line has gone out."""
        self.rest()
        connection = self._connection
        if self.has_begun:
            for piece in _pieces(body):
                await self._write(self._piece(headers, piece))
            await self.end()
            return
        self.has_begun = True
        self._unsent += connection.begin(status, headers, length=len(body))
        for piece in _pieces(b"" if connection.is_head else body):
            await self._write(connection.encode(h11.Data(data=piece)))
        await self._write(connection.encode(h11.EndOfMessage()))

    def _piece(self, headers: Lines, data: bytes) -> bytes:
        """Return a piece of a stream as HTTP has it, with the head if none was sent."""
        head = b""
        self._sent_at = anyio.current_time()
        if not self.has_begun:
            self.has_begun = True
            head = self._connection.begin(200, headers, length=None)
        return head + self._connection.encode(h11.Data(data=data))

    async def _write(self, data: bytes) -> None:
        """Send *data*, after all that has not been sent yet."""
        self._unsent += data
        if not self._unsent:
            return
        async with self._turn:
            await anyio.lowlevel.checkpoint()
            while self._unsent and not self._push():
                await self._connection.sock.wait_writable()

    def _push(self) -> bool:
        """Write what the client takes at once; return True if nothing is left."""
        try:
            del self._unsent[: self._connection.sock.send_now(self._unsent)]
        except OSError as error:
            self._connection.is_closing = True
            raise ClientLeft from error
        return not self._unsent


def _pieces(body: bytes) -> Iterator[bytes]:
    """Yield *body* in pieces, because each part of HTTP copies what it gets."""
    for at in range(0, len(body), _PIECE):
        yield body[at : at + _PIECE]
