"""What the exceptions of other libraries are called, and what each name means."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, NamedTuple

from ..failure import FailureKind, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping


class NameMeaning(NamedTuple):
    """What the name of a class says went wrong."""

    kind: FailureKind
    code: str | None = None
    stage: Stage = Stage.RESPONSE


_K, _S = FailureKind, Stage

TRANSPORTS = frozenset({"httpx", "httpx2", "httpcore", "httpcore2", "aiohttp"})
"""The packages whose exceptions say what broke on the way."""

# Source: the exception hierarchies of httpx 0.28, httpx2 2.16 and aiohttp 3.14, read on 2026-11-29.
BY_TRANSPORT: Mapping[str, NameMeaning] = {
    "ConnectTimeout": NameMeaning(_K.TIMEOUT, stage=_S.CONNECT),
    "ReadTimeout": NameMeaning(_K.TIMEOUT),
    "WriteTimeout": NameMeaning(_K.TIMEOUT),
    # Our own pool is full; no provider is to blame.
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
}

BODY_READERS = (
    ("httpx._models", "Response.aiter_raw"),
    ("httpx._models", "Response.iter_raw"),
    ("httpx2._models", "Response.aiter_raw"),
    ("httpx2._models", "Response.iter_raw"),
    ("aiohttp.streams", "StreamReader."),
)
"""Through one of them comes what breaks the body: nothing else tells it from a break before."""

EVENT_READERS = (("._streaming", "ServerSentEvent.json"),)
"""Through it comes the `ValueError` of an event that is not JSON, in every SDK of OpenAI's kin."""

UNREADABLE = NameMeaning(_K.SERVER_ERROR, stage=_S.STREAM)
"""The answer is not what the SDK knows, or no JSON."""

PROVIDER_OF_SDK: Mapping[str, str] = {
    "anthropic": "anthropic",
    "openai": "openai-chat",
    "groq": "groq",
    "cerebras": "cerebras",
    "mistralai": "mistral",
    "google": "gemini",
}

SDKS = frozenset({*PROVIDER_OF_SDK, "litellm", "pydantic_ai"})

TRANSLATOR = "litellm"
"""Puts a status of its own on everything, also on a refused connection, and so counts last."""

# Source: the exceptions of openai 3.57, anthropic 2.14, mistralai 3.7, google-genai 2.34, litellm
# 1.110 and pydantic-ai 2.68, read on 2026-11-29. They count where nothing below them on the chain
# of causes tells more.
BY_SDK: Mapping[str, NameMeaning] = {
    "APITimeoutError": NameMeaning(_K.TIMEOUT),  # litellm's Timeout is one
    "APIConnectionError": NameMeaning(_K.NETWORK),
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
    # The answer reached the limit that the agent set: no provider is to blame.
    "OutputTokenLimitExceeded": NameMeaning(_K.UNKNOWN, "max_tokens", _S.END),
    # A whole answer with nothing in it that can be used.
    "UnexpectedModelBehavior": NameMeaning(_K.EMPTY_RESPONSE, stage=_S.END),
}

REFINED = frozenset({_K.CONTEXT_OVERFLOW, _K.CONTENT_FILTER, _K.QUOTA})
"""What an SDK may know of a request that was refused with a plain 400."""

SYSTEM: Mapping[str, str] = {
    "ConnectionRefusedError": "refused",
    "gaierror": "no_such_host",
    "SSLError": "tls",
    "ConnectionResetError": "reset",
    "ConnectionAbortedError": "reset",
    "BrokenPipeError": "reset",
}
"""The system's own errors, which say why a connection failed."""

SYSTEM_NUMBERS: Mapping[int, str] = {
    errno.ECONNREFUSED: "refused",
    errno.ECONNRESET: "reset",
    errno.ECONNABORTED: "reset",
    errno.EPIPE: "reset",
    errno.ESHUTDOWN: "reset",
    errno.ENOTCONN: "reset",
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
"""Raised while another exception was handled, one of these is a slip in the handling."""

PASSING = frozenset(
    {
        *(_K.RATE_LIMIT, _K.OVERLOADED, _K.SERVER_ERROR, _K.TIMEOUT, _K.NETWORK),
        *(_K.TRUNCATED, _K.EMPTY_RESPONSE, _K.TOOL_CALL_MALFORMED),
    }
)
"""What may be over when the same is asked again."""
