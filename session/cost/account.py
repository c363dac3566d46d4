"""The account of one turn or one session: what it has spent of its budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from ...provider.conversation import AttemptRecord
from ...provider.route import Route
from .budget import Budget


@dataclass(slots=True)
class Amount:
    """An amount of everything that a budget limits, except seconds."""

    attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    money: float = 0.0

    def add(self, other: Amount, sign: int = 1) -> None:
        """Add *other*; with *sign* -1, subtract it."""
        self.attempts += sign * other.attempts
        self.input_tokens += sign * other.input_tokens
        self.output_tokens += sign * other.output_tokens
        self.money += sign * other.money


class Account:
    """What one turn, or the session, has spent of its budget.

    Args:
        owner: ``turn`` or ``session``, for messages.
        name: The argument of `Session` that sets the budget, for messages.

    Attributes:
        spent: What ended attempts cost.
        held: What running attempts may cost.
        records: The attempts of ended steps.
    """

    def __init__(self, owner: str, name: str, budget: Budget | None) -> None:
        self.budget = budget or Budget()
        self.spent = Amount()
        self.held = Amount()
        self.records: list[AttemptRecord] = []
        self._owner = owner
        self._name = name
        self._seconds = 0.0
        self._started_at: float | None = None

    def begin(self, now: float) -> None:
        """Start counting time at *now*."""
        self._started_at = now

    def end(self, now: float) -> None:
        """Stop counting time at *now*."""
        self._seconds, self._started_at = self._seconds_at(now), None

    def resume(self, records: Iterable[AttemptRecord], moneys: Iterable[float | None]) -> None:
        """Add what earlier runs spent; their seconds are those of their attempts and waits."""
        for record, money in zip(records, moneys, strict=True):
            self.records.append(record)
            self.spent.add(Amount(1, record.input or 0, record.output or 0, money or 0.0))
            self._seconds += record.seconds + record.waited

    @property
    def ends_at(self) -> float | None:
        """When the budget's seconds run out; None: never, or time is not being counted."""
        if self.budget.seconds is None or self._started_at is None:
            return None
        return self._started_at + self.budget.seconds - self._seconds

    def time_exceeded(self, now: float) -> str | None:
        """Return a text if the seconds have run out; None: they have not."""
        limit = self.budget.seconds
        if limit is None or (lasted := self._seconds_at(now)) < limit:
            return None
        return f"the {self._owner} has lasted {lasted:.1f} of {limit:g} s (`{self._name}.seconds`)"

    def limit_exceeded(self, route: Route, amount: Amount, now: float) -> str | None:
        """Return why an attempt on *route* that may cost *amount* is refused; None: it is not."""
        for unit in ("attempts", "input_tokens", "output_tokens", "money"):
            limit = getattr(self.budget, unit)
            if limit is None:
                continue
            used = getattr(self.spent, unit) + getattr(self.held, unit)
            more = getattr(amount, unit)
            if used >= limit or used + more > limit:
                spent = (
                    f"the {self._owner} has spent {_amount(unit, used)} of {_amount(unit, limit)}"
                )
                need = f", and an attempt on {route} may take {_amount(unit, more)} more"
                needs = "" if unit == "attempts" or not more else need
                return f"{spent} (`{self._name}.{unit}`){needs}"
        return self.time_exceeded(now)

    def _seconds_at(self, now: float) -> float:
        return self._seconds + (0.0 if self._started_at is None else now - self._started_at)


def _amount(unit: str, amount: float) -> str:
    if unit == "money":
        is_small = 0 < amount < 0.01
        return f"${Decimal(f'{amount:.2e}'):f}" if is_small else f"${amount:.4f}"
    name = unit.replace("_", " ")
    return f"{amount:,} {name if amount != 1 else name[:-1]}"
