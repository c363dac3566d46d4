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
    from collections.abc import Awaitable, Callable

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
        serves: Returns whether the agent can send requests to a route, or why not; None: it can.
        check_move: Returns why the conversation cannot move now, or None; None: it can.
        before_attempt: Called before each attempt; None: nothing is.
    """

    __slots__ = (
        "_count",
        "_repair",
        "_repaired",
        "_waiter",
        "before_attempt",
        "check_move",
        "serves",
    )

    def __init__(
        self,
        serves: Callable[[Route], bool | str] | None,
        repair: Callable[[Failure], str | None] | None,
        check_move: Callable[[], object] | None,
        before_attempt: Callable[[Route], None] | None,
        count: Callable[[Route], object] | None,
        *,
        waiter: Waiter,
    ) -> None:
        if waiter is BLOCKING:
            hooks = (serves, repair, check_move, before_attempt, count)
            for name, hook in zip(_NAMES, hooks, strict=True):
                if hook is not None:
                    refuse_asynchronous(name, hook)
        self.serves = None if serves is None else _checked_serves(serves)
        self.check_move = None if check_move is None else _checked_check_move(check_move, waiter)
        self.before_attempt = (
            None if before_attempt is None else _checked_before_attempt(before_attempt)
        )
        self._repair = repair
        self._repaired: set[Route] = set()
        self._count = count
        self._waiter = waiter

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
        self._repaired.add(route)
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


def _checked_serves(serves: Callable[[Route], object]) -> Callable[[Route], bool | str]:
    def ask(route: Route) -> bool | str:
        verdict = call("serves", serves, route)
        if isinstance(verdict, bool | str):
            return verdict
        raise wrong_value("serves", verdict, "True, False, or a text that says why not")

    return ask


def _checked_check_move(
    check_move: Callable[[], object], waiter: Waiter
) -> Callable[[], Awaitable[str | None]]:
    wanted = "None if the conversation can move, or a text that says why not"

    async def ask() -> str | None:
        why = await waiter.value("check_move", call("check_move", check_move), wanted)
        if why is None or isinstance(why, str):
            return why
        raise wrong_value("check_move", why, wanted)

    return ask


def _checked_before_attempt(before_attempt: Callable[[Route], object]) -> Callable[[Route], None]:
    def ask(route: Route) -> None:
        refuse_awaitable("before_attempt", call("before_attempt", before_attempt, route))

    return ask


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
