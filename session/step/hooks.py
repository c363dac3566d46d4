"""Call the agent's own functions in a step, and check what they return.

Exceptions of `count` and `repair` are logged. An exception of another hook, or a value of a wrong
type, ends the step as `broken_step` says.
"""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING

import anyio

from ...provider.log import logger
from ..callback import log_callback_error, refuse_awaitable, shown, wrong_value

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ...provider.failure import Failure
    from ...provider.route import Route

_COUNT_TIMEOUT = 5.0
"""Seconds that a count may take; after that the estimate is used."""
_MAX_TOKENS = 1_000_000_000


class Hooks:
    """The functions that an agent passed to one step; see `Sidestep.step`.

    Attributes:
        serves: Returns whether the agent can send requests to a route, or why not; None: it can.
        check_move: Returns why the conversation cannot move now, or None; None: it can.
        before_attempt: Called before each attempt; None: nothing is.
    """

    __slots__ = ("_count", "_repair", "_repaired", "before_attempt", "check_move", "serves")

    def __init__(
        self,
        serves: Callable[[Route], bool | str] | None,
        repair: Callable[[Failure], str | None] | None,
        check_move: Callable[[], Awaitable[str | None]] | None,
        before_attempt: Callable[[Route], None] | None,
        count: Callable[[Route], Awaitable[int | None]] | None,
    ) -> None:
        self.serves = None if serves is None else _checked_serves(serves)
        self.check_move = None if check_move is None else _checked_check_move(check_move)
        self.before_attempt = (
            None if before_attempt is None else _checked_before_attempt(before_attempt)
        )
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
                count = await _awaited("count", self._count(route), _COUNTED)
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
        """Return what the agent changed in the request; None: nothing, or asked before.

        Raises:
            TypeError: `repair` returned something else.
        """
        if self._repair is None or failure.cure is None or route in self._repaired:
            return None
        self._repaired.add(route)
        try:
            change: object = self._repair(failure)
        except Exception:  # noqa: BLE001 - it is logged
            log_callback_error(f"`repair` raised after {failure.kind}")
            return None
        if change is None or isinstance(change, str):
            return change
        raise wrong_value("repair", change, "a text that says what it changed, or None")


_COUNTED = "the number of tokens as an `int` of 0 or more, or None if it is not known"


async def _awaited(hook: str, answer: object, wanted: str) -> object:
    """Return what *hook*, which has to be asynchronous, returns in the end."""
    if not isawaitable(answer):
        raise wrong_value(hook, answer, wanted, is_async=True)
    returned: object = await answer
    return returned


def _checked_serves(serves: Callable[[Route], object]) -> Callable[[Route], bool | str]:
    def ask(route: Route) -> bool | str:
        verdict = serves(route)
        if isinstance(verdict, bool | str):
            return verdict
        raise wrong_value("serves", verdict, "True, False, or a text that says why not")

    return ask


def _checked_check_move(
    check_move: Callable[[], object],
) -> Callable[[], Awaitable[str | None]]:
    wanted = "None if the conversation can move, or a text that says why not"

    async def ask() -> str | None:
        why = await _awaited("check_move", check_move(), wanted)
        if why is None or isinstance(why, str):
            return why
        raise wrong_value("check_move", why, wanted)

    return ask


def _checked_before_attempt(before_attempt: Callable[[Route], object]) -> Callable[[Route], None]:
    def call(route: Route) -> None:
        refuse_awaitable("before_attempt", before_attempt(route))

    return call


NO_HOOKS = Hooks(None, None, None, None, None)
"""Shared by all steps without hooks, because most steps have none."""
