"""Load the recorded answers of ``fixtures/captures``, to replay them."""

from __future__ import annotations

import base64
import difflib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..error import ConfigError
from ..package_data import package_data

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

FRAMING = frozenset({"connection", "content-length", "transfer-encoding"})
"""Headers that the stub writes itself."""


@dataclass(frozen=True, slots=True)
class Capture:
    """One recorded answer.

    Args:
        pieces: The body; each piece is written in one flush.
        is_stream: It answers a request for a stream.
        is_reset: The connection was reset after the last byte.
    """

    name: str
    status: int
    headers: tuple[tuple[str, str], ...]
    pieces: tuple[bytes, ...]
    is_stream: bool
    is_reset: bool


def capture_names() -> list[str]:
    """Return the names of all captures in the package."""
    return list(_captures())


def load_capture(name: str) -> Capture:
    """Return the capture called *name*.

    Raises:
        ConfigError: There is no capture of that name.
    """
    captures = _captures()
    if name not in captures:
        near = ", ".join(map(repr, difflib.get_close_matches(name, captures, n=3, cutoff=0.5)))
        hint = f"did you mean {near}?" if near else "see fixtures/captures for the names"
        raise ConfigError(f"there is no capture {name!r}: {hint}")
    record = json.loads(captures[name].read_text(encoding="utf-8"))
    return Capture(
        name=name,
        status=record["status"],
        headers=tuple(
            (key, value) for key, value in record["headers"].items() if key not in FRAMING
        ),
        pieces=_pieces(record["body"], record.get("chunks_b64")),
        is_stream=record["kind"] == "sse",
        is_reset=record.get("eof") == "reset",
    )


def _captures() -> dict[str, Traversable]:
    return package_data("captures", ".json")


def _pieces(body: str, chunks: list[str] | None) -> tuple[bytes, ...]:
    """Cut *body* as it was received; without *chunks* after every event."""
    if chunks is not None:
        return tuple(base64.b64decode(chunk) for chunk in chunks)
    return tuple(re.findall(rb".+?(?:\n\n|\r\n\r\n|\Z)", body.encode(), flags=re.DOTALL))
