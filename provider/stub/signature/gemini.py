"""The content that a signature of the stub's Gemini is issued for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def content_of(part: Mapping[str, object], before: str = "") -> object:
    """Return what a signature on *part* covers: a call without its id, or a text.

    Args:
        before: The text of earlier parts of the same content. The signature of a text covers all
            of it, however it is cut into parts.
    """
    call = part.get("functionCall")
    if isinstance(call, dict):
        return ["call", call.get("name"), call.get("args") or {}]
    return ["text", before + str(part.get("text", ""))]
