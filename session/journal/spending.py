"""Tokens and money of the attempts in a journal, and how much of them was spent in vain."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from .reader import number, number_or_none, text


@dataclass(slots=True)
class Sum:
    """Tokens and money of some attempts."""

    count: int = 0
    input: float = 0
    output: float = 0
    money: float | None = None
    unpriced: int = 0

    def add(self, other: Sum) -> None:
        """Add *other*."""
        self.count += other.count
        self.input += other.input
        self.output += other.output
        self.unpriced += other.unpriced
        if other.money is not None:
            self.money = (self.money or 0.0) + other.money

    def to_json(self) -> dict[str, Any]:
        """Return the sums as plain data; ``money`` is null if no attempt has a price."""
        return {
            "count": self.count,
            "input": self.input,
            "output": self.output,
            "money": None if self.money is None else round(self.money, 6),
            "unpriced": self.unpriced,
        }


class ColdCaches:
    """Add up the input tokens that new routes had no cache of, by route."""

    def __init__(self) -> None:
        self._routes: defaultdict[str, Sum] = defaultdict(Sum)

    def take(self, entry: dict[str, Any]) -> None:
        """Add what *entry*, the start of a step or a swap, says.

        Raises:
            NotAJournalLine: It lacks something, and nothing was added.
        """
        tokens, money = (number_or_none(entry, name) for name in ("cold_tokens", "cold_money"))
        if tokens:
            spent = Sum(1, tokens, 0, money, int(money is None))
            self._routes[text(entry, "route")].add(spent)

    def to_json(self) -> dict[str, Any]:
        """Return the sums as plain data; ``cold_money`` is null if no price is known."""
        total = Sum()
        for each in self._routes.values():
            total.add(each)
        rows = [{"route": route} | _as_cold(each) for route, each in self._routes.items()]
        sums = _as_cold(total)
        return {name: sums[name] for name in ("cold_tokens", "cold_money")} | {"cold": rows}


def _as_cold(spent: Sum) -> dict[str, Any]:
    named = spent.to_json()
    return {
        "count": spent.count,
        "cold_tokens": spent.input,
        "cold_money": named["money"],
        "unpriced": spent.unpriced,
    }


class Spending:
    """Add up the entries ``AttemptCost``; each precedes the end of its attempt."""

    def __init__(self) -> None:
        self._routes: defaultdict[str, Sum] = defaultdict(Sum)
        self._under_way: defaultdict[tuple[object, ...], dict[object, Sum]] = defaultdict(dict)
        self._lost = Sum()

    def take(self, entry: dict[str, Any]) -> None:
        """Add the tokens and money of *entry*.

        Raises:
            NotAJournalLine: It lacks something, and nothing was added.
        """
        route, step, attempt = text(entry, "route"), number(entry, "step"), entry.get("attempt")
        money = number_or_none(entry, "money")
        sent, received = (number_or_none(entry, name) or 0 for name in ("input", "output"))
        spent = Sum(1, sent, received, money, int(money is None))
        self._routes[route].add(spent)
        if isinstance(attempt, int):
            self._under_way[entry["session"], step][attempt] = spent

    def fail(self, session: str, step: float, attempt: object) -> None:
        """Count what *attempt* took as lost, because it failed."""
        spent = self._under_way.get((session, step), {}).pop(attempt, None)
        if spent is not None:
            self._lost.add(spent)

    def end(self, session: str, step: float) -> None:
        """Forget the attempts of *step*."""
        self._under_way.pop((session, step), None)

    def to_json(self) -> dict[str, Any]:
        """Return the sums as plain data."""
        rows = [{"route": route} | spent.to_json() for route, spent in self._routes.items()]
        return {
            "spent": rows,
            "spent_on_failures": self._lost.to_json() if self._lost.count else None,
        }
