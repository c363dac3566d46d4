"""What the address says of itself, below ``/_sidestep/``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..step.middleware import Sidestep

JSON = "application/json"
STATUS = "/_sidestep/status"


def page_at(path: str, middleware: Sidestep) -> tuple[str, bytes] | None:
    """Return the content type and the body of the page at *path*; None: there is none."""
    if path != STATUS:
        return None
    return JSON, json.dumps(middleware.status().to_json(), default=str).encode()
