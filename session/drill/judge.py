"""Judge a drill by what the stub received and what a listener saw."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from ...provider.delta import ReasoningDelta, TextDelta, ToolCallEnded, ToolCallStarted
from ...provider.stub.answer import ModelAnswer
from ..equal_runs import equal_runs
from ..event import (
    AttemptFailed,
    AttemptStarted,
    PartsRetracted,
    PatienceStarted,
    Repaired,
    StepEnded,
    StepStarted,
    Swapped,
    ToolRunStarted,
    Waiting,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ..event import Event
    from .drill import Drill
    from .drill_file import Expectation
    from .played_turn import PlayedTurn

_DELTAS = (TextDelta, ReasoningDelta, ToolCallStarted, ToolCallEnded)


def judge(drill: Drill, turns: Sequence[PlayedTurn]) -> list[str]:
    """Return what was not as expected, a sentence each; nothing if the drill passed.

    A sentence about an expectation ends with its key in the drill's file.
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
    is_served = turn.output is not None
    if not is_served:  # a client may write more around a prompt
        yield from _prompts(turn)
    yield from _late(_events(turn))
    if (expect := turn.expect) is not None:
        if is_served:
            yield from _hidden_error(turn, expect)
            turn = _first_step(turn, expect)
        for check in _SERVED_CHECKS if is_served else _CHECKS:
            yield from check(turn, expect)
    elif turn.error is not None:
        yield f"was not answered: {turn.error}"


def _events(turn: PlayedTurn) -> list[Event]:
    return [event for _at, event in turn.events]


def _count(turn: PlayedTurn, kind: type[Event]) -> int:
    return sum(isinstance(event, kind) for event in _events(turn))


def _prompts(turn: PlayedTurn) -> Iterator[str]:
    """The user's message must stand once in every request."""
    prompt = json.dumps(turn.prompt)
    for received in turn.requests:
        count = json.dumps(received.body).count(prompt)
        if count != 1:
            yield f"a request to {received.route} held the prompt {count} times"


def _late(events: Iterable[Event]) -> Iterator[str]:
    """Nothing may come from an attempt that has failed."""
    is_running = False
    for event in events:
        if isinstance(event, AttemptStarted):
            is_running = True
        elif isinstance(event, AttemptFailed):
            is_running = False
        elif isinstance(event, _DELTAS) and not is_running:
            yield f"{type(event).__name__} came from an attempt that had failed"


