"""The timeline of a drill, with a row for each route, and what happened in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from ..equal_runs import equal_runs
from ..event import (
    AttemptFailed,
    AttemptStarted,
    CandidateSkipped,
    KeyChanged,
    PatienceStarted,
    ProbeStarted,
    RouteDegraded,
    StepEnded,
    Swapped,
    ToolRunEnded,
    ToolRunStarted,
    Waiting,
)
from ..skip_reason import TEMPORARY_REASONS
from .judge import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from ...provider.route import Route
    from .drill import Drill
    from .played_turn import PlayedTurn

_ASCII = str.maketrans(
    {"✗": "x", "✓": "+", "·": ".", "↳": ">", "░": "#", "│": "|", "─": "-", "▫": "="}
)
_STYLES = {
    "✗": "bold red",
    "✓": "bold green",
    "·": "yellow",
    "─": "red",
    "↳": "cyan",
    "░": "dim red",
    "?": "cyan",
    "k": "cyan",
    "▫": "blue",
}
_LEGEND = "✗ failed  · a second's wait, ─ silence  ↳ swap  ░ degraded  ? probe  ✓ answered"
_TOOLS = "  ▫ tool"
_KEYS = "  k next key"


@dataclass(slots=True)
class _Tracks:
    """A row of marks for each route, all of one length."""

    routes: list[Route]
    seconds_each: float
    """Seconds that one column stands for."""
    rows: dict[Route, str] = field(default_factory=dict)
    head: str = ""
    degraded_until: dict[Route, float] = field(default_factory=dict)
    key_until: dict[Route, float] = field(default_factory=dict)
    """When the first of a route's degraded keys is due back; the route may have healthy keys."""

    def __post_init__(self) -> None:
        self.rows = dict.fromkeys(self.routes, "")

    def mark(self, route: Route | None, marks: str, now: float) -> None:
        """Append *marks* to the row of *route*, and the same length to every other row."""
        for other, row in self.rows.items():
            is_degraded = self.degraded_until.get(other, 0.0) > now
            rest = ("░" if is_degraded else " ") * len(marks)
            self.rows[other] = row + (marks if other == route else rest)

    def degrade(self, event: RouteDegraded, now: float) -> None:
        """Draw the route of *event* as degraded, unless only one of several keys is."""
        until = now + event.seconds
        if event.api_key_env is None:
            self.degraded_until[event.route] = until
        else:
            self.key_until[event.route] = min(until, self.key_until.get(event.route, until))

    def leave(self, route: Route) -> None:
        """Draw *route* as degraded if a step left it because each of its keys is degraded."""
        if route in self.key_until:
            self.degraded_until[route] = self.key_until.pop(route)

    def columns(self, seconds: float) -> int:
        """Return how many columns *seconds* take."""
        return max(round(seconds / self.seconds_each), 0)

    def label(self, text: str) -> None:
        """Write *text* above the next marks."""
        self.head = self.head.ljust(self._width) + text

    def close(self, now: float) -> None:
        """Make room for the label."""
        self.mark(None, " " * max(len(self.head) - self._width, 0), now)

    def divide(self) -> None:
        """Draw a line between the marks so far and the next ones."""
        if self._width:
            self.rows = {route: row + "│" for route, row in self.rows.items()}

    @property
    def _width(self) -> int:
        return len(next(iter(self.rows.values()), ""))


def draw(
    console: Console, drill: Drill, turns: Sequence[PlayedTurn], complaints: Sequence[str]
) -> None:
    """Print the timeline of *turns*, each turn in words, and the verdict."""
    is_plain = console.options.ascii_only
    for line in _lines(console.width, drill, turns, complaints):
        console.print(_plain(line) if is_plain else line, soft_wrap=True)


def chart(console: Console, drill: Drill, turns: Sequence[PlayedTurn]) -> list[Text]:
    """Return the name of the drill and the timeline of *turns*; the last may still be running."""
    lines = _head(console.width, drill, turns)
    return [_plain(line) for line in lines] if console.options.ascii_only else list(lines)


