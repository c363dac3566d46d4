"""A client of httpx or httpx2 that is watched, without sockets."""

from __future__ import annotations

import asyncio
import gzip
import logging
from contextlib import suppress
from dataclasses import replace
from types import ModuleType
from typing import Any

import anyio
import httpx
import httpx2
import pytest
import sniffio

import sidestep
from sidestep import FailureKind, ProviderError, Route, Sidestep
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.provider import Provider, Timeouts
from sidestep.provider.failure import Stage
from sidestep.session.plan.config import FallbackConfig

from ...virtual import virtual_backend
from .answered import (
    ASKED,
    DONE,
    EVENTS,
    HEL,
    JSON,
    LIBRARIES,
    LO,
    PING,
    URL,
    Answered,
    Block,
    stream,
    whole,
)

K = FailureKind
pytestmark = pytest.mark.anyio
BY_NAME = {
    name: replace(each, timeouts=Timeouts(10.0, 20.0, 5.0)) for name, each in catalog().items()
}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return virtual_backend(str(request.param))


@pytest.fixture(params=LIBRARIES.values(), ids=list(LIBRARIES))
def library(request: pytest.FixtureRequest) -> ModuleType:
    assert isinstance(request.param, ModuleType)
    return request.param


async def blocks_of(http: Any, **asked: Any) -> list[bytes]:
    taken: list[bytes] = []
    async with http:
        await stream(http, taken=taken.append, **asked)
    return taken


async def failed(http: Any, **asked: Any) -> tuple[ProviderError, list[bytes]]:
    """Return what a stream raises, and what came before."""
    taken: list[bytes] = []
    async with http:
        with pytest.raises(ProviderError) as caught:
            await stream(http, taken=taken.append, **asked)
    return caught.value, taken


ZIPPED = gzip.compress(HEL + LO + DONE)
SILENT = 1000.0
USAGE = b'data: {"choices": [], "usage": {"prompt_tokens": 9}}\n\n'
NO_TEXTS: list[Block] = [2.0, HEL.replace(b'"Hel"', b'""')] * 9
PINGS: list[Block] = [2.0, PING] * 99
CODINGS: dict[str, tuple[dict[str, str], list[bytes]]] = {
    "plain": ({}, [HEL, LO, DONE]),
    "gzip": (
        {"content-encoding": "gzip"},
        [ZIPPED[at : at + 9] for at in range(0, len(ZIPPED), 9)],
    ),
}


@pytest.mark.parametrize(("headers", "blocks"), CODINGS.values(), ids=list(CODINGS))
async def test_each_block_is_passed_on_as_it_comes(
    library: ModuleType, headers: dict[str, str], blocks: list[bytes]
) -> None:
    answered = Answered([*blocks], headers={**EVENTS, **headers})
    http = sidestep.watched(answered.client(library))
    taken: list[tuple[int, bytes]] = []

    async with http:
        await stream(http, taken=lambda block: taken.append((answered.sent, block)))

    assert taken == list(enumerate(blocks, start=1))
    assert answered.closed == 1


NO_FINISH = b'data: {"choices": [{"delta": {"content": "lo"}}]}\n\n'
ERROR = b'data: {"error": {"code": 503, "message": "down"}}\n\n'
EMPTY = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
CALL = (
    b'data: {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": '
    b'{"name": "ls", "arguments": "{\\"pa"}}]}, "finish_reason": "tool_calls"}]}\n\n'
)
RESET = httpx.ReadError("reset")
STREAMS: dict[str, tuple[list[Block], FailureKind, int]] = {
    "without its end": ([HEL, NO_FINISH], K.TRUNCATED, 2),
    "cut with its framing whole": ([HEL], K.TRUNCATED, 1),
    "broken": ([HEL, RESET], K.TRUNCATED, 1),
    "an error first": ([ERROR], K.OVERLOADED, 0),
    "an error later": ([HEL, ERROR, HEL], K.OVERLOADED, 1),
    "an error in a block with text": ([HEL + ERROR], K.OVERLOADED, 0),
    "empty, judged before its marker": ([EMPTY, DONE], K.EMPTY_RESPONSE, 1),
    "a call that nobody can read": ([CALL, DONE], K.TOOL_CALL_MALFORMED, 1),
    "nothing": ([], K.TRUNCATED, 0),
    "only pings": ([PING, PING], K.TRUNCATED, 2),
    "not JSON": ([b"data: {x\n\n"], K.SERVER_ERROR, 0),
}
each_stream = pytest.mark.parametrize(
    ("blocks", "kind", "passed"), STREAMS.values(), ids=list(STREAMS)
)


