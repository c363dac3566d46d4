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


class CurrentAttempt:
    """The mark of the attempt that a task is in.

    Attributes:
        is_wanted: Somebody has asked for marks, because setting them costs a tenth of a step.
    """

    __slots__ = ("_mark", "is_wanted")

    def __init__(self) -> None:
        self._mark: ContextVar[AttemptMark | None] = ContextVar("sidestep_attempt", default=None)
        self.is_wanted = False

    def get(self) -> AttemptMark | None:
        """Return the mark of the attempt that this task is in; None: it is in none."""
        return self._mark.get()

    def set(self, mark: AttemptMark | None) -> None:
        """Put this task into the attempt with *mark*; None: into none."""
        self._mark.set(mark)


current_attempt = CurrentAttempt()
