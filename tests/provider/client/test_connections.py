"""The connections of our own client: how many there are, which are used again, when they close.

The connections are real, the time is virtual.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import anyio.abc
import httpx
import pytest

from sidestep import Client, FailureKind, Route
from sidestep.provider.catalog.provider import Timeouts
from sidestep.provider.client import environment_client, shared_http
from sidestep.provider.client.connections import LONGEST_IDLE, ONE, Connections, most_connections

from ...virtual import virtual_backend
from .answers import failed
from .test_reply import CHAT, END, ENVIRON, HEAD, HEL, HELLO, WHOLE, providers

pytestmark = pytest.mark.anyio

MANY = 40


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return virtual_backend(str(request.param))


@dataclass
class Server:
    """Answers on connections that stay open; the end of each answer waits for `go`.

    Attributes:
        opened: How many connections there were.
        alive: How many there are.
        changed: Set when a connection or a request comes, or a connection closes.
    """

    opened: int = 0
    alive: int = 0
    asked: int = 0
    go: anyio.Event = field(default_factory=anyio.Event)
    changed: anyio.Event = field(default_factory=anyio.Event)

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
        self.opened += 1
        self.alive += 1
        try:
            async with stream:
                await self._answer(stream)
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            pass
        finally:
            self.alive -= 1
            self._change()

    async def _answer(self, stream: anyio.abc.SocketStream) -> None:
        while True:
            request = b""
            while not request.endswith(b"}"):
                request += await stream.receive()
            self.asked += 1
            self._change()
            await stream.send(HEAD + _chunk(HEL))
            await self.go.wait()
            await stream.send(_chunk(WHOLE.removeprefix(HEL)) + END)

    def _change(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    async def until(self, is_so: Callable[[Server], bool]) -> None:
        """Wait until *is_so*."""
        while not is_so(self):
            await self.changed.wait()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@asynccontextmanager
async def asking() -> AsyncIterator[tuple[Server, Client]]:
    """Yield a server, and a client of ours that asks it."""
    server = Server()
    with anyio.fail_after(600):
        async with (
            await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
            anyio.create_task_group() as tasks,
        ):
            port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610
            tasks.start_soon(listener.serve, server.serve)
            known = providers(f"http://127.0.0.1:{port}")
            async with Client(providers=known, environ=ENVIRON) as client:
                yield server, client
            tasks.cancel_scope.cancel()


async def ask(client: Client, route: Route = CHAT) -> None:
    async with client.stream(route, HELLO) as reply:
        async for _ in reply:
            pass


async def ask_at_once(server: Server, client: Client, count: int) -> None:
    """Ask *count* times, so that each request comes before the first answer is whole."""
    asked, server.go = server.asked, anyio.Event()
    async with anyio.create_task_group() as tasks:
        for _ in range(count):
            tasks.start_soon(ask, client)
        await server.until(lambda now: now.asked == asked + count)
        server.go.set()


async def leave(server: Server, client: Client) -> None:
    """Ask, and leave in the middle of the answer."""
    server.go = anyio.Event()
    async with client.stream(CHAT, HELLO) as reply:
        async for _ in reply:
            break
    server.go.set()


@pytest.mark.parametrize(
    ("herds", "opened"),
    [
        pytest.param([1, 1, 1], 1, id="one after the other"),
        pytest.param([MANY], MANY, id="many at once"),
        pytest.param([MANY, MANY], MANY, id="many at once, twice"),
        pytest.param([1, MANY, 1], MANY, id="one, many, one"),
    ],
)
async def test_there_are_as_many_connections_as_requests_at_once(
    herds: list[int], opened: int
) -> None:
    async with asking() as (server, client):
        for herd in herds:
            await ask_at_once(server, client, herd)

        assert (server.opened, server.asked) == (opened, sum(herds))


async def test_only_a_connection_whose_answer_was_read_to_its_end_is_used_again() -> None:
    async with asking() as (server, client):
        await ask_at_once(server, client, 2)
        await leave(server, client)
        await server.until(lambda now: now.alive == 1)

        await ask_at_once(server, client, 1)
        assert server.opened == 2

        await ask_at_once(server, client, 2)
        assert server.opened == 3


async def test_idle_connections_close_although_nothing_is_asked_any_more() -> None:
    async with asking() as (server, client):
        await ask_at_once(server, client, MANY)
        before = anyio.current_time()

        await server.until(lambda now: now.alive == 0)

        assert LONGEST_IDLE / 2 < anyio.current_time() - before <= LONGEST_IDLE


async def test_a_connection_that_is_used_again_and_again_stays_open() -> None:
    async with asking() as (server, client):
        await ask_at_once(server, client, MANY)
        for _ in range(20):
            await anyio.sleep(LONGEST_IDLE / 4)
            await ask_at_once(server, client, 1)

        assert (server.opened, server.alive) == (MANY, 1)


async def test_a_closed_client_leaves_no_connection_open() -> None:
    async with asking() as (server, client):
        await ask_at_once(server, client, MANY)
        server.go = anyio.Event()
        async with client.stream(CHAT, HELLO) as reply:
            await anext(aiter(reply))

            await client.aclose()
            server.go.set()  # only who writes or reads sees that the other side has left
            await server.until(lambda now: now.alive == 0)


async def test_a_request_costs_the_same_whatever_number_of_connections_is_open() -> None:
    """httpcore's own pool looks at each of them."""

    async def calls(client: Client) -> int:
        count = 0

        def called(_frame: object, event: str, _argument: object) -> None:
            nonlocal count
            count += event == "call"

        sys.setprofile(called)
        try:
            await ask(client)
        finally:
            sys.setprofile(None)
        return count

    async with asking() as (server, client):
        costs = []
        for herd in (3, 10 * MANY):
            await ask_at_once(server, client, herd)
            await anyio.wait_all_tasks_blocked()
            costs.append(min([await calls(client) for _ in range(5)]))

        assert costs[1] < 1.1 * costs[0]