@each_stream
async def test_a_stream_that_fails(
    library: ModuleType, blocks: list[Block], kind: FailureKind, passed: int
) -> None:
    answered = Answered(blocks, headers={**EVENTS, "x-request-id": "req-7"})

    error, taken = await failed(sidestep.watched(answered.client(library)))

    assert error.failure.kind is kind
    assert error.failure.request_id == "req-7"
    assert len(taken) == passed
    assert answered.closed >= 1


@each_stream
def test_a_stream_that_fails_without_a_loop(
    library: ModuleType, blocks: list[Block], kind: FailureKind, passed: int
) -> None:
    answered = Answered(blocks)
    taken: list[bytes] = []

    with (
        sidestep.watched(answered.blocking_client(library)) as http,
        pytest.raises(ProviderError) as caught,
        http.stream("POST", URL, json={**ASKED, "stream": True}) as response,
    ):
        taken.extend(response.iter_raw())

    assert caught.value.failure.kind is kind
    assert answered.closed >= 1


PAGE = b"<!doctype html><html>Sign in</html>"
BODIES: dict[str, tuple[list[Block], dict[str, str], FailureKind | None]] = {
    "an answer": ([whole()], JSON, None),
    "in two blocks": ([whole()[:30], whole()[30:]], JSON, None),
    "without a label": ([whole()], {}, None),
    "an error": ([b'{"error": {"code": 503, "message": "down"}}'], JSON, K.OVERLOADED),
    "an empty body": ([], JSON, K.TRUNCATED),
    "an empty body without a label": ([], {}, K.TRUNCATED),
    "a page": ([PAGE], {"content-type": "text/html"}, K.SERVER_ERROR),
    "cut": ([whole()[:40]], JSON, K.TRUNCATED),
    "broken": ([whole()[:40], RESET], JSON, K.TRUNCATED),
    "no reason for its end": ([whole(finish_reason=None)], JSON, K.TRUNCATED),
    "no text": ([whole("")], JSON, K.EMPTY_RESPONSE),
    "no choice": ([b'{"choices": []}'], JSON, K.TRUNCATED),
    "gzip": ([gzip.compress(whole())], {**JSON, "content-encoding": "gzip"}, None),
    "gzip of an error": (
        [gzip.compress(b'{"error": {"code": 503}}')],
        {**JSON, "content-encoding": "gzip"},
        K.OVERLOADED,
    ),
    "events all the same": ([HEL, LO, DONE], JSON, None),
    "events all the same, cut": ([HEL], JSON, K.TRUNCATED),
}
each_body = pytest.mark.parametrize(
    ("blocks", "headers", "kind"), BODIES.values(), ids=list(BODIES)
)


@each_body
async def test_an_answer_that_is_not_streamed(
    library: ModuleType, blocks: list[Block], headers: dict[str, str], kind: FailureKind | None
) -> None:
    raised: FailureKind | None = None
    async with sidestep.watched(Answered(blocks, headers=headers).client(library)) as http:
        try:
            await http.post(URL, json=ASKED)
        except ProviderError as error:
            raised = error.failure.kind

    assert raised is kind


@each_body
def test_an_answer_that_is_not_streamed_without_a_loop(
    library: ModuleType, blocks: list[Block], headers: dict[str, str], kind: FailureKind | None
) -> None:
    raised: FailureKind | None = None
    with sidestep.watched(Answered(blocks, headers=headers).blocking_client(library)) as http:
        try:
            http.post(URL, json=ASKED)
        except ProviderError as error:
            raised = error.failure.kind

    assert raised is kind