def _error(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    if _class_of(turn.error) != expect.error:
        wanted = expect.error or "an answer"
        yield f"expected {wanted}, got {turn.error or 'an answer'} (`expect.error`)"


def _class_of(error: Exception | None) -> str | None:
    return None if error is None else type(error).__name__


def _client_error(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    """A step must end as expected, and a client must end well if its steps do."""
    ended = [event.error for event in _events(turn) if isinstance(event, StepEnded)]
    error = (ended[-1] or "").partition(":")[0] if ended else "no step"
    if error != (expect.error or ""):
        wanted = expect.error or "an answer"
        yield f"expected {wanted}, got {error or 'an answer'} (`expect.error`)"
    elif expect.error is None and turn.error is not None:
        yield f"{turn.error}, although it was answered (`expect.error`)"


def _hidden_error(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    """A client must not end well if its last step failed."""
    ended = [event.error for event in _events(turn) if isinstance(event, StepEnded)]
    if expect.error is not None and ended and ended[-1] is not None and turn.error is None:
        yield "the command ended with exit status 0, although it was not answered (`expect.error`)"


def _first_step(turn: PlayedTurn, expect: Expectation) -> PlayedTurn:
    """Return the first step of *turn* if it has to fail, because some clients then ask again."""
    if expect.error is None or turn.first_step is None:
        return turn
    events, requests = turn.first_step
    return replace(turn, events=turn.events[:events], requests=turn.requests[:requests])


def _client_route(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    answered = [event.route for event in _events(turn) if isinstance(event, StepEnded)]
    if expect.error is None and answered[-1:] != [expect.answered]:
        wanted = f"the answer of {expect.answered}"
        yield f"expected {wanted}, got that of {answered[-1:] or 'none'} (`expect.answered`)"


def _last_route(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    answered = None if turn.error or not turn.requests else turn.requests[-1].route
    if answered != expect.answered and _class_of(turn.error) == expect.error:
        wanted = f"the answer of {expect.answered}"
        yield f"expected {wanted}, the last request went to {answered} (`expect.answered`)"


def _text(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    text, wanted = text_of(turn), expect.text
    if wanted is None:
        return
    if turn.output is not None:
        wanted = _last_text(turn, wanted)
    if not (text == wanted if turn.output is None else wanted in text):
        yield f"expected to see {wanted!r}, saw {text!r} (`expect.text`)"


def _last_text(turn: PlayedTurn, text: str) -> str:
    """Return the end of *text* that the last answer had, which is all that some clients print."""
    answer = turn.requests[-1].answer if turn.requests else None
    last = answer.text if isinstance(answer, ModelAnswer) else ""
    return last if last and text.endswith(last) else text


def _requests(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    routes = [str(received.route) for received in turn.requests]
    received = [(run[0], len(run)) for run in equal_runs(routes, key=str)]
    if expect.requests is not None and received != list(expect.requests):
        wanted = f"the requests {_spelled(expect.requests)}"
        yield f"expected {wanted}, received {_spelled(received)} (`expect.requests`)"


def _spelled(requests: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{count} x {route}" for route, count in requests) or "none"


def _keys(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    sent = [received.api_key_env or "no known key" for received in turn.requests]
    if expect.keys is not None and sent != list(expect.keys):
        wanted = f"the keys {', '.join(expect.keys) or 'of no request'}"
        yield f"expected {wanted}, received {', '.join(sent) or 'none'} (`expect.keys`)"


def _at_once(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    waited = [event.seconds for event in _events(turn) if isinstance(event, Waiting)]
    if expect.at_once and waited:
        yield f"expected no wait, an attempt waited {waited[0]:.2f} s (`expect.atOnce`)"


def _waits(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    gaps = [
        after.at - before.at
        for before, after in pairwise(turn.requests)
        if after.route == before.route
    ]
    for number, (wait, gap) in enumerate(zip(expect.waits, gaps, strict=False), 1):
        if gap < wait:
            wanted = f"{wait:g} s before retry {number}"
            yield f"expected {wanted}, it came after {gap:.2f} s (`expect.waits`)"
    if len(gaps) < len(expect.waits):
        yield f"expected {len(expect.waits)} retries, received {len(gaps)} (`expect.waits`)"


def _patience(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    waits, began_at = list[float](), None
    for at, event in turn.events:
        if isinstance(event, PatienceStarted):
            began_at = at
        elif isinstance(event, AttemptStarted | StepEnded) and began_at is not None:
            waits.append(at - began_at)
            began_at = None
    if len(waits) != len(expect.patience):
        wanted = f"{len(expect.patience)} waits for a route to come back"
        yield f"expected {wanted}, saw {len(waits)} (`expect.patience`)"
    for number, (least, wait) in enumerate(zip(expect.patience, waits, strict=False), 1):
        if wait < least:
            wanted = f"{least:g} s or more until a route was back"
            yield f"expected {wanted} in wait {number}, saw {wait:.2f} s (`expect.patience`)"


def _attempts(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    attempts = _count(turn, AttemptStarted)
    expected = len(turn.requests) if expect.attempts is None else expect.attempts
    if attempts != expected:
        yield f"expected {expected} attempts, saw {attempts} (`expect.attempts`)"


def _retracted(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    retracted = _count(turn, PartsRetracted)
    if retracted != expect.retracted:
        wanted = f"{expect.retracted} attempts to be retracted"
        yield f"expected {wanted}, saw {retracted} (`expect.retracted`)"


def _tools(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    ran = Counter(event.name for event in _events(turn) if isinstance(event, ToolRunStarted))
    if expect.tools is not None and ran != Counter(expect.tools):
        wanted = f"the tools {_counted(expect.tools)}"
        yield f"expected {wanted}, they ran {_counted(ran)} (`expect.tools`)"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} x {name}" for name, count in counts.items()) or "never"


def _steps(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    ended = (event for event in _events(turn) if isinstance(event, StepEnded))
    answered = [str(event.route) for event in ended if event.error is None]
    if expect.steps is not None and answered != list(expect.steps):
        wanted = f"the steps to be answered by {list(expect.steps)}"
        yield f"expected {wanted}, they were by {answered} (`expect.steps`)"


def _repaired(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    repaired = _count(turn, Repaired)
    if repaired != expect.repaired:
        yield f"expected {expect.repaired} repairs, saw {repaired} (`expect.repaired`)"


def _cold(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    moves = (event for event in _events(turn) if isinstance(event, StepStarted | Swapped))
    cold = sum(bool(move.cold_tokens) for move in moves)
    if expect.cold is not None and cold != expect.cold:
        wanted = f"{expect.cold} moves to a route without a cache"
        yield f"expected {wanted}, saw {cold} (`expect.cold`)"


def _left(turn: PlayedTurn, expect: Expectation) -> Iterator[str]:
    left = sum(received.closed_by_client for received in turn.requests)
    if left != expect.left:
        wanted = f"{expect.left} requests to be closed before their end"
        yield f"expected {wanted}, saw {left} (`expect.left`)"


_CHECKS: tuple[Callable[[PlayedTurn, Expectation], Iterator[str]], ...] = (
    _error, _last_route, _text, _requests, _keys, _at_once, _waits, _patience, _attempts,
    _retracted, _tools, _steps, _repaired, _cold, _left,
)  # fmt: skip
"""One for each key of an expectation, in the order of their complaints."""
_SERVED_CHECKS: tuple[Callable[[PlayedTurn, Expectation], Iterator[str]], ...] = (
    _client_error, _client_route, _text, _requests, _keys, _at_once, _waits, _patience, _attempts,
    _steps, _repaired,
)  # fmt: skip
"""The same for a client, which has its own tools and gets an answer only once it is whole."""


def text_of(turn: PlayedTurn) -> str:
    """Return the text that the turn ended with: a listener's, or what a client wrote to stdout."""
    return shown(_events(turn)) if turn.output is None else turn.output.strip()


def shown(events: Iterable[Event]) -> str:
    """Return the text that a listener has at the end, with the text of earlier steps."""
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
