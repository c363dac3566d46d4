"""Time that tests move, shared by the tests of the engine."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio.lowlevel


@dataclass
class VirtualClock:
    """Time that moves only when a test or a sleep moves it, in seconds."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await anyio.lowlevel.checkpoint()