@pytest.mark.parametrize(
    ("body", "headers", "kind"),
    [
        pytest.param(whole(), JSON, K.SERVER_ERROR, id="an answer that was to be streamed"),
        pytest.param(b'{"error": {"code": 503}}', JSON, K.OVERLOADED, id="an error"),
        pytest.param(PAGE, {"content-type": "text/html"}, K.SERVER_ERROR, id="a page"),
        pytest.param(b"", {"content-type": "text/html"}, K.TRUNCATED, id="nothing"),
    ],
)
async def test_what_comes_in_place_of_a_stream(
    library: ModuleType, body: bytes, headers: dict[str, str], kind: FailureKind
) -> None:
    error, _ = await failed(sidestep.watched(Answered([body], headers=headers).client(library)))

    assert error.failure.kind is kind


@pytest.mark.parametrize("broken", [RESET, httpx.ReadTimeout("late")], ids=["reset", "late"])
@pytest.mark.parametrize("end", [[LO, DONE], [LO]], ids=["done", "its reason only"])
async def test_nothing_undoes_a_whole_answer(
    library: ModuleType, end: list[Block], broken: Exception
) -> None:
    http = sidestep.watched(Answered([HEL, *end, broken]).client(library))

    assert await blocks_of(http) == [HEL, *end]


async def test_a_timeout_of_the_client_s_own_stays_one(library: ModuleType) -> None:
    error, _ = await failed(
        sidestep.watched(Answered([HEL, library.ReadTimeout("late")]).client(library))
    )

    assert (error.failure.kind, error.failure.stage) == (K.TIMEOUT, Stage.STREAM)


async def test_an_exception_that_no_network_causes_is_passed_on(library: ModuleType) -> None:
    http = sidestep.watched(Answered([HEL, RuntimeError("a bug")]).client(library))

    with pytest.raises(RuntimeError, match="a bug"):
        await blocks_of(http)


async def test_who_reads_on_is_not_told_that_it_is_whole(library: ModuleType) -> None:
    async with (
        sidestep.watched(Answered([HEL, ERROR]).client(library)) as http,
        http.stream("POST", URL, json={**ASKED, "stream": True}) as response,
    ):
        for _ in range(2):
            with pytest.raises(ProviderError):
                async for _block in response.stream:
                    pass


@pytest.mark.filterwarnings("ignore")  # trio's, of a generator of the library
async def test_who_leaves_early_is_left_alone(library: ModuleType) -> None:
    answered = Answered([HEL, HEL])
    async with (
        sidestep.watched(answered.client(library)) as http,
        http.stream("POST", URL, json={**ASKED, "stream": True}) as response,
    ):
        async for _ in response.aiter_raw():
            break

    assert answered.closed == 1


AFTER_RESULTS: dict[str, dict[str, Any]] = {
    "results": {"messages": [{"role": "tool", "tool_call_id": "c", "content": "a.py"}]},
    "a word that ends it": {"stop": ["END"]},
}


@pytest.mark.parametrize("asked", AFTER_RESULTS.values(), ids=list(AFTER_RESULTS))
async def test_an_empty_answer_that_was_to_be_expected(
    library: ModuleType, asked: dict[str, Any]
) -> None:
    assert await blocks_of(sidestep.watched(Answered([EMPTY, DONE]).client(library)), **asked) == [
        EMPTY,
        DONE,
    ]

    async with sidestep.watched(Answered([whole("")], headers=JSON).client(library)) as http:
        assert (await http.post(URL, json={**ASKED, **asked})).content == whole("")


@pytest.mark.parametrize("word", ["content_filter"])
async def test_what_is_no_fault_of_a_route_is_passed_on(library: ModuleType, word: str) -> None:
    end = LO.replace(b'"stop"', f'"{word}"'.encode())
    http = sidestep.watched(Answered([HEL, end, DONE]).client(library))

    assert await blocks_of(http) == [HEL, end, DONE]


