from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from types import ModuleType
from typing import Any

import httpcore
import httpx
import pytest

from sidestep import FailureKind, ProviderError, Route
from sidestep.provider.classify.exception import classify_exception
from sidestep.provider.failure import Failure, Stage

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


@pytest.mark.parametrize(("name", "kind", "code"), TRANSPORTS)
def test_transport_errors(
    library: ModuleType, name: str, kind: FailureKind, code: str | None
) -> None:
    failure = classify_exception(getattr(library, name)("broken"))

    assert (failure.kind, failure.code, failure.status) == (kind, code, None)


class ClientOSError(OSError):
    """Python makes no `BrokenPipeError` of a subclass, whatever its number."""


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
    pytest.param([OSError(errno.ECONNREFUSED, "x")], "refused", id="by its number"),
    pytest.param([ClientOSError(errno.EPIPE, "x")], "reset", id="a number on a class of its own"),
    pytest.param([ExceptionGroup("", [REFUSED, REFUSED])], "refused", id="a group of addresses"),
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


SHAPED = "sk-test-1234567890abcdef"
ANSWER = httpx.Response(401, headers={"x-request-id": SHAPED}, request=httpx.Request("GET", "/"))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(
            RuntimeError(f"Incorrect API key provided: {SHAPED}."),
            "RuntimeError: Incorrect API key provided: [key].", id="what nobody knows",
        ),
        pytest.param(
            httpx.ConnectError("GET http://h/m?key=abc"),
            "ConnectError: GET http://h/m?key=[key]", id="a connection",
        ),
        pytest.param(
            caused(RuntimeError(), ConnectionRefusedError(f"Bearer {SHAPED}")),
            "ConnectionRefusedError: Bearer [key]", id="a cause",
        ),
        pytest.param(
            httpx.HTTPStatusError(SHAPED, request=ANSWER.request, response=ANSWER),
            "HTTPStatusError: [key]", id="an answer",
        ),
        pytest.param(
            RuntimeError("x" * 480 + f" {SHAPED}"), f"RuntimeError: {'x' * 480} [key]", id="cut",
        ),
        pytest.param(
            ProviderError(Failure(kind=K.AUTH, message=SHAPED, code=SHAPED, because=SHAPED)),
            "[key]", id="our own",
        ),
    ],
)  # fmt: skip
def test_no_failure_repeats_what_looks_like_a_key(error: Exception, message: str) -> None:
    said = str(error)

    failure = classify_exception(error)

    assert failure.message == message
    assert SHAPED not in repr((failure.message, failure.code, failure.because, failure.request_id))
    assert str(error) == said


def test_our_own_error_keeps_its_failure() -> None:
    failure = Failure(kind=K.TRUNCATED, message="cut", stage=Stage.END)

    assert classify_exception(caused(RuntimeError(), ProviderError(failure))) is failure


@pytest.mark.parametrize(("links", "kind"), [(15, K.TIMEOUT), (16, K.UNKNOWN)])
def test_sixteen_links_of_a_chain_are_followed(links: int, kind: FailureKind) -> None:
    wrappers = [RuntimeError() for _ in range(links)]

    assert classify_exception(caused(*wrappers, httpx.ReadTimeout("x"))).kind is kind


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


def raised_while_handling(error: Exception, handled: BaseException) -> Exception:
    """Return *error* as it comes out of an ``except`` block that names no cause."""
    error.__context__ = handled
    return error


class AgentError(Exception):
    """An agent's own."""