def _plain(line: Text) -> Text:
    return Text(line.plain.translate(_ASCII).encode("ascii", "replace").decode())


def _lines(
    width: int, drill: Drill, turns: Sequence[PlayedTurn], complaints: Sequence[str]
) -> Iterator[Text]:
    if any(_routes(turns)):
        yield from _head(width, drill, turns)
    else:
        yield from _title(drill)
        yield Text("no request was made", style="dim")
    for number, turn in enumerate(turns, 1):
        yield Text()
        yield from _in_words(number, turn)
    yield Text()
    if not complaints:
        count = sum(len(turn.requests) for turn in turns)
        yield Text.assemble(("passed", "bold green"), f"  {count} requests, all as expected")
    for complaint in complaints:
        yield Text.assemble(("failed", "bold red"), f"  {complaint}")


def _head(width: int, drill: Drill, turns: Sequence[PlayedTurn]) -> Iterator[Text]:
    yield from _title(drill)
    yield from _chart(width, turns)
    kinds = {type(event) for turn in turns for _, event in turn.events}
    further = (_TOOLS if ToolRunStarted in kinds else "") + (_KEYS if KeyChanged in kinds else "")
    yield Text(_LEGEND + further, style="dim")


def _title(drill: Drill) -> Iterator[Text]:
    yield Text.assemble((drill.name, "bold"), "  ", drill.file.title)
    yield Text()


def _chart(width: int, turns: Sequence[PlayedTurn]) -> Iterator[Text]:
    routes = list(dict.fromkeys(_routes(turns)))
    label = max((len(route) for route in routes), default=0) + 2
    for seconds_each in (1.0, 2.0, 4.0, 8.0, 16.0):
        tracks = _drawn(_Tracks(routes, seconds_each), turns)
        length = max((len(row) for row in tracks.rows.values()), default=0)
        if label + length <= width or (seconds_each == 1.0 and 2 + length <= width):
            break
    is_beside = label + length <= width
    yield Text((" " * (label if is_beside else 2)) + tracks.head, style="dim")
    for route, row in tracks.rows.items():
        painted = _painted(row.rstrip())
        if is_beside:
            yield Text(route.ljust(label)) + painted
        else:
            yield Text(route)
            yield Text("  ") + painted


def _painted(row: str) -> Text:
    return Text.assemble(*((mark, _STYLES.get(mark, "dim")) for mark in row))


def _routes(turns: Iterable[PlayedTurn]) -> Iterator[Route]:
    for turn in turns:
        for _at, event in turn.events:
            if isinstance(event, AttemptStarted):
                yield event.route


def _drawn(tracks: _Tracks, turns: Sequence[PlayedTurn]) -> _Tracks:
    for number, turn in enumerate(turns, 1):
        if turn.pause:
            tracks.divide()
            tracks.label(f"{turn.pause:g} s")
            tracks.close(turn.started_at - turn.pause)
        tracks.divide()
        tracks.label(f"turn {number}")
        _draw_turn(tracks, turn)
        tracks.close(turn.started_at if turn.ended_at is None else turn.ended_at)
    return tracks


def _draw_turn(tracks: _Tracks, turn: PlayedTurn) -> None:
    arrow = ""
    route: Route | None = None
    began_at = turn.started_at
    for at, event in turn.events:
        match event:
            case AttemptStarted():
                route = event.route
            case StepEnded() if event.error is None:
                tracks.degraded_until.pop(event.route, None)
                tracks.mark(event.route, f"{arrow}✓", at)
                arrow = ""
            case ToolRunStarted():
                began_at = at
            case ToolRunEnded():
                tracks.mark(route, "▫" * tracks.columns(at - began_at), at)
            case ProbeStarted():
                arrow += "?"
            case AttemptFailed():
                silence = "─" * tracks.columns(turn.silence(at, event.seconds) - 1)
                tracks.mark(event.route, f"{arrow}{silence}✗", at)
                arrow = ""
            case Waiting():
                tracks.mark(event.route, "·" * max(tracks.columns(event.seconds), 1), at)
            case PatienceStarted():
                tracks.mark(route, "·" * max(tracks.columns(event.seconds), 1), at)
            case RouteDegraded():
                tracks.degrade(event, at)
            case KeyChanged():
                arrow = "k"
            case Swapped():
                tracks.leave(event.from_route)
                arrow = "↳"
            case _:
                pass


