"""A provider that keeps every byte of a request, and answers with given bytes."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import h11

from sidestep.provider.server.connection import HttpConnection, HttpRequest
from sidestep.provider.server.tcp_socket import Socket, accept, bind


@dataclass
class Upstream:
    """What was received, and what is answered.

    Attributes:
        held: No answer begins before it is set; None: each begins at once.
        changed: Set when a request has come.
    """

    url: str
    body: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    requests: list[HttpRequest] = field(default_factory=list)
    held: anyio.Event | None = None
    changed: anyio.Event = field(default_factory=anyio.Event)

    async def until_received(self, count: int) -> None:
        """Wait until *count* requests have come."""
        with anyio.fail_after(60):
            while len(self.requests) < count:
                await self.changed.wait()


class _Connection(HttpConnection):
    def __init__(self, sock: Socket, upstream: Upstream) -> None:
        super().__init__(sock)
        self._upstream = upstream

    async def answer(self, request: HttpRequest) -> bool:
        upstream = self._upstream
        upstream.requests.append(request)
        upstream.changed.set()
        upstream.changed = anyio.Event()
        if upstream.held is not None:
            await upstream.held.wait()
        head = self.begin(upstream.status, upstream.headers, length=len(upstream.body))
        body = b"" if self.is_head else upstream.body
        data = self.http.send(h11.Data(data=body)) or b""
        await self.sock.send(head + data)
        await self.send_event(h11.EndOfMessage())
        return False

    async def reject(self, why: str) -> None:
        raise AssertionError(why)


@asynccontextmanager
async def upstream(
    body: bytes, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
) -> AsyncIterator[Upstream]:
    """Answer every request with *body*."""
    listener = await bind("127.0.0.1", 0, who="the test")
    listener.listen()
    port = listener.getsockname()[1]
    found = Upstream(f"http://127.0.0.1:{port}", body, status, headers)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_listen, listener, found)
        try:
            yield found
        finally:
            tasks.cancel_scope.cancel()
            listener.close()


async def _listen(listener: socket.socket, found: Upstream) -> None:
    async with anyio.create_task_group() as tasks:
        while True:
            connection = _Connection(Socket(await accept(listener)), found)
            tasks.start_soon(connection.serve)
