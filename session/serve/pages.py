"""What the address says of itself, below ``/_sidestep/``: the page, the status, the metrics."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import anyio

from ...provider.server.call_path import path_of
from ..cost.price import installed_prices
from ..embed.framework import require
from ..telemetry.counts import counts_of
from .recent_steps import RecentSteps

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...provider.server.connection import HttpRequest
    from ..step.middleware import Sidestep

PAGE = "/_sidestep/"
STATUS = f"{PAGE}status"
METRICS = f"{PAGE}metrics"
_FILES = {
    PAGE: ("page.html", "text/html; charset=utf-8"),
    f"{PAGE}page.css": ("page.css", "text/css; charset=utf-8"),
    f"{PAGE}page.js": ("page.js", "text/javascript; charset=utf-8"),
}
_MOST_ROUTES = 100
"""How many routes the metrics name."""
_MOST_SHOWN = 256
"""How many routes and keys the status names, because a client may ask for any number of them."""
_POLICY = "; ".join(
    (
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
        "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    )
)  # fmt: skip
SAFE = (
    ("content-security-policy", _POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cache-control", "no-store"),
)
"""The headers of all that is below `PAGE`: nothing from elsewhere, and nothing for elsewhere."""


@dataclass(frozen=True, slots=True)
class Page:
    """One response."""

    kind: str
    body: bytes
    status: int = 200
    location: str | None = None

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers, but its length."""
        where = () if self.location is None else (("location", self.location),)
        return ("content-type", self.kind), *SAFE, *where


def needs_no_token(head: HttpRequest) -> bool:
    """True if *head* asks for a file of the page, which holds nothing about this address.

    So the page itself can ask a person for the token. It sends the token as clients do.
    """
    return head.method in {"GET", "HEAD"} and path_of(head.target) in {*_FILES, PAGE.rstrip("/")}


class Pages:
    """What one address says of itself.

    Between `open` and `close` it observes *middleware*. The metrics count on afterwards, because
    whoever reads them expects numbers that only grow.
    """

    def __init__(self, middleware: Sidestep) -> None:
        self._middleware = middleware
        self._steps = RecentSteps(middleware.clock)
        counts_of(middleware, middleware.clock, most_routes=_MOST_ROUTES)  # `_collected` reads them
        self._metrics: Callable[[], Page] | None = None

    def open(self) -> None:
        """Observe the steps to come."""
        self._middleware.observe(self._steps)

    def close(self) -> None:
        """Observe no further steps."""
        self._middleware.unobserve(self._steps)

    async def at(self, path: str) -> Page | None:
        """Return the page at *path*; None: there is none."""
        if path == STATUS:
            return await self._status()
        if path == METRICS:
            return self._collected()
        if path == PAGE.rstrip("/"):
            return Page("text/plain; charset=utf-8", PAGE.encode(), 308, location=PAGE)
        return _file(path) if path in _FILES else None

    async def _status(self) -> Page:
        """Return the state of every route, the last steps, and how many were saved."""
        price = await anyio.to_thread.run_sync(installed_prices)  # imports a large package, once
        known = self._middleware.status(most=_MOST_SHOWN)
        status = {
            **known.to_json(),
            "left_out": known.left_out,
            "steps": await anyio.to_thread.run_sync(self._steps.to_json, price),
            "counts": self._steps.counts,
            "knows_prices": price is not None,
        }
        return Page("application/json", json.dumps(status, default=str).encode())

    def _collected(self) -> Page:
        """Return the metrics in the form of Prometheus, or what to install for them."""
        try:
            if self._metrics is None:
                require("prometheus-client", at_least="0.20", extra="prometheus")
                self._metrics = _metrics_of(self._middleware)
            return self._metrics()
        except ImportError as error:
            message = f"there are no metrics, because {error}\n"
            return Page("text/plain; charset=utf-8", message.encode(), 404)


def _metrics_of(middleware: Sidestep) -> Callable[[], Page]:
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

    from ..telemetry.prometheus_collector import collector

    registry = CollectorRegistry()
    registry.register(collector(middleware))
    return lambda: Page(CONTENT_TYPE_LATEST, generate_latest(registry))


@cache
def _file(path: str) -> Page:
    name, kind = _FILES[path]
    return Page(kind, (files(__package__) / "page" / name).read_bytes())
