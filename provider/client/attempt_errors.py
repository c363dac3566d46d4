"""Where an attempt failed, said without its key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..classify.classify import request_id_of
from ..error import ProviderError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..failure import Failure
    from ..route import Route
    from ..secret import Secret


class AttemptErrors:
    """Make the errors of one attempt: each names its route and its request, and holds no key.

    Attributes:
        headers: Those of the answer, once there is one.
    """

    __slots__ = ("_route", "_secret", "headers")

    def __init__(self, route: Route, secret: Secret) -> None:
        self._route = route
        self._secret = secret
        self.headers: Mapping[str, str] = {}

    def error(self, failure: Failure, *, request_id: str | None = None) -> ProviderError:
        """Complete *failure*, and return what raises it.

        Args:
            request_id: The provider's id of the request, where only the stream has named it.
        """
        failure.route = self._route
        failure.request_id = failure.request_id or request_id_of(self.headers) or request_id
        failure.redact(self._secret.hidden_in)
        failure.cause = self.quotable(failure.cause)
        return ProviderError(failure)

    def quotable(self, error: BaseException | None) -> BaseException | None:
        """Return *error* where it may be chained to what is raised; else None."""
        return self._secret.quotable(error)
