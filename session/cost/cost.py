"""The cost of attempts, with a list of them."""

from __future__ import annotations

from dataclasses import dataclass

from ...provider.conversation import AttemptRecord


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a step, a turn or a session; ``Cost(message.attempts)`` is one step's.

    Args:
        attempts: Every attempt, including failed ones, each with its own cost.
    """

    attempts: tuple[AttemptRecord, ...] = ()

    @property
    def input(self) -> int:
        """Tokens sent, including those read from a cache."""
        return sum(attempt.input or 0 for attempt in self.attempts)

    @property
    def output(self) -> int:
        """Tokens that the model wrote."""
        return sum(attempt.output or 0 for attempt in self.attempts)

    @property
    def money(self) -> float | None:
        """US dollars; None: an attempt has no price."""
        moneys = [attempt.money for attempt in self.attempts]
        prices = [money for money in moneys if money is not None]
        return sum(prices, 0.0) if len(prices) == len(moneys) else None

    @property
    def cold_tokens(self) -> int:
        """Input tokens that were sent to a route without a cache of them, because it was new."""
        return sum(attempt.cold_tokens or 0 for attempt in self.attempts)

    @property
    def cold_money(self) -> float | None:
        """The price of `cold_tokens` in US dollars; None: some have no price."""
        cold = [attempt.cold_money for attempt in self.attempts if attempt.cold_tokens]
        prices = [money for money in cold if money is not None]
        return sum(prices, 0.0) if len(prices) == len(cold) else None

    @property
    def is_estimated(self) -> bool:
        """True if some tokens are estimates."""
        return any(attempt.is_estimated for attempt in self.attempts)