ODD = "https://gateway.example/answer"
UNTOUCHED: dict[str, tuple[str, str, Any, list[Block], dict[str, str]]] = {
    "a list": ("GET", "https://api.openai.com/v1/models", None, [], JSON),
    "embeddings": ("POST", "https://api.openai.com/v1/embeddings", ASKED, [], JSON),
    "a count": ("POST", "https://api.anthropic.com/v1/messages/count_tokens", ASKED, [], JSON),
    "a survey": ("POST", "https://survey.example/api/responses", {"q": 1}, [b"{}"], JSON),
    "a survey's empty answer": ("POST", "https://survey.example/responses", {"q": 1}, [], JSON),
    "a survey of models": ("POST", "https://s.example/responses", {"model": "T"}, [b"{}"], JSON),
    "a survey's page": ("POST", "https://survey.example/responses", {"q": 1}, [PAGE], {}),
    "an unknown address": ("POST", ODD, ASKED, [HEL], EVENTS),
    "frames": (
        "POST",
        URL,
        ASKED,
        [b"\0\0"],
        {"content-type": "application/vnd.amazon.eventstream"},
    ),
    "another compression": ("POST", URL, ASKED, [b"xyz"], {**EVENTS, "content-encoding": "br"}),
}


@pytest.mark.parametrize(
    ("method", "url", "body", "blocks", "headers"), UNTOUCHED.values(), ids=list(UNTOUCHED)
)
async def test_what_is_no_model_call_passes_untouched(
    library: ModuleType,
    method: str,
    url: str,
    body: Any,
    blocks: list[Block],
    headers: dict[str, str],
) -> None:
    async with (
        sidestep.watched(Answered(blocks, headers=headers).client(library)) as http,
        http.stream(method, url, json=body) as response,
    ):
        assert [block async for block in response.aiter_raw()] == blocks


@pytest.mark.parametrize("status", [302, 400, 404, 429, 503])
async def test_a_status_passes_untouched(library: ModuleType, status: int) -> None:
    body = b'{"error": {"message": "no"}}' if status >= 400 else b""
    blocks: list[Block] = [body] if body else []
    http = sidestep.watched(
        Answered(blocks, status=status, headers={**JSON, "retry-after": "7"}).client(library)
    )
    async with http:
        response = await http.post(URL, json=ASKED)

    assert (response.status_code, response.content) == (status, body)
    assert response.headers["retry-after"] == "7"


async def test_what_comes_after_a_count_is_not_skipped(library: ModuleType) -> None:
    """An answer without a reason for its end is whole only if it was counted at its end."""
    count = b'data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 9}}\n\n'
    assert await blocks_of(sidestep.watched(Answered([HEL, HEL, count, DONE]).client(library))) == [
        HEL,
        HEL,
        count,
        DONE,
    ]

    error, _ = await failed(sidestep.watched(Answered([HEL, count, HEL, DONE]).client(library)))
    assert error.failure.kind is K.TRUNCATED


@pytest.mark.parametrize(
    "block", [HEL.replace(b'Hel"', b'Hel\\"'), HEL[:-4] + b"\n\n"], ids=["escaped", "cut"]
)
async def test_a_text_that_is_no_json_is_not_skipped(library: ModuleType, block: bytes) -> None:
    error, taken = await failed(sidestep.watched(Answered([HEL, block, DONE]).client(library)))

    assert (error.failure.kind, taken) == (K.SERVER_ERROR, [HEL])


async def test_the_nearest_provider_at_an_address_is_asked(library: ModuleType) -> None:
    quick, slow = (Timeouts(first_event=9.0, gap=gap) for gap in (2.0, 7.0))
    house = {
        "slow": Provider("slow", "openai-chat", "https://h/a/v1", None, slow),
        "quick": Provider("quick", "openai-chat", "https://h/b/v1", None, quick),
        "other": Provider("other", "openai-chat", "https://i/b/v1", None, slow),
    }
    began_at = anyio.current_time()
    http = sidestep.watched(Answered([HEL, SILENT]).client(library), providers=house)

    await failed(http, url="https://h/b/v1/chat/completions")

    assert round(anyio.current_time() - began_at, 3) == 2.0


SIGNED = b'data: {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "x"}}]}\n\n'


async def test_a_call_that_names_no_model_is_recognised_by_its_answer(library: ModuleType) -> None:
    """As on Azure, where the address names the deployment."""
    async with sidestep.watched(Answered([SIGNED]).client(library)) as http:
        with pytest.raises(ProviderError):
            await http.post(URL, json={"messages": []})
    async with sidestep.watched(Answered([PING * 99, SIGNED]).client(library)) as http:
        with pytest.raises(ProviderError):
            await http.post(URL, content=iter_bytes())


