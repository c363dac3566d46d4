"""What a step needs of a route, and how to derive it from a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from ...provider.conversation import Conversation, Image, Output, Part, Text, ToolCall
from ...provider.route import Route

CHARACTERS_PER_TOKEN = 4
"""Roughly, for English prose and code and most tokenizers."""
IMAGE_TOKENS = 1_500
"""Tokens of a large image at the providers that document it; small images take fewer."""

_PUNCTUATION = 4
"""Characters of JSON around a key and its value; also of a number, a boolean or null."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A token count from the provider of a route.

    Args:
        tokens: Tokens of the first messages of a conversation.
        messages: How many messages were counted.
    """

    tokens: int
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a step needs of a route.

    Args:
        capabilities: Words such as ``tool_calling``, ``images``, ``reasoning``.
        tokens: Estimated tokens of the request and its answer; None: unknown.
        boundary: Where its data may go; None: anywhere.
        counted: Token counts from providers, per route; they replace *tokens* there.
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

        The tokens are an estimate, because no tokenizer fits every route: four characters of text,
        tools, calls and results are one token, an image is 1,500, and the longest answer is
        added. Reasoning is left out, because a swap leaves it behind.

        Fast enough for every step, because it only adds up lengths.

        Args:
            counted: Counts from providers; later messages are estimated.
        """
        messages, settings = conversation.messages, conversation.settings
        sizes = [sum(map(_characters, message.parts)) for message in messages]
        tools = sum(
            len(tool.name) + len(tool.description) + _size(tool.input_schema)
            for tool in conversation.tools
        )
        answer = settings.max_output_tokens or 0
        needed = {
            "tool_calling": bool(conversation.tools),
            "images": any(_has_image(part) for message in messages for part in message.parts),
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


def _has_image(part: Part) -> bool:
    if isinstance(part, ToolCall) and isinstance(part.output, list):
        return any(isinstance(piece, Image) for piece in part.output)
    return isinstance(part, Image)


def _characters(part: Part) -> int:
    """Return the characters of *part* that every route is sent; an image counts as some."""
    if isinstance(part, Text):
        return len(part.text)
    if isinstance(part, ToolCall):
        return len(part.name) + _size(part.input) + _output_characters(part.output)
    return IMAGE_TOKENS * CHARACTERS_PER_TOKEN if isinstance(part, Image) else 0


def _output_characters(output: Output | None) -> int:
    return sum(map(_characters, output)) if isinstance(output, list) else len(output or "")


def _size(value: object) -> int:
    """Return the approximate characters of *value* as JSON, without encoding it."""
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - faster for a dict
        size = _PUNCTUATION * len(value)
        for key, inner in value.items():
            size += len(key) + _size(inner)
        return size
    if isinstance(value, list | tuple):
        return sum(map(_size, value)) + len(value)
    return _PUNCTUATION
