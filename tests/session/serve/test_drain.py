"""Which requests are still answered after the address was told to stop."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from sidestep.session.serve import server

from .served import CLAUDE, Served, serving

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])


def request(served: Served, path: str = "/_sidestep/status", more: str = "") -> bytes:
    host = f"127.0.0.1:{served.serve.port}"
    return f"GET {path} HTTP/1.1\r\nhost: {host}\r\n{more}\r\n".encode()


def connect(served: Served) -> socket.socket:
    """Return a connection that the address has not accepted yet."""
    sock = socket.create_connection(("127.0.0.1", served.serve.port))
    sock.setblocking(False)
    return sock


async def read(sock: socket.socket) -> bytes:
    """Return all that comes until the end; an error if it is a reset."""
    came = b""
    with anyio.fail_after(60):
        while True:
            await anyio.wait_readable(sock)
            if not (data := sock.recv(65_536)):
                return came
            came += data


@asynccontextmanager
async def address() -> AsyncIterator[Served]:
    async with serving({CLAUDE: {"text": "Hello."}}) as served:
        await served.ask(CLAUDE)
        yield served


@BACKENDS
def test_a_request_that_has_arrived_is_answered(backend: str) -> None:
    async def main() -> None:
        async with address() as served:
            new, used = connect(served), connect(served)
            await anyio.wait_all_tasks_blocked()  # both are accepted
            used.send(request(served))
            await anyio.wait_readable(used)
            assert b"200" in used.recv(65_536)
            for sock in (new, used):
                sock.send(request(served))
            await served.serve.drain()

            for sock in (new, used):
                came = await read(sock)
                assert came.startswith(b"HTTP/1.1 200")
                assert b"connection: close" in came.lower()
                sock.close()

    anyio.run(main, backend=backend)


@BACKENDS
def test_a_connection_that_is_not_accepted_yet_is_answered(backend: str) -> None:
    async def main() -> None:
        async with address() as served:
            socks = [connect(served) for _ in range(5)]
            for sock in socks:
                sock.send(request(served))
            await served.serve.drain()

            for sock in socks:
                assert (await read(sock)).startswith(b"HTTP/1.1 200")
                sock.close()

    anyio.run(main, backend=backend)


@BACKENDS
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param("", id="nothing"),
        pytest.param("GET / HT", id="half a line"),
        pytest.param(
            "POST / HTTP/1.1\r\nhost: 127.0.0.1:PORT\r\ncontent-length: 9\r\n\r\nhalf", id="half"
        ),
    ],
)
def test_a_connection_without_a_whole_request_is_closed(backend: str, sent: str) -> None:
    async def main() -> None:
        async with address() as served:
            sock = connect(served)
            sock.send(sent.replace("PORT", str(served.serve.port)).encode())
            await anyio.wait_all_tasks_blocked()
            with anyio.fail_after(60):
                await served.serve.drain()

            assert b"200" not in await read(sock)
            sock.close()

    anyio.run(main, backend=backend)


@BACKENDS
def test_a_connection_without_a_slot_is_closed(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 2)

    async def main() -> None:
        async with address() as served:
            socks = [connect(served) for _ in range(5)]
            await anyio.wait_all_tasks_blocked()
            with anyio.fail_after(60):
                await served.serve.drain()

            for sock in socks:
                assert await read(sock) == b""
                sock.close()

    anyio.run(main, backend=backend)