async def iter_bytes() -> Any:
    yield b"{}"


@pytest.mark.parametrize(
    "url",
    [
        "https://h.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
        "https://gateway.example/v1/openai/chat/completions/",
        "https://api.anthropic.com/v1/messages?beta=true",
        "https://api.openai.com/v1/responses",
        "https://generativelanguage.googleapis.com/v1beta/models/g:streamGenerateContent?alt=sse",
        "https://us-aiplatform.googleapis.com/v1/projects/p/models/g:generateContent",
    ],
)
async def test_the_addresses_of_model_calls(library: ModuleType, url: str) -> None:
    async with sidestep.watched(Answered([b""]).client(library)) as http:
        with pytest.raises(ProviderError):
            await http.post(url, json={**ASKED, "input": "Hello", "contents": []})


async def test_an_odd_gateway_is_named(library: ModuleType) -> None:
    answered = Answered([HEL])
    http = sidestep.watched(answered.client(library), wire="openai-chat")

    async with http:
        with pytest.raises(ProviderError):
            await stream(http, url=ODD, taken=lambda _: None)
        await http.post(ODD, json={"model": "m", "input": "embed this"})
        await http.post(f"{ODD}/embeddings", json={"model": "m", "messages": []})
        await http.get(ODD)


@pytest.mark.parametrize("path", ["/v1/messages/count_tokens", "/x/count_tokens", "/v1/batches"])
async def test_an_odd_gateway_has_other_addresses_as_well(library: ModuleType, path: str) -> None:
    body = b'{"input_tokens": 9}'
    client = Answered([body], headers=JSON).client(library)
    async with sidestep.watched(client, wire="anthropic") as http:
        assert (await http.post(f"https://g.example{path}", json=ASKED)).content == body


async def test_a_tool_s_argument_asks_for_no_stream(library: ModuleType) -> None:
    use = {"type": "tool_use", "id": "t", "name": "tail", "input": {"stream": True}}
    asked = {**ASKED, "messages": [{"role": "assistant", "content": [use]}]}
    async with sidestep.watched(Answered([whole()], headers=JSON).client(library)) as http:
        assert (await http.post(URL, json=asked)).content == whole()


# Deadlines, in virtual time


async def late(answered: Answered, library: ModuleType, **asked: Any) -> tuple[str, float]:
    """Return what a stream says that is late, and after how many seconds."""
    began_at = anyio.current_time()
    error, _ = await failed(sidestep.watched(answered.client(library), providers=BY_NAME), **asked)
    assert error.failure.kind is K.TIMEOUT
    return error.failure.message, round(anyio.current_time() - began_at, 3)


DEADLINES: dict[str, tuple[list[Block], str, float]] = {
    "nothing": ([SILENT], "no output within 20 s (`firstEvent`)", 20.0),
    "pings": (PINGS, "no output within 20 s (`firstEvent`)", 20.0),
    "after a word": ([HEL, SILENT], "no further output within 5 s (`gap`)", 5.0),
    "a slow word": ([15.0, HEL, SILENT], "no further output within 5 s (`gap`)", 20.0),
    "slow words": ([4.0, HEL, 4.0, HEL, SILENT], "no further output within 5 s (`gap`)", 13.0),
    "no words after a word": (
        [HEL, *NO_TEXTS],
        "no further output within 5 s (`gap`)",
        5.0,
    ),
    "pings after a word": ([HEL, *PINGS], "no further output within 5 s (`gap`)", 5.0),
}


@pytest.mark.parametrize(("blocks", "message", "seconds"), DEADLINES.values(), ids=list(DEADLINES))
async def test_silence(
    library: ModuleType, blocks: list[Block], message: str, seconds: float
) -> None:
    assert await late(Answered(blocks), library) == (message, seconds)


@pytest.mark.parametrize(
    ("blocks", "seconds"),
    [
        pytest.param([SILENT, whole()], 100.0, id="nothing"),
        pytest.param([99.0, whole()[:9], SILENT], 104.0, id="after its start"),
    ],
)
async def test_an_answer_at_once_has_five_times_as_long(
    library: ModuleType, blocks: list[Block], seconds: float
) -> None:
    client = Answered(blocks, headers=JSON).client(library, timeout=None)
    began_at = anyio.current_time()
    async with sidestep.watched(client, providers=BY_NAME) as http:
        with pytest.raises(ProviderError) as caught:
            await http.post(URL, json=ASKED)

    assert caught.value.failure.kind is K.TIMEOUT
    assert round(anyio.current_time() - began_at, 3) == seconds


