"""The classification of other libraries' exceptions; it imports none of those libraries.

Classes of different libraries have only their names in common: httpx2 is a fork of httpx, and every
SDK has its own classes. So an exception is recognised by the names of its class and its parents, by
a response that it holds, and by the error number of the operating system.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..error import ProviderError
from ..failure import Failure, FailureKind, Stage
from ..secret import redact_shapes
from . import exception_names, exception_response
from .exception_names import NameMeaning
from .exception_response import CallContext, describe, is_named, peek, roots_of
from .redirect import unreadable_redirect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..catalog.provider import Provider
    from ..route import Route

_NO_HANDLES = "no_handles"
_DEEPEST = 16  # links of a chain of causes that are followed


def classify_exception(
    error: BaseException,
    *,
    route: Route | None = None,
    provider: Provider | None = None,
    now: float | None = None,
) -> Failure:
    """Return the failure behind *error*, an exception of any library.

    The exception itself is read first, then its cause, and so on. A slip while another exception
    was handled, such as a `KeyError`, is a bug, and is not followed to the other exception. One bug
    in a group makes the whole group a bug. Otherwise a failure that would come again counts first,
    then the longest wait, then the first in the group; cancellations count only if alone.

    Returns:
        `FailureKind.UNKNOWN` without a status if no provider and no network does this. What looks
        like a key is redacted.

    Args:
        route: The route that was called; None: the provider is recognised by the SDK, if possible.
        provider: The provider of the route with its configured facts; None: looked up by the route.
        now: Epoch seconds; an HTTP date is counted from it if the response has no ``date``.
    """
    context = CallContext(route=route, provider=provider, now=now)
    failure, is_own = _failure_and_origin(error, context, set())
    failure.route = failure.route or route
    failure.redact(redact_shapes)
    if not is_own:
        failure.cause = error
    return failure


def _failure_and_origin(
    error: BaseException, context: CallContext, seen: set[int]
) -> tuple[Failure, bool]:
    """Return the failure behind *error*, and whether it comes from a `ProviderError` of ours."""
    links: list[BaseException] = []
    for link in _chain(error, seen):
        links.append(link)
        if isinstance(link, ProviderError):
            return link.failure, True
        if isinstance(link, BaseExceptionGroup):
            return _failure_of_group(link, context, seen)
        if _is_translated(link):
            continue
        failure = exception_response.read(link, context) or _transport_failure(link)
        if failure is not None:
            return _with_sdk_meaning(failure, links), False
    for link in reversed(links):
        failure = _sdk_failure(link, context)
        if failure is not None:
            if any(is_named(link, "MidStreamFallbackError") for link in links):
                _move_into_stream(failure)
            return _with_sdk_meaning(failure, links), False
    return Failure(kind=FailureKind.UNKNOWN, message=describe(error)), False


def _chain(error: BaseException, seen: set[int]) -> Iterator[BaseException]:
    """Return *error* and its causes; each only once, and at most 16."""
    waiting = [error]
    while waiting and len(seen) < _DEEPEST:
        link = waiting.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        for name in ("original_exception", "reason"):
            original = peek(link, name)
            if isinstance(original, BaseException):
                waiting.append(original)
        if link.__cause__ is not None:
            waiting.append(link.__cause__)
        elif link.__context__ is not None and not (link.__suppress_context__ or _is_slip(link)):
            waiting.append(link.__context__)


def _is_slip(error: BaseException) -> bool:
    return type(error).__module__ == "builtins" and isinstance(error, exception_names.BUGS)


def _failure_of_group(
    group: BaseExceptionGroup[BaseException],
    context: CallContext,
    seen: set[int],
) -> tuple[Failure, bool]:
    """Return the failure in *group* that counts."""
    failures_and_origins = [
        _failure_and_origin(leaf, context, set(seen)) for leaf in group.exceptions
    ]
    for failure, is_own in failures_and_origins:
        if failure.kind is FailureKind.UNKNOWN and failure.status is None:
            return failure, is_own
    failed = [each for each in failures_and_origins if each[0].kind is not FailureKind.CANCELLED]
    return max(failed or failures_and_origins, key=lambda each: _weight(each[0]))


def _weight(failure: Failure) -> tuple[bool, float]:
    return failure.kind not in exception_names.TEMPORARY, failure.retry_after or 0.0


def _with_sdk_meaning(failure: Failure, links: list[BaseException]) -> Failure:
    """Return *failure* with what the SDK knew when it wrapped the exception."""
    meanings = [meaning for link in links if (meaning := _meaning(link)) is not None]
    if failure.kind is FailureKind.BAD_REQUEST:
        kinds = (
            meaning.kind for meaning in meanings if meaning.kind in exception_names.KNOWN_TO_SDKS
        )
        failure.kind = next(kinds, failure.kind)
    if any(peek(link, "in_stream") is True for link in links):
        _move_into_stream(failure)
    return failure


def _move_into_stream(failure: Failure) -> None:
    """Change *failure* to what our client reports after an answer has begun."""
    if failure.stage is Stage.RESPONSE:
        failure.stage = Stage.STREAM
    if failure.kind is FailureKind.NETWORK:
        failure.kind, failure.stage = FailureKind.TRUNCATED, Stage.END


def _is_translated(error: BaseException) -> bool:
    """True if *error* is a translation, which may say less than the original exception."""
    is_original = exception_names.TRANSPORTS.intersection(roots_of(error))
    root = type(error).__module__.partition(".")[0]
    return root == exception_names.TRANSLATOR and not is_original


def _sdk_failure(error: BaseException, context: CallContext) -> Failure | None:
    """Return the failure that only an SDK's exception shows: by its response or its name."""
    meaning = _meaning(error)
    is_lost = meaning is not None and meaning.kind in {FailureKind.TIMEOUT, FailureKind.NETWORK}
    failure = None if is_lost else exception_response.read(error, context)
    if failure is not None or meaning is None:
        return failure
    return _failure_of_name(error, meaning)


