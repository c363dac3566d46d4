from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from typing import Any

import httpcore
import httpx
import httpx2
import pytest

from sidestep import FailureKind, ProviderError, Route
from sidestep.provider.failure import Failure, Stage
from sidestep.provider.foreign import classify_exception

K = FailureKind
REQUEST = httpx.Request("POST", "http://h/")


class SdkError(Exception):
    """As the SDKs of OpenAI, Anthropic and their kin build it."""

    def __init__(self, message: str, **attributes: Any) -> None:
        super().__init__(message)
        for name, value in attributes.items():
            setattr(self, name, value)


def caused(error: BaseException, *causes: BaseException) -> BaseException:
    link = error
    for cause in causes:
        link.__cause__ = cause
        link = cause
    return error


TRANSPORTS = [
    ("ConnectTimeout", K.TIMEOUT, None),
    ("ReadTimeout", K.TIMEOUT, None),
    ("WriteTimeout", K.TIMEOUT, None),
    ("PoolTimeout", K.UNKNOWN, "pool_timeout"),
    ("ConnectError", K.NETWORK, None),
    ("ProxyError", K.NETWORK, None),
    ("ReadError", K.NETWORK, "reset"),
    ("WriteError", K.NETWORK, "reset"),
    ("RemoteProtocolError", K.NETWORK, "reset"),
    ("DecodingError", K.SERVER_ERROR, None),
    ("LocalProtocolError", K.UNKNOWN, None),
    ("UnsupportedProtocol", K.UNKNOWN, None),
    ("TooManyRedirects", K.UNKNOWN, None),
]


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
@pytest.mark.parametrize(("name", "kind", "code"), TRANSPORTS)
def test_transport_errors(library: Any, name: str, kind: FailureKind, code: str | None) -> None:
    failure = classify_exception(getattr(library, name)("broken"))

    assert (failure.kind, failure.code, failure.status) == (kind, code, None)


REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
CHAINS = [
    pytest.param(
        [httpx.ConnectError(""), httpcore.ConnectError(""), REFUSED], "refused", id="refused"
    ),
    pytest.param(
        [httpx.ConnectError(""), OSError("all failed"), ExceptionGroup("", [REFUSED])],
        "refused",
        id="refused by every address",
    ),
    pytest.param([httpx.ConnectError(""), socket.gaierror(-2, "x")], "no_such_host", id="no host"),
    pytest.param(
        [httpx.ConnectError(""), ssl.SSLCertVerificationError("x")], "tls", id="certificate"
    ),
    pytest.param([httpx.ReadError(""), ssl.SSLError("x")], "tls", id="TLS while reading"),
    pytest.param([httpx.ReadError(""), ConnectionResetError()], "reset", id="reset"),
    pytest.param([httpx.WriteError(""), BrokenPipeError()], "reset", id="broken pipe"),
    pytest.param(
        [SdkError("Connection error."), httpx.ConnectError(""), REFUSED], "refused", id="SDK"
    ),
    pytest.param([REFUSED], "refused", id="bare refused"),
    pytest.param([ConnectionAbortedError()], "reset", id="bare aborted"),
    pytest.param([OSError(errno.ENETUNREACH, "x")], None, id="no network"),
]


@pytest.mark.parametrize(("chain", "code"), CHAINS)
def test_the_system_says_why_a_connection_failed(
    chain: list[BaseException], code: str | None
) -> None:
    failure = classify_exception(caused(*chain))

    assert (failure.kind, failure.code) == (K.NETWORK, code)
    assert failure.is_unreachable is (code in {"refused", "no_such_host"})


def test_the_error_of_an_earlier_attempt_is_not_taken_for_this_one() -> None:
    def fail() -> None:
        try:
            raise caused(httpx.ConnectError(""), REFUSED)
        except httpx.ConnectError:
            raise httpx.RemoteProtocolError("disconnected") from None

    with pytest.raises(httpx.RemoteProtocolError) as caught:
        fail()

    assert classify_exception(caught.value).code == "reset"


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
    pytest.param(ExceptionGroup("", [KeyError("x"), TimeoutError()]), K.TIMEOUT, id="a group"),
]


@pytest.mark.parametrize(("error", "kind"), OTHERS)
def test_other_exceptions(error: BaseException, kind: FailureKind) -> None:
    failure = classify_exception(error)

    assert (failure.kind, failure.status) == (kind, None)


def test_our_own_error_keeps_its_failure() -> None:
    failure = Failure(kind=K.TRUNCATED, message="cut", stage=Stage.END)

    assert classify_exception(caused(RuntimeError(), ProviderError(failure))) is failure


def test_a_circle_of_causes_ends() -> None:
    first, second = KeyError(), ValueError()
    first.__cause__, second.__cause__ = second, first

    assert classify_exception(first).kind is K.UNKNOWN


def test_what_was_suppressed_is_not_followed() -> None:
    error = KeyError()
    error.__context__, error.__suppress_context__ = REFUSED, True

    assert classify_exception(error).kind is K.UNKNOWN


def test_an_exception_that_resists_is_unknown() -> None:
    class Stubborn(Exception):
        def __str__(self) -> str:
            raise RuntimeError

        @property
        def status_code(self) -> int:
            raise RuntimeError

    assert classify_exception(Stubborn()).message == "Stubborn"


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
