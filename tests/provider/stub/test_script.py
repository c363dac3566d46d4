"""What a client reads of an answer, a fault, a status or a capture, over real sockets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anyio
import httpx
import pytest

from sidestep.provider.error import ProviderError
from sidestep.provider.failure import FailureKind
from sidestep.provider.stub.capture import load_capture

from .stub_client import (
    ANTHROPIC,
    CALL,
    CHAT,
    DIALECTS,
    GEMINI,
    OPENROUTER,
    RESPONSES,
    ask,
    client,
    decoded,
    events,
    outputs,
    playing,
    read_until_it_breaks,
    request,
)

if TYPE_CHECKING:
    pass

WIRES = pytest.mark.parametrize("route", DIALECTS)


@pytest.mark.asyncio
@WIRES
async def test_a_client_reads_the_whole_answer(route: str) -> None:
    text = "Gr\u00fc\u00dfe, \u2028 \U0001f600" * 9
    async with playing(text=text, chunk=3, comments=2) as stub:
        response = await ask(stub, route)

    assert response.headers["content-type"].startswith("text/event-stream")
    assert "".join(outputs(response.content)) == text
    assert stub.requests[0].answered == "text"
    assert not stub.requests[0].closed_by_client
    first = response.content.split(b"data: {")[0]
    assert {ANTHROPIC: b"ping", GEMINI: b"\r\n\r\n"}.get(route, b": ") in first


@pytest.mark.asyncio
@WIRES
async def test_an_error_comes_in_the_stream_after_some_output(route: str) -> None:
    async with playing(text="one two three", chunk=4, error=529, after=2) as stub:
        response = await ask(stub, route)

    assert response.status_code == 200
    assert outputs(response.content) == ["one ", "two "]
    with pytest.raises(ProviderError) as caught:
        decoded(response.content, route)
    assert caught.value.failure.kind in {FailureKind.OVERLOADED, FailureKind.SERVER_ERROR}
    assert stub.requests[0].answered == "error after 2"


@pytest.mark.asyncio
async def test_an_error_can_be_the_first_event() -> None:
    """Source: fixtures/captures/anthropic_stream_overloaded_first.json."""
    async with playing(error="overloaded_error", after=0) as stub:
        response = await ask(stub, ANTHROPIC)

    (event,) = events(response.content)
    assert event["error"] == {"type": "overloaded_error", "message": "Overloaded"}


@pytest.mark.asyncio
@WIRES
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        pytest.param("cut", None, id="cut"),
        pytest.param("abort", httpx.RemoteProtocolError, id="abort"),
        pytest.param("reset", httpx.ReadError, id="reset"),
    ],
)
async def test_a_stream_breaks_off(
    route: str, fault: str, error: type[httpx.TransportError] | None
) -> None:
    async with playing(text="one two three", chunk=4, after=2, **{fault: True}) as stub:
        came, broke = await read_until_it_breaks(stub, route)

    assert outputs(came) == ["one ", "two "]
    assert type(broke) is (type(None) if error is None else error)
    assert stub.requests[0].answered == f"{fault} after 2"
    assert not stub.requests[0].closed_by_client


@pytest.mark.asyncio
@WIRES
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        pytest.param("cut", httpx.RemoteProtocolError, id="cut"),
        pytest.param("abort", httpx.RemoteProtocolError, id="abort"),
        pytest.param("reset", httpx.ReadError, id="reset"),
    ],
)
async def test_a_whole_answer_breaks_off_in_its_body(
    route: str, fault: str, error: type[httpx.TransportError]
) -> None:
    async with playing(text="one two three", **{fault: True}) as stub:
        came, broke = await read_until_it_breaks(stub, route, stream=False)

    assert came.startswith(b"{")
    assert type(broke) is error


@pytest.mark.asyncio
@WIRES
async def test_an_error_without_a_stream_is_a_status(route: str) -> None:
    async with playing(text="one", error=503) as stub:
        response = await ask(stub, route, stream=False)

    assert response.status_code == 503
    assert response.json()["error"]["message"]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("error", "status"),
    [
        pytest.param({"type": "overloaded_error"}, 529, id="type of anthropic"),
        pytest.param({"type": "timeout_error"}, 504, id="type of two statuses"),
        pytest.param({"code": 502, "message": "gone"}, 502, id="code of openrouter"),
        pytest.param({"metadata": {"error_type": "payment_required"}}, 402, id="error_type"),
        pytest.param({"type": "requests", "code": "rate_limit_exceeded"}, 429, id="code"),
        pytest.param({"code": "insufficient_quota"}, 429, id="code that shares its status"),
        pytest.param({"status": "RESOURCE_EXHAUSTED"}, 429, id="status of gemini"),
        pytest.param({"status": "UNAVAILABLE"}, 503, id="another of gemini"),
        pytest.param({"code": 7, "type": "made_up"}, 500, id="nothing known"),
        pytest.param({}, 500, id="nothing at all"),
    ],
)
async def test_an_error_object_stands_for_a_status(error: dict[str, object], status: int) -> None:
    async with playing(error=error) as stub:
        response = await ask(stub, CHAT, stream=False)

    assert (response.status_code, response.json()) == (status, {"error": error})


@pytest.mark.asyncio
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_a_stall_lasts_until_the_client_leaves(stream: bool) -> None:
    async with playing(text="one", stall=True) as stub:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read_until_it_breaks, stub, OPENROUTER)
                received = await stub.wait_for(1)
                assert not received.over.is_set()
                tasks.cancel_scope.cancel()
            await received.left.wait()

    assert received.closed_by_client
    assert received.answered == "stall"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("route", "comment"),
    [
        pytest.param(ANTHROPIC, "event: ping", id="anthropic"),
        pytest.param(OPENROUTER, ": OPENROUTER PROCESSING", id="openrouter"),
        pytest.param(CHAT, ": keep-alive", id="the others"),
        pytest.param(RESPONSES, ": keep-alive", id="responses"),
        pytest.param(GEMINI, "", id="gemini"),
    ],
)
async def test_a_stalled_stream_is_kept_alive(route: str, comment: str) -> None:
    async with playing(stall=True, after=0, keepalive=0.001) as stub, client(stub) as http:
        with anyio.fail_after(60):
            response = await http.send(request(http, route), stream=True)
            lines = response.aiter_lines()
            seen = 0
            while seen < 3:
                seen += await anext(lines) == comment
            await response.aclose()
            await stub.requests[0].left.wait()


@pytest.mark.asyncio
@pytest.mark.parametrize("route", [ANTHROPIC, OPENROUTER, CHAT])
async def test_a_request_for_no_stream_gets_one_object(route: str) -> None:
    answer = {"reasoning": "Hm", "text": "Hello", "tool_calls": [CALL]}
    async with playing(**answer) as stub:
        response = await ask(stub, route, stream=False)

    body = response.json()
    if route == ANTHROPIC:
        kinds = [block["type"] for block in body["content"]]
        assert kinds == ["thinking", "text", "tool_use"]
        assert (body["stop_reason"], body["content"][1]["text"]) == ("tool_use", "Hello")
    else:
        (choice,) = body["choices"]
        assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", "Hello")
        function = choice["message"]["tool_calls"][0]["function"]
        assert json.loads(function["arguments"]) == CALL["input"]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("route", "status", "error"),
    [
        pytest.param(ANTHROPIC, 529, {"type": "overloaded_error"}, id="anthropic"),
        pytest.param(ANTHROPIC, 404, {"message": "model: claude"}, id="a model is named"),
        pytest.param(ANTHROPIC, 599, {"type": "api_error"}, id="a status of no name"),
        pytest.param(OPENROUTER, 503, {"code": 503}, id="openrouter"),
        pytest.param(OPENROUTER, 418, {"code": 418}, id="another of no name"),
        pytest.param(CHAT, 429, {"code": "rate_limit_exceeded", "param": None}, id="chat"),
        pytest.param(RESPONSES, 503, {"code": "server_is_overloaded"}, id="responses"),
        pytest.param(GEMINI, 503, {"code": 503, "status": "UNAVAILABLE"}, id="gemini"),
        pytest.param(GEMINI, 418, {"code": 418, "status": "INVALID_ARGUMENT"}, id="gemini's own"),
    ],
)
async def test_a_status_comes_in_the_words_of_its_provider(
    route: str, status: int, error: dict[str, object]
) -> None:
    async with playing(status=status, headers={"retry-after": "7"}) as stub:
        response = await ask(stub, route)

    assert (response.status_code, response.headers["retry-after"]) == (status, "7")
    assert response.json()["error"].items() >= error.items()
    assert stub.requests[0].answered == str(status)


@pytest.mark.asyncio
@pytest.mark.parametrize("route", [CHAT, RESPONSES])
async def test_an_edge_speaks_html_in_place_of_openai(route: str) -> None:
    async with playing(status=502) as stub:
        response = await ask(stub, route)

    assert response.headers["content-type"] == "text/html"
    assert response.text.startswith("<html>")


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("body", "sent", "kind"),
    [
        pytest.param({"error": None}, b'{"error":null}', "application/json", id="object"),
        pytest.param("no JSON", b"no JSON", "text/plain", id="text"),
        pytest.param("<p>", b"<p>", "text/html", id="HTML"),
        pytest.param("", b"", "text/plain", id="empty"),
    ],
)
async def test_a_body_of_ones_own_is_sent_as_it_is(body: object, sent: bytes, kind: str) -> None:
    async with playing(status=500, body=body) as stub:
        response = await ask(stub, CHAT)

    assert (response.content, response.headers["content-type"]) == (sent, kind)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "name",
    [
        "openrouter_stream_error",
        "anthropic_429_rate_limit",
        "framing_split_utf8",
        "cerebras_413_empty_body",
        "stream_empty_200",
    ],
)
async def test_a_capture_is_replayed_byte_for_byte(name: str) -> None:
    capture = load_capture(name)
    async with playing(capture=name) as stub:
        response = await ask(stub, OPENROUTER)

    assert response.status_code == capture.status
    assert response.headers.items() >= dict(capture.headers).items()
    assert response.content == b"".join(capture.pieces)
