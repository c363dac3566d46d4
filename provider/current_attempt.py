"""The attempt that a task is in, for what is called from inside it."""

from __future__ import annotations

from contextvars import ContextVar


class AttemptMark:
    """What the requests within one attempt know of each other.

    Attributes:
        failed: The requests that failed: an address, and the hash of a body.
    """

    __slots__ = ("failed",)

    def __init__(self) -> None:
        self.failed: set[tuple[str, int]] = set()


current_attempt: ContextVar[AttemptMark | None] = ContextVar("sidestep_attempt", default=None)