class UnknownRouteError(KeyError):
    """An agent's own, though it is a `KeyError`."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        pytest.param(AgentError("failed"), K.TIMEOUT, id="a wrapper that forgot its `from`"),
        pytest.param(RuntimeError("failed"), K.TIMEOUT, id="a plain wrapper"),
        pytest.param(UnknownRouteError("x"), K.TIMEOUT, id="a class of its own"),
        pytest.param(KeyError("x"), K.UNKNOWN, id="a missing key"),
        pytest.param(AttributeError("x"), K.UNKNOWN, id="a missing attribute"),
        pytest.param(TypeError("x"), K.UNKNOWN, id="a wrong type"),
        pytest.param(AssertionError(), K.UNKNOWN, id="an assertion"),
    ],
)
def test_a_slip_in_the_handling_of_a_failure_is_a_bug(error: Exception, kind: FailureKind) -> None:
    assert classify_exception(raised_while_handling(error, httpx.ReadTimeout("x"))).kind is kind


def test_a_slip_that_names_its_cause_is_followed_to_it() -> None:
    assert classify_exception(caused(KeyError("x"), httpx.ReadTimeout("x"))).kind is K.TIMEOUT


LIMITED = SdkError("x", status_code=429, headers={"retry-after": "20"})
LIMITED_LONGER = SdkError("x", status_code=429, headers={"retry-after": "40"})
NO_KEY = SdkError("x", status_code=401)
DOWN = SdkError("x", status_code=503)
STOPPED = asyncio.CancelledError()


def group(*errors: BaseException) -> BaseException:
    return BaseExceptionGroup("unhandled errors in a TaskGroup", errors)


@pytest.mark.parametrize(
    ("error", "kind", "status", "retry_after"),
    [
        pytest.param(group(DOWN), K.OVERLOADED, 503, None, id="one"),
        pytest.param(group(STOPPED, DOWN, STOPPED), K.OVERLOADED, 503, None, id="among cancelled"),
        pytest.param(group(STOPPED, STOPPED), K.CANCELLED, None, None, id="all cancelled"),
        pytest.param(group(DOWN, NO_KEY), K.AUTH, 401, None, id="what would come again"),
        pytest.param(group(DOWN, LIMITED), K.RATE_LIMIT, 429, 20.0, id="the longest wait"),
        pytest.param(group(LIMITED, LIMITED_LONGER), K.RATE_LIMIT, 429, 40.0, id="of two waits"),
        pytest.param(group(TimeoutError(), DOWN), K.TIMEOUT, None, None, id="else the first"),
        pytest.param(group(DOWN, KeyError("x")), K.UNKNOWN, None, None, id="a bug"),
        pytest.param(group(KeyError("x"), NO_KEY), K.UNKNOWN, None, None, id="a bug first"),
        pytest.param(group(group(DOWN), group(STOPPED)), K.OVERLOADED, 503, None, id="nested"),
        pytest.param(group(DOWN, group(KeyError("x"))), K.UNKNOWN, None, None, id="a nested bug"),
        pytest.param(caused(AgentError(), group(DOWN)), K.OVERLOADED, 503, None, id="as a cause"),
        pytest.param(group(caused(AgentError(), DOWN)), K.OVERLOADED, 503, None, id="with a cause"),
    ],
)
def test_the_failure_that_counts_in_a_group(
    error: BaseException, kind: FailureKind, status: int | None, retry_after: float | None
) -> None:
    failure = classify_exception(error)

    assert (failure.kind, failure.status, failure.retry_after) == (kind, status, retry_after)
    assert failure.cause is error


def test_a_group_says_which_of_its_errors_is_the_bug() -> None:
    assert classify_exception(group(DOWN, KeyError("x"))).message == "KeyError: 'x'"


def test_a_group_that_is_the_cause_of_what_is_in_it_ends() -> None:
    leaf = AgentError("x")
    leaf.__cause__ = group(leaf)

    assert classify_exception(leaf).kind is K.UNKNOWN


def test_our_own_error_in_a_group_keeps_its_failure() -> None:
    failure = Failure(kind=K.TRUNCATED, message="cut", stage=Stage.END)

    assert classify_exception(group(STOPPED, ProviderError(failure))) is failure


def of_package(package: str, name: str, *parents: type[Exception], **attributes: Any) -> Exception:
    """Make an exception as *package* has it; the real ones are raised in ``tests/sdk``."""
    cls = type(name, parents or (Exception,), {"__module__": f"{package}.errors"})
    error: Exception = cls("said")
    for attribute, value in attributes.items():
        setattr(error, attribute, value)
    return error


class AiohttpResponse:
    def __init__(self, status: int) -> None:
        self.status = status
        self.headers = {"Retry-After": "3"}


GEMINI = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
LITELLM_TIMEOUT = of_package(
    "litellm", "Timeout", type("APITimeoutError", (Exception,), {}), status_code=408
)
UNREAD = of_package("aiohttp", "BadStatusLine", type("HttpProcessingError", (Exception,), {}))


@pytest.mark.parametrize(
    ("error", "kind", "status", "stage"),
    [
        pytest.param(
            of_package("aiohttp", "ClientResponseError", status=429, headers={}),
            K.RATE_LIMIT, 429, Stage.RESPONSE, id="aiohttp: status",
        ),
        pytest.param(
            caused(of_package("aiohttp", "ClientResponseError", status=400), UNREAD),
            K.NETWORK, None, Stage.RESPONSE, id="aiohttp: a 400 of its own",
        ),
        pytest.param(
            of_package("aiohttp", "ClientPayloadError"),
            K.TRUNCATED, None, Stage.END, id="aiohttp: payload",
        ),
        pytest.param(
            of_package("aiohttp", "ServerDisconnectedError"),
            K.NETWORK, None, Stage.RESPONSE, id="aiohttp: disconnected",
        ),
        pytest.param(
            of_package("aiohttp", "ConnectionTimeoutError", TimeoutError),
            K.TIMEOUT, None, Stage.CONNECT, id="aiohttp: connect timeout",
        ),
        pytest.param(
            of_package("aiohttp", "ClientConnectorDNSError", OSError),
            K.NETWORK, None, Stage.CONNECT, id="aiohttp: no host",
        ),
        pytest.param(
            of_package("google", "ServerError", code=503, status="UNAVAILABLE", details=GEMINI),
            K.OVERLOADED, 503, Stage.RESPONSE, id="google: code",
        ),
        pytest.param(
            of_package(
                "google", "ServerError", code=503, details=GEMINI, response=AiohttpResponse(200)
            ),
            K.OVERLOADED, 503, Stage.STREAM, id="google: in a stream",
        ),
        pytest.param(
            of_package("mistralai", "ResponseValidationError", status_code=200, body="{}"),
            K.SERVER_ERROR, None, Stage.STREAM, id="mistralai: unknown shape",
        ),
        pytest.param(
            of_package(
                "mistralai",
                "ResponseValidationError",
                status_code=200,
                body='{"data": {"error": {"message": "x", "code": "rate_limit_exceeded"}}}',
            ),
            K.RATE_LIMIT, 429, Stage.STREAM, id="mistralai: error in an event",
        ),
        pytest.param(
            raised_while_handling(
                of_package("litellm", "InternalServerError", status_code=500),
                caused(httpx.ConnectError("x"), REFUSED),
            ),
            K.NETWORK, None, Stage.CONNECT, id="litellm: a 500 for a refusal",
        ),
        pytest.param(
            of_package("litellm", "ContentPolicyViolationError", status_code=400),
            K.CONTENT_FILTER, 400, Stage.RESPONSE, id="litellm: filter by name",
        ),
        pytest.param(
            of_package("litellm", "InvalidRequestError", status_code=400),
            K.BAD_REQUEST, 400, Stage.RESPONSE, id="litellm: invalid request",
        ),
        pytest.param(LITELLM_TIMEOUT, K.TIMEOUT, None, Stage.RESPONSE, id="litellm: a 408"),
        pytest.param(
            of_package("litellm", "ContextWindowExceededError", status_code=400),
            K.CONTEXT_OVERFLOW, 400, Stage.RESPONSE, id="litellm: overflow by name",
        ),
        pytest.param(
            of_package(
                "litellm",
                "MidStreamFallbackError",
                status_code=500,
                original_exception=of_package("litellm", "APIConnectionError", status_code=500),
            ),
            K.TRUNCATED, None, Stage.END, id="litellm: cut",
        ),
        pytest.param(
            of_package("pydantic_ai", "ModelHTTPError", status_code=529, in_stream=True),
            K.OVERLOADED, 529, Stage.STREAM, id="pydantic-ai: in a stream",
        ),
        pytest.param(
            of_package("pydantic_ai", "ModelContextWindowExceededError", status_code=400),
            K.CONTEXT_OVERFLOW, 400, Stage.RESPONSE, id="pydantic-ai: overflow by name",
        ),
        pytest.param(
            of_package("pydantic_ai", "ModelRequestTimeout"),
            K.TIMEOUT, None, Stage.RESPONSE, id="pydantic-ai: its own deadline",
        ),
        pytest.param(
            of_package("pydantic_ai", "UnexpectedModelBehavior"),
            K.EMPTY_RESPONSE, None, Stage.END, id="pydantic-ai: nothing that can be used",
        ),
        pytest.param(
            of_package("agent", "ContextWindowExceededError"),
            K.UNKNOWN, None, Stage.RESPONSE, id="the name alone, in another package",
        ),
    ],
)  # fmt: skip
def test_what_each_package_calls_things(
    error: Exception, kind: FailureKind, status: int | None, stage: Stage
) -> None:
    failure = classify_exception(error)

    assert (failure.kind, failure.status, failure.stage) == (kind, status, stage)


def test_a_wait_that_an_sdk_has_read_is_taken_from_it() -> None:
    assert classify_exception(SdkError("x", status_code=429, retry_after=12)).retry_after == 12.0


@pytest.mark.parametrize(
    ("name", "kind", "stage"),
    [
        ("ReadError", K.TRUNCATED, Stage.END),
        ("RemoteProtocolError", K.TRUNCATED, Stage.END),
        ("ReadTimeout", K.TIMEOUT, Stage.STREAM),
    ],
)
def test_what_breaks_the_body_is_told_from_what_comes_before_it(
    library: ModuleType, name: str, kind: FailureKind, stage: Stage
) -> None:
    def body() -> Any:
        yield b"data: {}"
        raise getattr(library, name)("broken")

    transport = library.MockTransport(lambda _: library.Response(200, content=body()))
    with library.Client(transport=transport) as client, pytest.raises(library.HTTPError) as caught:
        client.get("http://h/")

    failure = classify_exception(caught.value)
    assert (failure.kind, failure.stage) == (kind, stage)
