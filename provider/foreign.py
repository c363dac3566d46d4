"""Exceptions of other libraries to a `Failure`, by their shape: none of them is imported.

One library's classes are not instances of another's: httpx and its fork httpx2 share names
only, and every SDK has its own. So what counts is what a class and its parents are called,
whether an answer hangs on the exception, and the error number of the operating system.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from .catalog import catalog
from .classify import classify_error_object, classify_response, shorten
from .error import ProviderError
from .failure import Failure, FailureKind, Stage
from .wire import write_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .route import Route
    from .wire import Wire

_DEEPEST = 16  # links of a chain of causes that are followed

_CANCELLED = frozenset({"CancelledError", "Cancelled"})
_TRANSPORTS = frozenset({"httpx", "httpx2", "httpcore", "httpcore2"})

_K, _S = FailureKind, Stage

# Source: the exception hierarchies of httpx 0.28 and httpx2 2.16.
_TRANSPORT: Mapping[str, tuple[FailureKind, str | None, Stage]] = {
    "ConnectTimeout": (_K.TIMEOUT, None, _S.CONNECT),
    "ReadTimeout": (_K.TIMEOUT, None, _S.RESPONSE),
    "WriteTimeout": (_K.TIMEOUT, None, _S.RESPONSE),
    # Our own pool is full; no provider is to blame.
    "PoolTimeout": (_K.UNKNOWN, "pool_timeout", _S.CONNECT),
    "ConnectError": (_K.NETWORK, None, _S.CONNECT),
    "ProxyError": (_K.NETWORK, None, _S.CONNECT),
    "ReadError": (_K.NETWORK, "reset", _S.RESPONSE),
    "WriteError": (_K.NETWORK, "reset", _S.RESPONSE),
    "CloseError": (_K.NETWORK, "reset", _S.RESPONSE),
    "RemoteProtocolError": (_K.NETWORK, "reset", _S.RESPONSE),
    "DecodingError": (_K.SERVER_ERROR, None, _S.RESPONSE),
}

# The system's own errors, which say why a connection failed.
_SYSTEM: Mapping[str, str] = {
    "ConnectionRefusedError": "refused",
    "gaierror": "no_such_host",
    "SSLError": "tls",
    "ConnectionResetError": "reset",
    "ConnectionAbortedError": "reset",
    "BrokenPipeError": "reset",
}

_NETWORK_ERRNOS = frozenset(
    {errno.ENETDOWN, errno.ENETUNREACH, errno.ENETRESET, errno.EHOSTDOWN, errno.EHOSTUNREACH}
)

_PROVIDER_OF_SDK: Mapping[str, str] = {
    "anthropic": "anthropic",
    "openai": "openai-chat",
    "groq": "groq",
    "cerebras": "cerebras",
    "mistralai": "mistral",
}


def classify_exception(
    error: BaseException, *, route: Route | None = None, now: float | None = None
) -> Failure:
    """Name the failure behind *error*, an exception of any library.

    The exception itself is asked first, then what caused it, and so on. `FailureKind.UNKNOWN`
    without a status means that it looks like nothing that a provider or a network does.

    Args:
        route: Whose facts to read an answer by; None tells the provider from the SDK, if it can.
        now: Epoch seconds, which an HTTP date without an own ``date`` is counted from.
    """
    for link in _chain(error):
        failure = _own(link) or _answered(link, route, now) or _told(link, route) or _broken(link)
        if failure is not None:
            failure.route = failure.route or route
            if not isinstance(link, ProviderError):
                failure.cause = error
            return failure
    return Failure(kind=FailureKind.UNKNOWN, message=_worded(error), route=route, cause=error)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Go from *error* to its causes, also through groups; each once, and not for ever."""
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < _DEEPEST:
        link = waiting.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            waiting += link.exceptions
        if link.__cause__ is not None:
            waiting.append(link.__cause__)
        elif link.__context__ is not None and not link.__suppress_context__:
            waiting.append(link.__context__)


def _own(error: BaseException) -> Failure | None:
    return error.failure if isinstance(error, ProviderError) else None


def _answered(error: BaseException, route: Route | None, now: float | None) -> Failure | None:
    """Read the answer that hangs on the exception of an SDK, if one does."""
    response = _peek(error, "response")
    status = _peek(error, "status_code")
    if not _is_status(status):
        status = _peek(response, "status_code")
    if not isinstance(status, int) or not _is_status(status):
        return None
    body = _body(error, response)
    provider, wire = _speaker(error, route, body)
    failure = classify_response(
        status, _headers(error, response), body, provider=provider, wire=wire, route=route, now=now
    )
    if not body:
        failure.message = _worded(error)
    named = _peek(error, "request_id")
    failure.request_id = failure.request_id or (named if isinstance(named, str) else None)
    return failure


