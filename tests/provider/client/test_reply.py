"""What happens on real connections, on both event loops and with either package.

The connections are real, the time is virtual.
"""

from __future__ import annotations

import json
import socket
import struct
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import pytest
import trio.testing

from sidestep import Client, FailureKind, ProviderError, Route
from sidestep.provider.catalog.provider import Provider, Timeouts
from sidestep.provider.conversation import Conversation, Message, Text, ToolCall
from sidestep.provider.failure import Failure, Stage

from ...virtual import virtual_backend

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from types import ModuleType

    import httpx

    from sidestep.provider.client.reply import Reply

    Serve = Callable[[anyio.abc.SocketStream], Awaitable[None]]

pytestmark = pytest.mark.anyio

ENVIRON = {"KEY": "sk-1"}
CHAT = Route("chat/m")
HELLO = Conversation([Message("user", [Text("Hello")])])

HEL = b'data: {"id":"gen-1","choices":[{"delta":{"content":"Hel"},"finish_reason":null}]}\n\n'
LO = b'data: {"choices":[{"delta":{"content":"lo"},"finish_reason":null}]}\n\n'
FINISH = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'
DONE = b"data: [DONE]\n\n"
WHOLE = HEL + LO + FINISH + DONE
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":7}}\n\n'
CALL = (
    b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","function":'
    b'{"name":"n","arguments":"{"}}]}}]}\n\n'
)
LIFE = b": alive\n\n"
STREAM = {"content-type": "text/event-stream"}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return virtual_backend(str(request.param))


def providers(base_url: str, **timeouts: float) -> dict[str, Provider]:
    return {"chat": Provider("chat", "openai-chat", base_url, "KEY", Timeouts(**timeouts))}


@asynccontextmanager
async def asking(library: ModuleType, url: str, **timeouts: float) -> AsyncIterator[Client]:
    """Give a client that sends to *url*."""
    async with library.AsyncClient() as http:
        yield Client(http=http, providers=providers(url, **timeouts), environ=ENVIRON)


async def read(client: Client) -> Reply:
    async with client.stream(CHAT, HELLO) as reply:
        async for _ in reply:
            pass
    return reply


async def failed(client: Client) -> Failure:
    with pytest.raises(ProviderError) as caught:
        await read(client)
    assert caught.value.failure.route == CHAT
    return caught.value.failure