def _meaning(error: BaseException) -> NameMeaning | None:
    if not exception_names.SDKS.intersection(roots_of(error)):
        return None
    meanings = exception_names.BY_SDK
    return next((meanings[name] for name in _names(error) if name in meanings), None)


def _failure_of_name(error: BaseException, meaning: NameMeaning) -> Failure:
    return Failure(
        kind=meaning.kind, message=describe(error), code=meaning.code, stage=meaning.stage
    )


def _transport_failure(error: BaseException) -> Failure | None:
    """Return the failure that a transport or the system reports; None: it reports none."""
    names = _names(error)
    if exception_names.CANCELLED.intersection(names):
        return Failure(kind=FailureKind.CANCELLED, message="cancelled")
    if exception_names.TRANSPORTS.intersection(roots_of(error)):
        meanings = exception_names.BY_TRANSPORT
        meaning = next((meanings[name] for name in names if name in meanings), None)
        if meaning is None:
            return None
        return unreadable_redirect(str(error)) or _failure_of_transport(error, meaning)
    meaning = _meaning_of_own(error)
    return None if meaning is None else _failure_of_transport(error, meaning)


def _meaning_of_own(error: BaseException) -> NameMeaning | None:
    """Return what an exception of Python itself means; None: no network failure caused it."""
    if isinstance(error, TimeoutError):
        is_early = _passed_through(error, exception_names.CONNECTERS)
        return NameMeaning(FailureKind.TIMEOUT, stage=Stage.CONNECT if is_early else Stage.RESPONSE)
    if _passed_through(error, exception_names.EVENT_READERS):
        return exception_names.UNREADABLE
    if isinstance(error, EOFError):
        return (
            exception_names.CUT if _passed_through(error, exception_names.DECOMPRESSORS) else None
        )
    code = _code(error)
    is_network = isinstance(error, OSError) and error.errno in exception_names.NETWORK_NUMBERS
    if code is None and not is_network:
        return None
    stage = Stage.RESPONSE if code == "reset" else Stage.CONNECT
    return NameMeaning(FailureKind.NETWORK, code, stage)


def _failure_of_transport(error: BaseException, meaning: NameMeaning) -> Failure:
    failure = _failure_of_name(error, meaning)
    if failure.kind is FailureKind.NETWORK:
        failure.code = _system_code(error) or failure.code
    if failure.code == _NO_HANDLES:
        # A limit of this machine says nothing of the route, and no other route would do better.
        failure.kind, failure.stage = FailureKind.UNKNOWN, Stage.CONNECT
        failure.message += "; this process has too many open files: raise `ulimit -n`"
        return failure
    is_late = failure.kind is FailureKind.NETWORK or failure.stage is Stage.RESPONSE
    if is_late and _passed_through(error, exception_names.BODY_READERS):
        failure.stage = Stage.RESPONSE
        _move_into_stream(failure)
    return failure


def _passed_through(error: BaseException, functions: tuple[tuple[str, str], ...]) -> bool:
    """True if *error* came up through one of *functions*, in any library that copied it."""
    trace = error.__traceback__
    while trace is not None:
        code, module = trace.tb_frame.f_code, str(trace.tb_frame.f_globals.get("__name__"))
        for file, name in functions:
            if module.endswith(file) and code.co_qualname.startswith(name):
                return True
        trace = trace.tb_next
    return False


def _system_code(error: BaseException) -> str | None:
    """Return the system's reason for a transport's *error*; None: there is none.

    Only the system's error tells a refused connection from a missing host, and httpcore hides it
    behind ``from None``. Other hidden errors belong to an earlier attempt and are not followed.
    """
    waiting = [error]
    for _ in range(_DEEPEST):
        if not waiting:
            return None
        link = waiting.pop(0)
        code = _code(link)
        if code is not None:
            return code
        if isinstance(link, BaseExceptionGroup):
            waiting += link.exceptions
        is_transport = bool(exception_names.TRANSPORTS.intersection(roots_of(link)))
        reason = peek(link, "reason")
        if link.__cause__ is not None:
            waiting.append(link.__cause__)
        elif isinstance(link.__context__, OSError) and is_transport:
            waiting.append(link.__context__)
        elif isinstance(reason, BaseException):
            waiting.append(reason)
        elif link.__context__ is not None and "requests" in roots_of(link):
            waiting.append(link.__context__)
    return None


def _code(error: BaseException) -> str | None:
    meanings = exception_names.SYSTEM
    code = next((meanings[name] for name in _names(error) if name in meanings), None)
    if code is None and isinstance(error, OSError):
        return exception_names.SYSTEM_NUMBERS.get(error.errno or 0)
    return code


def _names(error: BaseException) -> list[str]:
    return [cls.__name__ for cls in type(error).__mro__]
