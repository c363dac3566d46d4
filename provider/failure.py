"""Why an attempt failed, in our own words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

from .cure import Cure
from .recorded_cause import Cause, recorded_cause
from .route import Route


class FailureKind(StrEnum):
    """Why an attempt failed; ``session/step/decision.py`` decides what follows from each."""

    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    NETWORK = "network"
    TRUNCATED = "truncated"
    EMPTY_RESPONSE = "empty_response"
    TOOL_CALL_MALFORMED = "tool_call_malformed"
    QUOTA = "quota"
    AUTH = "auth"
    NOT_FOUND = "not_found"
    BAD_REQUEST = "bad_request"
    REQUEST_TOO_LARGE = "request_too_large"
    HISTORY_REJECTED = "history_rejected"
    CONTEXT_OVERFLOW = "context_overflow"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class Stage(StrEnum):
    """How far an attempt had come when it failed."""

    CONNECT = "connect"
    RESPONSE = "response"
    STREAM = "stream"
    END = "end"


class Scope(StrEnum):
    """What a failure concerns: which other requests would fail as well.

    ROUTE: every request to the route. KEY: every request with the key, to any route of its
    provider. KEY_ON_ROUTE: the requests to the route with this key.
    """

    ROUTE = "route"
    KEY = "key"
    KEY_ON_ROUTE = "key_on_route"


_KEYED = frozenset({FailureKind.RATE_LIMIT, FailureKind.QUOTA, FailureKind.AUTH})
"""Kinds that another key can cure."""


@dataclass(slots=True, kw_only=True)
class Failure:
    """Why one attempt failed.

    Args:
        kind: The word that decides what happens next.
        message: The message of the provider or the transport, shortened, without keys and prompts.
        status: Effective HTTP status: the status of the response, or the one that the type or code
            of an error inside a stream stands for. None: it has none, like a broken connection.
        code: The provider's own code or type; for a broken connection ``refused``,
            ``no_such_host``, ``tls`` or ``reset``.
        retry_after: Seconds that the provider asked us to wait; None: it did not say.
        reset_at: When a quota resets; None: the provider did not say.
        stage: How far the attempt had come.
        route: The route that failed.
        request_id: The provider's id of the request, which its support asks for.
        lacks_capacity: The provider has no capacity for this model, so that another route is faster
            than waiting; or the model cannot take such a step at all, as one without tools.
        should_retry: Whether the provider itself advises a retry; None: it does not say.
        because: What decided on the kind, in words: a type, a code, a status; empty: the message
            says it.
        cure: The change of the request that a refusal asks for; None: it asks for none.
        scope: What the failure concerns, where the provider's words say it; None: they do not. See
            `effective_scope`.
        cause: The exception behind it. A pickle or a copy holds a `RecordedCause` in its place,
            because many exceptions can be neither pickled nor copied.
    """

    kind: FailureKind
    message: str
    status: int | None = None
    code: str | None = None
    retry_after: float | None = None
    reset_at: datetime | None = None
    stage: Stage = Stage.RESPONSE
    route: Route | None = None
    request_id: str | None = None
    lacks_capacity: bool = False
    should_retry: bool | None = None
    because: str = ""
    cure: Cure | None = None
    scope: Scope | None = None
    cause: Cause | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        return None, state | {"cause": recorded_cause(self.cause)}

    def redact(self, hidden: Callable[[str], str]) -> None:
        """Apply *hidden*, which removes keys, to every text from outside."""
        self.message = hidden(self.message)
        self.code = self.code and hidden(self.code)
        self.because = hidden(self.because)
        self.request_id = self.request_id and hidden(self.request_id)

    @property
    def is_unreachable(self) -> bool:
        """Nothing listens there: asking again at once cannot help."""
        return self.kind is FailureKind.NETWORK and self.code in {"refused", "no_such_host"}

    @property
    def effective_scope(self) -> Scope:
        """`scope`; if it is None, what the kind says.

        A rate limit, a quota and a refused key concern the key on its route, all else the route.
        """
        if self.scope is not None:
            return self.scope
        return Scope.KEY_ON_ROUTE if self.kind in _KEYED else Scope.ROUTE

    def __str__(self) -> str:
        status = "" if self.status is None else f" {self.status}"
        return f"{self.kind}{status}: {self.message}"
