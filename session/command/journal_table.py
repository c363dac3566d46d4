"""The summary of a journal as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from .terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console

_TITLES = {
    "answered": "who answered",
    "started_elsewhere": "started elsewhere",
    "moved": "why steps moved",
    "keys": "why steps took another key",
    "failures": "failed attempts",
    "retries": "retries, and the seconds waited",
    "patience": "waits for a route to come back, and the seconds until then",
    "degraded": "degraded, and for how many seconds",
    "probes": "probes",
    "skipped": "passed over",
    "repaired": "repaired",
    "tools": "tools",
    "spent": "spent",
    "cold": "moved to a route without a cache, and what it had to read",
}
_NUMBERS = frozenset({"count", "share", "seconds", "input", "output", "money", "unpriced"})
_NUMBERS |= {"cold_tokens", "cold_money"}
_MONEY = frozenset({"money", "cold_money"})
_SHOWN = 20
"""Most rows of a table, and most problems."""


def show(console: Console, found: Mapping[str, Any]) -> None:
    """Print what `summarise` found."""
    for line in _head(found):
        console.print(Text(printable(line)), soft_wrap=True)
    for name, title in _TITLES.items():
        if found[name]:
            console.print()
            console.print(Text(title, style="bold"))
            console.print(_table(found[name]))
    for line in _tail(found):
        console.print(Text(printable(line), style="yellow"), soft_wrap=True)


def _head(found: Mapping[str, Any]) -> Iterator[str]:
    span = f", {found['from']} to {found['to']}" if found["from"] else ""
    yield f"{found['journal']}  version {found['version']}, {_count(found, 'sessions')}{span}"
    for name in ("turns", "steps"):
        if found[name]["count"]:
            yield _spans(found[name], name)
    attempts = found["attempts"]
    if attempts["count"]:
        yield _attempts(attempts)
    lost = found["spent_on_failures"]
    if lost is not None:
        money = "" if lost["money"] is None else f", {lost['money']:.4f} USD"
        yield f"failed attempts took {lost['input']} tokens in, {lost['output']} out{money}"
    if found["cold_tokens"]:
        known = found["cold_money"]
        money = "" if known is None else f", {known:.4f} USD"
        yield f"moves cost a cold cache: {found['cold_tokens']} tokens in{money}"
    if found["compactions"]:
        yield f"{_count(found, 'compactions')}: the conversation was too long"


def _attempts(found: Mapping[str, Any]) -> str:
    cancelled = f", {found['cancelled']} cancelled" if found["cancelled"] else ""
    return (
        f"{_count(found, 'count', 'attempts')}: {found['failed']} failed{cancelled}; "
        f"{found['seconds_lost']:.1f} s lost in those that failed, "
        f"{found['seconds_waited']:.1f} s waited before {_count(found, 'retried', 'retries')}"
    )


def _spans(spans: Mapping[str, Any], name: str) -> str:
    line = f"{_count(spans, 'count', name)}: {spans['answered']} answered, {spans['failed']} failed"
    errors = ", ".join(f"{row['error']} {row['count']}" for row in spans["errors"])
    if errors:
        line += f" ({errors})"
    return line + (f", {spans['unfinished']} without an end" if spans["unfinished"] else "")


def _count(found: Mapping[str, Any], key: str, noun: str = "") -> str:
    count, noun = found[key], noun or key
    one = {"retries": "retry"}.get(noun, noun.removesuffix("s"))
    return f"{count} {one if count == 1 else noun}"


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in rows[0]:
        table.add_column(name, justify="right" if name in _NUMBERS else "left", overflow="fold")
    for row in rows[:_SHOWN]:
        table.add_row(*(Text(printable(_cell(name, value))) for name, value in row.items()))
    if len(rows) > _SHOWN:
        table.add_row(f"… and {len(rows) - _SHOWN} more, with --json")
    return table


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "unknown" if name in _MONEY else ""
    if name == "share":
        return f"{value:.0%}"
    if name in _MONEY:
        return f"{value:.4f}"
    return f"{value:.1f}" if isinstance(value, float) and name == "seconds" else str(value)


def _tail(found: Mapping[str, Any]) -> Iterator[str]:
    if found["lines_lost"]:
        yield f"{found['lines_lost']} lines could not be written when they were due"
    for name, count in found["unknown_events"].items():
        yield f"{name}, {count} times: an event that this sidestep does not know"
    for each in found["problems"][:_SHOWN]:
        yield f"line {each['line']}: {each['problem']}; passed over"
    if found["problem_count"] > _SHOWN:
        yield f"… {found['problem_count'] - _SHOWN} more lines were passed over"
