"""Call the agent's own functions in a step, and check what they return.

Exceptions of `count` and `repair` are logged. An exception of another hook, or a value of a wrong
type, ends the step as `broken_step` says.
"""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import TYPE_CHECKING

from ...provider.log import logger
from ..callback import call, is_own_error, log_callback_error, refuse_awaitable, shown, wrong_value
from .waiter import BLOCKING, IN_LOOP, Waiter

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...provider.failure import Failure
    from ...provider.route import Route

_COUNT_TIMEOUT = 5.0
"""Seconds that a count may take in an event loop; after that the estimate is used."""
_NAMES = ("serves", "repair", "check_move", "before_attempt", "count")
_MAX_TOKENS = 1_000_000_000


class Hooks:
    """The functions that an agent passed to one step; see `Sidestep.step`.

    Args:
        waiter: How the step waits for what *check_move* and *count* return.

    Raises:
        TypeError: The step is synchronous, and a function is not; the message names it.

    Attributes:
        can_check_move: The agent passed a function that says why the conversation cannot move.
    """

    __slots__ = (
        "_before_attempt",
        "_check_move",
        "_count",
        "_repair",
        "_repaired",
        "_serves",
        "_waiter",
        "can_check_move",
    )

    def __init__(
        self,
        serves: Callable[[Route], object] | None,
        repair: Callable[[Failure], str | None] | None,
        check_move: Callable[[], object] | None,
        before_attempt: Callable[[Route], object] | None,
        count: Callable[[Route], object] | None,
        *,
        waiter: Waiter,
    ) -> None:
        if waiter is BLOCKING:
            hooks = (serves, repair, check_move, before_attempt, count)
            for name, hook in zip(_NAMES, hooks, strict=True):
                if hook is not None:
                    refuse_asynchronous(name, hook)
        self._serves = serves
        self._check_move = check_move
        self.can_check_move = check_move is not None
        self._before_attempt = before_attempt
        self._repair = repair
        self._repaired: tuple[Route, ...] = ()
        self._count = count
        self._waiter = waiter

    def serves(self, route: Route) -> bool | str:
        """Return whether the agent can send requests to *route*, or why not.

        Raises:
            TypeError: The agent's function returned something else.
        """
        if self._serves is None:
            return True
        verdict = call("serves", self._serves, route)
        if isinstance(verdict, bool | str):
            return verdict
        raise wrong_value("serves", verdict, "True, False, or a text that says why not")

    async def check_move(self) -> str | None:
        """Return why the conversation cannot move now; None: it can.

        Raises:
            TypeError: The agent's function returned something else.
        """
        if self._check_move is None:
            return None
        returned = call("check_move", self._check_move)
        why = await self._waiter.value("check_move", returned, _MOVABLE)
        if why is None or isinstance(why, str):
            return why
        raise wrong_value("check_move", why, _MOVABLE)

    def before_attempt(self, route: Route) -> None:
        """Report to the agent that an attempt on *route* is next.

        Raises:
            TypeError: The agent's function is asynchronous.
        """
        if self._before_attempt is not None:
            refuse_awaitable("before_attempt", call("before_attempt", self._before_attempt, route))

    @property
    def can_count(self) -> bool:
        """True if the agent passed a function that counts tokens."""
        return self._count is not None

    async def count_tokens(self, route: Route) -> int | None:
        """Return how many tokens the step takes on *route*; None: unknown, or too slow."""
        if self._count is None:
            return None
        with self._waiter.scope(_COUNT_TIMEOUT):
            try:
                count = await self._waiter.value(
                    "count", call("count", self._count, route), _COUNTED
                )
            except Exception:  # noqa: BLE001 - it is logged
                log_callback_error(f"`count` raised for {route}")
                return None
            if count is None or (type(count) is int and 0 <= count <= _MAX_TOKENS):
                return count
            logger.error(
                "`count` returned no number of tokens for %s, but %s: return %s",
                route, shown(count), _COUNTED,
            )  # fmt: skip
        return None

    def ask_repair(self, failure: Failure, route: Route) -> str | None:
        """Return what `repair` changed in the request; None: nothing, or it was called before.

        Raises:
            TypeError: `repair` returned something else.
        """
        if self._repair is None or failure.cure is None or route in self._repaired:
            return None
        self._repaired += (route,)
        try:
            change: object = self._repair(failure)
        except BaseException as exc:
            if not is_own_error(exc):
                raise
            log_callback_error(f"`repair` raised after {failure.kind}")
            return None
        if change is None or isinstance(change, str):
            return change
        raise wrong_value("repair", change, "a text that says what it changed, or None")


_COUNTED = "the number of tokens as an `int` of 0 or more, or None if it is not known"
_MOVABLE = "None if the conversation can move, or a text that says why not"


def refuse_asynchronous(name: str, hook: Callable[..., object]) -> None:
    """Check that the hook *name* of a synchronous step is not asynchronous.

    Raises:
        TypeError: It is.
    """
    if iscoroutinefunction(hook) or iscoroutinefunction(type(hook).__call__):
        raise TypeError(
            f"`{name}` is asynchronous, but `step_sync` has no event loop: write it without "
            "`async`, or take `middleware.step(route)`"
        )


NO_HOOKS = Hooks(None, None, None, None, None, waiter=IN_LOOP)
NO_SYNC_HOOKS = Hooks(None, None, None, None, None, waiter=BLOCKING)
"""Each shared by all its steps without hooks, because most steps have none."""
