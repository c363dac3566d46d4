"""What a conversation has been through that may forbid it to move to another route."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ...provider.route import Route
from ..plan.config import FallbackConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What happened in a conversation before a step, as far as `movePolicy` asks.

    Args:
        holds_calls: There is a tool call or a result of one anywhere in it.
        tools_run: Names of the tools that ran since the user last spoke.
        route: The route that answered last, where a conversation stays that may not move; None:
            the one that is asked for.
    """

    holds_calls: bool = False
    tools_run: Sequence[str] | AbstractSet[str] = ()
    route: Route | None = None


@dataclass(frozen=True, slots=True)
class Pin:
    """Why a conversation may not move.

    Args:
        why: Half a sentence for the person who reads the error.
        tool: The tool that might run twice; None where no single one forbids it.
    """

    why: str
    tool: str | None = None


def pin(past: Past | None, config: FallbackConfig | None) -> Pin | None:
    """Say why a conversation with that *past* may not move; None: it may."""
    if past is None or config is None:
        return None
    if config.move_policy == "first_call" and past.holds_calls:
        return Pin("the conversation holds tool calls, and `movePolicy` is 'first_call'")
    if config.move_policy == "idempotent":
        for tool in past.tools_run:
            if tool not in config.idempotent_tools:
                return Pin(f"the tool {tool!r} had run and is not in `idempotentTools`", tool)
    return None
