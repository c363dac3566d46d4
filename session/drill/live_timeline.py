"""The timeline of a drill while it is played, on a terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from ..event import (
    AttemptStarted,
    Event,
    PatienceStarted,
    PatienceWaiting,
    StepEnded,
    ToolRunStarted,
    TurnEnded,
    Waiting,
)
from .drill import Drill
from .played_turn import PlayedTurn
from .timeline import chart

_REFRESHES = 4
"""In a second."""


class LiveTimeline:
    """Draw the timeline anew a few times a second, and erase it at the end.

    A terminal that cannot erase (``TERM=dumb``) gets a line for each change instead.

    Use it as a context manager, and call it with the turns so far.

    Args:
        time_scale: Real seconds that a second of the drill takes.
    """

    def __init__(self, console: Console, drill: Drill, *, time_scale: float) -> None:
        self._console = console
        self._drill = drill
        self._time_scale = time_scale
        self._turns: Sequence[PlayedTurn] = ()
        self._changed_at = time.monotonic()
        self._line = ""
        self._live = Live(
            console=console,
            transient=True,
            refresh_per_second=_REFRESHES,
            get_renderable=self._drawn,
        )

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.stop()

    def __call__(self, turns: Sequence[PlayedTurn]) -> None:
        """Draw *turns* from now on, and at once if nothing happens for a while."""
        self._turns = turns
        self._changed_at = time.monotonic()
        if self._console.is_dumb_terminal:
            self._print_line(turns)
        elif turns[-1].events and isinstance(turns[-1].events[-1][1], Waiting | PatienceStarted):
            self._live.refresh()

    def _print_line(self, turns: Sequence[PlayedTurn]) -> None:
        """Print what is going on, if that is new: nothing can be drawn again here."""
        line = f"turn {len(turns)}: {_going_on(turns[-1])}"
        if line != self._line:
            self._line = line
            self._console.print(Text(line), soft_wrap=True)

    def _drawn(self) -> Group:
        lines = chart(self._console, self._drill, self._turns)
        return Group(*lines, Text(), Text(self._status()))

    def _status(self) -> str:
        """Say what is going on, and for how many of the drill's seconds."""
        if not self._turns:
            return "starting"
        seconds = (time.monotonic() - self._changed_at) / self._time_scale
        turn = f"turn {len(self._turns)} of {len(self._drill.file.turns)}"
        return f"{turn}: {_going_on(self._turns[-1])} ({seconds:.0f} s so far)"


def _going_on(turn: PlayedTurn) -> str:
    for _at, event in reversed(turn.events):
        if (text := _described(event)) is not None:
            return text
    return f"a pause of {turn.pause:g} s" if turn.pause else "starting"


def _described(event: Event) -> str | None:
    match event:
        case AttemptStarted():
            return f"asking {event.route}"
        case Waiting():
            return f"waiting {event.seconds:.1f} s before {event.route} is asked again"
        case PatienceStarted():
            return f"waiting {event.seconds:.0f} s until the first route is back"
        case PatienceWaiting():
            return f"waiting {event.seconds:.0f} s more until the first route is back"
        case ToolRunStarted():
            return f"running the tool {event.name}"
        case StepEnded() | TurnEnded():
            return "ending"
        case _:
            return None
