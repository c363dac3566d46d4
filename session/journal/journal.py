"""A file with a line for each attempt, wait, swap and cooldown."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import count
from typing import Any, Self

from ...provider.error import ConfigError
from ...provider.fork import after_fork
from ...provider.log import logger
from ...provider.secret import redact_shapes
from ..clock import Clock, SystemClock
from ..event import (
    AttemptStarted,
    Compacted,
    Event,
    StepStarted,
    ToolRunEnded,
    ToolRunStarted,
    TurnEnded,
)
from .journal_file import ends_mid_line, open_journal
from .line import NOT_WRITTEN, VERSION, describe, line

VARIABLE = "SIDESTEP_JOURNAL"


class Journal:
    """Append every event to a file, without prompts, answers and the output of tools.

    A listener: pass it to one `Sidestep` as ``journal``, which also says to which turn an event
    belongs. Each line is written at once and whole, so that processes may share a file, and threads
    a journal. A line that cannot be written is lost and counted; that is logged once, and no turn
    fails because of it.

    Args:
        path: Where to append; a missing file is made, for its owner alone.
        clock: Measures turns and tools.
        wall_clock: Epoch seconds, for the time on each line.
        environ: Variables; the values of those that are named like secrets are never written.
            None: `os.environ`.

    Raises:
        ConfigError: The file cannot be opened.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        clock: Clock | None = None,
        wall_clock: Callable[[], float] = time.time,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self.clock: Clock = clock or SystemClock()
        self._wall_clock = wall_clock
        self._environ: Mapping[str, str] = os.environ if environ is None else environ
        self._file = open_journal(self.path)
        self._close = weakref.finalize(self, os.close, self._file)
        self._is_torn = ends_mid_line(self.path)
        self._has_complained = False
        self._lost = 0
        self._turns = count(1)
        self._begin_part()
        after_fork(self, Journal._begin_part)

    @classmethod
    def from_env(cls, environ: Mapping[str, str], *, clock: Clock | None = None) -> Self | None:
        """Return the journal that ``SIDESTEP_JOURNAL`` names; None: it names none.

        A file that cannot be opened is logged as an error, and counts as none.
        """
        path = environ.get(VARIABLE, "").strip()
        if not path:
            return None
        try:
            return cls(os.path.expanduser(path), clock=clock, environ=environ)
        except ConfigError as error:
            logger.error("%s is ignored: %s", VARIABLE, error)
            return None

    def _begin_part(self) -> None:
        """Begin a part for this process; its head is written together with the next line."""
        self.session = os.urandom(8).hex()
        self._pid = os.getpid()
        self._is_headed = False
        # A forked child gets a lock that nobody holds.
        self._lock = threading.RLock()
        self._waiting: deque[dict[str, Any]] = deque()
        self._is_writing = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Journal({self.path!r})"

    def __call__(self, event: Event) -> None:
        """Write *event*."""
        step, attempt = getattr(event, "step", None), getattr(event, "attempt", None)
        self.write(event, turn=None, step=step, attempt=attempt)

    def scope(self, *, of_turn: bool = False) -> JournalScope:
        """Return a listener for the events of one step, or of one turn."""
        return JournalScope(self, next(self._turns) if of_turn else None)

    def close(self) -> None:
        """Close the file; later events are not written."""
        self._close()

    def write(
        self,
        event: Event,
        *,
        turn: int | None,
        step: int | None,
        attempt: int | None,
        seconds: float | None = None,
    ) -> None:
        """Write *event* with the numbers that relate it to others; *seconds*: how long it took."""
        record = describe(event, self._environ)
        if record is None or not self._close.alive:
            return
        if os.getpid() != self._pid:  # a fork counts its own steps
            self._begin_part()
        if seconds is not None:
            record["seconds"] = seconds
        self._waiting.append({"turn": turn, "step": step, "attempt": attempt} | record)
        with self._lock:
            if not self._is_writing:
                self._write_waiting()

    def _write_waiting(self) -> None:
        """Write the lines that wait, in order.

        An event that happens meanwhile in this thread waits as well, because the garbage collector
        may end a step at any moment.
        """
        self._is_writing = True
        try:
            while self._waiting:
                record = self._waiting.popleft()
                if not (self._is_ready() and self._append(self._stamp() | record)):
                    self._lost += 1
        finally:
            self._is_writing = False

    def _is_ready(self) -> bool:
        """Write what has to precede the next line; return whether it is there."""
        if not self._is_headed:
            self._is_headed = self._append(self._head())
        if self._is_headed and self._lost:
            ids = {"turn": None, "step": None, "attempt": None}
            record = {"event": "LinesLost", "lines": self._lost}
            if self._append(self._stamp() | ids | record):
                self._lost = 0
        return self._is_headed and not self._lost

    def _head(self) -> dict[str, Any]:
        stamp = self._stamp()
        return {"journal": VERSION, "session": stamp["session"], "at": stamp["at"]}

    def _stamp(self) -> dict[str, Any]:
        at = datetime.fromtimestamp(self._wall_clock(), UTC).isoformat(timespec="milliseconds")
        return {"at": at.replace("+00:00", "Z"), "session": self.session}

    def _append(self, record: Mapping[str, Any]) -> bool:
        """Write *record* in one call; return whether all of it is there."""
        data = b"\n" * self._is_torn + line(record)
        try:
            size = os.write(self._file, data)
        except OSError as error:
            self._complain(error.strerror)
            return False
        if size < len(data):
            self._is_torn = True
            self._complain("there was room for half a line")
            return False
        self._is_torn = False
        return True

    def _complain(self, why: str | None) -> None:
        if not self._has_complained:
            self._has_complained = True
            logger.error(
                "the journal %r cannot be written (%s): lines are missing in it until it can",
                redact_shapes(self.path), why,
            )  # fmt: skip


class JournalScope:
    """Write the events of one turn, or of one step outside a turn, with its numbers.

    Args:
        turn: The number of the turn; None: there is none.
    """

    __slots__ = ("_attempt", "_journal", "_started_at", "_step", "_tools", "turn")

    def __init__(self, journal: Journal, turn: int | None) -> None:
        self.turn = turn
        self._journal = journal
        self._started_at = journal.clock.time()
        self._step: int | None = None
        self._attempt: int | None = None
        self._tools: dict[str, float] = {}

    def __call__(self, event: Event) -> None:
        """Write *event*; an event without an attempt belongs to the last one that began."""
        if isinstance(event, NOT_WRITTEN):
            return
        if isinstance(event, StepStarted):
            self._step, self._attempt = event.step, None
        elif isinstance(event, AttemptStarted):
            self._attempt = event.attempt
        step = getattr(event, "step", self._step)
        attempt = getattr(event, "attempt", self._attempt if step == self._step else None)
        if isinstance(event, TurnEnded | Compacted):
            step = attempt = None
        seconds = self._seconds(event)
        self._journal.write(event, turn=self.turn, step=step, attempt=attempt, seconds=seconds)

    def aside(self) -> JournalScope:
        """Return a listener for a side call in the same turn."""
        return JournalScope(self._journal, self.turn)

    def _seconds(self, event: Event) -> float | None:
        """Return how long a tool or a turn took, because its event does not say."""
        if isinstance(event, ToolRunStarted):
            self._tools[event.id] = self._journal.clock.time()
        elif isinstance(event, ToolRunEnded):
            began_at = self._tools.pop(event.id, None)
            return None if began_at is None else self._journal.clock.time() - began_at
        elif isinstance(event, TurnEnded) and self.turn is not None:
            return self._journal.clock.time() - self._started_at
        return None
