"""Call the agent's own functions in a step; exceptions of `count` and `repair` are logged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from ...provider.log import logger
from ..callback import log_callback_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ...provider.failure import Failure
    from ...provider.route import Route

_COUNT_TIMEOUT = 5.0
"""Seconds that a count may take; after that the estimate is used."""
_MAX_TOKENS = 1_000_000_000


class Hooks:
    """The functions that an agent passed to one step; see `Sidestep.step`."""

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
    def can_count(self) -> bool:
        """True if the agent passed a function that counts tokens."""
        return self._count is not None

    async def count_tokens(self, route: Route) -> int | None:
        """Return how many tokens the step takes on *route*; None: unknown, or too slow."""
        if self._count is None:
            return None
        with anyio.move_on_after(_COUNT_TIMEOUT):
            try:
                count: object = await self._count(route)
            except Exception:  # noqa: BLE001 - it is logged
                log_callback_error(f"`count` raised for {route}")
                return None
            if count is None or (type(count) is int and 0 <= count <= _MAX_TOKENS):
                return count
            logger.error("`count` returned no number of tokens for %s, but %.80r", route, count)
        return None

    def ask_repair(self, failure: Failure, route: Route) -> str | None:
        """Return what the agent changed in the request; None: nothing, or asked before."""
        if self._repair is None or failure.cure is None or route in self._repaired:
            return None
        self._repaired.add(route)
        try:
            return self._repair(failure)
        except Exception:  # noqa: BLE001 - it is logged
            log_callback_error(f"`repair` raised after {failure.kind}")
            return None


NO_HOOKS = Hooks(None, None, None, None, None)
"""Shared by all steps without hooks, because most steps have none."""