async def test_the_listener_s_time_does_not_count(library: ModuleType) -> None:
    answered = Answered([1.0, HEL, 4.0, LO, DONE])
    async with (
        sidestep.watched(answered.client(library), providers=BY_NAME) as http,
        http.stream("POST", URL, json={**ASKED, "stream": True}) as response,
    ):
        async for _ in response.aiter_raw():
            await anyio.sleep(60.0)


async def test_the_host_s_own_end_stays_one(library: ModuleType) -> None:
    http = sidestep.watched(Answered([HEL, SILENT]).client(library), providers=BY_NAME)

    with anyio.move_on_after(3.0) as scope:
        await blocks_of(http)

    assert scope.cancelled_caught
    await anyio.sleep(30.0)  # no timer is left that cancels this


async def test_the_host_s_own_end_at_the_same_time_stays_one(library: ModuleType) -> None:
    if sniffio.current_async_library() != "asyncio":
        pytest.skip("where a cancellation can be lost")
    http = sidestep.watched(Answered([HEL, SILENT]).client(library), providers=BY_NAME)
    task = asyncio.create_task(blocks_of(http))
    asyncio.get_running_loop().call_later(5.0, task.cancel)

    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("blocks", "seconds"),
    [
        pytest.param([HEL, LO, SILENT], 5.0, id="nothing"),
        pytest.param([HEL, LO, 4.0, PING, SILENT], 5.0, id="a ping"),
        pytest.param([HEL, LO, 4.0, USAGE, SILENT], 5.0, id="usage"),
        pytest.param([HEL, LO, 4.0, LO, SILENT], 9.0, id="more with its reason"),
    ],
)
async def test_a_stream_that_is_left_open_ends_soon_after_the_reason_for_its_end(
    library: ModuleType, blocks: list[Block], seconds: float
) -> None:
    began_at = anyio.current_time()
    answered = Answered(blocks)

    taken = await blocks_of(sidestep.watched(answered.client(library)))

    assert taken == [block for block in blocks if isinstance(block, bytes)]
    assert round(anyio.current_time() - began_at, 3) == seconds
    assert answered.closed >= 1


async def test_output_after_the_reason_for_the_end_and_then_nothing(library: ModuleType) -> None:
    error, _ = await failed(sidestep.watched(Answered([LO, HEL, SILENT]).client(library)))

    assert error.failure.kind is K.TRUNCATED


async def test_the_task_goes_on_after_a_deadline(library: ModuleType) -> None:
    await late(Answered([HEL, SILENT]), library)

    with anyio.move_on_after(1.0) as scope:
        await anyio.sleep(2.0)
    assert scope.cancelled_caught


async def test_the_transport_gets_the_time_to_the_first_answer(library: ModuleType) -> None:
    for stream_, timeout, read, body in (
        (True, None, 20.0, None),
        (False, None, 100.0, None),
        (True, 7.0, 7.0, 7.0),
        (True, 600.0, 20.0, None),
    ):
        headers = EVENTS if stream_ else JSON
        answered = Answered([HEL, LO, DONE] if stream_ else [whole()], headers=headers)
        seen: list[float | None] = []

        async def look(request: Any, seen: list[float | None] = seen) -> None:
            seen.append(request.extensions["timeout"]["read"])

        client = answered.client(library, timeout=timeout)
        http = sidestep.watched(client, providers=BY_NAME)
        http.event_hooks = {**http.event_hooks, "request": [*http.event_hooks["request"], look]}
        async with http:
            await http.post(URL, json={**ASKED, "stream": stream_})

        assert seen == [read]
        assert answered.requests[0].extensions["timeout"]["read"] == body


# Clients


