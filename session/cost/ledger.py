"""The accounts of a session and its turns, checked against their budgets."""

from __future__ import annotations

import math
from collections.abc import Coroutine
from typing import TYPE_CHECKING, SupportsFloat

from ...provider.conversation import Usage
from ...provider.log import logger
from ..argument import number, shown
from ..callback import is_own_error, log_callback_error
from .account import Account, Amount
from .budget import Budget
from .cost import Cost
from .price import Prices, installed_prices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...provider.conversation import AttemptRecord, Message
    from ...provider.route import Route
    from ..clock import Clock
    from .price import Price


class Ledger:
    """Keep the account of a session, and the account of its running or last turn.

    Args:
        budget: What each turn may spend.
        session_budget: What all turns, side calls and earlier runs may spend together.
        price: What tokens cost; None: `Prices()` if a budget limits money.

    Attributes:
        is_limited: True if any limit is set.
        limits_money: True if money is limited, so that no route without a price can be asked.
        accounts: What an attempt is charged to now.

    Raises:
        ConfigError: A budget limits money, and no price is known.
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
        self._has_logged_price = False
        self._is_resumed = False
        self._session = Account("session", "session_budget", session_budget)
        self._turn = self._new_turn()
        self.accounts: tuple[Account, ...] = (self._session,)

    def _new_turn(self) -> Account:
        return Account("turn", "budget", self._budget)

    @property
    def turn_cost(self) -> Cost:
        """The cost of the ended steps of the running turn, or of the last turn."""
        return Cost(tuple(self._turn.records))

    @property
    def cost(self) -> Cost:
        """The cost of the session so far."""
        return Cost(tuple(self._session.records))

    @property
    def ends_at(self) -> float | None:
        """When the seconds of the turn or the session run out; None: never."""
        times = [account.ends_at for account in self.accounts]
        return min((time for time in times if time is not None), default=None)

    def begin_turn(self) -> None:
        """Open an account for a new turn, and start counting its time."""
        self._turn = self._new_turn()
        self.accounts = (self._turn, self._session)
        for account in self.accounts:
            account.begin(self.clock.time())

    def end_turn(self) -> None:
        """Stop counting the time of the turn."""
        for account in self.accounts:
            account.end(self.clock.time())
        self.accounts = (self._session,)

    def resume(self, messages: Sequence[Message]) -> None:
        """Add, once, what the attempts of earlier runs in *messages* spent."""
        if self._is_resumed:
            return
        self._is_resumed = True
        records = [record for message in messages for record in message.attempts]
        self._session.resume(records, map(self._money_of, records))

    def price(self, route: Route, usage: Usage) -> float | None:
        """Return what *usage* costs on *route*, in US dollars; None: not known."""
        return self._money_by(self._price, route, usage)

    def price_of_input(self, route: Route, tokens: int) -> float | None:
        """Return what *tokens* of input without a cache cost on *route*; None: not known.

        Without a price of the session's own the installed `Prices` are asked.
        """
        price = self._price or installed_prices()
        return self._money_by(price, route, Usage(tokens, 0))

    def _money_by(self, price: Price | None, route: Route, usage: Usage) -> float | None:
        if price is None:
            return None
        if not (usage.input or usage.output):
            return 0.0
        try:
            returned = price(route, usage)
        except BaseException as exc:
            if not is_own_error(exc):
                raise
            log_callback_error(f"`price` raised on {route}")
            return None
        money = _money(returned)
        if money is None and returned is not None:
            self._log_bad_price(returned, route)
        return money

    def is_priced(self, route: Route) -> bool:
        """True if *route* has a price."""
        return self.price(route, Usage(1, 1)) is not None

    def limit_exceeded(self, route: Route, amount: Amount) -> str | None:
        """Return why an attempt that may cost *amount* would exceed a limit; None: it would not."""
        now = self.clock.time()
        reasons = (account.limit_exceeded(route, amount, now) for account in self.accounts)
        return next((why for why in reasons if why is not None), None)

    def time_exceeded(self) -> str | None:
        """Return a text if the seconds of an account have run out; None: they have not."""
        now = self.clock.time()
        reasons = (account.time_exceeded(now) for account in self.accounts)
        return next((why for why in reasons if why is not None), None)

    def _money_of(self, record: AttemptRecord) -> float | None:
        money = _money(record.money)
        if money is not None:
            return money
        return self.price(record.route, Usage(record.input, record.output))

    def _log_bad_price(self, returned: object, route: Route) -> None:
        """Log, once for the session, that `price` returned what is not a price."""
        if isinstance(returned, Coroutine):
            returned.close()  # so that Python does not warn that it was never awaited
        if not self._has_logged_price:
            self._has_logged_price = True
            is_number = isinstance(returned, SupportsFloat)
            logger.error(
                "`price` returned %s for %s, which counts as no price: return US dollars, a finite "
                "number of 0 or more, or None if it is not known",
                shown(returned) if is_number else f"a {type(returned).__name__}", route,
            )  # fmt: skip


def _money(value: object) -> float | None:
    """Return *value* as US dollars; None: it is not a finite number of 0 or more."""
    money = number(value)
    return money if money is not None and 0 <= money < math.inf else None
