""""""

from __future__ import annotations

from types import ModuleType
from typing import Any

import httpx
import pytest

from sidestep import FailureKind, ProviderError
from sidestep.provider.classify.exception import classify_exception
from sidestep.provider.failure import Failure, Stage

from .exceptions import REFUSED, K, SdkError, caused, raised_while_handling

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