async def test_the_same_client_comes_back_with_its_hooks(library: ModuleType) -> None:
    calls: list[str] = []

    async def asked(_: object) -> None:
        calls.append("request")

    async def answered_(_: object) -> None:
        calls.append("response")

    hooks = {"request": [asked], "response": [answered_]}
    client = Answered([HEL, ERROR]).client(library, event_hooks=hooks)

    for _ in range(3):
        assert sidestep.watched(client) is client
    assert [len(each) for each in client.event_hooks.values()] == [2, 2]
    await failed(client)
    assert calls == ["request", "response"]


async def test_watching_again_changes_what_is_known(library: ModuleType) -> None:
    client = sidestep.watched(Answered([HEL, SILENT]).client(library))

    assert await late_of(sidestep.watched(client, providers=BY_NAME)) == 5.0


async def late_of(http: Any) -> float:
    began_at = anyio.current_time()
    await failed(http)
    return round(anyio.current_time() - began_at, 3)


async def test_a_transport_that_has_read_its_body_already(library: ModuleType) -> None:
    for body, is_whole in ((whole(), True), (b'{"error": {"code": 503}}', False)):
        answer = library.Response(
            200,
            headers={**JSON, "content-encoding": "gzip"},
            content=gzip.compress(body),
        )
        transport = library.MockTransport(lambda _, answer=answer: answer)
        async with sidestep.watched(library.AsyncClient(transport=transport)) as http:
            if is_whole:
                assert (await http.post(URL, json=ASKED)).content == body
            else:
                with pytest.raises(ProviderError):
                    await http.post(URL, json=ASKED)


async def test_a_compression_that_is_not_read_is_not_asked_for(library: ModuleType) -> None:
    for asked, sent in (("gzip, deflate, br, zstd", "gzip, deflate"), ("identity", "identity")):
        answered = Answered([HEL, LO, DONE])
        client = answered.client(library, headers={"accept-encoding": asked})
        async with sidestep.watched(client) as http:
            await http.post(URL, json={**ASKED, "stream": True})
            await http.get("https://api.openai.com/v1/models")

        assert [each.headers["accept-encoding"] for each in answered.requests] == [sent, asked]


async def test_a_status_keeps_the_time_of_the_client(library: ModuleType) -> None:
    answered = Answered([b"{}"], status=503)
    async with sidestep.watched(answered.client(library, timeout=600.0)) as http:
        await http.post(URL, json={**ASKED, "stream": True})

    assert answered.requests[0].extensions["timeout"]["read"] == 600.0


async def test_a_redirect_is_no_answer(library: ModuleType) -> None:
    seen: list[str] = []

    def handler(request: Any) -> Any:
        seen.append(request.method)
        if len(seen) == 1:
            return library.Response(307, headers={"location": "/v2/chat/completions"})
        return library.Response(200, headers=JSON, content=b"")

    client = library.AsyncClient(transport=library.MockTransport(handler), follow_redirects=True)
    async with sidestep.watched(client) as http:
        with pytest.raises(ProviderError):
            await http.post(URL, json=ASKED)
    assert seen == ["POST", "POST"]


ELSEWHERE = [
    ("https://b.example/v1", True),
    ("//b.example/v1/chat/completions", True),
    ("http://{host}/v1", True),
    ("https://{host}:8443/v1", True),
    ("https://me@{host}.b.example/v1", True),
    ("ftp://{host}/v1", True),
    ("https://[", True),
    ("https://{host}/v2/chat/completions", False),
    ("https://{host}:443/v2/chat/completions", False),
    ("HTTPS://{capitals}/v2/chat/completions", False),
    ("../v2/chat/completions", False),
]


@pytest.mark.parametrize(("location", "leaves"), ELSEWHERE)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_model_call_is_not_redirected_to_another_host(
    location: str, status: int, library: ModuleType, *, leaves: bool
) -> None:
    """OpenAI's SDK follows redirects by default; then the conversation would go along."""
    seen: list[str] = []
    host = library.URL(URL).host
    to = location.format(host=host, capitals=host.upper())

    def handler(request: Any) -> Any:
        seen.append(str(request.url))
        if len(seen) == 1:
            return library.Response(status, headers={"location": to})
        return library.Response(404)

    client = library.AsyncClient(transport=library.MockTransport(handler), follow_redirects=True)
    async with sidestep.watched(client) as http:
        if leaves:
            with pytest.raises(ProviderError, match="redirect") as caught:
                await http.post(URL, json=ASKED, headers={"x-api-key": "hush"})
            assert (caught.value.failure.code, caught.value.failure.status) == ("redirect", status)
        else:
            assert (await http.post(URL, json=ASKED)).status_code == 404
    assert len(seen) == (1 if leaves else 2)


