"""Nothing that a server sends takes unbounded memory, or holds up the event loop.

On real sockets. The bodies are small on the wire and huge once they are decompressed.
"""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import anyio.lowlevel
import httpx
import pytest

from sidestep import Client, FailureKind
from sidestep.provider.catalog.provider import Provider, Timeouts
from sidestep.provider.client.decompression import STEP, decompressor_of
from sidestep.provider.conversation import Text
from sidestep.provider.failure import Stage
from sidestep.provider.wire import reading as reading_module
from sidestep.provider.wire.registry import parser_of
from sidestep.provider.wire.sse import MAX_EVENT

from ...virtual import virtual_backend
from .test_reply import (
    HEAD,
    HEL,
    LO,
    WHOLE,
    asking,
    chunked,
    failed,
    listening,
    read,
    send_all,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from types import ModuleType

pytestmark = pytest.mark.anyio

MIB = 1_048_576
CALM = 1e6
"""Virtual seconds, because virtual time moves when a busy machine is slow."""
PATIENT = {"first_event": CALM, "gap": CALM}
PACKED = b"content-type: text/event-stream\r\ncontent-encoding: gzip\r\n"


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return virtual_backend(str(request.param))


def bomb(start: bytes, unit: bytes, times: int) -> bytes:
    """Return gzip of *start* and then *times* times *unit*, made from one compressed *unit*."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    head = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(unit) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + again * times


# 1,800 times a MiB: about 2 MB on the wire, 1.8 GB in memory.
ENDLESS_EVENT = bomb(b'data: {"choices":[{"delta":{"content":"', b"x" * MIB, 1_800)
ENDLESS_LINES = bomb(b"data: {\n", b"data: x\n" * (MIB // 8), 1_800)
ENDLESS_COMMENT = bomb(b":", b"x" * MIB, 1_800)
ENDLESS_JSON = bomb(b'{"candidates": [{"content": "', b"x" * MIB, 1_800)


async def send_packed(
    stream: anyio.abc.SocketStream, body: bytes, status: bytes = b"200 OK"
) -> None:
    """Send *body*, and go on until the other end has had enough."""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await stream.send(b"HTTP/1.1 " + status + b"\r\n" + PACKED + b"\r\n" + body)


async def beat(beats: list[int]) -> None:
    """Count how often another task gets its turn."""
    while True:
        await anyio.lowlevel.checkpoint()
        beats[0] += 1


@pytest.fixture
def memory() -> Iterator[None]:
    """Fail if the test takes 100 MiB or more at once."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 100 * MIB
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(ENDLESS_EVENT, id="one line"),
        pytest.param(ENDLESS_LINES, id="an event of many lines"),
        pytest.param(ENDLESS_COMMENT, id="a comment"),
    ],
)
async def test_an_event_without_an_end_is_a_clear_failure(body: bytes) -> None:
    assert len(body) < 8 * MIB
    beats = [0]

    async def serve(stream: anyio.abc.SocketStream) -> None:
        await send_packed(stream, body)

    with anyio.fail_after(CALM):
        async with (
            listening(serve) as url,
            asking(httpx, url, **PATIENT) as client,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(beat, beats)
            failure = await failed(client)
            tasks.cancel_scope.cancel()

    assert (failure.kind, failure.stage) == (FailureKind.SERVER_ERROR, Stage.STREAM)
    assert "an event of more than 16 MiB" in failure.message
    assert failure.should_retry is False
    assert beats[0] >= MAX_EVENT // STEP  # a turn between any two steps


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("status", [b"200 OK", b"503 No", b"401 No"])
@pytest.mark.parametrize("kind", [b"application/json", b"text/html"])
async def test_the_body_of_an_error_is_read_no_further_than_it_is_kept(
    status: bytes, kind: bytes
) -> None:
    packed = bomb(b'{"error": {"message": "', b"x" * MIB, 1_800)

    async def serve(stream: anyio.abc.SocketStream) -> None:
        head = b"HTTP/1.1 " + status + b"\r\ncontent-encoding: gzip\r\ncontent-type: " + kind
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await stream.send(head + b"\r\n\r\n" + packed)

    with anyio.fail_after(CALM):
        async with listening(serve) as url, asking(httpx, url, **PATIENT) as client:
            failure = await failed(client)

    assert failure.kind in {
        *(FailureKind.OVERLOADED, FailureKind.AUTH),
        FailureKind.SERVER_ERROR,
    }
    assert len(failure.message) < 1_000


@pytest.mark.usefixtures("memory")
async def test_an_uncompressed_event_without_an_end_is_bounded_as_well(library: ModuleType) -> None:
    async def serve(stream: anyio.abc.SocketStream) -> None:
        await stream.send(HEAD + chunked(HEL) + chunked(b"data: "))
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            for _ in range(20):
                await stream.send(chunked(b"x" * MIB))

    with anyio.fail_after(CALM):
        async with listening(serve) as url, asking(library, url, **PATIENT) as client:
            failure = await failed(client)

    assert "an event of more than 16 MiB" in failure.message


async def test_an_answer_without_an_end_is_a_clear_failure(
    monkeypatch: pytest.MonkeyPatch, library: ModuleType
) -> None:
    monkeypatch.setattr(reading_module, "MAX_ANSWER", 2 * MIB)

    async def serve(stream: anyio.abc.SocketStream) -> None:
        await send_packed(stream, bomb(HEL, LO * 10_000, 100))

    with anyio.fail_after(CALM):
        async with listening(serve) as url, asking(library, url, **PATIENT) as client:
            failure = await failed(client)

    assert failure.kind is FailureKind.SERVER_ERROR
    assert "an answer of more than 2 MiB" in failure.message


async def test_what_follows_a_whole_answer_undoes_nothing(library: ModuleType) -> None:
    async def serve(stream: anyio.abc.SocketStream) -> None:
        await send_packed(stream, bomb(WHOLE + b"data: ", b"x" * MIB, 100))

    with anyio.fail_after(CALM):
        async with listening(serve) as url, asking(library, url, **PATIENT) as client:
            reply = await read(client)

    assert reply.parts == [Text("Hello")]


PACKINGS = [
    pytest.param("gzip", gzip.compress(WHOLE), id="gzip"),
    pytest.param("x-gzip", gzip.compress(WHOLE), id="x-gzip"),
    pytest.param("GZIP", gzip.compress(WHOLE), id="upper case"),
    pytest.param("identity, gzip", gzip.compress(WHOLE), id="a list"),
    pytest.param("gzip", gzip.compress(WHOLE[:90]) + gzip.compress(WHOLE[90:]), id="two files"),
    pytest.param("gzip", gzip.compress(WHOLE) + b"\0" * 8, id="padding"),
    pytest.param("deflate", zlib.compress(WHOLE), id="deflate"),
    pytest.param("deflate", zlib.compress(WHOLE)[2:-4], id="deflate without its header"),
    pytest.param("utf-8", WHOLE, id="a charset"),
    pytest.param("none", WHOLE, id="a word"),
    pytest.param("", WHOLE, id="empty"),
]


@pytest.mark.parametrize("size", [1, 7, 100_000], ids=["a byte", "a few", "all"])
@pytest.mark.parametrize(("coding", "packed"), PACKINGS)
async def test_a_compressed_answer_is_read_in_whatever_pieces_it_comes(
    coding: str, packed: bytes, size: int, library: ModuleType
) -> None:
    async def body() -> AsyncIterator[bytes]:
        for start in range(0, len(packed), size):
            yield packed[start : start + size]

    def answer(_: object) -> object:
        headers = {"content-type": "text/event-stream", "content-encoding": coding}
        return library.Response(200, headers=headers, content=body())

    provider = Provider("chat", "openai-chat", "http://h", None)
    http = library.AsyncClient(transport=library.MockTransport(answer))
    reply = await read(Client(http=http, providers={"chat": provider}))

    assert reply.parts == [Text("Hello")]


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, br", "compress"])
async def test_a_compression_that_is_not_read_is_named(coding: str, library: ModuleType) -> None:
    async def serve(stream: anyio.abc.SocketStream) -> None:
        head = f"HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\n\r\n"
        await stream.send(head.encode() + b"packed")

    with anyio.fail_after(CALM):
        async with listening(serve) as url, asking(library, url, **PATIENT) as client:
            failure = await failed(client)

    assert failure.kind is FailureKind.SERVER_ERROR
    assert repr(coding) in failure.message


def test_no_step_decompresses_more_than_its_size() -> None:
    decompress = decompressor_of("gzip")
    assert decompress is not None

    sizes = [len(block) for block in decompress(gzip.compress(b"x" * (10 * STEP + 7)))]

    assert max(sizes) == STEP
    assert sum(sizes) == 10 * STEP + 7


@pytest.mark.parametrize("wire", ["openai-chat", "gemini"])
def test_a_large_event_is_read(wire: str) -> None:
    parser = parser_of("gemini" if wire == "gemini" else "openai-chat")
    data = json.dumps({"a": "x" * (MAX_EVENT - 100)}).encode()
    body = b"data: %s\n\n" % data

    events = [
        event
        for start in range(0, len(body), STEP)
        for event in parser.feed(body[start : start + STEP])
    ]

    assert events == [(b"", data)]


def test_many_events_are_no_large_event() -> None:
    parser = parser_of("openai-chat")
    body = b'data: {"a": "%s"}\r\n\r\n' % (b"x" * 1_000)

    for _ in range(40):
        parser.feed(body * 1_000 + body[:7])
        parser.feed(body[7:])

    assert parser.flush() == []


def test_many_objects_of_gemini_are_no_large_object() -> None:
    parser = parser_of("gemini")
    body = b'{\n "a": "%s"\n},\n' % (b"x" * 1_000)

    events = [event for _ in range(40) for event in parser.feed(body * 1_000)]

    assert len(events) == 40_000


@pytest.mark.usefixtures("memory")
async def test_an_object_of_gemini_without_an_end_is_bounded_as_well() -> None:
    async def serve(stream: anyio.abc.SocketStream) -> None:
        await send_packed(stream, ENDLESS_JSON)

    with anyio.fail_after(CALM):
        async with listening(serve) as url, httpx.AsyncClient() as http:
            provider = Provider("chat", "gemini", url, None, Timeouts(**PATIENT))
            failure = await failed(Client(http=http, providers={"chat": provider}))

    assert "an event of more than 16 MiB" in failure.message


JSON = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([WHOLE], id="at once"),
        pytest.param([b": hello\n\n", WHOLE], id="a comment first"),
        pytest.param([b"\xef\xbb\xbf", b"\n", WHOLE], id="a mark and a blank line first"),
        pytest.param([b"d", b"at", WHOLE[3:]], id="in pieces"),
        pytest.param([b"event: message\n" + WHOLE], id="an event with a name"),
    ],
)
async def test_an_event_stream_that_is_labelled_as_json_is_read_as_what_it_is(
    pieces: list[bytes], library: ModuleType
) -> None:
    async def serve(stream: anyio.abc.SocketStream) -> None:
        await stream.send(JSON)
        for piece in pieces:
            await stream.send(chunked(piece))
            await anyio.sleep(0.01)
        await stream.send(b"0\r\n\r\n")

    with anyio.fail_after(CALM):
        async with listening(serve) as url, asking(library, url, **PATIENT) as client:
            reply = await read(client)

    assert reply.parts == [Text("Hello")]


