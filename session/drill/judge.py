"""Whether a drill came out as it should, by what the stub received and a listener saw."""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from ...provider.delta import ReasoningDelta, TextDelta, ToolCallEnded, ToolCallStarted
from ..event import (
    AttemptFailed,
    AttemptStarted,
    PartsRetracted,
    Repaired,
    StepEnded,
    StepStarted,
    ToolRunStarted,
    Waiting,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...provider.stub.received import Received
    from ..event import Event
    from .drill import Drill, PlayedTurn

_DELTAS = (TextDelta, ReasoningDelta, ToolCallStarted, ToolCallEnded)


def judge(drill: Drill, turns: Sequence[PlayedTurn]) -> list[str]:
    """Return what was not as it should be, a sentence each; nothing if the drill passed.

    One that is about an expectation ends with its key in the drill's file.
    """
    complaints = [
        f"turn {number}: {complaint}"
        for number, turn in enumerate(turns, 1)
        for complaint in _judge_turn(turn)
    ]
    requests = [received for turn in turns for received in turn.requests]
    return complaints + [
        f"a request to {received.route} held {text!r}, which must never be sent"
        for text in drill.file.never_sent
        for received in requests
        if text in json.dumps(received.body, ensure_ascii=False)
    ]


def _judge_turn(turn: PlayedTurn) -> Iterator[str]:
    expect = turn.expect
    events = [event for _at, event in turn.events]
    yield from _prompts(turn)
    yield from _late(events)
    if expect is None:
        if turn.error is not None:
            yield f"was not answered: {turn.error}"
        return
    error = None if turn.error is None else type(turn.error).__name__
    if error != expect.error:
        wanted = expect.error or "an answer"
        yield f"expected {wanted}, got {turn.error or 'an answer'} (`expect.error`)"
    answered = None if turn.error or not turn.requests else turn.requests[-1].route
    if answered != expect.answered and error == expect.error:
        wanted = f"the answer of {expect.answered}"
        yield f"expected {wanted}, the last request went to {answered} (`expect.answered`)"
    if expect.text is not None and shown(events) != expect.text:
        yield f"expected to see {expect.text!r}, saw {shown(events)!r} (`expect.text`)"
    received = runs(turn.requests)
    if expect.requests is not None and received != list(expect.requests):
        wanted = f"the requests {_told(expect.requests)}"
        yield f"expected {wanted}, received {_told(received)} (`expect.requests`)"
    yield from _waits(expect.waits, turn.requests)
    attempts = sum(isinstance(event, AttemptStarted) for event in events)
    expected = len(turn.requests) if expect.attempts is None else expect.attempts
    if attempts != expected:
        yield f"expected {expected} attempts, saw {attempts} (`expect.attempts`)"
    retracted = sum(isinstance(event, PartsRetracted) for event in events)
    if retracted != expect.retracted:
        wanted = f"{expect.retracted} attempts to be retracted"
        yield f"expected {wanted}, saw {retracted} (`expect.retracted`)"
    yield from _tools(expect.tools, events)
    yield from _answered(expect.steps, events)
    repaired = sum(isinstance(event, Repaired) for event in events)
    if repaired != expect.repaired:
        yield f"expected {expect.repaired} repairs, saw {repaired} (`expect.repaired`)"
    left = sum(received.closed_by_client for received in turn.requests)
    if left != expect.left:
        wanted = f"{expect.left} requests to be closed before their end"
        yield f"expected {wanted}, saw {left} (`expect.left`)"


def shown(events: Iterable[Event]) -> str:
    """Return the text that a listener is left with; what earlier steps said stays."""
    text: list[str] = []
    kept = 0
    for event in events:
        if isinstance(event, TextDelta):
            text.append(event.text)
        elif isinstance(event, AttemptStarted):
            kept = len(text)
        elif isinstance(event, PartsRetracted):
            del text[kept:]
    return "".join(text)


def _tools(expected: Mapping[str, int] | None, events: Iterable[Event]) -> Iterator[str]:
    ran = Counter(event.name for event in events if isinstance(event, ToolRunStarted))
    if expected is not None and ran != Counter(expected):
        wanted = f"the tools {_counted(expected)}"
        yield f"expected {wanted}, they ran {_counted(ran)} (`expect.tools`)"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} x {name}" for name, count in counts.items()) or "never"


def _answered(expected: Sequence[str] | None, events: Iterable[Event]) -> Iterator[str]:
    answered = [str(e.route) for e in events if isinstance(e, StepEnded) and e.error is None]
    if expected is not None and answered != list(expected):
        wanted = f"the steps to be answered by {list(expected)}"
        yield f"expected {wanted}, they were by {answered} (`expect.steps`)"


def runs(requests: Iterable[Received]) -> list[tuple[str, int]]:
    """Return ``(route, how many in a row)`` of *requests*."""
    routes = (str(received.route) for received in requests)
    return [(route, len(list(group))) for route, group in groupby(routes)]


def _told(received: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{count} x {route}" for route, count in received) or "none"


def _prompts(turn: PlayedTurn) -> Iterator[str]:
    """The user's message must stand once in every request."""
    prompt = json.dumps(turn.prompt)
    for received in turn.requests:
        count = json.dumps(received.body).count(prompt)
        if count != 1:
            yield f"a request to {received.route} held the prompt {count} times"


def _late(events: Iterable[Event]) -> Iterator[str]:
    """Nothing may come of an attempt that has failed."""
    is_running = False
    for event in events:
        if isinstance(event, AttemptStarted):
            is_running = True
        elif isinstance(event, AttemptFailed):
            is_running = False
        elif isinstance(event, _DELTAS) and not is_running:
            yield f"{type(event).__name__} came from an attempt that had failed"


def _waits(expected: Sequence[float], requests: Sequence[Received]) -> Iterator[str]:
    gaps = [
        after.at - before.at for before, after in pairwise(requests) if after.route == before.route
    ]
    for number, (wait, gap) in enumerate(zip(expected, gaps, strict=False), 1):
        if gap < wait:
            wanted = f"{wait:g} s before retry {number}"
            yield f"expected {wanted}, it came after {gap:.2f} s (`expect.waits`)"
    if len(gaps) < len(expected):
        yield f"expected {len(expected)} retries, received {len(gaps)} (`expect.waits`)"


def report(drill: Drill, turns: Sequence[PlayedTurn], complaints: Sequence[str]) -> dict[str, Any]:
    """Return the outcome as plain data."""
    requests = [str(received.route) for turn in turns for received in turn.requests]
    return {
        "drill": drill.name,
        "passed": not complaints,
        "why": "; ".join(complaints),
        "turns": [
            {
                "seconds": round(turn.ended_at - turn.started_at, 3),
                "text": shown(event for _at, event in turn.events),
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
            case Waiting():
                waited = event.seconds
            case AttemptStarted():
                attempts.append(
                    {
                        "route": event.route,
                        "number": event.attempt,
                        "kind": None,
                        "status": None,
                        "waited": waited,
                    }
                )
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