@asynccontextmanager
async def listening(
    serve: Callable[[anyio.abc.SocketStream], Awaitable[None]],
) -> AsyncIterator[str]:
    """Answer each connection with *serve*, once its request has come; give the address."""

    async def handle(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            request = b""
            while not request.endswith(b"}"):
                request += await stream.receive()
            await serve(stream)

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610
        tasks.start_soon(listener.serve, handle)
        yield f"http://127.0.0.1:{port}"
        tasks.cancel_scope.cancel()


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def reset(stream: anyio.abc.SocketStream) -> None:
    """Make the closing of *stream* a reset."""
    raw = stream.extra(anyio.abc.SocketAttribute.raw_socket)  # noqa: S610
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def send_all(stream: anyio.abc.SocketStream) -> None:
    await stream.send(HEAD + chunked(WHOLE) + END)


async def send_nothing(_: anyio.abc.SocketStream) -> None:
    await anyio.sleep_forever()


async def send_head(stream: anyio.abc.SocketStream) -> None:
    await stream.send(HEAD)
    await anyio.sleep_forever()


async def send_comments(stream: anyio.abc.SocketStream) -> None:
    await stream.send(HEAD)
    while True:
        await stream.send(chunked(b": alive\n\n" + b'data: {"choices":[]}\n\n'))
        await anyio.sleep(0.01)


async def send_some(stream: anyio.abc.SocketStream) -> None:
    await stream.send(HEAD + chunked(HEL))
    await anyio.sleep_forever()


async def send_some_and_comments(stream: anyio.abc.SocketStream) -> None:
    await stream.send(HEAD + chunked(HEL))
    while True:
        await stream.send(chunked(b": alive\n\n"))
        await anyio.sleep(0.01)


async def cut_at_once(_: anyio.abc.SocketStream) -> None:
    pass


async def reset_at_once(stream: anyio.abc.SocketStream) -> None:
    reset(stream)


async def cut_some(stream: anyio.abc.SocketStream) -> None:
    await stream.send(HEAD + chunked(HEL))


async def end_some(stream: anyio.abc.SocketStream) -> None:
    await stream.send(HEAD + chunked(HEL) + END)


async def stall_an_error(stream: anyio.abc.SocketStream) -> None:
    body = b'{"error":{"message":"no"}}'
    await stream.send(b"HTTP/1.1 401 No\r\ncontent-length: 26\r\n\r\n" + body)


T, N, X = FailureKind.TIMEOUT, FailureKind.NETWORK, FailureKind.TRUNCATED
SOCKETS = [
    pytest.param(send_nothing, T, None, Stage.RESPONSE, "0.1 s (`firstEvent`)", id="no answer"),
    pytest.param(send_head, T, None, Stage.STREAM, "0.1 s (`firstEvent`)", id="no events"),
    pytest.param(send_comments, T, None, Stage.STREAM, "0.1 s (`firstEvent`)", id="no output"),
    pytest.param(send_some, T, None, Stage.STREAM, "0.15 s (`gap`)", id="stalled"),
    pytest.param(send_some_and_comments, T, None, Stage.STREAM, "(`gap`)", id="comments only"),
    pytest.param(cut_at_once, N, "reset", Stage.RESPONSE, "", id="closed"),
    pytest.param(reset_at_once, N, "reset", Stage.RESPONSE, "", id="reset"),
    pytest.param(cut_some, X, "reset", Stage.END, "terminal marker", id="cut"),
    pytest.param(end_some, X, None, Stage.END, "terminal marker", id="ended early"),
    pytest.param(stall_an_error, FailureKind.AUTH, None, Stage.RESPONSE, "no", id="error"),
]


@pytest.mark.parametrize(("serve", "kind", "code", "stage", "said"), SOCKETS)
async def test_what_happens_on_a_connection(
    serve: Serve,
    kind: FailureKind,
    code: str | None,
    stage: Stage,
    said: str,
    library: ModuleType,
) -> None:
    seconds = {"first_event": 0.1 if "firstEvent" in said else 5, "gap": 0.15}
    with anyio.fail_after(60):
        async with listening(serve) as url, asking(library, url, **seconds) as client:
            failure = await failed(client)

    assert (failure.kind, failure.code, failure.stage) == (kind, code, stage)
    assert said in failure.message
    assert failure.status == (401 if kind is FailureKind.AUTH else None)


async def test_nothing_listens(library: ModuleType) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with asking(library, f"http://127.0.0.1:{port}") as client:
        failure = await failed(client)

    assert (failure.kind, failure.code) == (N, "refused")
    assert failure.is_unreachable
    assert failure.stage is Stage.CONNECT


async def test_a_whole_answer_leaves_its_connection_to_the_next(library: ModuleType) -> None:
    connections = 0

    async def serve(stream: anyio.abc.SocketStream) -> None:
        nonlocal connections
        connections += 1
        await send_all(stream)
        request = b""
        while not request.endswith(b"}"):
            request += await stream.receive()
        await send_all(stream)

    with anyio.fail_after(60):
        async with listening(serve) as url, asking(library, url) as client:
            await read(client)
            await read(client)

    assert connections == 1


async def leave_by_break(client: Client) -> None:
    async with client.stream(CHAT, HELLO) as reply:
        async for _ in reply:
            break


async def leave_by_cancelling(client: Client) -> None:
    with anyio.CancelScope() as scope:
        async with client.stream(CHAT, HELLO) as reply:
            async for _ in reply:
                scope.cancel()
    assert scope.cancelled_caught


async def leave_by_deadline(client: Client) -> None:
    with anyio.CancelScope() as scope:
        async with client.stream(CHAT, HELLO) as reply:
            async for _ in reply:
                scope.deadline = anyio.current_time() + 0.01
    assert scope.cancelled_caught


LEAVES = [leave_by_break, leave_by_cancelling, leave_by_deadline]


@pytest.mark.parametrize("leave", LEAVES)
async def test_leaving_a_reply_closes_its_connection(
    leave: Callable[[Client], Awaitable[None]], library: ModuleType
) -> None:
    seen = anyio.Event()

    async def serve(stream: anyio.abc.SocketStream) -> None:
        await stream.send(HEAD + chunked(HEL))
        try:
            await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            seen.set()

    with anyio.fail_after(60):
        async with listening(serve) as url, asking(library, url) as client:
            await leave(client)
            await seen.wait()


async def test_a_slow_consumer_is_not_charged(library: ModuleType) -> None:
    async def serve(stream: anyio.abc.SocketStream) -> None:
        await stream.send(HEAD + chunked(HEL))
        await stream.send(chunked(LO + FINISH + DONE) + END)

    with anyio.fail_after(60):
        async with (
            listening(serve) as url,
            asking(library, url, first_event=5, gap=0.1) as client,
            client.stream(CHAT, HELLO) as reply,
        ):
            await anyio.sleep(0.2)
            async for _ in reply:
                await anyio.sleep(0.2)

    assert reply.parts == [Text("Hello")]


async def test_a_call_that_grows_is_progress(library: ModuleType) -> None:
    fragment = {"index": 0, "id": "1", "function": {"name": "n", "arguments": ""}}

    def event(arguments: str) -> bytes:
        function = {**fragment["function"], "arguments": arguments}  # type: ignore[dict-item]
        call = {**fragment, "function": function}
        return (
            b"data: %s\n\n" % json.dumps({"choices": [{"delta": {"tool_calls": [call]}}]}).encode()
        )

    async def serve(stream: anyio.abc.SocketStream) -> None:
        await stream.send(HEAD)
        for text in ['{"a": "', *"xxxxxxxx", '"}']:
            await stream.send(chunked(event(text)))
            await anyio.sleep(0.05)
        await stream.send(chunked(FINISH + DONE) + END)

    with anyio.fail_after(60):
        async with (
            listening(serve) as url,
            asking(library, url, first_event=5, gap=0.25) as client,
        ):
            reply = await read(client)

    assert reply.parts == [ToolCall("1", "n", {"a": "xxxxxxxx"})]


async def test_a_stall_after_the_reason_for_the_end_is_waited_for_a_little(
    library: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidestep.provider.client.stream.TRAILING", 0.05)

    async def serve(stream: anyio.abc.SocketStream) -> None:
        await stream.send(HEAD + chunked(HEL + FINISH))
        await anyio.sleep_forever()

    with anyio.fail_after(60):
        async with listening(serve) as url, asking(library, url) as client:
            reply = await read(client)

    assert reply.parts == [Text("Hel")]


LATE = [
    pytest.param([(4, LO), (4, LO), (4, FINISH), (0, DONE)], "Hellolo", None, id="and its marker"),
    pytest.param([(4, LO), (4, FINISH), (99, LO)], "Hello", None, id="and another reason"),
    pytest.param([(4, LO), (4, FINISH + USAGE)], "Hello", None, id="and the end of the body"),
    pytest.param([(4, USAGE), (99, LO)], "Hel", None, id="of the usage alone"),
    pytest.param([(4, LIFE), (4, LO)], "Hel", None, id="that comments hold up"),
    pytest.param([(4, LO), (6, LO + FINISH + DONE)], "Hello", "truncated", id="that stops"),
    pytest.param([(4, LO), (4, LIFE), (4, LO)], "Hello", "truncated", id="that becomes comments"),
    pytest.param([(4, FINISH + LO), (6, DONE)], "Hello", "truncated", id="after a second reason"),
    pytest.param([(4, CALL), (6, DONE)], "Hel", "truncated", id="of a call that stops"),
]


@pytest.mark.parametrize(("events", "text", "kind"), LATE)
def test_output_after_the_reason_for_the_end_is_waited_for_while_it_comes(
    events: list[tuple[float, bytes]], text: str, kind: str | None, library: ModuleType
) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield HEL + FINISH
        for seconds, event in events:
            await anyio.sleep(seconds)
            yield event

    def answer(_: httpx.Request) -> httpx.Response:
        response: httpx.Response = library.Response(200, headers=STREAM, content=body())
        return response

    async def ask() -> tuple[Reply, ProviderError | None]:
        http = library.AsyncClient(transport=library.MockTransport(answer))
        client = Client(http=http, providers=providers("http://h"), environ=ENVIRON)
        reply = client.stream(CHAT, HELLO)
        try:
            async with reply:
                async for _ in reply:
                    pass
        except ProviderError as error:
            return reply, error
        return reply, None

    reply, error = trio.run(
        ask,
        clock=trio.testing.MockClock(autojump_threshold=0),
    )

    assert reply.parts == [Text(text)]
    assert (error and error.failure.kind) == kind


async def test_a_client_makes_what_it_sends_with_and_closes_it() -> None:
    closed = anyio.Event()

    async def serve(stream: anyio.abc.SocketStream) -> None:
        await send_all(stream)
        with pytest.raises(anyio.EndOfStream):
            await stream.receive()
        closed.set()

    with anyio.fail_after(60):
        async with listening(serve) as url:
            async with Client(providers=providers(url), environ=ENVIRON) as client:
                await read(client)
                assert not closed.is_set()
            await closed.wait()
