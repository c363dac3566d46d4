"""Fixtures for the tests of an agent, which pytest finds by itself where sidestep is installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .testing import Answer, PlayedStub, StubBlock, VirtualClock

    Play = Callable[..., StubBlock]


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
    from .testing import StubBlock

    def begin(played: PlayedStub) -> None:
        for name, value in played.environ.items():
            monkeypatch.setenv(name, value)

    def play(
        answers: Mapping[str, Answer | Sequence[Answer]], *, strict: bool = False
    ) -> StubBlock:
        return StubBlock(answers, sidestep_clock, strict=strict, begin=begin)

    return play
