"""What a session and its turns have spent, and what their budgets leave."""

from __future__ import annotations

import logging
import math
from collections.abc import Coroutine
from typing import TYPE_CHECKING, SupportsFloat

from ...provider.conversation import Usage
from ..argument import number, shown
from ..callback import log_raised
from .account import Account, Amount
from .budget import Budget
from .cost import Cost
from .price import Prices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...provider.conversation import AttemptRecord, Message
    from ...provider.route import Route
    from ..clock import Clock
    from .price import Price

_logger = logging.getLogger("sidestep")


class Ledger:
    """Keep the accounts of a session: its own, and that of its present or last turn.

    Args:
        budget: What each turn may spend.
        session_budget: What all of them may, with side calls and what earlier runs spent.
        price: What tokens cost; None: what `Prices` says, where a budget limits money.

    Attributes:
        is_limited: There is a budget to look at before an attempt.
        limits_money: It limits money, so that a route without a price cannot be asked.

    Raises:
        ConfigError: A budget limits money, and nothing knows prices.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        budget: Budget | None,
        session_budget: Budget | None,
        price: Price | None,
    ) -> None:
        budgets = [each for each in (budget, session_budget) if each is not None]
        self.is_limited = any(each != Budget() for each in budgets)
        self.limits_money = any(each.money is not None for each in budgets)
        self.clock = clock
        self._price = Prices() if price is None and self.limits_money else price
        self._budget = budget
        self._has_complained = False
        self._is_resumed = False
        self._is_in_turn = False
        self._session = Account("session", "session_budget", session_budget)
        self._turn = self._new_turn()

    def _new_turn(self) -> Account:
        return Account("turn", "budget", self._budget)

    @property
    def accounts(self) -> tuple[Account, ...]:
        """Those that an attempt is charged to now."""
        return (self._turn, self._session) if self._is_in_turn else (self._session,)

    @property
    def turn_cost(self) -> Cost:
        """What the present turn took so far, or the last one."""
        return Cost(tuple(self._turn.records))

    @property
    def cost(self) -> Cost:
        """What the session took so far."""
        return Cost(tuple(self._session.records))

    @property
    def ends_at(self) -> float | None:
        """When the time of the turn is up; None: never."""
        times = [account.ends_at for account in self.accounts]
        return min((time for time in times if time is not None), default=None)

    def begin_turn(self) -> None:
        """Open an account for a turn."""
        self._turn = self._new_turn()
        self._is_in_turn = True
        for account in self.accounts:
            account.begin(self.clock.time())

    def end_turn(self) -> None:
        """Count the time of the turn no further."""
        for account in self.accounts:
            account.end(self.clock.time())
        self._is_in_turn = False

    def resume(self, messages: Sequence[Message]) -> None:
        """Take over, once, what the attempts in *messages* spent, which earlier runs made."""
        if self._is_resumed:
            return
        self._is_resumed = True
        records = [record for message in messages for record in message.attempts]
        self._session.resume(records, map(self._money_of, records))

    def price(self, route: Route, usage: Usage) -> float | None:
        """Return what *usage* costs on *route*, in US dollars; None where that is not known."""
        if self._price is None:
            return None
        if not (usage.input or usage.output):
            return 0.0
        try:
            told = self._price(route, usage)
        except Exception:  # noqa: BLE001 - it is logged
            log_raised(f"`price` raised on {route}")
            return None
        money = _money(told)
        if money is None and told is not None:
            self._complain(told, route)
        return money

    def is_priced(self, route: Route) -> bool:
        """Say whether *route* has a price."""
        return self.price(route, Usage(1, 1)) is not None

    def refusal(self, route: Route, asked: Amount) -> str | None:
        """Say why an attempt that may take *asked* would break a limit; None: it would not."""
        now = self.clock.time()
        told = (account.refusal(route, asked, now) for account in self.accounts)
        return next((why for why in told if why is not None), None)

    def overrun(self) -> str | None:
        """Say that the time of the turn, or of the session, is up; None: it is not."""
        now = self.clock.time()
        told = (account.overrun(now) for account in self.accounts)
        return next((why for why in told if why is not None), None)

    def _money_of(self, record: AttemptRecord) -> float | None:
        money = _money(record.money)
        if money is not None:
            return money
        return self.price(record.route, Usage(record.input, record.output))

    def _complain(self, told: object, route: Route) -> None:
        """Log what `price` returned, once, and that it is no price."""
        if isinstance(told, Coroutine):
            told.close()  # nobody awaits it
        if not self._has_complained:
            self._has_complained = True
            is_number = isinstance(told, SupportsFloat)
            _logger.error(
                "`price` returned %s for %s, which counts as no price: return US dollars, a finite "
                "number of 0 or more, or None where it is not known",
                shown(told) if is_number else f"a {type(told).__name__}", route,
            )  # fmt: skip


def _money(told: object) -> float | None:
    """Return *told* in US dollars; None for what is no finite number of 0 or more."""
    money = number(told)
    return money if money is not None and 0 <= money < math.inf else None
