"""Exceptions of other libraries to a `Failure`, by their shape: none of them is imported.

One library's classes are not instances of another's: httpx and its fork httpx2 share names
only, and every SDK has its own. So what counts is what a class and its parents are called,
whether an answer hangs on the exception, and the error number of the operating system.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..error import ProviderError
from ..failure import Failure, FailureKind, Stage
from ..secret import masked
from . import exception_names, exception_response
from .exception_names import NameMeaning
from .exception_response import CallContext, is_named, peek, roots_of, worded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..catalog.provider import Provider
    from ..route import Route

_DEEPEST = 16  # links of a chain of causes that are followed


def classify_exception(
    error: BaseException,
    *,
    route: Route | None = None,
    provider: Provider | None = None,
    now: float | None = None,
) -> Failure:
    """Name the failure behind *error*, an exception of any library.

    The exception itself is asked first, then what caused it, and so on; a slip in the handling
    of another exception, such as a `KeyError`, is not followed to that, for it is a bug. In a
    group one bug makes all of it a bug; else the failure counts that would come again, then the
    one with the longest wait, then the first. Cancellations count where nothing else is there.

    Returns:
        `FailureKind.UNKNOWN` without a status for what looks like nothing that a provider or a
        network does. What looks like a key is not repeated, whoever said it.

    Args:
        route: Whose facts to read an answer by; None tells the provider from the SDK, if it can.
        provider: The same, with what the configuration says of it; None looks the route's up.
        now: Epoch seconds, which an HTTP date without an own ``date`` is counted from.
    """
    context = CallContext(route=route, provider=provider, now=now)
    failure, is_own = _name(error, context, set())
    failure.route = failure.route or route
    failure.redact(masked)
    if not is_own:
        failure.cause = error
    return failure


def _name(error: BaseException, context: CallContext, seen: set[int]) -> tuple[Failure, bool]:
    """Name the failure behind *error*, and say whether it is one of ours."""
    links: list[BaseException] = []
    for link in _chain(error, seen):
        links.append(link)
        if isinstance(link, ProviderError):
            return link.failure, True
        if isinstance(link, BaseExceptionGroup):
            return _grouped(link, context, seen)
        if _is_translated(link):
            continue
        failure = exception_response.read(link, context) or _broken(link)
        if failure is not None:
            return _refined(failure, links), False
    for link in reversed(links):
        failure = _translated(link, context)
        if failure is not None:
            if any(is_named(link, "MidStreamFallbackError") for link in links):
                _move_into_stream(failure)
            return _refined(failure, links), False
    return Failure(kind=FailureKind.UNKNOWN, message=worded(error)), False


def _chain(error: BaseException, seen: set[int]) -> Iterator[BaseException]:
    """Go from *error* to its causes; each once, and not for ever."""
    waiting = [error]
    while waiting and len(seen) < _DEEPEST:
        link = waiting.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        original = peek(link, "original_exception")
        if isinstance(original, BaseException):
            waiting.append(original)
        if link.__cause__ is not None:
            waiting.append(link.__cause__)
        elif link.__context__ is not None and not (link.__suppress_context__ or _is_slip(link)):
            waiting.append(link.__context__)


def _is_slip(error: BaseException) -> bool:
    return type(error).__module__ == "builtins" and isinstance(error, exception_names.BUGS)


def _grouped(
    group: BaseExceptionGroup[BaseException],
    context: CallContext,
    seen: set[int],
) -> tuple[Failure, bool]:
    """Choose the failure in *group* that counts."""
    named = [_name(leaf, context, set(seen)) for leaf in group.exceptions]
    for failure, is_own in named:
        if failure.kind is FailureKind.UNKNOWN and failure.status is None:
            return failure, is_own
    failed = [each for each in named if each[0].kind is not FailureKind.CANCELLED]
    return max(failed or named, key=lambda each: _weight(each[0]))


def _weight(failure: Failure) -> tuple[bool, float]:
    return failure.kind not in exception_names.PASSING, failure.retry_after or 0.0


def _refined(failure: Failure, links: list[BaseException]) -> Failure:
    """Add to *failure* what the SDK knew when it wrapped the exception that tells of it."""
    meanings = [meaning for link in links if (meaning := _meaning(link)) is not None]
    if failure.kind is FailureKind.BAD_REQUEST:
        kinds = (meaning.kind for meaning in meanings if meaning.kind in exception_names.REFINED)
        failure.kind = next(kinds, failure.kind)
    if any(peek(link, "in_stream") is True for link in links):
        _move_into_stream(failure)
    return failure


def _move_into_stream(failure: Failure) -> None:
    """Say of a *failure* what our client says where an answer had begun."""
    if failure.stage is Stage.RESPONSE:
        failure.stage = Stage.STREAM
    if failure.kind is FailureKind.NETWORK:
        failure.kind, failure.stage = FailureKind.TRUNCATED, Stage.END


def _is_translated(error: BaseException) -> bool:
    """Say whether *error* is a translation, which may say less than what it was made from."""
    is_original = exception_names.TRANSPORTS.intersection(roots_of(error))
    root = type(error).__module__.partition(".")[0]
    return root == exception_names.TRANSLATOR and not is_original


def _translated(error: BaseException, context: CallContext) -> Failure | None:
    """Read what an SDK alone says, by the name of its exception and then by its status."""
    meaning = _meaning(error)
    is_lost = meaning is not None and meaning.kind in {FailureKind.TIMEOUT, FailureKind.NETWORK}
    failure = None if is_lost else exception_response.read(error, context)
    if failure is not None or meaning is None:
        return failure
    return _meant(error, meaning)


def _meaning(error: BaseException) -> NameMeaning | None:
    if not exception_names.SDKS.intersection(roots_of(error)):
        return None
    known = exception_names.BY_SDK
    return next((known[name] for name in _names(error) if name in known), None)


def _meant(error: BaseException, meaning: NameMeaning) -> Failure:
    return Failure(kind=meaning.kind, message=worded(error), code=meaning.code, stage=meaning.stage)


def _broken(error: BaseException) -> Failure | None:
    """Name what the transport or the system says."""
    names = _names(error)
    if exception_names.CANCELLED.intersection(names):
        return Failure(kind=FailureKind.CANCELLED, message="cancelled")
    if exception_names.TRANSPORTS.intersection(roots_of(error)):
        known = exception_names.BY_TRANSPORT
        meaning = next((known[name] for name in names if name in known), None)
        return None if meaning is None else _transported(error, meaning)
    if isinstance(error, TimeoutError):
        return _transported(error, NameMeaning(FailureKind.TIMEOUT))
    if _passes(error, exception_names.EVENT_READERS):
        return _meant(error, exception_names.UNREADABLE)
    code = _code(error)
    is_network = isinstance(error, OSError) and error.errno in exception_names.NETWORK_NUMBERS
    if code is None and not is_network:
        return None
    stage = Stage.RESPONSE if code == "reset" else Stage.CONNECT
    return Failure(kind=FailureKind.NETWORK, message=worded(error), code=code, stage=stage)


def _transported(error: BaseException, meaning: NameMeaning) -> Failure:
    failure = _meant(error, meaning)
    if failure.kind is FailureKind.NETWORK:
        failure.code = _system_code(error) or failure.code
    if failure.stage is Stage.RESPONSE and _passes(error, exception_names.BODY_READERS):
        _move_into_stream(failure)
    return failure


def _passes(error: BaseException, functions: tuple[tuple[str, str], ...]) -> bool:
    """Say whether *error* came up through one of *functions*, whichever library copied it."""
    trace = error.__traceback__
    while trace is not None:
        code, module = trace.tb_frame.f_code, str(trace.tb_frame.f_globals.get("__name__"))
        for file, name in functions:
            if module.endswith(file) and code.co_qualname.startswith(name):
                return True
        trace = trace.tb_next
    return False


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
        code = _code(link)
        if code is not None:
            return code
        if isinstance(link, BaseExceptionGroup):
            waiting += link.exceptions
        is_transport = bool(exception_names.TRANSPORTS.intersection(roots_of(link)))
        if link.__cause__ is not None:
            waiting.append(link.__cause__)
        elif isinstance(link.__context__, OSError) and is_transport:
            waiting.append(link.__context__)
    return None


def _code(error: BaseException) -> str | None:
    known = exception_names.SYSTEM
    code = next((known[name] for name in _names(error) if name in known), None)
    if code is None and isinstance(error, OSError):
        return exception_names.SYSTEM_NUMBERS.get(error.errno or 0)
    return code


def _names(error: BaseException) -> list[str]:
    return [cls.__name__ for cls in type(error).__mro__]