def test_a_synchronous_model_call_is_not_redirected_either(library: ModuleType) -> None:
    def handler(request: Any) -> Any:
        assert request.url.host != "b.example"
        return library.Response(307, headers={"location": "https://b.example/v1"})

    client = library.Client(transport=library.MockTransport(handler), follow_redirects=True)
    with sidestep.watched(client) as http, pytest.raises(ProviderError, match=r"b\.example"):
        http.post(URL, json=ASKED)


async def test_what_is_no_model_call_is_redirected_as_before(library: ModuleType) -> None:
    def handler(request: Any) -> Any:
        if request.url.host == "b.example":
            return library.Response(200, content=b"a file")
        return library.Response(307, headers={"location": "https://b.example/file"})

    client = library.AsyncClient(transport=library.MockTransport(handler), follow_redirects=True)
    async with sidestep.watched(client) as http:
        assert (await http.get("https://a.example/file")).content == b"a file"


async def test_no_error_repeats_the_key(library: ModuleType) -> None:
    body = b'{"error": {"code": 401, "message": "Incorrect key: hush-hush-hush"}}'
    client = Answered([body], headers=JSON).client(
        library, headers={"authorization": "Bearer hush-hush-hush"}
    )
    async with sidestep.watched(client) as http:
        with pytest.raises(ProviderError, match=r"Incorrect key: \[key\]"):
            await http.post(URL, json=ASKED)


class OpenAI:
    """A client of another library."""


async def test_what_cannot_be_watched() -> None:
    closed = httpx2.AsyncClient()
    await closed.aclose()
    with pytest.raises(sidestep.ConfigError, match="is closed"):
        sidestep.watched(closed)
    with pytest.raises(sidestep.ConfigError, match="OpenAI: pass the SDK such a client"):
        sidestep.watched(OpenAI())  # type: ignore[type-var]
    with pytest.raises(sidestep.ConfigError, match="got the class"):
        sidestep.watched(httpx.AsyncClient)  # type: ignore[type-var]
    with httpx.Client() as client, pytest.raises(sidestep.ConfigError, match="'chat' is no wire"):
        sidestep.watched(client, wire="chat")  # type: ignore[arg-type]


# Requests within one attempt


@pytest.mark.parametrize(
    ("blocks", "status"), [([HEL, ERROR], 200), ([], 503)], ids=["in the stream", "a status"]
)
async def test_a_request_that_an_sdk_repeats_is_reported_once(
    library: ModuleType, blocks: list[Block], status: int, caplog: pytest.LogCaptureFixture
) -> None:
    route, sibling = Route("openai-chat/m"), Route("openai-chat/n")
    middleware = Sidestep(
        FallbackConfig(fallback_models_by_model={route: (sibling,)}, max_upstream_retry_attempts=0)
    )
    http = sidestep.watched(Answered(blocks, status=status).client(library))

    async def repeat(attempt: sidestep.Attempt) -> None:
        for _ in range(3):
            async with http.stream(
                "POST", URL, json={**ASKED, "model": attempt.route, "stream": True}
            ) as response:
                with suppress(ProviderError):
                    await response.aread()
        raise TimeoutError

    with caplog.at_level(logging.WARNING, "sidestep"), pytest.raises(sidestep.FallbackExhausted):
        await middleware.step(route).run(repeat)

    said = [each.message for each in caplog.records if "sent again" in each.message]
    assert len(said) == 1
    assert "max_retries=0" in said[0]


async def test_retries_of_sidestep_s_own_are_not_reported(
    library: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    http = sidestep.watched(Answered([HEL, ERROR]).client(library))
    with caplog.at_level(logging.WARNING, "sidestep"):
        for _ in range(3):
            async with http.stream("POST", URL, json={**ASKED, "stream": True}) as response:
                with suppress(ProviderError):
                    await response.aread()

    assert "sent again" not in caplog.text
