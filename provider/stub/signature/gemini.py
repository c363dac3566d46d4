"""What a signature of the stub's Gemini is issued for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def content_of(part: Mapping[str, object], before: str = "") -> object:
    """Return what a signature on *part* is issued for: a call without its id, or a text.

    Args:
        before: The text that came before it in the same content: the signature of a text is on
            all of it, however it is cut.
    """
    call = part.get("functionCall")
    if isinstance(call, dict):
        return ["call", call.get("name"), call.get("args") or {}]
    return ["text", before + str(part.get("text", ""))]