FEW = 4


@pytest.fixture
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow this process so few files that it may have `FEW` connections."""
    for module in (environment_client, shared_http):
        monkeypatch.setattr(module, "most_connections", lambda: FEW)


@pytest.mark.usefixtures("few_files")
async def test_requests_beyond_the_files_of_the_process_wait_and_are_not_late() -> None:
    async with asking() as (server, client), anyio.create_task_group() as tasks:
        for _ in range(5 * FEW):
            tasks.start_soon(ask, client)
        for waited in range(1, 6):
            server.go = anyio.Event()
            await server.until(lambda now: now.asked == waited * FEW)  # noqa: B023
            await anyio.sleep(0.8 * Timeouts().gap)  # in all more than a request may be silent
            server.go.set()

    assert server.opened == FEW


@pytest.mark.usefixtures("few_files")
async def test_a_request_that_is_cancelled_while_it_waits_leaves_its_place_to_others() -> None:
    async with asking() as (server, client), anyio.create_task_group() as tasks:
        for _ in range(FEW):
            tasks.start_soon(ask, client)
        await server.until(lambda now: now.asked == FEW)
        async with anyio.create_task_group() as impatient:
            for _ in range(FEW):
                impatient.start_soon(ask, client)
            await anyio.wait_all_tasks_blocked()
            impatient.cancel_scope.cancel()
        server.go.set()
        await ask_at_once(server, client, FEW)

    assert server.opened == FEW


@pytest.mark.usefixtures("few_files")
async def test_idle_connections_to_one_server_make_room_for_those_to_another() -> None:
    async with asking() as (one, client):
        await ask_at_once(one, client, FEW)
        async with asking() as (other, elsewhere):
            elsewhere._http = client._http
            await ask_at_once(other, elsewhere, FEW)
            await one.until(lambda now: now.alive == 0)

            assert other.alive == FEW


@pytest.mark.parametrize(
    ("files", "connections"),
    [
        pytest.param(256, 128, id="macOS"),
        pytest.param(1_024, 512, id="Linux"),
        pytest.param(8, 16, id="next to none"),
        pytest.param(1_048_576, 8_192, id="a container"),
        pytest.param(-1, 8_192, id="no limit"),
    ],
)
def test_half_of_the_files_that_the_process_may_open_are_for_connections(
    files: int, connections: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource", reason="Windows has no such limit")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, resource.RLIM_INFINITY))
    assert most_connections() == connections


def responses() -> list[httpx.Response]:
    return [each for each in gc.get_objects() if type(each) is httpx.Response]


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="elsewhere all is collected")
@pytest.mark.parametrize("work", ["an answer", "an answer that is left"])
async def test_a_response_is_freed_without_the_garbage_collector(work: str) -> None:
    async with asking() as (server, client):
        gc.collect()
        gc.disable()
        earlier = responses()  # of other tests, for which somebody keeps them
        try:
            await (ask_at_once(server, client, 3) if work == "an answer" else leave(server, client))
            await anyio.wait_all_tasks_blocked()
            assert [each for each in responses() if all(each is not one for one in earlier)] == []
        finally:
            gc.enable()


async def test_nothing_is_kept_of_connections_that_could_not_be_opened() -> None:
    made: list[weakref.ref[httpx.AsyncHTTPTransport]] = []

    def new() -> httpx.AsyncHTTPTransport:
        transport = httpx.AsyncHTTPTransport(limits=ONE, verify=False)
        made.append(weakref.ref(transport))
        return transport

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610
    async with httpx.AsyncClient(transport=Connections(new)) as http:
        client = Client(http=http, providers=providers(f"http://127.0.0.1:{port}"), environ=ENVIRON)
        for _ in range(5):
            assert (await failed(client)).kind is FailureKind.NETWORK

        assert len(made) == 5
        gc.collect()
        assert sum(each() is not None for each in made) <= 1
