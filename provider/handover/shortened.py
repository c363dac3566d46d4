"""Texts and arguments that are shortened, because a route takes none as long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..json_value import write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHORTEST = 200
"""Bytes below which no text in arguments is shortened; the arguments are then left out."""


def size_of(text: str) -> int:
    """Return the bytes of *text* in UTF-8; no API counts more."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def shortened_text(text: str, longest: int) -> str:
    """Return *text* in at most *longest* bytes: a note takes the place of its middle.

    >>> len(shortened_text("x" * 1_000, 100))
    100
    """
    if size_of(text) <= longest:
        return text
    raw = text.encode("utf-8", "surrogatepass")
    note = f"\n[... {len(raw) - longest} bytes and more were left out here ...]\n"
    half = (longest - len(note)) // 2
    if half < 1:
        return raw[:longest].decode("utf-8", "ignore")
    return f"{raw[:half].decode('utf-8', 'ignore')}{note}{raw[-half:].decode('utf-8', 'ignore')}"


def shortened_input(given: Mapping[str, Any], longest: int) -> dict[str, Any]:
    """Return *given*, the arguments of a call, in at most *longest* bytes of JSON.

    Its longest texts are shortened; if that is not enough, a note takes the place of all of it.
    """
    made = dict(given)
    limit = longest
    while len(write_json(made)) > longest:
        limit //= 2
        if limit < _SHORTEST:
            return {"note": f"{len(write_json(given))} bytes were left out here"}
        made = {name: _shortened(value, limit) for name, value in given.items()}
    return made


def _shortened(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return shortened_text(value, longest)
    if isinstance(value, dict):
        return {name: _shortened(each, longest) for name, each in value.items()}
    if isinstance(value, list):
        return [_shortened(each, longest) for each in value]
    return value
