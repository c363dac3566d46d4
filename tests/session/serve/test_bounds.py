"""What a provider sends without an end does not fill the memory."""

from __future__ import annotations

import gc
import gzip
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import pytest

from sidestep.provider.relay import own_reply
from sidestep.provider.watch import watched_answer
from sidestep.provider.watch.watched_answer import WatchedAnswer
from sidestep.provider.wire.reading import Reading
from sidestep.session.serve import server
from sidestep.session.serve.delivery import Delivery
from sidestep.session.serve.model_request import ModelRequest
from sidestep.session.serve.outlet import Outlet
from sidestep.session.serve.served_step import Held

from .served import CLAUDE, in_front_of, serving
from .test_delivery import HEAD, OTHER, START, Write, answering, chunks, request, text
from .test_own_bytes import BODY, EVENTS, SSE
from .upstream import upstream

MIB = 1_048_576
JSON = (("content-type", "application/json"),)
BEGUN = EVENTS.partition(b"event: content_block_stop")[0]
GZIP = ("content-encoding", "gzip")


@pytest.mark.parametrize("hold", ["whole", "first"])
@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param(JSON, b'{"a": "%b' % (b"x" * 3 * MIB), id="JSON"),
        pytest.param(JSON, b'{"a": "%b"}' % (b"x" * 3 * MIB), id="whole JSON"),
        pytest.param((*JSON, GZIP), gzip.compress(b"{%b" % (b" " * 3 * MIB)), id="a bomb"),
        pytest.param(SSE, b": ping\n\n" * 400_000, id="pings"),
        pytest.param(SSE, b"\n" * 3 * MIB, id="empty lines"),
        pytest.param(SSE, BEGUN + b": ping\n\n" * 400_000, id="pings before the end"),
    ],
)
@pytest.mark.asyncio
async def test_an_answer_is_read_no_further_than_its_limit(
    headers: tuple[tuple[str, str], ...],
    body: bytes,
    hold: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(own_reply, "MAX_ANSWER", 2 * MIB)
    monkeypatch.setattr(watched_answer, "MAX_WHOLE", 2 * MIB)
    async with (
        upstream(body, headers=headers) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}, hold=hold) as (
            _,
            http,
            middleware,
            _clock,
        ),
    ):
        answer = await http.post("/anthropic/v1/messages", content=BODY)
        (route,) = middleware.status().routes

        assert "an answer of more than 2 MiB" in answer.text
        assert (str(route.route), str(route.state)) == (CLAUDE, "degraded")


@contextmanager
def without_collector() -> Iterator[None]:
    """Free nothing but what no other object refers to."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def held() -> dict[str, int]:
    """Return how many answers there are, and how many bytes wait to be sent to clients.

    It asks for the type alone, because an object of another test may lie about its class.
    """
    kinds = (WatchedAnswer, Reading, Delivery, Held, ModelRequest)
    found = [each for each in gc.get_objects() if type(each) in kinds]
    return {
        "judged": sum(isinstance(each, WatchedAnswer | Reading) for each in found),
        "gathered": sum(len(each.take()) for each in found if isinstance(each, Delivery)),
        "held": sum(len(each.body) for each in found if isinstance(each, Held)),
        "asked": sum(isinstance(each, ModelRequest) for each in found),
    }


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("hold", ["whole", "first"])
@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param(JSON, b'{"a": "%b' % (b"x" * MIB), id="cut JSON"),
        pytest.param(JSON, b'{"a": "%b' % (b"x" * 3 * MIB), id="long JSON"),
        pytest.param(SSE, BEGUN, id="a cut stream"),
        pytest.param(SSE, BEGUN + b": ping\n\n" * 400_000, id="a long stream"),
        pytest.param(SSE, EVENTS, id="a whole answer"),
    ],
)
def test_nothing_of_an_answer_waits_for_the_collector(
    headers: tuple[tuple[str, str], ...],
    body: bytes,
    hold: str,
    backend: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A failed answer may have 256 MiB, and the collector may come minutes later."""

    async def main() -> None:
        async with (
            upstream(body, headers=headers) as provider,
            in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}, hold=hold) as (
                _,
                http,
                *_rest,
            ),
        ):
            await http.post("/anthropic/v1/messages", content=BODY)
            await anyio.wait_all_tasks_blocked()
            with without_collector():
                before = held()
                await http.post("/anthropic/v1/messages", content=BODY)
                await anyio.wait_all_tasks_blocked()

                assert held() == before

    monkeypatch.setattr(own_reply, "MAX_ANSWER", 2 * MIB)
    monkeypatch.setattr(watched_answer, "MAX_WHOLE", 2 * MIB)
    anyio.run(main, backend=backend)


