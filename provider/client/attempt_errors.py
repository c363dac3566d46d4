"""The errors of one attempt, without its key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..classify.classify import request_id_of
from ..error import ProviderError
from ..failure import FailureKind, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..catalog.provider import Timeouts
    from ..failure import Failure
    from ..route import Route
    from ..secret import Secret


class AttemptErrors:
    """Makes the errors of one attempt, each with its route and request id, and without the key.

    Attributes:
        headers: The headers of the response, once there is one.
    """

    __slots__ = ("_route", "_secret", "headers")

    def __init__(self, route: Route | None, secret: Secret) -> None:
        self._route = route
        self._secret = secret
        self.headers: Mapping[str, str] = {}

    def error(self, failure: Failure, *, request_id: str | None = None) -> ProviderError:
        """Return the error to raise for *failure*, which gets its route and request id.

        Args:
            request_id: The provider's id of the request, if only the stream names it.
        """
        failure.route = self._route
        failure.request_id = failure.request_id or request_id_of(self.headers) or request_id
        failure.redact(self._secret.redact)
        failure.cause = self.printable_error(failure.cause)
        return ProviderError(failure)

    def printable_error(self, error: BaseException | None) -> BaseException | None:
        """Return *error* if it holds no key, so that it can be chained; else None."""
        return self._secret.printable_error(error)


def name_connect_limit(failure: Failure, timeouts: Timeouts) -> None:
    """Say in *failure* how long a connection was waited for, if that is why it failed."""
    if failure.kind is FailureKind.TIMEOUT and failure.stage is Stage.CONNECT:
        failure.message = f"no connection within {timeouts.connect:g} s (`connect`)"
