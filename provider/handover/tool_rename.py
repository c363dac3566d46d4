"""Names of tools in an answer, from what a provider knows them by to the agent's own."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from ..conversation import ToolCall
from ..delta import ToolCallEnded, ToolCallStarted

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from ..conversation import Part
    from ..delta import Delta


async def rename_deltas(
    deltas: AsyncGenerator[Delta, None], renamed: Mapping[str, str]
) -> AsyncGenerator[Delta, None]:
    """Pass on *deltas*, with the agent's names."""
    async with aclosing(deltas):
        async for delta in deltas:
            if isinstance(delta, ToolCallStarted | ToolCallEnded):
                delta.name = renamed.get(delta.name, delta.name)
            yield delta


def rename_parts(parts: list[Part], renamed: Mapping[str, str]) -> list[Part]:
    """Return *parts* with the agent's names."""
    if not renamed:
        return parts
    return [
        replace(part, name=renamed[part.name])
        if isinstance(part, ToolCall) and part.name in renamed
        else part
        for part in parts
    ]
