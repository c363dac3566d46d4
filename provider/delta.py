"""What an attempt brings while it lasts; a listener gets these as they come.

They are slotted but not frozen: one is made for every delta, and a frozen one costs four
times as much to build.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class TextDelta:
    """A further piece of the answer."""

    text: str


@dataclass(slots=True)
class ReasoningDelta:
    """A further piece of the model's thinking."""

    text: str


@dataclass(slots=True)
class ToolCallStarted:
    """The model began to write a tool call."""

    id: str
    name: str


@dataclass(slots=True)
class ToolCallEnded:
    """A tool call is closed, with valid arguments."""

    id: str
    name: str
    input: dict[str, Any]


Delta = TextDelta | ReasoningDelta | ToolCallStarted | ToolCallEnded
