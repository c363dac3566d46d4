"""The outcome of a drill as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..event import (
    AttemptFailed,
    AttemptStarted,
    PatienceStarted,
    StepEnded,
    StepStarted,
    Waiting,
)
from .judge import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..event import Event
    from .drill import Drill
    from .played_turn import PlayedTurn


def report(drill: Drill, turns: Sequence[PlayedTurn], complaints: Sequence[str]) -> dict[str, Any]:
    """Return the outcome as plain data."""
    requests = [str(received.route) for turn in turns for received in turn.requests]
    return {
        "drill": drill.name,
        "passed": not complaints,
        "why": "; ".join(complaints),
        "turns": [
            {
                "seconds": round(turn.seconds, 3),
                "text": text_of(turn),
                "steps": list(_steps(event for _at, event in turn.events)),
            }
            for turn in turns
        ],
        "requests": {route: requests.count(route) for route in dict.fromkeys(requests)},
    }


def _steps(events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    waited = 0.0
    attempts: list[dict[str, Any]] = []
    for event in events:
        match event:
            case StepStarted():
                attempts = []
            case Waiting() | PatienceStarted():
                waited = event.seconds
            case AttemptStarted():
                attempts.append(_attempt(event, waited))
                waited = 0.0
            case AttemptFailed():
                attempts[-1] |= {"kind": event.failure.kind, "status": event.failure.status}
            case StepEnded():
                yield {
                    "requested": event.requested,
                    "answered": None if event.error else event.route,
                    "swaps": event.swaps,
                    "attempts": attempts,
                }
            case _:
                pass


def _attempt(event: AttemptStarted, waited: float) -> dict[str, Any]:
    """Return an attempt that has not failed so far."""
    return {
        "route": event.route,
        "number": event.attempt,
        "kind": None,
        "status": None,
        "waited": waited,
    }
