"""A whole answer of any route, as the writers of all wires get it, and what they share."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ..conversation import Reasoning, Text, ToolCall, Usage
from .stop_word import is_cut, plain_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..conversation import ModelPart, Part
    from ..wire_name import Wire

End = Literal["end", "calls", "cut", "stop_sequence"]
"""Why an answer ended: by itself, with calls of tools, at its longest, or at a word that the
request named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer, to be written for a client.

    Args:
        parts: The parts as the decoder of its route returned them.
        wire: The wire of the route that answered. Proofs on its reasoning can be shown on the same
            wire only, and its counts of tokens are in the sense of this wire.
        stop: Why the model stopped, in that provider's own word.
    """

    parts: Sequence[Part]
    wire: Wire
    stop: str | None = None
    usage: Usage = field(default_factory=Usage)

    @property
    def end(self) -> End:
        """Why the answer ended."""
        if is_cut(self.stop):
            return "cut"
        if any(isinstance(part, ToolCall) for part in self.parts):
            return "calls"
        is_at_word = plain_word(self.stop or "").casefold() == "stop_sequence"
        return "stop_sequence" if is_at_word else "end"

    @property
    def model_parts(self) -> list[ModelPart]:
        """The parts that a model can write."""
        return [part for part in self.parts if isinstance(part, Text | Reasoning | ToolCall)]

    @property
    def counts(self) -> Counts:
        """The tokens of the answer, whatever its wire counts together."""
        usage = self.usage
        read, written = usage.cache_read or 0, usage.cache_write or 0
        whole = usage.input or 0
        cached = read + written if self.wire != "anthropic" else 0
        return Counts(max(0, whole - cached), usage.output or 0, read, written)


@dataclass(frozen=True, slots=True)
class Counts:
    """Tokens of an answer; 0 also where the provider did not count.

    Args:
        input: Tokens of the prompt that were neither read from the cache nor written to it.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def prompt(self) -> int:
        """All tokens of the prompt."""
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        return self.prompt + self.output


def new_id(prefix: str) -> str:
    """Return a new id in the form that many APIs use."""
    return prefix + os.urandom(12).hex()
