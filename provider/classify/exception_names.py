"""The names of other libraries' exceptions, and the failure that each name means."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, NamedTuple

from ..failure import FailureKind, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping


class NameMeaning(NamedTuple):
    """The failure that the name of a class means."""

    kind: FailureKind
    code: str | None = None
    stage: Stage = Stage.RESPONSE


_K, _S = FailureKind, Stage

TRANSPORTS = frozenset(
    {
        *("httpx", "httpx2", "httpcore", "httpcore2", "aiohttp"),
        *("requests", "urllib3", "urllib", "http", "gzip", "zlib"),
    }
)
"""The packages with exceptions for a broken connection, or for a body that cannot be read."""

# Source: the exception hierarchies of httpx 0.28, httpx2 2.16 and aiohttp 3.14, read on 2026-11-29;
# of requests 2.34, urllib3 2.8, and Python's own urllib, http.client, gzip and zlib, on 2026-11-30.
BY_TRANSPORT: Mapping[str, NameMeaning] = {
    "ConnectTimeout": NameMeaning(_K.TIMEOUT, stage=_S.CONNECT),
    "ReadTimeout": NameMeaning(_K.TIMEOUT),
    "WriteTimeout": NameMeaning(_K.TIMEOUT),
    # Our own pool is full, which is not the provider's fault.
    "PoolTimeout": NameMeaning(_K.UNKNOWN, "pool_timeout", _S.CONNECT),
    "ConnectError": NameMeaning(_K.NETWORK, stage=_S.CONNECT),
    "ProxyError": NameMeaning(_K.NETWORK, stage=_S.CONNECT),
    "ReadError": NameMeaning(_K.NETWORK, "reset"),
    "WriteError": NameMeaning(_K.NETWORK, "reset"),
    "CloseError": NameMeaning(_K.NETWORK, "reset"),
    "RemoteProtocolError": NameMeaning(_K.NETWORK, "reset"),
    "DecodingError": NameMeaning(_K.SERVER_ERROR),
    "ConnectionTimeoutError": NameMeaning(_K.TIMEOUT, stage=_S.CONNECT),
    "ServerTimeoutError": NameMeaning(_K.TIMEOUT),
    "ClientConnectorDNSError": NameMeaning(_K.NETWORK, "no_such_host", _S.CONNECT),
    "ClientSSLError": NameMeaning(_K.NETWORK, "tls", _S.CONNECT),
    "ServerFingerprintMismatch": NameMeaning(_K.NETWORK, "tls", _S.CONNECT),
    "ClientConnectorError": NameMeaning(_K.NETWORK, stage=_S.CONNECT),
    "ClientOSError": NameMeaning(_K.NETWORK, "reset"),
    "ClientConnectionResetError": NameMeaning(_K.NETWORK, "reset"),
    "ServerDisconnectedError": NameMeaning(_K.NETWORK, "reset"),
    "ClientPayloadError": NameMeaning(_K.TRUNCATED, "reset", _S.END),
    "ContentTypeError": NameMeaning(_K.SERVER_ERROR, stage=_S.STREAM),
    "HttpProcessingError": NameMeaning(_K.NETWORK, "reset"),
    # requests; what its `ConnectionError` means, only the error of urllib3 below it shows.
    "ChunkedEncodingError": NameMeaning(_K.TRUNCATED, "reset", _S.END),
    "ContentDecodingError": NameMeaning(_K.SERVER_ERROR),
    "JSONDecodeError": NameMeaning(_K.SERVER_ERROR, stage=_S.STREAM),
    "Timeout": NameMeaning(_K.TIMEOUT),
    "SSLError": NameMeaning(_K.NETWORK, "tls", _S.CONNECT),  # also urllib3's
    # urllib3
    "ConnectTimeoutError": NameMeaning(_K.TIMEOUT, stage=_S.CONNECT),
    "ReadTimeoutError": NameMeaning(_K.TIMEOUT),
    "NewConnectionError": NameMeaning(_K.NETWORK, stage=_S.CONNECT),
    "DecodeError": NameMeaning(_K.SERVER_ERROR),
    "ProtocolError": NameMeaning(_K.NETWORK, "reset"),
    "LocalProtocolError": NameMeaning(_K.UNKNOWN),  # httpx's, which has the same parent
    "ResponseError": NameMeaning(_K.SERVER_ERROR),  # its own retries ended with such a status
    # http.client; urllib3 has an error of this name for a cut body too
    "IncompleteRead": NameMeaning(_K.TRUNCATED, "reset", _S.END),
    "RemoteDisconnected": NameMeaning(_K.NETWORK, "reset"),
    "BadStatusLine": NameMeaning(_K.NETWORK, "reset"),
    "UnknownProtocol": NameMeaning(_K.NETWORK, "reset"),
    "LineTooLong": NameMeaning(_K.NETWORK, "reset"),
    # urllib
    "ContentTooShortError": NameMeaning(_K.TRUNCATED, "reset", _S.END),
    # gzip, and zlib's only class
    "BadGzipFile": NameMeaning(_K.SERVER_ERROR),
    "error": NameMeaning(_K.SERVER_ERROR),
}

BODY_READERS = (
    ("httpx._models", "Response.aiter_raw"),
    ("httpx._models", "Response.iter_raw"),
    ("httpx2._models", "Response.aiter_raw"),
    ("httpx2._models", "Response.iter_raw"),
    ("aiohttp.streams", "StreamReader."),
    ("urllib3.response", "HTTPResponse."),
    ("http.client", "HTTPResponse.read"),
    ("http.client", "HTTPResponse.peek"),
)
"""An error while the body is read comes through one of them; nothing else shows this."""

CONNECTERS = (
    ("socket", "create_connection"),
    ("urllib3.util.connection", "create_connection"),
    ("ssl", "SSLSocket.do_handshake"),
)
"""The system's `TimeoutError` while a connection is opened comes through one of them."""

