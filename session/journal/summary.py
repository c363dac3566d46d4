"""The summary of a journal: who answered, why steps moved, and what the failures cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..skip_reason import without_numbers
from .line import VERSION
from .reader import number, number_or_none, read_journal, text
from .spending import ColdCaches, Spending

Entry = dict[str, Any]

_CANCELLED = "cancelled"
"""The caller ended it: no failure of a route."""


def summarise(path: str) -> dict[str, Any]:
    """Return the summary of the journal at *path*, as plain data; ``-`` is stdin.

    Raises:
        ConfigError: It cannot be read, or is no journal.
    """
    counts = JournalCounts()
    reader = read_journal(path, counts.take)
    sessions = sum(version <= VERSION for version in reader.sessions.values())
    return {
        "journal": path,
        "version": VERSION,
        "sessions": sessions,
        **counts.to_json(),
        "problem_count": reader.problem_count,
        "problems": reader.problems,
    }


@dataclass(frozen=True, slots=True)
class _Rows:
    """How the entries of one event become the rows of a table.

    Args:
        name: Of the table.
        fields: The columns, each with the field of the event that it shows.
        loose: A column in which values that differ only in numbers share a row; the last is shown.
    """

    name: str
    fields: dict[str, str]
    has_seconds: bool = False
    loose: str | None = None


_WHY = {"kind": "failure.kind", "status": "failure.status"}
_ROWS = {
    "Swapped": _Rows("moved", {"from": "from_route", "to": "route"} | _WHY),
    "AttemptFailed": _Rows("failures", {"route": "route"} | _WHY, has_seconds=True),
    "KeyChanged": _Rows(
        "keys", {"route": "route", "from": "api_key_env", "to": "next_key_env"} | _WHY
    ),
    "Waiting": _Rows("retries", {"route": "route"} | _WHY, has_seconds=True),
    "PatienceStarted": _Rows("patience", _WHY, has_seconds=True),
    "RouteDegraded": _Rows("degraded", {"route": "route"} | _WHY, has_seconds=True),
    "ProbeEnded": _Rows("probes", {"route": "route", "verdict": "verdict"}),
    "CandidateSkipped": _Rows("skipped", {"route": "route", "reason": "reason"}, loose="reason"),
    "Repaired": _Rows("repaired", {"route": "route", "change": "change"} | _WHY),
    "ToolRunEnded": _Rows("tools", {"tool": "name", "state": "state"}, has_seconds=True),
}
_OTHERS = frozenset({
    "AttemptStarted", "Compacted", "LinesLost", "PartsRetracted", "PatienceWaiting", "ProbeStarted",
    "AttemptCost", "StepEnded", "StepStarted", "ToolCallEnded", "ToolRunStarted", "TurnEnded",
})  # fmt: skip
"""The other events that are known; most of them are only counted."""


@dataclass(slots=True)
class _Spans:
    """How many steps or turns began, and how they ended."""

    count: int = 0
    answered: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    under_way: set[tuple[object, ...]] = field(default_factory=set)

    def begin(self, key: tuple[object, ...]) -> None:
        if key not in self.under_way:
            self.under_way.add(key)
            self.count += 1

    def end(self, key: tuple[object, ...], error: str | None) -> None:
        self.begin(key)  # it may fail before it begins
        self.under_way.discard(key)
        if error is None:
            self.answered += 1
        else:
            self.errors[error] += 1

    def to_json(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "answered": self.answered,
            "failed": self.errors.total(),
            "unfinished": len(self.under_way),
            "errors": [{"error": error, "count": n} for error, n in self.errors.most_common()],
        }


class JournalCounts:
    """Count the entries of a journal."""

    def __init__(self) -> None:
        self._first_at = self._last_at = ""
        self._turns, self._steps = _Spans(), _Spans()
        self._answered: Counter[str] = Counter()
        self._elsewhere: Counter[tuple[str, str]] = Counter()
        self._counts: defaultdict[str, Counter[tuple[object, ...]]] = defaultdict(Counter)
        self._seconds: defaultdict[tuple[object, ...], float] = defaultdict(float)
        self._last: dict[tuple[object, ...], dict[str, object]] = {}
        self._events: Counter[str] = Counter()
        self._lost_lines = 0
        self._spending, self._cold = Spending(), ColdCaches()
        self._takers: dict[str, Callable[[Entry], None]] = dict.fromkeys(_ROWS, self._take_row) | {
            "AttemptFailed": self._take_failure,
            "Swapped": self._take_swap,
            "StepStarted": self._take_step_start,
            "StepEnded": self._take_step_end,
            "TurnEnded": self._take_turn_end,
            "LinesLost": self._take_lost_lines,
            "AttemptCost": self._spending.take,
        }

    def take(self, entry: Entry) -> None:
        """Count *entry*.

        Raises:
            NotAJournalLine: It lacks something, and was not counted.
        """
        name, session = entry["event"], entry["session"]
        turn, at = number_or_none(entry, "turn"), text(entry, "at")
        if (take := self._takers.get(name)) is not None:
            take(entry)
        if turn is not None and name != "TurnEnded":
            self._turns.begin((session, turn))
        self._events[name] += 1
        self._first_at = min(self._first_at or at, at)
        self._last_at = max(self._last_at, at)

    def _take_failure(self, entry: Entry) -> None:
        step = number(entry, "step")
        self._take_row(entry)
        self._spending.fail(entry["session"], step, entry.get("attempt"))

    def _take_swap(self, entry: Entry) -> None:
        self._cold.take(entry)
        self._take_row(entry)

    def _take_step_start(self, entry: Entry) -> None:
        key = entry["session"], number(entry, "step")
        requested, route = text(entry, "requested"), text(entry, "route")
        self._cold.take(entry)
        self._steps.begin(key)
        if requested != route:
            self._elsewhere[requested, route] += 1

    def _take_step_end(self, entry: Entry) -> None:
        session, step = entry["session"], number(entry, "step")
        route, error = text(entry, "route"), _error(entry)
        self._steps.end((session, step), error)
        if error is None:
            self._answered[route] += 1
        self._spending.end(session, step)

    def _take_turn_end(self, entry: Entry) -> None:
        self._turns.end((entry["session"], number_or_none(entry, "turn")), _error(entry))

    def _take_lost_lines(self, entry: Entry) -> None:
        self._lost_lines += int(number(entry, "lines"))

    def _take_row(self, entry: Entry) -> None:
        rows = _ROWS[entry["event"]]
        values: dict[str, object] = {n: _value(entry, path) for n, path in rows.fields.items()}
        key = tuple(
            without_numbers(str(value)) if name == rows.loose else value
            for name, value in values.items()
        )
        seconds = (number_or_none(entry, "seconds") or 0.0) if rows.has_seconds else 0.0
        self._counts[rows.name][key] += 1
        self._seconds[rows.name, *key] += seconds
        self._last[rows.name, *key] = values

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        rows = {rows.name: self._rows(rows) for rows in _ROWS.values()}
        answered = self._answered.total()
        return {
            "from": self._first_at or None,
            "to": self._last_at or None,
            "turns": self._turns.to_json(),
            "steps": self._steps.to_json(),
            "attempts": self._attempts(rows),
            "answered": [
                {"route": route, "count": count, "share": round(count / answered, 4)}
                for route, count in self._answered.most_common()
            ],
            "started_elsewhere": [
                {"requested": requested, "route": route, "count": count}
                for (requested, route), count in self._elsewhere.most_common()
            ],
            **rows,
            "probes_started": self._events["ProbeStarted"],
            "compactions": self._events["Compacted"],
            **self._spending.to_json(),
            **self._cold.to_json(),
            "lines_lost": self._lost_lines,
            "unknown_events": {
                name: count
                for name, count in self._events.items()
                if name not in _ROWS and name not in _OTHERS
            },
        }

    def _rows(self, rows: _Rows) -> list[dict[str, Any]]:
        table = []
        for key, count in self._counts[rows.name].most_common():
            row = self._last[rows.name, *key] | {"count": count}
            if rows.has_seconds:
                row["seconds"] = _rounded(self._seconds[rows.name, *key])
            table.append(row)
        return table

    def _attempts(self, rows: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
        failed = [row for row in rows["failures"] if row["kind"] != _CANCELLED]
        ended = [row for row in rows["failures"] if row["kind"] == _CANCELLED]
        return {
            "count": self._events["AttemptStarted"],
            "failed": sum(row["count"] for row in failed),
            "cancelled": sum(row["count"] for row in ended),
            "seconds_lost": _rounded(sum(row["seconds"] for row in failed)),
            "retried": sum(row["count"] for row in rows["retries"]),
            "seconds_waited": _rounded(sum(row["seconds"] for row in rows["retries"])),
        }


def _value(entry: Entry, path: str) -> str | float | None:
    """Return the value of field *path*; only a status may be missing."""
    outer, _, inner = path.rpartition(".")
    holder = entry.get(outer) if outer else entry
    held = {"event": entry["event"], **(holder if isinstance(holder, dict) else {})}
    return number_or_none(held, inner) if inner == "status" else text(held, inner)


def _error(entry: Entry) -> str | None:
    return None if entry.get("error") is None else text(entry, "error")


def _rounded(seconds: float) -> float:
    return round(float(seconds), 3)
