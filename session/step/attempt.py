"""One attempt in an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from .base_attempt import BaseAttempt


class Attempt(BaseAttempt):
    """One request on one route: an asynchronous context manager around the agent's own call.

    An exception that the body raises is classified. If another attempt follows, the exception is
    suppressed; if none follows, it propagates. A deadline of the step ends the body on asyncio, but
    not while the body is suspended at a ``yield``, and not on trio.
    """

    __slots__ = ()

    __aexit__ = BaseAttempt._exit  # no wrapper, because every step would pay for it

    if TYPE_CHECKING:  # pyright takes the alias for one that returns the base

        async def __aenter__(self) -> Self: ...

    else:
        __aenter__ = BaseAttempt._enter
