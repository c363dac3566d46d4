"""What the errors that clients get have in common on all wires: status, headers and kinds."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ..failure import FailureKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..failure import Failure

JSON_TYPE = "application/json"
EVENTS_TYPE = "text/event-stream; charset=utf-8"

_STATUSES: Mapping[FailureKind, int] = MappingProxyType(
    {
        FailureKind.RATE_LIMIT: 429,
        FailureKind.OVERLOADED: 503,
        FailureKind.SERVER_ERROR: 500,
        FailureKind.TIMEOUT: 504,
        FailureKind.NETWORK: 502,
        FailureKind.TRUNCATED: 502,
        FailureKind.EMPTY_RESPONSE: 502,
        FailureKind.TOOL_CALL_MALFORMED: 502,
        FailureKind.QUOTA: 402,
        FailureKind.AUTH: 401,
        FailureKind.NOT_FOUND: 404,
        FailureKind.BAD_REQUEST: 400,
        FailureKind.REQUEST_TOO_LARGE: 413,
        FailureKind.HISTORY_REJECTED: 400,
        FailureKind.CONTEXT_OVERFLOW: 400,
        FailureKind.CONTENT_FILTER: 400,
        FailureKind.REFUSAL: 400,
        FailureKind.CANCELLED: 499,
        FailureKind.UNKNOWN: 500,
    }
)
"""The status of each kind, if the provider's answer has none that means an error."""


class Refusal(NamedTuple):
    """A response to a request that got no answer."""

    status: int
    headers: dict[str, str]
    body: bytes


def status_of(failure: Failure) -> int:
    """Return the status for *failure*: the provider's own, if it is one of an error.

    An overflow always has the status from which clients compact.
    """
    status = failure.status
    is_error = status is not None and 400 <= status <= 599
    if status is None or not is_error or failure.kind is FailureKind.CONTEXT_OVERFLOW:
        return _STATUSES[failure.kind]
    return status


def headers_of(failure: Failure, content_type: str = JSON_TYPE) -> dict[str, str]:
    """Return the headers of a response for *failure*, with how long a client should wait."""
    headers = {"content-type": content_type}
    if (seconds := seconds_to_wait(failure)) is not None:
        headers["retry-after"] = str(seconds)
    if failure.should_retry is False:
        headers["x-should-retry"] = "false"
    return headers


def seconds_to_wait(failure: Failure) -> int | None:
    """Return the whole seconds that a client should wait; None: nothing says how long."""
    wait = failure.retry_after
    return None if wait is None or not math.isfinite(wait) else max(1, math.ceil(wait))


def overflow_message(failure: Failure, words: str) -> str:
    """Return a message with *words*, from which clients know that they must compact."""
    message = failure.message
    if not message:
        return words
    return message if words.rstrip(".") in message else f"{words} ({message})"
