"""One attempt without an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from .base_attempt import BaseAttempt
from .waiter import drive

if TYPE_CHECKING:
    from types import TracebackType


class SyncAttempt(BaseAttempt):
    """One request on one route: a context manager around the agent's own synchronous call.

    An exception that the body raises is classified. If another attempt follows, the exception is
    suppressed; if none follows, it propagates. Nothing ends the body at the deadline of the step:
    give its request `seconds_left` as a timeout.
    """

    __slots__ = ()

    def __enter__(self) -> Self:
        return drive(self._enter())

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        return drive(self._exit(exc_type, exc, traceback))