EVENT_READERS = (
    ("._streaming", "ServerSentEvent.json"),
    ("httpx._models", "Response.json"),
    ("httpx2._models", "Response.json"),
)
"""The `ValueError` of an event or a body that is not JSON comes through one of them. The first is
in all SDKs generated like OpenAI's."""

DECOMPRESSORS = (("gzip", ""),)
"""The `EOFError` of a compressed body that was cut comes through it."""

CUT = NameMeaning(FailureKind.TRUNCATED, "reset", Stage.END)
"""The body ended before its end."""

UNREADABLE = NameMeaning(_K.SERVER_ERROR, stage=_S.STREAM)
"""The response is not JSON, or has a shape that the SDK does not know."""

PROVIDER_OF_SDK: Mapping[str, str] = {
    "anthropic": "anthropic",
    "openai": "openai-chat",
    "groq": "groq",
    "cerebras": "cerebras",
    "mistralai": "mistral",
    "google": "gemini",
}

SDKS = frozenset({*PROVIDER_OF_SDK, "litellm", "pydantic_ai", "requests"})

TRANSLATOR = "litellm"
"""It puts its own status on everything, even on a refused connection, and so counts last."""

# Source: the exceptions of openai 3.57, anthropic 2.14, mistralai 3.7, google-genai 2.34, litellm
# 1.110 and pydantic-ai 2.68, read on 2026-11-29. They count if no cause below them says
# more.
BY_SDK: Mapping[str, NameMeaning] = {
    "APITimeoutError": NameMeaning(_K.TIMEOUT),  # litellm's Timeout is one
    "APIConnectionError": NameMeaning(_K.NETWORK),
    "ConnectionError": NameMeaning(_K.NETWORK),  # of requests
    "NoResponseError": NameMeaning(_K.NETWORK, "reset"),
    "APIResponseValidationError": UNREADABLE,
    "ResponseValidationError": UNREADABLE,
    "UnknownApiResponseError": UNREADABLE,
    "ContextWindowExceededError": NameMeaning(_K.CONTEXT_OVERFLOW),
    "ContentPolicyViolationError": NameMeaning(_K.CONTENT_FILTER),
    "ContentFilterFinishReasonError": NameMeaning(_K.CONTENT_FILTER, stage=_S.END),
    "ContentFilterError": NameMeaning(_K.CONTENT_FILTER, stage=_S.END),
    "PaymentRequiredError": NameMeaning(_K.QUOTA),
    "ModelTimeoutError": NameMeaning(_K.TIMEOUT),
    "ModelRequestTimeout": NameMeaning(_K.TIMEOUT),
    "ModelConnectionError": NameMeaning(_K.NETWORK),
    "ModelContextWindowExceededError": NameMeaning(_K.CONTEXT_OVERFLOW),
    "ModelAuthenticationError": NameMeaning(_K.AUTH),
    "ModelNotFoundError": NameMeaning(_K.NOT_FOUND),
    "ModelRequestRejectedError": NameMeaning(_K.BAD_REQUEST),
    "ModelQuotaExceededError": NameMeaning(_K.QUOTA),
    "ModelRateLimitError": NameMeaning(_K.RATE_LIMIT),
    "ModelUnavailableError": NameMeaning(_K.OVERLOADED),
    "ModelServerError": NameMeaning(_K.SERVER_ERROR),
    # The answer reached the limit that the agent set, which is not the provider's fault.
    "OutputTokenLimitExceeded": NameMeaning(_K.UNKNOWN, "max_tokens", _S.END),
    # A whole answer without usable content.
    "UnexpectedModelBehavior": NameMeaning(_K.EMPTY_RESPONSE, stage=_S.END),
}

KNOWN_TO_SDKS = frozenset({_K.CONTEXT_OVERFLOW, _K.CONTENT_FILTER, _K.QUOTA})
"""Kinds that an SDK can recognise in a plain 400."""

SYSTEM: Mapping[str, str] = {
    "ConnectionRefusedError": "refused",
    "gaierror": "no_such_host",
    "SSLError": "tls",
    "ConnectionResetError": "reset",
    "ConnectionAbortedError": "reset",
    "BrokenPipeError": "reset",
}
"""The system's own errors: why a connection failed."""

SYSTEM_NUMBERS: Mapping[int, str] = {
    errno.ECONNREFUSED: "refused",
    errno.ECONNRESET: "reset",
    errno.ECONNABORTED: "reset",
    errno.EPIPE: "reset",
    errno.ESHUTDOWN: "reset",
    errno.ENOTCONN: "reset",
    errno.EMFILE: "no_handles",
    errno.ENFILE: "no_handles",
}
"""The same by number, for classes that a library derives from ``OSError``."""

NETWORK_NUMBERS = frozenset(
    {errno.ENETDOWN, errno.ENETUNREACH, errno.ENETRESET, errno.EHOSTDOWN, errno.EHOSTUNREACH}
)

CANCELLED = frozenset({"CancelledError", "Cancelled", "GeneratorExit"})

BUGS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    NotImplementedError,
    RecursionError,
    SyntaxError,
    TypeError,
)
"""If one of these is raised while another exception is handled, the handling has a bug."""

TEMPORARY = frozenset(
    {
        *(_K.RATE_LIMIT, _K.OVERLOADED, _K.SERVER_ERROR, _K.TIMEOUT, _K.NETWORK),
        *(_K.TRUNCATED, _K.EMPTY_RESPONSE, _K.TOOL_CALL_MALFORMED),
    }
)
"""Kinds that may not happen again when the same request is repeated."""
