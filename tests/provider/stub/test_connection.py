"""HTTP on one connection of the stub, byte by byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from sidestep.provider.stub.server import Stub
from sidestep.provider.stub.vendor_error import to_json

from .stub_client import (
    ANTHROPIC,
    PATHS,
    ask,
    client,
    events,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


async def exchange(stub: Stub, sent: bytes) -> bytes:
    """Send *sent* on a new connection, and return what comes until it is closed."""
    came = b""
    with anyio.fail_after(60):
        async with await anyio.connect_tcp("127.0.0.1", stub.port) as stream:
            await stream.send(sent)
            async for piece in stream:
                came += piece
    return came


def http_request(body: Mapping[str, object], *headers: str, version: str = "1.1") -> bytes:
    raw = to_json(body)
    head = [
        f"POST /anthropic/v1/messages HTTP/{version}",
        "host: stub",
        f"content-length: {len(raw)}",
        *headers,
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + raw


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", id="TLS"),
        pytest.param(b"hello\r\n\r\n", id="no HTTP"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="no host"),
        pytest.param(b"GET / HTTP/1.1\r\nhost: a\r\nb: " + b"c" * 200_000, id="oversized head"),
        pytest.param(
            b"GET / HTTP/1.1\r\nhost: a\r\nb: %b\r\n\r\n" % (b"c" * 65_536),
            id="oversized whole head",
        ),
        pytest.param(
            b"GET /%b HTTP/1.1\r\nhost: a\r\n\r\n" % (b"c" * 65_536), id="oversized target"
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 6\r\ntransfer-encoding: chunked\r\n\r\n"
            b"0\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n",
            id="two lengths",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", id="chunks"
        ),
        pytest.param(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n", id="length"),
    ],
)
async def test_broken_http_is_answered_and_the_connection_closed(sent: bytes) -> None:
    async with Stub() as stub:
        came = await exchange(stub, sent)
        healthy = await ask(stub, ANTHROPIC)

    assert came.startswith(b"HTTP/1.1 400 ")
    assert healthy.status_code == 200


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"GET / HTTP/1.1\r\nhost: a\r\nx-api-key: sk-1\x00\r\n\r\n", id="header"),
        pytest.param(b"GET /?key=sk-1 \xff HTTP/1.1\r\nhost: a\r\n\r\n", id="target"),
        pytest.param(
            b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nsk-1\r\n", id="chunk"
        ),
    ],
)
async def test_why_http_is_broken_quotes_nothing_of_it(sent: bytes) -> None:
    async with Stub() as stub:
        came = await exchange(stub, sent)

    assert came.startswith(b"HTTP/1.1 400 ")
    assert b"sk-1" not in came


@pytest.mark.asyncio
async def test_a_client_may_leave_before_it_has_said_anything() -> None:
    async with Stub() as stub:
        for sent in (b"", b"GET", b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nabc"):
            async with await anyio.connect_tcp("127.0.0.1", stub.port) as stream:
                await stream.send(sent)
        healthy = await ask(stub, ANTHROPIC)

    assert healthy.status_code == 200


@pytest.mark.asyncio
async def test_a_body_above_the_limit_of_the_provider_is_too_large() -> None:
    """Source: platform.claude.com/docs/en/api/errors."""
    async with Stub() as stub, client(stub) as http:
        content = b" " * (33 * 1024 * 1024)
        response = await http.post(PATHS["anthropic"], content=content, timeout=60)

    assert response.status_code == 413
    assert response.json()["error"]["type"] == "request_too_large"


@pytest.mark.asyncio
async def test_requests_on_one_connection_are_answered_in_order() -> None:
    first, last = http_request({"model": "a"}), http_request({"model": "b"}, "connection: close")
    async with Stub() as stub:
        came = await exchange(stub, first + last)

    assert came.count(b"HTTP/1.1 200 ") == 2
    assert came.index(b"anthropic/a") < came.index(b"anthropic/b")


@pytest.mark.asyncio
async def test_a_client_is_told_to_go_on_with_its_body() -> None:
    sent = http_request({"model": "a"}, "expect: 100-continue", "connection: close")
    head, _, body = sent.partition(b"\r\n\r\n")
    async with Stub() as stub:
        with anyio.fail_after(60):
            async with await anyio.connect_tcp("127.0.0.1", stub.port) as stream:
                await stream.send(head + b"\r\n\r\n")
                assert (await stream.receive()).startswith(b"HTTP/1.1 100 ")
                await stream.send(body)
                assert (await stream.receive()).startswith(b"HTTP/1.1 200 ")


@pytest.mark.asyncio
async def test_an_old_client_gets_a_stream_without_chunks() -> None:
    async with Stub() as stub:
        came = await exchange(stub, http_request({"model": "a", "stream": True}, version="1.0"))

    head, _, body = came.partition(b"\r\n\r\n")
    assert b"chunked" not in head
    assert events(body)[-1] == {"type": "message_stop"}