def _in_words(number: int, turn: PlayedTurn) -> Iterator[Text]:
    yield Text.assemble(
        (f"turn {number}", "bold"), f"  {turn.prompt}", (f"  {turn.seconds:.1f} s", "dim")
    )
    for line in _failures(turn):
        yield Text.assemble("  ", ("✗", "bold red"), f" {line}")
    for route, why in _passed_over(turn).items():
        yield Text.assemble("  ", ("·", "yellow"), f" {route}  passed over: {why}")
    yield from _steps(turn)
    if turn.error is None:
        answered = turn.requests[-1].route if turn.requests else "?"
        text = text_of(turn)
        if turn.output is not None:
            text = text.rpartition("\n")[2]  # all of it was shown already
        yield Text.assemble("  ", ("✓", "bold green"), f" {answered}  {text}")
    else:
        error = f"{type(turn.error).__name__}: {turn.error}"
        yield Text.assemble("    ", (error, "red"))


def _passed_over(turn: PlayedTurn) -> dict[Route, str]:
    skipped = (event for _, event in turn.events if isinstance(event, CandidateSkipped))
    # The chart shows what was in the way for a while only.
    return {event.route: event.reason for event in skipped if event.reason not in TEMPORARY_REASONS}


def _steps(turn: PlayedTurn) -> Iterator[Text]:
    """Say who answered which step, if there is more than one."""
    answered = [e.route for _, e in turn.events if isinstance(e, StepEnded) and e.error is None]
    if len(answered) < 2:
        return
    spans, first = [], 1
    for run in equal_runs(answered, key=str):
        last = first + len(run) - 1
        spans.append(f"{first}-{last} {run[0]}" if last > first else f"{first} {run[0]}")
        first = last + 1
    yield Text(f"    answered steps {', '.join(spans)}", style="dim")


@dataclass(slots=True)
class _Failed:
    """An attempt that failed, and the waits that followed."""

    event: AttemptFailed
    waits: list[float] = field(default_factory=list)
    next_key: str | None = None


def _failures(turn: PlayedTurn) -> Iterator[str]:
    """Return a line for each run of attempts on one route that failed alike."""
    failed: list[_Failed] = []
    for _at, event in turn.events:
        if isinstance(event, AttemptFailed):
            failed.append(_Failed(event))
        elif isinstance(event, Waiting | PatienceStarted):
            failed[-1].waits.append(event.seconds)
        elif isinstance(event, KeyChanged):
            failed[-1].next_key = event.next_key_env
    for run in equal_runs(failed, key=lambda each: (each.event.route, each.event.failure.kind)):
        yield _failure(run)


def _failure(run: Sequence[_Failed]) -> str:
    """Put what matters first, because the provider's own words may be long."""
    first = run[0].event
    status = "" if first.failure.status is None else f" {first.failure.status}"
    times = f", {len(run)} times" if len(run) > 1 else ""
    waits = ", ".join(f"{wait:.1f}" for each in run for wait in each.waits)
    waited = f", waiting {waits} s" if waits else ""
    keys = [each.next_key for each in run if each.next_key is not None]
    then = f", then with {', '.join(keys)}" if keys else ""
    failure = first.failure
    return f"{first.route}  {failure.kind}{status}{times}{waited}{then}: {failure.message}"


def listing(drills: Iterable[Drill]) -> Table:
    """Return a table of *drills*."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for drill in drills:
        table.add_row(Text(drill.name, style="bold"), drill.file.title)
    return table
