"""Load the recorded answers of ``fixtures/captures``, to replay them."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..capture import CaptureFile
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
    record = CaptureFile.parse(captures[name].read_bytes())
    assert record is not None  # noqa: S101 - the package's own file
    return Capture(
        name=name,
        status=record.status,
        headers=tuple((key, value) for key, value in record.headers if key not in FRAMING),
        pieces=record.chunks if record.chunks is not None else _pieces(record.body),
        is_stream=record.is_stream,
        is_reset=record.is_reset,
    )


def _captures() -> dict[str, Traversable]:
    return package_data("captures", ".json")


def _pieces(body: bytes) -> tuple[bytes, ...]:
    """Cut *body* after every event."""
    return tuple(re.findall(rb".+?(?:\n\n|\r\n\r\n|\Z)", body, flags=re.DOTALL))
