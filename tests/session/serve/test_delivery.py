"""An answer that goes out as it comes: in how many pieces, and what a slow client gets of it."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing

import anyio
import h11
import httpx
import pytest

from sidestep import FallbackConfig, Sidestep
from sidestep.provider.server.connection import HttpConnection, HttpRequest
from sidestep.provider.server.tcp_socket import Socket, accept, bind
from sidestep.session.serve.delivery import Delivery
from sidestep.session.serve.outlet import Outlet

from .served import BODIES, CLAUDE, PATHS, SIBLING, in_front_of

Write = Callable[[bytes], Awaitable[None]]
Play = Callable[[Write], Awaitable[None]]

OTHER = "groq/llama"
"""A route of another wire that is down, so that what its client gets crosses wires."""
START = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message",'
    b'"role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,'
    b'"output_tokens":1}}}\n\n',
    b'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
    b'"content_block":{"type":"text","text":""}}\n\n',
)
END = (
    b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n',
    b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},'
    b'"usage":{"output_tokens":3}}\n\n',
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
)
ERROR = (
    b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Busy"}}\n\n'
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"
DOWN = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"
BACKENDS = ["asyncio", "trio"]


def text(words: str) -> bytes:
    """Return the event of a piece of text."""
    return (
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
        b'"delta":{"type":"text_delta","text":"%s"}}\n\n' % words.encode()
    )


def chunks(*events: bytes) -> bytes:
    """Return *events* as chunks of a transfer."""
    return b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in events)


def at_once(*events: bytes) -> Play:
    """Write a whole response in one piece."""

    async def play(write: Write) -> None:
        await write(HEAD + chunks(*events) + LAST)

    return play


HELLO = at_once(*START, text("From the sibling."), *END)


class _Provider(HttpConnection):
    def __init__(self, sock: Socket, plays: Mapping[str, Play]) -> None:
        super().__init__(sock)
        self._plays = plays

    async def answer(self, request: HttpRequest) -> bool:
        if "chat/completions" in request.target:
            await self.sock.send(DOWN)
        else:
            play = self._plays[json.loads(request.body or b"")["model"]]
            await self.while_connected(lambda: play(self.sock.send))
        self.is_closing = True
        return False

    async def reject(self, why: str) -> None:
        raise AssertionError(why)


async def _listen(listener: socket.socket, plays: Mapping[str, Play]) -> None:
    async with anyio.create_task_group() as tasks:
        while True:
            tasks.start_soon(_Provider(Socket(await accept(listener)), plays).serve)


@asynccontextmanager
async def answering(
    claude: Play, sibling: Play = HELLO
) -> AsyncIterator[tuple[httpx.AsyncClient, Sidestep]]:
    """Serve two routes with `--hold first`, each answered by what it plays; the third is down."""
    listener = await bind("127.0.0.1", 0, who="the test")
    listener.listen()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    plays = {
        route.partition("/")[2]: play for route, play in ((CLAUDE, claude), (SIBLING, sibling))
    }
    known = {name: {"baseUrl": url, "apiKeyEnv": None} for name in ("anthropic", "groq")}
    siblings: dict[str, str | list[str]] = {CLAUDE: SIBLING, OTHER: [CLAUDE, SIBLING]}
    with closing(listener):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_listen, listener, plays)
            at = in_front_of(known, siblings=siblings, hold="first")
            async with at as (_, http, middleware, _clock):
                yield http, middleware
            tasks.cancel_scope.cancel()


def request(http: httpx.AsyncClient, route: str) -> httpx.Request:
    name, _, model = route.partition("/")
    body = {"model": model, "stream": True, **BODIES[name]}
    return http.build_request("POST", PATHS[name], json=body)


async def read_until(blocks: AsyncIterator[bytes], wanted: bytes) -> bytes:
    came = b""
    with anyio.fail_after(60):
        async for block in blocks:
            came += block
            if wanted in came:
                break
    return came


BOTH = pytest.mark.parametrize(
    "route", [pytest.param(CLAUDE, id="own bytes"), pytest.param(OTHER, id="across wires")]
)


@BOTH
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_comes_at_once_goes_out_in_one_piece(
    route: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent, writes = Socket.send_now, list[bytes]()
    events = (*START, *(text(f"word{number}") for number in range(20)), *END)

    def send_now(self: Socket, data: bytes | bytearray) -> int:
        writes.append(bytes(data))
        return sent(self, data)

    async def main() -> httpx.Response:
        async with answering(at_once(*events)) as (http, _):
            return await http.send(request(http, route))

    monkeypatch.setattr(Socket, "send_now", send_now)
    answer = anyio.run(main, backend=backend)

    (piece,) = (each for each in writes if b"word" in each)
    assert b"word0" in piece
    assert b"word19" in piece
    assert piece.startswith(b"HTTP/1.1 200")
    assert len(writes) <= 3
    assert answer.headers["x-sidestep-route"] == CLAUDE
    assert route == OTHER or answer.content == b"".join(events)


@BOTH
@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_goes_out_of_an_answer_that_fails_in_its_first_piece(
    route: str, backend: str
) -> None:
    async def main() -> httpx.Response:
        failing = at_once(*START, text("Half an answer."), ERROR)
        async with answering(failing) as (http, _):
            return await http.send(request(http, route))

    answer = anyio.run(main, backend=backend)

    assert answer.headers["x-sidestep-route"] == SIBLING
    assert "Half" not in answer.text
    assert "From the sibling." in answer.text


@BOTH
@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_goes_out_of_an_answer_that_fails_before_its_first_output(
    route: str, backend: str
) -> None:
    async def play(write: Write) -> None:
        await write(HEAD + chunks(*START))
        for _ in range(3):
            await anyio.wait_all_tasks_blocked()  # until the start has been read
        await write(chunks(ERROR) + LAST)

    async def main() -> httpx.Response:
        async with answering(play) as (http, _):
            return await http.send(request(http, route))

    answer = anyio.run(main, backend=backend)

    assert answer.headers["x-sidestep-route"] == SIBLING
    assert "From the sibling." in answer.text


@BOTH
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_came_with_a_later_failure_goes_out_before_the_wires_own_error(
    route: str, backend: str
) -> None:
    async def main() -> tuple[str, str]:
        has_half = anyio.Event()

        async def play(write: Write) -> None:
            await write(HEAD + chunks(*START, text("Half")))
            await has_half.wait()
            await write(chunks(text(" an answer."), ERROR) + LAST)

        async with answering(play) as (http, _):
            response = await http.send(request(http, route), stream=True)
            blocks = response.aiter_raw()
            half = await read_until(blocks, b"Half")
            has_half.set()
            rest = await read_until(blocks, b"never")
            return half.decode(), rest.decode()

    half, rest = anyio.run(main, backend=backend)

    assert "answer" not in half
    assert " an answer." in rest
    assert "Busy" in rest.partition(" an answer.")[2]
    assert "From the sibling." not in rest


@BOTH
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_slow_client_gets_all_that_came_while_the_provider_is_silent(
    route: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = Socket.send_now

    async def main() -> tuple[bytes, bytes]:
        has_all = anyio.Event()

        async def play(write: Write) -> None:
            await write(HEAD + chunks(*START, text("One,"), text(" two,")))
            await has_all.wait()
            await write(chunks(text(" three."), *END) + LAST)

        async with answering(play) as (http, _):
            response = await http.send(request(http, route), stream=True)
            blocks = response.aiter_raw()
            first = await read_until(blocks, b" two,")
            has_all.set()
            return first, await read_until(blocks, b"never")

    monkeypatch.setattr(Socket, "send_now", lambda self, data: sent(self, data[:7]))
    first, rest = anyio.run(main, backend=backend)

    assert b"three" not in first
    assert b" three." in rest
    if route == CLAUDE:
        events = (*START, text("One,"), text(" two,"), text(" three."), *END)
        assert first + rest == b"".join(events)


@BOTH
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("writes", [pytest.param(0, id="at once"), pytest.param(3, id="later")])
def test_a_client_that_leaves_cancels_an_attempt_of_a_silent_provider(
    writes: int, route: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent, count = Socket.send_now, 0

    def send_now(self: Socket, data: bytes | bytearray) -> int:
        nonlocal count
        count += 1
        if count > writes:
            raise BrokenPipeError
        return sent(self, data[:7])

    async def main() -> list[str]:
        left = anyio.Event()

        async def play(write: Write) -> None:
            await write(HEAD + chunks(*START, text("Half")))
            try:
                await anyio.sleep_forever()
            finally:
                left.set()

        async with answering(play) as (http, middleware):
            with pytest.raises(httpx.TransportError):
                await http.send(request(http, route))
            with anyio.fail_after(60):
                await left.wait()
            return [str(each) for each in middleware.degraded.snapshot()]

    monkeypatch.setattr(Socket, "send_now", send_now)

    assert CLAUDE not in anyio.run(main, backend=backend)


@pytest.mark.parametrize(
    ("size", "takes", "may_send", "is_full"),
    [
        pytest.param(1_000, True, True, False, id="little"),
        pytest.param(65_536, True, True, True, id="much"),
        pytest.param(65_536, True, False, False, id="much before any output"),
        pytest.param(65_536, True, None, False, id="kept until the end"),
        pytest.param(1_000, False, True, True, id="little and a slow client"),
        pytest.param(1_000, False, False, False, id="before any output and a slow client"),
    ],
)
@pytest.mark.asyncio
async def test_the_reader_waits_for_the_client_only_if_more_would_be_gathered(
    size: int,
    takes: bool,
    may_send: bool | None,
    is_full: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not takes:
        monkeypatch.setattr(Socket, "send_now", lambda self, data: 0)
        monkeypatch.setattr(Socket, "wait_writable", lambda self: anyio.sleep_forever())

    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection = HttpConnection(Socket(ours))
        connection.http.receive_data(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        assert isinstance(connection.http.next_event(), h11.Request)
        outlet = Outlet(connection, ((), b""), first=60, every=60)
        async for attempt in Sidestep(
            FallbackConfig.model_validate({"fallbackModelsByModel": {}})
        ).step(CLAUDE):
            async with attempt, anyio.create_task_group() as tasks:
                outlet.start(tasks)
                outlet.send_now((), b"Something.")
                delivery = Delivery(
                    outlet, attempt, (), None if may_send is None else lambda: bool(may_send)
                )
                delivery.add(b"." * size)
                assert delivery.is_full is is_full
                tasks.cancel_scope.cancel()
