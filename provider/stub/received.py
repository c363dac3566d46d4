"""A request that the stub has received, and how it was answered."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from ..server.call_path import query_of

if TYPE_CHECKING:
    from ..route import Route
    from ..server.connection import HttpRequest
    from .answer import Answer

SECRETS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "x-api-key", "x-goog-api-key", "api-key"}
)
MASK = "***"


@dataclass(slots=True, kw_only=True)
class ReceivedRequest:
    """One received request, and how it was answered.

    Args:
        route: None: the request names no route.
        path: Without the query.
        query: What follows the question mark; the values of secrets are masked.
        at: When it arrived, by the stub's timer, in seconds.
        body: The JSON that was sent; its text if it is not JSON.
        headers: Names in lower case; the values of secrets are masked.
        api_key_env: The variable of its key; None: the scenario does not name the key.
        answer: What the scenario answers; None: the request was refused, or was no model call.
        answered: What was played, as ``503``, ``text``, ``error after 3``, ``cut``.
        closed_by_client: The client left before the answer was complete.
        left: Set when the client leaves before the answer is complete.
        over: Set when the answer has ended, in any way.
    """

    route: Route | None
    method: str
    path: str
    at: float
    body: object
    headers: dict[str, str]
    query: str = ""
    api_key_env: str | None = None
    answer: Answer | None = None
    answered: str = ""
    closed_by_client: bool = False
    left: anyio.Event = field(default_factory=anyio.Event, repr=False, compare=False)
    over: anyio.Event = field(default_factory=anyio.Event, repr=False, compare=False)

    @classmethod
    def of(cls, request: HttpRequest, *, path: str, at: float) -> ReceivedRequest:
        """Return a record of *request*, without its route."""
        return cls(
            route=None,
            method=request.method,
            path=path,
            query=query_of(request.target),
            at=at,
            body=_decoded(request.body or b""),
            headers={
                name: MASK if name in SECRETS else value for name, value in request.headers.items()
            },
        )

    def end(self, has_left: bool) -> None:
        """Record that the answer has ended, and whether the client left before its end."""
        self.closed_by_client = has_left
        if has_left:
            self.left.set()
        self.over.set()

    def as_json(self, *, started_at: float) -> dict[str, object]:
        """Return it as ``GET /_stub/requests`` lists it; ``at`` counts from *started_at*."""
        return {
            "route": self.route,
            "method": self.method,
            "path": self.path,
            "query": self.query,
            "api_key_env": self.api_key_env,
            "at": round(self.at - started_at, 6),
            "answered": self.answered,
            "closed_by_client": self.closed_by_client,
            "headers": self.headers,
            "body": self.body,
        }


def _decoded(body: bytes) -> object:
    text = body.decode(errors="replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
