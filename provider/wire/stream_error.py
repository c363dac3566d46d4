"""The errors of a stream, as exceptions to raise."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..classify.classify import classify_error_object, has_error_object, shorten
from ..classify.report import error_body
from ..error import ProviderError
from ..failure import Failure, FailureKind, Stage

_READ = 65_536
_LABEL = re.compile(r"\W{0,3}(?:error|err|exception|failed)\W{0,4}(?=\{)", re.IGNORECASE)
"""What some servers write before an error in an event."""

if TYPE_CHECKING:
    from ..catalog.provider import Provider
    from ..wire_name import Wire


def error_event(value: object, *, provider: Provider | str, wire: Wire) -> ProviderError:
    """Return the error that the provider sent in place of the rest of its answer."""
    failure = classify_error_object(value, provider=provider, wire=wire)
    failure.message = failure.message or "sent an error without a message"
    return ProviderError(failure)


def unreadable(data: bytes, provider: Provider | str, wire: Wire) -> ProviderError:
    """Return the error for an event that is not JSON; read an error that follows a few words.

    Otherwise its content is not repeated.
    """
    words = data[:_READ].decode("utf-8", "replace")
    if (found := _LABEL.match(words)) is not None and (body := error_body(words, found.end())):
        return error_event({"error": body}, provider=provider, wire=wire)
    return _server_error(f"sent an event of {len(data)} bytes that is not JSON (invalid JSON)")


def no_answer(body: bytes) -> ProviderError:
    """Return the error for a *body* in place of a JSON object; its content is not repeated."""
    start = body.lstrip()[:1]
    if not start or start == b"{":
        what = "an empty body" if not start else f"the first {len(body)} bytes of an answer"
        return _end_error(FailureKind.TRUNCATED, f"sent only {what}")
    return _server_error(f"sent {len(body)} bytes that are no JSON object in place of an answer")


def unexpected_shape(
    value: object, error: Exception, *, provider: Provider | str, wire: Wire
) -> ProviderError:
    """Return the error for an event that this wire does not have, or the error that it reports."""
    if has_error_object(value):
        return error_event(value, provider=provider, wire=wire)
    return _server_error(f"sent an event of a shape that we do not know ({error!r})", error)


def too_large(what: str, limit: int) -> ProviderError:
    """Return the error for *what* of a stream if it has more than *limit* bytes.

    A retry would most likely bring the same.
    """
    error = _server_error(
        f"sent {what} of more than {limit // 1_048_576} MiB, which was not read further"
    )
    error.failure.should_retry = False
    return error


def truncated() -> ProviderError:
    """Return the error for a stream that ended before its terminal marker."""
    return _end_error(FailureKind.TRUNCATED, "the stream ended before its terminal marker")


def stopped_midway(seconds: float) -> ProviderError:
    """Return the error for output after the stop reason, without another stop reason after it."""
    return _end_error(
        FailureKind.TRUNCATED,
        f"output came after the reason for the end, and then neither more nor an end of it "
        f"within {seconds:g} s",
    )


def failed_stop(kind: FailureKind, stop: str, detail: str = "") -> ProviderError:
    """Return the error for a stop reason that means failure, in the provider's word."""
    more = f": {shorten(detail)}" if detail else ""
    return _end_error(kind, f"the model stopped with {stop!r}{more}", code=stop)


def malformed_call(name: str) -> ProviderError:
    """Return the error for a finished stream with a call that has unreadable arguments."""
    return _end_error(
        FailureKind.TOOL_CALL_MALFORMED,
        f"the arguments of the call of {name!r} are not a JSON object",
    )


def empty_answer(stop: str | None) -> ProviderError:
    """Return the error for a stream that ended normally without text or a call."""
    return _end_error(
        FailureKind.EMPTY_RESPONSE,
        f"the answer ended with {stop!r} and holds neither text nor a call",
    )


def _server_error(message: str, cause: Exception | None = None) -> ProviderError:
    return ProviderError(
        Failure(kind=FailureKind.SERVER_ERROR, message=message, stage=Stage.STREAM, cause=cause)
    )


def _end_error(kind: FailureKind, message: str, code: str | None = None) -> ProviderError:
    return ProviderError(Failure(kind=kind, message=message, code=code, stage=Stage.END))
