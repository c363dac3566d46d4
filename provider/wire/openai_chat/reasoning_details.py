"""OpenRouter's ``reasoning_details``: the fragments of a stream, merged into entries.

Source: openrouter.ai/docs (reasoning tokens), read on 2026-11-30.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...json_value import string

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEXT_OF: Mapping[str, str] = MappingProxyType(
    {"reasoning.text": "text", "reasoning.summary": "summary"}
)
"""The field that holds the text, for each type of entry that has one."""


class ReasoningDetails:
    """OpenRouter's ``reasoning_details``: fragments to the entries that must be sent back."""

    def __init__(self) -> None:
        self._entries: list[tuple[dict[str, Any], list[str]]] = []

    def add(self, fragment: Mapping[str, Any]) -> str:
        """Add one fragment, and return its readable thinking."""
        name = _TEXT_OF.get(string(fragment.get("type")))
        text = string(fragment.get(name)) if name else ""
        fields = {key: value for key, value in fragment.items() if value is not None}
        if name and self._continues(fields):
            entry, pieces = self._entries[-1]
            entry.update(fields)
            pieces.append(text)
        else:
            self._entries.append((fields, [text]))
        return text

    def merged(self) -> list[dict[str, Any]]:
        """Return the entries in order, each with its whole text."""
        return [self._whole(fields, pieces) for fields, pieces in self._entries]

    def _continues(self, fields: Mapping[str, Any]) -> bool:
        last = self._entries[-1][0] if self._entries else {}
        return all(fields.get(key) == last.get(key) for key in ("type", "index"))

    def _whole(self, fields: dict[str, Any], pieces: list[str]) -> dict[str, Any]:
        name = _TEXT_OF.get(string(fields.get("type")))
        text = "".join(pieces)
        return {**fields, name: text} if name and (text or name in fields) else dict(fields)
