"""The deltas of an answer: listeners get each one when it arrives.

The classes are slotted but not frozen, because a frozen instance costs four times as much to make,
and there is one for every delta.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class TextDelta:
    """The next piece of the answer."""

    text: str


@dataclass(slots=True)
class ReasoningDelta:
    """The next piece of the model's thinking."""

    text: str


@dataclass(slots=True)
class ToolCallStarted:
    """The model has begun to write a call."""

    id: str
    name: str


@dataclass(slots=True)
class ToolCallEnded:
    """The model has finished writing a call, with valid arguments; the tool has not run."""

    id: str
    name: str
    input: dict[str, Any]


Delta = TextDelta | ReasoningDelta | ToolCallStarted | ToolCallEnded
