"""One attempt in an event loop."""

from __future__ import annotations

from .base_attempt import BaseAttempt


class Attempt(BaseAttempt):
    """One request on one route: an asynchronous context manager around the agent's own call.

    An exception that the body raises is classified. If another attempt follows, the exception is
    suppressed; if none follows, it propagates. A deadline of the step ends the body on asyncio, but
    not while the body is suspended at a ``yield``, and not on trio.
    """

    __slots__ = ()

    __aenter__ = BaseAttempt._enter  # no wrapper, because every step would pay for it
    __aexit__ = BaseAttempt._exit
