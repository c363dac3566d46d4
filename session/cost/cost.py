"""What attempts took, listed one by one."""

from __future__ import annotations

from dataclasses import dataclass

from ...provider.conversation import AttemptRecord


@dataclass(frozen=True, slots=True)
class Cost:
    """What a step, a turn or a session took: ``Cost(message.attempts)`` is that of one step.

    Args:
        attempts: Every attempt, the failed ones as well, each with its own share.
    """

    attempts: tuple[AttemptRecord, ...] = ()

    @property
    def input(self) -> int:
        """Tokens sent, those that a cache had as well."""
        return sum(attempt.input or 0 for attempt in self.attempts)

    @property
    def output(self) -> int:
        """Tokens written."""
        return sum(attempt.output or 0 for attempt in self.attempts)

    @property
    def money(self) -> float | None:
        """US dollars; None where one of the attempts has no price."""
        told = [attempt.money for attempt in self.attempts]
        prices = [money for money in told if money is not None]
        return sum(prices, 0.0) if len(prices) == len(told) else None

    @property
    def is_estimated(self) -> bool:
        """Whether a provider left some of it to be estimated."""
        return any(attempt.is_estimated for attempt in self.attempts)
