"""What the tests of encode share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sidestep import Route
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.conversation import (
    Conversation,
    Image,
    Message,
    Part,
    Text,
    ToolCall,
    ToolSpec,
)
from sidestep.provider.handover.handover import hand_over
from sidestep.provider.handover.target import Target
from sidestep.provider.handover.target_facts import target_of
from sidestep.provider.wire.anthropic.encode import encode

ADAPTIVE = Route("anthropic/claude-sonnet-5")
MANUAL = Route("anthropic/claude-haiku-4-5")
UNTHINKING = Route("anthropic/claude-3-5-haiku-latest")
STRICT = Route("anthropic/claude-fable-5-1")
OTHER = Route("openai/gpt-5")
USER = Message("user", [Text("Read a.py")])
READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {}}})
PIXEL = Image("image/png", "aWNvbg==")


def target(route: Route = ADAPTIVE, **facts: Any) -> Target:
    """What *route* takes, without cache markers, which have tests of their own."""
    return replace(target_of(catalog()[route.provider], route), **{"markers": 0, **facts})


def body_of(
    messages: Sequence[Message] = (USER,), to: Target | None = None, **more: Any
) -> dict[str, Any]:
    return encode(hand_over(Conversation(list(messages), **more), to or target()))


def answer(*parts: Part, route: Route | None = ADAPTIVE) -> Message:
    return Message("assistant", list(parts), route=route)


def call(id_: str = "toolu_1", output: Any = "print(1)", **more: Any) -> ToolCall:
    return ToolCall(id_, "read", {"path": "a.py"}, "completed", output, **more)


def use(id_: str = "toolu_1") -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "read", "input": {"path": "a.py"}}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


THINKING = {"type": "thinking", "thinking": "Hm", "signature": "sig"}
FOREIGN = answer(call("toolu_3"), route=OTHER)
