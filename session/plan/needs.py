"""What a step needs of a route, and how much of that a conversation tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from ...provider.conversation import Conversation, Image, Output, Part, Text, ToolCall
from ...provider.route import Route

CHARACTERS_PER_TOKEN = 4
"""Roughly: English prose and code, in most vocabularies."""
IMAGE_TOKENS = 1_500
"""What a large picture takes at the providers that say so; small ones take less."""

_PUNCTUATION = 4
"""Characters of JSON beside a key and its value, or for a number or a word without quotes."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What the provider of a route has counted of a conversation.

    Args:
        tokens: What its first messages came to there.
        messages: How many these are.
    """

    tokens: int
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a step needs of a route.

    Args:
        capabilities: Words such as ``tool_calling``, ``images``, ``reasoning``.
        tokens: How large the request and its answer will be, about; None is unknown.
        boundary: Where its data may go; None: anywhere.
        counted: The same as *tokens*, by the count of a route's own provider: for some routes.
    """

    capabilities: frozenset[str] = frozenset()
    tokens: int | None = None
    boundary: str | None = None
    counted: Mapping[Route, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        conversation: Conversation,
        *,
        boundary: str | None = None,
        counted: Mapping[Route, Counted] = {},
    ) -> Self:
        """Return what the next step of *conversation* needs.

        The tokens are an estimate, for no tokenizer fits every route: four characters of what is
        said, of tools, calls and results are one token, a picture is 1,500, and the longest
        answer is added. Reasoning is left out, since it stays behind on a move.

        It looks at every part once, whatever its length, so that it can be called at every step.

        Args:
            counted: What providers have counted of it; what was said since is estimated.
        """
        messages, settings = conversation.messages, conversation.settings
        sizes = [sum(map(_said, message.parts)) for message in messages]
        tools = sum(
            len(tool.name) + len(tool.description) + _size(tool.input_schema)
            for tool in conversation.tools
        )
        answer = settings.max_output_tokens or 0
        needed = {
            "tool_calling": bool(conversation.tools),
            "images": any(_has_picture(part) for message in messages for part in message.parts),
            "reasoning": settings.reasoning not in (None, "none"),
        }
        return cls(
            capabilities=frozenset(word for word, is_needed in needed.items() if is_needed),
            tokens=(sum(sizes) + tools) // CHARACTERS_PER_TOKEN + answer,
            boundary=boundary,
            counted={
                route: each.tokens + sum(sizes[each.messages :]) // CHARACTERS_PER_TOKEN + answer
                for route, each in counted.items()
            },
        )


def _has_picture(part: Part) -> bool:
    if isinstance(part, ToolCall) and isinstance(part.output, list):
        return any(isinstance(piece, Image) for piece in part.output)
    return isinstance(part, Image)


def _said(part: Part) -> int:
    """Return how many characters of *part* every route is sent; a picture stands for some."""
    if isinstance(part, Text):
        return len(part.text)
    if isinstance(part, ToolCall):
        return len(part.name) + _size(part.input) + _answered(part.output)
    return IMAGE_TOKENS * CHARACTERS_PER_TOKEN if isinstance(part, Image) else 0


def _answered(output: Output | None) -> int:
    return sum(map(_said, output)) if isinstance(output, list) else len(output or "")


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