@pytest.mark.parametrize("hold", ["whole", "first"])
@pytest.mark.parametrize("follows", [b": ping\n\n" * 1_000_000, b"x" * 8_000_000])
@pytest.mark.asyncio
async def test_what_follows_a_whole_answer_is_read_no_further_than_its_limit(
    follows: bytes, hold: str
) -> None:
    async with (
        upstream(EVENTS + follows, headers=SSE) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}, hold=hold) as (
            _,
            http,
            *_rest,
        ),
    ):
        answer = await http.post("/anthropic/v1/messages", content=BODY)

        assert (answer.status_code, answer.content[: len(EVENTS)]) == (200, EVENTS)
        assert len(answer.content) < 3 * MIB


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"POST / HTTP/1.1\r\nhost: a\r\nx-", id="half a head"),
        pytest.param(
            b"GET /_sidestep/ HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n", id="no body"
        ),
    ],
)
@pytest.mark.asyncio
async def test_a_client_that_sends_no_request_keeps_no_other_client_out(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 2)
    monkeypatch.setattr(server, "IDLE_SECONDS", 0.0)
    async with serving({CLAUDE: {"text": "Hello."}}) as served:
        sent = sent.replace(b"host: a", f"host: 127.0.0.1:{served.serve.port}".encode())
        with anyio.fail_after(60):
            idle = [await anyio.connect_tcp("127.0.0.1", served.serve.port) for _ in range(5)]
            for stream in idle:
                await stream.send(sent)
            answer = await served.ask(CLAUDE)
            with pytest.raises(anyio.EndOfStream):
                await idle[0].receive()
            for stream in idle:
                await stream.aclose()

        assert answer.status_code == 200


@pytest.mark.asyncio
async def test_a_client_that_is_answered_is_not_closed_for_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 1)
    monkeypatch.setattr(server, "IDLE_SECONDS", 0.0)
    slow = {"text": "An answer in pieces.", "chunk": 4, "pace": 0.01}
    async with serving({CLAUDE: slow}) as served, anyio.create_task_group() as tasks:
        came: list[int] = []

        async def ask() -> None:
            came.append((await served.ask(CLAUDE)).status_code)

        with anyio.fail_after(60):
            tasks.start_soon(ask)
            await served.stub.wait_for(1)
            await ask()

    assert came == [200, 200]


@pytest.mark.asyncio
async def test_a_client_that_has_not_sent_its_request_yet_is_not_closed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 1)
    async with serving({CLAUDE: {"text": "Hello."}}) as served:
        host = f"host: 127.0.0.1:{served.serve.port}"
        with anyio.fail_after(60):
            slow = await anyio.connect_tcp("127.0.0.1", served.serve.port)
            others = [await anyio.connect_tcp("127.0.0.1", served.serve.port) for _ in range(3)]
            await slow.send(f"GET /_sidestep/ HTTP/1.1\r\n{host}\r\n\r\n".encode())

            assert (await slow.receive()).startswith(b"HTTP/1.1 200")
            for stream in (slow, *others):
                await stream.aclose()


@pytest.mark.parametrize(
    ("files", "served"),
    [(20_000, 1024), (2_112, 1024), (1_024, 480), (256, 96), (64, 8), (None, 1024)],
    ids=["many", "as many as it takes", "Linux", "macOS", "few", "no limit"],
)
@pytest.mark.asyncio
async def test_no_more_clients_are_served_than_files_allow(
    files: int | None, served: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each client has a connection of its own to a provider."""
    resource = pytest.importorskip("resource")
    limit = resource.RLIM_INFINITY if files is None else files
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))

    assert server.most_served() == served


@pytest.mark.asyncio
@pytest.mark.parametrize("has_begun", [False, True])
async def test_a_long_answer_is_not_copied_whole_on_its_way_out(
    has_begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow client would keep each copy in memory."""
    waiting, push = [], Outlet._push

    def counted(outlet: Outlet) -> bool:
        waiting.append(len(outlet._unsent))
        return push(outlet)

    monkeypatch.setattr(Outlet, "_push", counted)
    more = (
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
        b'"delta":{"type":"text_delta","text":"%s"}}\n\n' % (b"x" * 5 * MIB)
    )
    body = BEGUN + more + EVENTS[len(BEGUN) :]
    async with (
        upstream(body, headers=SSE) as provider,
        in_front_of(
            {"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}},
            status_after=0.0 if has_begun else 30.0,
        ) as (_, http, *_rest),
    ):
        held = provider.held = anyio.Event() if has_begun else None
        async with http.stream("POST", "/anthropic/v1/messages", content=BODY) as answer:
            if held is not None:
                held.set()
            came = await answer.aread()

        assert came.endswith(body)
    assert max(waiting) < MIB


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_nothing_of_a_siblings_answer_that_was_cut_waits_for_the_collector(backend: str) -> None:
    async def cut(write: Write) -> None:
        await write(HEAD + chunks(*START, text("Half an answer.")))

    async def main() -> None:
        async with answering(cut, cut) as (http, _):
            await http.send(request(http, OTHER))
            await anyio.wait_all_tasks_blocked()
            with without_collector():
                before = held()
                answer = await http.send(request(http, OTHER))
                await anyio.wait_all_tasks_blocked()

                assert "Half an answer." in answer.text
                assert held() == before

    anyio.run(main, backend=backend)
