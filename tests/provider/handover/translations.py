"""What the tests of message_translator share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sidestep import Route
from sidestep.provider.conversation import (
    Conversation,
    Image,
    Message,
    Settings,
    Text,
    ToolCall,
    ToolSpec,
)
from sidestep.provider.handover.handover import Handover, hand_over

from ..conversations import target

if TYPE_CHECKING:
    from sidestep.provider.conversation import Part


CLAUDE = "anthropic/claude-opus-4-8"
CHAT = "openai-chat/gpt-4o"
PICTURE = Image("image/png", "iVBORw0KGgo=")
CALL = ToolCall("call_1", "ls", {}, "completed", "a.py")


def user(*parts: Part | str) -> Message:
    return Message("user", [Text(p) if isinstance(p, str) else p for p in parts])


def answer(*parts: Part | str, route: str | None = None) -> Message:
    told: list[Part] = [Text(p) if isinstance(p, str) else p for p in parts]
    return Message("assistant", told, None if route is None else Route(route))


def moved(to: str, *history: Message, tools: tuple[ToolSpec, ...] = (), **asked: Any) -> Handover:
    return hand_over(Conversation([*history], tools, Settings(**asked)), target(to))
