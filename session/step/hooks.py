"""What a step asks of the agent, and what becomes of it where the agent's own code raises."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio

from ..callback import log_raised

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ...provider.failure import Failure
    from ...provider.route import Route

_COUNTING = 5.0
"""Seconds that a count may take; the estimate does without one."""
_MOST = 1_000_000_000

_logger = logging.getLogger("sidestep")


class Hooks:
    """The functions that an agent gave to one step; see `Sidestep.step`."""

    __slots__ = ("_count", "_repair", "_repaired", "before_attempt", "check_move", "serves")

    def __init__(
        self,
        serves: Callable[[Route], bool | str] | None,
        repair: Callable[[Failure], str | None] | None,
        check_move: Callable[[], Awaitable[str | None]] | None,
        before_attempt: Callable[[Route], None] | None,
        count: Callable[[Route], Awaitable[int | None]] | None,
    ) -> None:
        self.serves = serves
        self.check_move = check_move
        self.before_attempt = before_attempt
        self._repair = repair
        self._repaired: set[Route] = set()
        self._count = count

    @property
    def counts(self) -> bool:
        """The agent can say how many tokens a step takes."""
        return self._count is not None

    async def tokens(self, route: Route) -> int | None:
        """Ask how many tokens the step takes on *route*; None where nobody says in time."""
        if self._count is None:
            return None
        with anyio.move_on_after(_COUNTING):
            try:
                said: object = await self._count(route)
            except Exception:  # noqa: BLE001 - it is logged
                log_raised(f"`count` raised for {route}")
                return None
            if said is None or (type(said) is int and 0 <= said <= _MOST):
                return said
            _logger.error("`count` gave no number of tokens for %s, but %.80r", route, said)
        return None

    def change_for(self, failure: Failure, route: Route) -> str | None:
        """Ask, once on each route, what the agent can change in the request after *failure*."""
        if self._repair is None or failure.cure is None or route in self._repaired:
            return None
        self._repaired.add(route)
        try:
            return self._repair(failure)
        except Exception:  # noqa: BLE001 - it is logged
            log_raised(f"`repair` raised after {failure.kind}")
            return None


NO_HOOKS = Hooks(None, None, None, None, None)
"""Those of most steps of an agent's own loop."""
