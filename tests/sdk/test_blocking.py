"""What the libraries of agents without an event loop raise, over real sockets."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import anyio.to_thread
import pytest
import requests

from sidestep import Failure, FailureKind
from sidestep.provider.classify.exception import classify_exception
from sidestep.provider.failure import Stage

from .blocking import CALLS, REFUSALS, Call, requests_whole, urllib_whole
from .server import Answer, serving, streamed, whole

pytestmark = pytest.mark.asyncio

K, S = FailureKind, Stage
PATIENCE = 20.0
SILENCE = 0.3  # seconds after which a call gives up, if nothing comes
TEXT = b'data: {"choices": []}\n\n'
GZIP = {"content-encoding": "gzip"}
NO_MONEY = json.dumps({"error": {"code": "insufficient_quota", "message": "spent"}}).encode()

each_call = pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
RAISING = {name: CALLS[name] for name in ("requests", "requests session", "urllib")}
"""The libraries that raise a status, with its body at hand."""


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close the connections of statuses that urllib raised."""
    yield
    while REFUSALS:
        REFUSALS.pop().close()


async def raised(call: Call, url: str, seconds: float = PATIENCE) -> Exception:
    """Return what *call* raises in a thread of its own."""
    try:
        # asyncio's own way makes another `TimeoutError`, without its trace.
        await anyio.to_thread.run_sync(call, url, seconds)
    except Exception as error:  # noqa: BLE001 - any of them is what we look for
        return error
    raise AssertionError("the call was answered")


def named(failure: Failure) -> tuple[FailureKind, str | None, Stage]:
    return failure.kind, failure.code, failure.stage


def shorter(body: bytes) -> Answer:
    """Promise more than comes."""
    return Answer(whole(200, body + b"x" * 9, {}).content[:-9])


CUT = {
    "by its length": shorter(TEXT),
    "between chunks": streamed(TEXT, is_whole=False),
    "inside a chunk": Answer(streamed(TEXT).content[:-16]),
}


@each_call
@pytest.mark.parametrize("answer", CUT.values(), ids=list(CUT))
async def test_a_body_that_was_cut(answer: Answer, call: Call) -> None:
    async with serving(answer) as url:
        error = await raised(call, url)

    assert named(classify_exception(error)) == (K.TRUNCATED, "reset", S.END)


@each_call
async def test_a_body_that_is_no_gzip(call: Call) -> None:
    async with serving(whole(200, b"no gzip at all", GZIP)) as url:
        error = await raised(call, url)

    assert classify_exception(error).kind is K.SERVER_ERROR


@pytest.mark.parametrize("call", [CALLS["urllib"], CALLS["http.client"]])
async def test_a_gzip_that_was_cut_before_it_was_sent(call: Call) -> None:
    """The libraries over urllib3 take its start for the whole."""
    async with serving(whole(200, gzip.compress(TEXT * 99)[:-12], GZIP)) as url:
        error = await raised(call, url)

    assert named(classify_exception(error)) == (K.TRUNCATED, "reset", S.END)


@each_call
@pytest.mark.parametrize(
    ("answer", "stage"),
    [
        pytest.param(Answer(b"", is_open=True), S.RESPONSE, id="before the head"),
        pytest.param(streamed(TEXT, is_whole=False, is_open=True), S.STREAM, id="in the body"),
    ],
)
async def test_silence(answer: Answer, stage: Stage, call: Call) -> None:
    async with serving(answer) as url:
        error = await raised(call, url, SILENCE)

    assert named(classify_exception(error)) == (K.TIMEOUT, None, stage)


@asynccontextmanager
async def full() -> AsyncIterator[str]:
    """Serve nobody: the connections that fit wait already."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(server.getsockname())
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            for each in waiting:
                each.close()


@each_call
async def test_no_connection_in_time(call: Call) -> None:
    async with full() as url:
        error = await raised(call, url, SILENCE)

    assert named(classify_exception(error)) == (K.TIMEOUT, None, S.CONNECT)


@each_call
async def test_nothing_listens(call: Call) -> None:
    async with serving(None) as url:
        error = await raised(call, url)

    assert named(classify_exception(error)) == (K.NETWORK, "refused", S.CONNECT)


@each_call
async def test_no_such_host(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    error = await raised(call, "http://nothing.invalid")

    assert named(classify_exception(error)) == (K.NETWORK, "no_such_host", S.CONNECT)


async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    writer.close()


@each_call
async def test_no_tls(call: Call) -> None:
    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        error = await raised(call, f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")

    assert named(classify_exception(error)) == (K.NETWORK, "tls", S.CONNECT)


@each_call
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Answer(b""), id="closed"),
        pytest.param(Answer(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), id="another protocol"),
        pytest.param(Answer(b"HTTP/1.1 200 OK\r\nx: " + b"x" * 70_000), id="an endless header"),
    ],
)
async def test_no_answer(answer: Answer, call: Call) -> None:
    async with serving(answer) as url:
        error = await raised(call, url)

    assert named(classify_exception(error)) == (K.NETWORK, "reset", S.RESPONSE)


@pytest.mark.parametrize("call", RAISING.values(), ids=list(RAISING))
async def test_a_status_with_its_hint_and_its_code(call: Call) -> None:
    async with serving(whole(429, NO_MONEY, {"retry-after": "7"})) as url:
        error = await raised(call, url)

    for _ in range(2):  # reading the body once leaves it to be read again
        failure = classify_exception(error)
        assert named(failure) == (K.QUOTA, "insufficient_quota", S.RESPONSE)
        assert (failure.status, failure.retry_after) == (429, 7.0)


async def test_the_body_of_a_status_can_still_be_read() -> None:
    async with serving(whole(503, NO_MONEY, {})) as url:
        error = await raised(urllib_whole, url)

    classify_exception(error)
    assert isinstance(error, urllib.error.HTTPError)
    assert error.read() == NO_MONEY
    assert (error.code, error.url) == (503, url)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Answer(whole(503, b"x" * 99, {}).content[:-50], is_open=True), id="stalls"),
        pytest.param(Answer(whole(503, b"x" * 99, {}).content[:-50]), id="is cut"),
        pytest.param(whole(503, b"", {}), id="is empty"),
    ],
)
async def test_a_status_counts_without_its_body(answer: Answer) -> None:
    async with serving(answer) as url:
        error = await raised(urllib_whole, url)

        failure = await anyio.to_thread.run_sync(classify_exception, error)

    assert (failure.kind, failure.status) == (K.OVERLOADED, 503)


async def test_a_200_that_is_no_json() -> None:
    def call(url: str, seconds: float) -> None:
        requests.post(url, b"{}", timeout=seconds).json()

    async with serving(whole(200, b"<html>", {"content-type": "text/html"})) as url:
        error = await raised(call, url)

    assert named(classify_exception(error)) == (K.SERVER_ERROR, None, S.STREAM)


async def test_what_the_caller_did_wrong_is_a_bug() -> None:
    for address in ("no address", "http://", "ftp:/x"):
        error = await raised(requests_whole, address)

        assert classify_exception(error).kind is K.UNKNOWN
    assert classify_exception(await raised(urllib_whole, "odd://h/")).kind is K.UNKNOWN


async def test_an_exception_that_a_test_of_one_s_own_makes() -> None:
    assert classify_exception(requests.ConnectionError("down")).kind is K.NETWORK
    assert classify_exception(requests.Timeout("late")).kind is K.TIMEOUT
