"""Responses that exceptions hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from sidestep import FailureKind, Route
from sidestep.provider.classify.exception import classify_exception

from .exceptions import K, SdkError

REQUEST = httpx.Request("POST", "http://h/")


def response(status: int, **content: Any) -> httpx.Response:
    return httpx.Response(status, request=REQUEST, **content)


OVERFLOW = {"error": {"code": "context_length_exceeded", "message": "too long"}}

LONG_PROMPT = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "prompt is too long: 2 tokens > 1 maximum",
    },
}


def http_status_error(answer: httpx.Response) -> Exception:
    return httpx.HTTPStatusError("failed", request=REQUEST, response=answer)


class Unread:
    status_code = 503
    headers = httpx.Headers({"Retry-After": "3"})

    @property
    def content(self) -> bytes:
        raise httpx.ResponseNotRead


ANSWERS = [
    pytest.param(http_status_error(response(429)), K.RATE_LIMIT, 429, id="httpx status error"),
    pytest.param(
        http_status_error(response(400, json=OVERFLOW)), K.CONTEXT_OVERFLOW, 400, id="body"
    ),
    pytest.param(SdkError("x", status_code=529), K.OVERLOADED, 529, id="status_code"),
    pytest.param(SdkError("x", response=response(503)), K.OVERLOADED, 503, id="response"),
    pytest.param(SdkError("x", status_code=503, response=Unread()), K.OVERLOADED, 503, id="unread"),
    pytest.param(
        SdkError("x", status_code=400, body=OVERFLOW["error"]), K.CONTEXT_OVERFLOW, 400, id="parsed"
    ),
    pytest.param(
        SdkError("x", status_code=400, body=LONG_PROMPT), K.CONTEXT_OVERFLOW, 400, id="Anthropic's"
    ),
    pytest.param(
        SdkError("x", status_code=500, is_retryable=False), K.SERVER_ERROR, 500, id="a flag beside"
    ),
    pytest.param(SdkError("x", status_code="503"), K.UNKNOWN, None, id="no number"),
    pytest.param(SdkError("x", status_code=True), K.UNKNOWN, None, id="bool"),
    pytest.param(SdkError("x", status_code=200), K.UNKNOWN, None, id="no error"),
]


@pytest.mark.parametrize(("error", "kind", "status"), ANSWERS)
def test_an_answer_on_an_exception_is_read(
    error: Exception, kind: FailureKind, status: int | None
) -> None:
    failure = classify_exception(error)

    assert (failure.kind, failure.status) == (kind, status)


def test_the_headers_of_an_answer_are_read() -> None:
    answer = response(429, headers={"Retry-After": "7", "X-Request-Id": "req_1"})

    failure = classify_exception(SdkError("x", status_code=429, response=answer))

    assert (failure.retry_after, failure.request_id) == (7.0, "req_1")


OTHERS = [
    pytest.param(TimeoutError(), K.TIMEOUT, id="timeout"),
    pytest.param(asyncio.CancelledError(), K.CANCELLED, id="cancelled"),
    pytest.param(KeyError("x"), K.UNKNOWN, id="a bug"),
    pytest.param(FileNotFoundError("x"), K.UNKNOWN, id="a file"),
    pytest.param(PermissionError("x"), K.UNKNOWN, id="a permission"),
    pytest.param(UserWarning("x"), K.UNKNOWN, id="a warning that was raised"),
]


@pytest.mark.parametrize(("error", "kind"), OTHERS)
def test_other_exceptions(error: BaseException, kind: FailureKind) -> None:
    failure = classify_exception(error)

    assert (failure.kind, failure.status) == (kind, None)


def test_the_route_tells_whose_facts_count() -> None:
    error = SdkError("x", status_code=400, body={"error": {"code": "tool_use_failed"}})

    failure = classify_exception(error, route=Route("groq/m"))

    assert failure.kind is K.TOOL_CALL_MALFORMED
    assert failure.route == "groq/m"


@pytest.mark.parametrize(
    ("error", "route", "kind", "status"),
    [
        pytest.param(
            SdkError(
                "Overloaded",
                status_code=200,
                response=httpx.Response(200, request=REQUEST),
                body={"type": "error", "error": {"type": "overloaded_error", "message": "no"}},
            ),
            "anthropic/claude-sonnet-5",
            K.OVERLOADED,
            529,
            id="as the SDK of Anthropic raises it",
        ),
        pytest.param(
            SdkError("no", body={"message": "no", "type": "server_error", "code": None}),
            "openai-chat/gpt",
            K.SERVER_ERROR,
            500,
            id="as the SDK of OpenAI raises it",
        ),
        pytest.param(
            SdkError("no", body={"message": "no", "code": 429}),
            "openrouter/x",
            K.RATE_LIMIT,
            429,
            id="a number for a code",
        ),
        pytest.param(
            SdkError("no", body={"choices": []}), "openrouter/x", K.UNKNOWN, None, id="no error"
        ),
        pytest.param(SdkError("no", body="Overloaded"), "openrouter/x", K.UNKNOWN, None, id="text"),
    ],
)
def test_an_error_inside_a_stream_counts_by_its_own_words(
    error: BaseException, route: str, kind: FailureKind, status: int | None
) -> None:
    """The SDKs raise it with the status of the answer, which was 200, or with none."""
    failure = classify_exception(error, route=Route(route))

    assert (failure.kind, failure.status) == (kind, status)


@pytest.mark.asyncio
@pytest.mark.parametrize("is_read", [True, False], ids=["read", "not read"])
@pytest.mark.parametrize("module", ["httpx", "httpx2"])
async def test_an_answer_whose_body_was_not_read_says_how_to_read_it(
    module: str, *, is_read: bool
) -> None:
    library = pytest.importorskip(module)

    async def body() -> AsyncIterator[bytes]:
        yield b'{"error": {"code": "context_length_exceeded", "message": "too long"}}'

    transport = library.MockTransport(lambda _: library.Response(400, content=body()))
    http = library.AsyncClient(transport=transport)
    async with http, http.stream("POST", "http://127.0.0.1/v1/chat/completions") as response:
        if is_read:
            await response.aread()
        with pytest.raises(library.HTTPStatusError) as caught:
            response.raise_for_status()

    failure = classify_exception(caught.value, route=Route("openai-chat/gpt-5.2"))

    kind = FailureKind.CONTEXT_OVERFLOW if is_read else FailureKind.BAD_REQUEST
    assert failure.kind is kind
    assert ("aread()" in failure.message) is not is_read