@pytest.mark.parametrize(
    "body",
    [b'{"choices": [{"message": {"content": "data: x"}}]}', b'  {"a": 1}', b"[1]", b"data", b""],
    ids=["a whole answer", "after spaces", "a list", "a word", "nothing"],
)
async def test_other_json_stays_a_failure(body: bytes, library: ModuleType) -> None:
    async def serve(stream: anyio.abc.SocketStream) -> None:
        await stream.send(JSON + (chunked(body) if body else b"") + b"0\r\n\r\n")

    with anyio.fail_after(CALM):
        async with listening(serve) as url, asking(library, url, **PATIENT) as client:
            failure = await failed(client)

    assert failure.kind is FailureKind.SERVER_ERROR


async def test_the_first_output_of_such_a_stream_has_its_deadline(library: ModuleType) -> None:
    async def serve(stream: anyio.abc.SocketStream) -> None:
        await stream.send(JSON)
        await anyio.sleep_forever()

    with anyio.fail_after(CALM):
        async with listening(serve) as url, asking(library, url, first_event=30) as client:
            failure = await failed(client)

    assert failure.kind is FailureKind.TIMEOUT
    assert "30 s (`firstEvent`)" in failure.message


async def test_a_slow_stream_that_is_labelled_as_json_may_think(library: ModuleType) -> None:
    async def serve(stream: anyio.abc.SocketStream) -> None:
        await anyio.sleep(20)
        await stream.send(JSON)
        await anyio.sleep(20)
        await stream.send(chunked(WHOLE) + b"0\r\n\r\n")

    with anyio.fail_after(CALM):
        async with listening(serve) as url, asking(library, url, first_event=60) as client:
            reply = await read(client)

    assert reply.parts == [Text("Hello")]


async def test_a_connection_of_such_a_stream_is_used_again(library: ModuleType) -> None:
    connections = 0

    async def serve(stream: anyio.abc.SocketStream) -> None:
        nonlocal connections
        connections += 1
        await stream.send(JSON + chunked(WHOLE) + b"0\r\n\r\n")
        request = b""
        while not request.endswith(b"}"):
            request += await stream.receive()
        await send_all(stream)

    with anyio.fail_after(CALM):
        async with listening(serve) as url, asking(library, url, **PATIENT) as client:
            await read(client)
            await read(client)

    assert connections == 1
