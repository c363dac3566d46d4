"""What is wrong with a stream that no error object tells of, as the error to raise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..classify.classify import classify_error_object, has_error_object, shorten
from ..error import ProviderError
from ..failure import Failure, FailureKind, Stage

if TYPE_CHECKING:
    from ..catalog.provider import Provider
    from ..wire_name import Wire


def error_event(value: object, *, provider: Provider | str, wire: Wire) -> ProviderError:
    """Say that the provider sent an error in place of the rest of its answer."""
    failure = classify_error_object(value, provider=provider, wire=wire)
    failure.message = failure.message or "sent an error without a message"
    return ProviderError(failure)


def unreadable(data: bytes) -> ProviderError:
    """Say that an event is not JSON; what stands in it is not repeated."""
    return _server_error(f"sent an event of {len(data)} bytes that is not JSON (invalid JSON)")


def unexpected_shape(
    value: object, error: Exception, *, provider: Provider | str, wire: Wire
) -> ProviderError:
    """Say that an event is JSON of a shape that this wire does not have, but may have an error."""
    if has_error_object(value):
        return error_event(value, provider=provider, wire=wire)
    return _server_error(f"sent an event of a shape that we do not know ({error!r})", error)


def truncated() -> ProviderError:
    """Say that the stream ended before the marker that proves it whole."""
    return _ended(FailureKind.TRUNCATED, "the stream ended before its terminal marker")


def stopped_midway(seconds: float) -> ProviderError:
    """Say that output came after the reason for the end, and no other end after it."""
    return _ended(
        FailureKind.TRUNCATED,
        f"output came after the reason for the end, and then neither more nor an end of it "
        f"within {seconds:g} s",
    )


def failed_stop(kind: FailureKind, stop: str, detail: str = "") -> ProviderError:
    """Say that the model stopped for a reason that is a failure, in the provider's word."""
    said = f": {shorten(detail)}" if detail else ""
    return _ended(kind, f"the model stopped with {stop!r}{said}", code=stop)


def malformed_call(name: str) -> ProviderError:
    """Say that a finished stream holds a call whose arguments cannot be read."""
    return _ended(
        FailureKind.TOOL_CALL_MALFORMED,
        f"the arguments of the call of {name!r} are not a JSON object",
    )


def empty_answer(stop: str | None) -> ProviderError:
    """Say that a stream ended as if all were well, and brought neither text nor a call."""
    return _ended(
        FailureKind.EMPTY_RESPONSE,
        f"the answer ended with {stop!r} and holds neither text nor a call",
    )


def _server_error(message: str, cause: Exception | None = None) -> ProviderError:
    return ProviderError(
        Failure(kind=FailureKind.SERVER_ERROR, message=message, stage=Stage.STREAM, cause=cause)
    )


def _ended(kind: FailureKind, message: str, code: str | None = None) -> ProviderError:
    return ProviderError(Failure(kind=kind, message=message, code=code, stage=Stage.END))
