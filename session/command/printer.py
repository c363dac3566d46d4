"""What a turn in a terminal prints: the answer to stdout, notices to stderr."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from ...provider.delta import ReasoningDelta, TextDelta, ToolCallEnded, ToolCallStarted
from ...provider.failure import Scope
from ...provider.secret import redact_shapes
from ..event import (
    AttemptCost,
    AttemptFailed,
    AttemptStarted,
    CandidateSkipped,
    Compacted,
    KeyChanged,
    PartsRetracted,
    PatienceStarted,
    PatienceWaiting,
    ProbeEnded,
    ProbeStarted,
    Repaired,
    RouteDegraded,
    StepEnded,
    StepStarted,
    Swapped,
    ToolRunEnded,
    ToolRunStarted,
    TurnEnded,
    Waiting,
)
from ..event_json import to_json
from ..skip_reason import STAYS, TEMPORARY_REASONS, without_numbers
from .countdown import Countdown
from .terminal import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...provider.conversation import Output
    from ..event import Event

_BRIEF = 60
"""Characters of a tool's arguments that a notice shows."""


def print_json(event: Event) -> None:
    """Print *event* as a line of JSON."""
    sys.stdout.write(json.dumps(to_json(event), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def _notice(event: Event) -> str | None:
    """Return the notice of *event*; None: it has none of its own."""
    match event:
        case ToolRunEnded():
            is_done = event.state == "completed"
            return None if is_done else f"{event.name}: {event.state}{_reason(event.output)}"
        case Compacted():
            return f"the conversation was too long: {event.before} messages became a summary"
        case Waiting():
            return f"retrying {event.route} in {event.seconds:.1f} s ({event.failure})"
        case RouteDegraded():
            until = time.strftime("%H:%M:%S", time.localtime(time.time() + event.seconds))
            is_key = event.api_key_env is not None and event.scope is not Scope.ROUTE
            what = f"the key {event.api_key_env} of {event.route}" if is_key else event.route
            return f"{what} degraded until {until} ({event.seconds:.0f} s)"
        case Swapped():
            count = f"swap {event.swaps} of {event.max_swaps}"
            return f"switched to {event.route}, {count} ({event.failure}){_cold(event)}"
        case KeyChanged():
            return f"{event.route}: taking the key {event.next_key_env} ({event.failure})"
        case Repaired():
            return f"asking {event.route} once more: {event.change} ({event.failure})"
        case ProbeStarted():
            return f"trying {event.route} again after its cooldown"
        case (
            TextDelta() | ReasoningDelta() | ToolCallStarted() | ToolCallEnded() | ToolRunStarted()
            | AttemptStarted() | AttemptFailed() | PartsRetracted() | CandidateSkipped()
            | StepStarted()
            | ProbeEnded() | AttemptCost() | StepEnded() | TurnEnded()
            | PatienceStarted() | PatienceWaiting()
        ):  # fmt: skip
            return None


def _brief(arguments: Mapping[str, Any]) -> str:
    """Return the arguments of a tool in half a line."""
    values = ", ".join(str(value).partition("\n")[0] for value in arguments.values())
    return values if len(values) <= _BRIEF else f"{values[: _BRIEF - 1]}…"


def _reason(output: Output | None) -> str:
    line = output.partition("\n")[0] if isinstance(output, str) else ""
    return f" ({line})" if line else ""


def _cold(event: StepStarted | Swapped) -> str:
    """Return what the new route has no cache of, as the end of a notice."""
    if not event.cold_tokens:
        return ""
    price = event.cold_money
    known = "less than 0.0001" if price is not None and price < 0.0001 else f"{price or 0:.4f}"
    money = "" if price is None else f" ({known} USD)"
    return f"; it has no cache of about {event.cold_tokens:,} tokens{money}"


def _state(reason: str | None) -> str:
    """Return the state of a route that a step passes over; `CandidateSkipped` says the rest."""
    is_down = reason is None or reason in TEMPORARY_REASONS
    return "degraded" if is_down else "passed over"


class Printer:
    """Print text as it comes, and a notice of everything that delays or moves it.

    Args:
        is_streamed: False: hold the text back until the turn has ended.
    """

    def __init__(self, *, is_streamed: bool = True) -> None:
        self._is_streamed = is_streamed
        self._is_terminal = sys.stdout.isatty()
        self._is_mid_line = False
        self._has_shown = False
        self._inputs: dict[str, Mapping[str, Any]] = {}
        self._passed_over: set[tuple[str, str]] = set()
        self._countdown = Countdown()

    def __call__(self, event: Event) -> None:
        """Print *event*, if it is anything that a person wants to see."""
        if not isinstance(event, PatienceWaiting):
            self._countdown.end()
        match event:
            case PatienceStarted():
                self.end_line()
                self._countdown.begin(event)
            case PatienceWaiting():
                self._countdown.tick(event.seconds)
            case TextDelta():
                if self._is_streamed:
                    self._write(event.text)
            case ToolCallEnded():
                self._inputs[event.id] = event.input
            case ToolRunStarted():
                self._note(f"{event.name} {_brief(self._inputs.get(event.id, {}))}")
            case AttemptStarted():
                self._has_shown = False
            case PartsRetracted():
                if self._has_shown:
                    self._note("the answer above is void: its attempt failed")
            case StepStarted():
                self._start(event)
            case CandidateSkipped():
                self._pass_over(event)
            case TurnEnded():
                self._end(event)
            case _:
                if (notice := _notice(event)) is not None:
                    self._note(notice)

    def _start(self, event: StepStarted) -> None:
        """Say why a step starts elsewhere, once a turn if the conversation merely stays there."""
        if event.route == event.requested:
            if event.cold_tokens:
                self._note(f"back on {event.route}{_cold(event)}")
        elif event.reason not in STAYS:
            start = f"{event.requested} is {_state(event.reason)}: starting on {event.route}"
            self._note(start + _cold(event))
        elif (seen := (event.route, event.reason or "")) not in self._passed_over:
            self._passed_over.add(seen)
            self._note(f"{event.reason}: going on with {event.route}")

    def _pass_over(self, event: CandidateSkipped) -> None:
        """Say why a route was passed over, once a turn for reasons that differ only in numbers."""
        if event.reason in TEMPORARY_REASONS:
            return
        seen = event.route, without_numbers(event.reason)
        if seen not in self._passed_over:
            self._passed_over.add(seen)
            self._note(f"{event.route} is passed over: {event.reason}")

    def _end(self, event: TurnEnded) -> None:
        self._passed_over.clear()
        if not self._is_streamed and event.error is None:
            self._write(event.text)
        self.end_line()
        if event.error is None and event.route != event.requested:
            self._note(f"answered by {event.route}")

    def _write(self, text: str) -> None:
        if text:
            sys.stdout.write(printable(text) if self._is_terminal else text)
            sys.stdout.flush()
            self._is_mid_line = not text.endswith("\n")
            self._has_shown = True

    def end_line(self) -> None:
        """End the line on which text stands, so that something else may follow."""
        self._countdown.end()
        if self._is_mid_line:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._is_mid_line = False

    def _note(self, text: str) -> None:
        self.end_line()
        click.echo(f"sidestep: {printable(redact_shapes(text))}", err=True)
