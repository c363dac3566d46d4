"""One turn of a drill, as it was played."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...provider.stub.received import ReceivedRequest
    from ..event import Event
    from .drill_file import Expectation


@dataclass(slots=True)
class PlayedTurn:
    """What happened in a turn; instants are in the drill's own seconds.

    Args:
        started_at: Until the turn starts, when it is due.
        ended_at: None: it has not ended.
        requests: What the stub received.
        answered_at: When the answer to each of them was over, however it ended.
        output: What a client wrote to stdout; None: a session of ours took the turn.
        first_step: How many events and requests there were when the first step of a client ended;
            None: none has ended.
    """

    prompt: str
    pause: float
    expect: Expectation | None
    started_at: float
    ended_at: float | None = None
    events: list[tuple[float, Event]] = field(default_factory=list)
    requests: list[ReceivedRequest] = field(default_factory=list)
    answered_at: list[float] = field(default_factory=list)
    error: Exception | None = None
    output: str | None = None
    first_step: tuple[int, int] | None = None

    @property
    def seconds(self) -> float:
        """How long it took; 0 before its end."""
        return 0.0 if self.ended_at is None else self.ended_at - self.started_at

    def silence(self, failed_at: float, seconds: float) -> float:
        """Return how long the provider took in the attempt that failed then, after *seconds*.

        What this process needs itself, above all for its first request, does not count.
        """
        starts = [request.at for request in self.requests]
        ends = chain(self.answered_at, repeat(failed_at))
        return sum(
            min(answered_at, failed_at) - at
            for at, answered_at in zip(starts, ends, strict=False)
            if failed_at - seconds <= at <= failed_at
        )
