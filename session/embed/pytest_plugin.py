"""Fixtures for the tests of an agent, which pytest finds by itself where sidestep is installed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .testing import Answer, PlayedStub, VirtualClock

    Play = Callable[..., AbstractAsyncContextManager[PlayedStub]]


@pytest.fixture
def sidestep_clock(monkeypatch: pytest.MonkeyPatch) -> VirtualClock:
    """The clock of every `Sidestep` that the test makes without one: no wait takes real time."""
    # Imported here, because every test run loads this module, also those without sidestep.
    from ..step import middleware
    from .testing import VirtualClock

    clock = VirtualClock()
    monkeypatch.setattr(middleware, "SystemClock", lambda: clock)
    return clock


@pytest.fixture
def sidestep_stub(monkeypatch: pytest.MonkeyPatch, sidestep_clock: VirtualClock) -> Play:
    """`sidestep.testing.stub`, which also sets the environment variables until the test ends."""
    from .testing import stub

    @asynccontextmanager
    async def play(
        answers: Mapping[str, Answer | Sequence[Answer]], *, strict: bool = False
    ) -> AsyncIterator[PlayedStub]:
        async with stub(answers, clock=sidestep_clock, strict=strict) as played:
            for name, value in played.environ.items():
                monkeypatch.setenv(name, value)
            yield played

    return play