def _told(error: BaseException, route: Route | None) -> Failure | None:
    """Read the error object that an SDK found inside a stream, whose own status was 200."""
    body = _peek(error, "body")
    if not isinstance(body, Mapping) or not (body.get("error") or body.get("message")):
        return None
    provider, wire = _speaker(error, route, _body(error, None))
    return classify_error_object(body, provider=provider, wire=wire, route=route)


def _is_status(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 300 <= value <= 599


def _headers(*owners: object) -> dict[str, str]:
    for owner in owners:
        headers = _peek(owner, "headers")
        if isinstance(headers, Mapping):
            return {str(name).lower(): str(value) for name, value in headers.items()}
    return {}


def _body(error: BaseException, response: object) -> bytes:
    """Return the answer's body as it came; an SDK may keep only what it has parsed."""
    for value in (
        _peek(response, "content"),
        _peek(error, "body"),
        _peek(response, "text"),
    ):
        if isinstance(value, bytes | str) and value:
            return value if isinstance(value, bytes) else value.encode("utf-8", "replace")
        if isinstance(value, Mapping):
            with suppress(Exception):
                return write_json(dict(value))
    return b""


def _speaker(error: BaseException, route: Route | None, body: bytes) -> tuple[str, Wire]:
    """Tell whose answer it is: the route's provider, or else that of the SDK."""
    name = route.provider if route is not None else ""
    if not name:
        name = next((_PROVIDER_OF_SDK.get(root, "") for root in _roots(error)), "")
    known = catalog().get(name)
    if known is not None:
        return known.name, known.wire
    is_anthropic = b'"type":"error"' in body.replace(b" ", b"")
    return name, "anthropic" if is_anthropic else "openai-chat"


def _broken(error: BaseException) -> Failure | None:
    """Name what the transport says."""
    names = [cls.__name__ for cls in type(error).__mro__]
    if _CANCELLED.intersection(names):
        return Failure(kind=FailureKind.CANCELLED, message="cancelled")
    if _TRANSPORTS.intersection(_roots(error)):
        known = next((_TRANSPORT[name] for name in names if name in _TRANSPORT), None)
        return None if known is None else _transported(error, *known)
    if isinstance(error, TimeoutError):
        return Failure(kind=FailureKind.TIMEOUT, message=_worded(error))
    is_network = isinstance(error, OSError) and error.errno in _NETWORK_ERRNOS
    code = _code_in(names)
    if code is None and not is_network:
        return None
    stage = Stage.RESPONSE if code == "reset" else Stage.CONNECT
    return Failure(kind=FailureKind.NETWORK, message=_worded(error), code=code, stage=stage)


def _transported(
    error: BaseException, kind: FailureKind, code: str | None, stage: Stage
) -> Failure:
    if kind is FailureKind.NETWORK:
        code = _system_code(error) or code
    return Failure(kind=kind, message=_worded(error), code=code, stage=stage)


def _system_code(error: BaseException) -> str | None:
    """Return why the connection of a transport's *error* failed, as the system says it.

    httpcore hides the system's error, which alone tells a refusal from a missing host, behind
    ``from None``. What else hides there is the error of an earlier attempt, and not followed.
    """
    waiting = [error]
    for _ in range(_DEEPEST):
        if not waiting:
            return None
        link = waiting.pop(0)
        code = _code_in([cls.__name__ for cls in type(link).__mro__])
        if code is not None:
            return code
        if isinstance(link, BaseExceptionGroup):
            waiting += link.exceptions
        if link.__cause__ is not None:
            waiting.append(link.__cause__)
        elif isinstance(link.__context__, OSError) and _TRANSPORTS.intersection(_roots(link)):
            waiting.append(link.__context__)
    return None


def _code_in(names: list[str]) -> str | None:
    return next((_SYSTEM[name] for name in names if name in _SYSTEM), None)


def _roots(error: BaseException) -> list[str]:
    return [cls.__module__.partition(".")[0] for cls in type(error).__mro__]


def _worded(error: BaseException) -> str:
    said = ""
    with suppress(Exception):
        said = shorten(str(error))
    name = type(error).__name__
    return f"{name}: {said}" if said else name


def _peek(owner: object, name: str) -> object:
    """Return an attribute; None where there is none, or where reading it fails."""
    with suppress(Exception):
        return getattr(owner, name, None)
    return None
