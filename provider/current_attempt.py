"""The attempt in which a task runs, for the code that the attempt calls."""

from __future__ import annotations

from contextvars import ContextVar


class AttemptMark:
    """The state that the requests of one attempt share.

    Attributes:
        failed: The requests that failed: an address, and the hash of a body.
    """

    __slots__ = ("failed",)

    def __init__(self) -> None:
        self.failed: set[tuple[str, int]] = set()


class CurrentAttempt:
    """The mark of the attempt in which a task runs.

    Attributes:
        is_wanted: True once a client is watched. Before that no mark is set, because marks cost a
            tenth of a step.
    """

    __slots__ = ("_mark", "is_wanted")

    def __init__(self) -> None:
        self._mark: ContextVar[AttemptMark | None] = ContextVar("sidestep_attempt", default=None)
        self.is_wanted = False

    def get(self) -> AttemptMark | None:
        """Return the mark of the attempt in which this task runs; None: there is none."""
        return self._mark.get()

    def set(self, mark: AttemptMark | None) -> None:
        """Put this task into the attempt with *mark*; None: into none."""
        self._mark.set(mark)


current_attempt = CurrentAttempt()
