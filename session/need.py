"""What a step needs of a route, and how much of that a conversation tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ..provider.part import Image, Text, ToolCall

if TYPE_CHECKING:
    from ..provider.part import Conversation, Output, Part

CHARACTERS_PER_TOKEN = 4
IMAGE_TOKENS = 1_500
"""What a large picture takes at the providers that say so; small ones take less."""

_PUNCTUATION = 4
"""Characters of JSON beside a key and its value, or for a number or a word without quotes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a step needs of a route.

    Args:
        capabilities: Words such as ``tool_calling``, ``images``, ``reasoning``.
        tokens: How large the request and its answer will be, about; None is unknown.
        boundary: Where its data may go; None: anywhere.
    """

    capabilities: frozenset[str] = frozenset()
    tokens: int | None = None
    boundary: str | None = None

    @classmethod
    def of(cls, conversation: Conversation, *, boundary: str | None = None) -> Self:
        """Return what the next step of *conversation* needs.

        The tokens are an estimate, for no tokenizer fits every route: four characters of what is
        said, of tools, calls and results are one token, a picture is 1,500, and the longest
        answer is added. Reasoning is left out, since it stays behind on a move.

        It looks at every part once, whatever its length, so that it can be called at every step.
        """
        parts = [part for message in conversation.messages for part in message.parts]
        pictures = sum(map(_pictures, parts))
        characters = sum(map(_said, parts)) + sum(
            len(tool.name) + len(tool.description) + _size(tool.input_schema)
            for tool in conversation.tools
        )
        settings = conversation.settings
        needed = {
            "tool_calling": bool(conversation.tools),
            "images": pictures > 0,
            "reasoning": settings.reasoning not in (None, "none"),
        }
        return cls(
            capabilities=frozenset(word for word, is_needed in needed.items() if is_needed),
            tokens=characters // CHARACTERS_PER_TOKEN
            + pictures * IMAGE_TOKENS
            + (settings.max_output_tokens or 0),
            boundary=boundary,
        )


def _pictures(part: Part) -> int:
    if isinstance(part, ToolCall) and isinstance(part.output, list):
        return sum(isinstance(piece, Image) for piece in part.output)
    return int(isinstance(part, Image))


def _said(part: Part) -> int:
    """Return how many characters of *part* every route is sent."""
    if isinstance(part, Text):
        return len(part.text)
    if not isinstance(part, ToolCall):
        return 0
    return len(part.name) + _size(part.input) + _answered(part.output)


def _answered(output: Output | None) -> int:
    if isinstance(output, list):
        return sum(len(piece.text) for piece in output if isinstance(piece, Text))
    return len(output or "")


def _size(value: object) -> int:
    """Return the characters of *value* as JSON, about, without writing it."""
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - dicts are quicker
        size = _PUNCTUATION * len(value)
        for key, inner in value.items():
            size += len(key) + _size(inner)
        return size
    if isinstance(value, list | tuple):
        return sum(map(_size, value)) + len(value)
    return _PUNCTUATION
