"""A server that answers one thing, byte for byte: for wires that the stub does not speak."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """What comes for every request.

    Args:
        is_open: Nothing more comes then, and the connection stays open until the client leaves.
    """

    content: bytes
    is_open: bool = False


def whole(status: int, body: bytes, headers: Mapping[str, str]) -> Answer:
    return Answer(_head(status, {**headers, "content-length": str(len(body))}) + body)


def streamed(*pieces: bytes, is_whole: bool = True, is_open: bool = False) -> Answer:
    """Make an answer of events; *is_whole* False leaves out the end that its framing wants."""
    head = _head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return Answer(head + chunks + (b"0\r\n\r\n" if is_whole else b""), is_open)


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
    return f"HTTP/1.1 {status} \r\n{''.join(lines)}\r\n".encode()


@asynccontextmanager
async def serving(answer: Answer | None) -> AsyncIterator[str]:
    """Serve *answer* on loopback, and give the base URL; None: nothing listens there."""
    is_over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert answer is not None
        try:
            await _request(reader)
            writer.write(answer.content)
            await writer.drain()
            if answer.is_open:
                await is_over.wait()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has had enough
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    if answer is None:
        server.close()
        await server.wait_closed()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        is_over.set()
        server.close()
        await server.wait_closed()


async def _request(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
    if length is not None:
        await reader.readexactly(int(length[1]))
        return
    while await reader.readline() != b"0\r\n":
        pass
