"""A capture: one recorded answer as a JSON file, such as those in ``fixtures/captures``."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .error import ConfigError
from .json_value import mapping, read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureFile:
    """What a capture holds.

    Args:
        status: The HTTP status of the answer.
        provider: The provider that answered; empty if the file does not name it.
        headers: Names and values, in the order of the file.
        body: The whole body.
        chunks: The body in the pieces in which it arrived; None: nobody recorded them.
        is_stream: It answers a request for a stream.
        is_reset: The connection was reset after the last byte.
    """

    status: int
    provider: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    chunks: tuple[bytes, ...] | None
    is_stream: bool
    is_reset: bool

    @classmethod
    def parse(cls, content: bytes) -> CaptureFile | None:
        """Return the capture in *content*; None: it is not one, but perhaps another recording.

        Raises:
            ConfigError: A field has a value that is not allowed.
        """
        fields = _fields(content)
        if fields is None:
            return None
        _check(fields)
        chunks = _chunks(fields.get("chunks_b64"))
        headers = mapping(fields.get("headers"))
        return cls(
            status=fields["status"],
            provider=fields.get("provider") or "",
            headers=tuple((name, str(value)) for name, value in headers.items()),
            body=_body(fields["body"]) if chunks is None else b"".join(chunks),
            chunks=chunks,
            is_stream=fields.get("kind") == "sse",
            is_reset=fields.get("eof") == "reset",
        )


def _fields(content: bytes) -> Mapping[str, Any] | None:
    """Return the JSON in *content* if it has a status, and a body or chunks."""
    try:
        value = mapping(read_json(content))
    except ValueError:
        return None
    return value if "status" in value and ("body" in value or "chunks_b64" in value) else None


def _check(fields: Mapping[str, Any]) -> None:
    status = fields["status"]
    if not isinstance(status, int) or isinstance(status, bool) or not 100 <= status <= 999:
        raise ConfigError(
            f"`status` of a capture must be a whole number from 100 to 999, got {status!r}"
        )
    for name, kind, form in (("provider", str, "a string"), ("headers", dict, "an object")):
        value = fields.get(name)
        if value is not None and not isinstance(value, kind):
            raise ConfigError(f"`{name}` of a capture must be {form}, got {value!r}")
    if fields.get("eof") not in (None, "clean", "reset"):
        raise ConfigError(f"`eof` of a capture must be 'clean' or 'reset', got {fields['eof']!r}")


def _body(body: object) -> bytes:
    """Return *body* as bytes; a body that stands there as JSON is written out again."""
    return body.encode("utf-8", "replace") if isinstance(body, str) else write_json(body)


def _chunks(chunks: Any) -> tuple[bytes, ...] | None:
    if chunks is None:
        return None
    try:
        return tuple(base64.b64decode(chunk, validate=True) for chunk in chunks)
    except (TypeError, ValueError):
        raise ConfigError("`chunks_b64` of a capture must be a list of base64 strings") from None
