"""The cooldowns that a session stores with its messages, and restores when it is resumed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..step.stored_cooldown import cooldowns_at, restore_cooldowns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...provider.conversation import Cooldown, Message
    from ...provider.route import Route
    from ..step.middleware import Sidestep


class StoredCooldowns:
    """Store and restore the cooldowns of *middleware*.

    Their ends are stored by the wall clock, because nothing else outlives a process.
    """

    def __init__(self, middleware: Sidestep) -> None:
        self._middleware = middleware
        self._is_restored = False

    def now(self) -> Sequence[Cooldown]:
        """Return what to store with a message."""
        return cooldowns_at(self._middleware.degraded, time.time())

    def restore(self, messages: Sequence[Message], requested: Route) -> None:
        """Restore, once, what is stored with the last of *messages*."""
        if self._is_restored:
            return
        self._is_restored = True
        if messages and messages[-1].cooldowns:
            middleware = self._middleware
            restore_cooldowns(
                messages[-1].cooldowns,
                middleware.degraded,
                active=middleware.active,
                requested=requested,
                tally=middleware.tally,
                now=time.time(),
            )
