"""What the stub remembers of a request."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from ..route import Route
    from .connection import HttpRequest

SECRETS = frozenset({"authorization", "proxy-authorization", "cookie"} | {"x-api-key", "api-key"})
MASK = "***"


@dataclass(slots=True, kw_only=True)
class Received:
    """One request that came, and what became of it.

    Args:
        route: None where the request names none.
        path: Without the query.
        at: When it came, by the stub's timer, in seconds.
        body: The JSON that was sent, or else its text.
        headers: Names in lower case; of a secret only that it was there.
        answered: What was played, as ``503``, ``text``, ``error after 3``, ``cut``.
        closed_by_client: The client left before the answer was complete.
        left: Set when it does.
        over: Set when the answer is over, however it ended.
    """

    route: Route | None
    method: str
    path: str
    at: float
    body: object
    headers: dict[str, str]
    answered: str = ""
    closed_by_client: bool = False
    left: anyio.Event = field(default_factory=anyio.Event, repr=False, compare=False)
    over: anyio.Event = field(default_factory=anyio.Event, repr=False, compare=False)

    @classmethod
    def of(cls, request: HttpRequest, *, path: str, at: float) -> Received:
        """Note down *request*, whose route is not known yet."""
        return cls(
            route=None,
            method=request.method,
            path=path,
            at=at,
            body=_decoded(request.body or b""),
            headers={
                name: MASK if name in SECRETS else value for name, value in request.headers.items()
            },
        )

    def end(self, has_left: bool) -> None:
        """Note that the answer is over, and whether the client left before its end."""
        self.closed_by_client = has_left
        if has_left:
            self.left.set()
        self.over.set()

    def as_json(self, *, started_at: float) -> dict[str, object]:
        """What ``GET /_stub/requests`` says of it; ``at`` counts from *started_at*."""
        return {
            "route": self.route,
            "method": self.method,
            "path": self.path,
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
