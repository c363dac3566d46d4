"""How the attempts on each route ended."""

from __future__ import annotations

import threading
from collections import Counter, deque
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from ...provider.failure import FailureKind
from ...provider.fork import after_fork, renew_lock
from ...provider.secret import is_secret_name, redact_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ...provider.failure import Failure
    from ..plan.keyed_route import TallyUnit

_MOST_ROUTES = 16_384
"""As many as the health map remembers."""
_LONGEST_MESSAGE = 200
_LONGEST_KEPT = 2_000
"""Characters; much more is kept than shown, so that no secret is cut before it is redacted."""
FULL = 1024
"""Steps after which the answers that wait are counted."""


@dataclass(frozen=True, slots=True)
class LastFailure:
    """Why an attempt failed last.

    Args:
        kind: A word of `FailureKind`.
        status: The effective HTTP status; None: it has none.
        message: The provider's own message, shortened and without keys; of an exception that no
            provider has raised its class, because its message may quote anything.
    """

    kind: str
    status: int | None
    message: str


@dataclass(slots=True)
class Tally:
    """The ended attempts of one route and key.

    Args:
        last_failure: With the message as it came; `redact_failure` shows it.
    """

    attempts: int = 0
    successes: int = 0
    last_failure: LastFailure | None = None


class AttemptTally:
    """Count the attempts that have ended, for each route and key.

    Threads may share it. Beyond the bound it forgets the unit that was added, or that answered, the
    longest ago, but none that *is_kept*.

    Args:
        most: How many units are counted.
        is_kept: Returns whether a unit has to be kept, as long as there is another to forget.

    Attributes:
        answered: Counts an attempt that answered. It is the `append` of a queue, because nearly
            every step calls it; `fold` empties the queue from time to time.
    """

    def __init__(
        self,
        *,
        most: int = _MOST_ROUTES,
        is_kept: Callable[[TallyUnit], bool] = lambda _unit: False,
    ) -> None:
        self._most = most
        self._is_kept = is_kept
        self._tallies: dict[TallyUnit, Tally] = {}
        self._answers: deque[TallyUnit] = deque()
        self.answered = self._answers.append
        self._lock = threading.RLock()  # the garbage collector may end an attempt in this thread
        after_fork(self, renew_lock)

    def fold(self) -> None:
        """Count the answers that wait in the queue."""
        with self._lock:
            waiting: Iterator[TallyUnit] = islice(
                iter(self._answers.popleft, None), len(self._answers)
            )
            for unit, answers in Counter(waiting).items():
                tally = self._tallies.pop(unit, None) or self._begin(unit)
                self._tallies[unit] = tally
                tally.attempts += answers
                tally.successes += answers

    def failed(self, unit: TallyUnit, failure: Failure) -> None:
        """Count an attempt that failed, and keep why.

        The message is redacted when somebody asks, because reading the whole environment would cost
        each failure as much as the rest of its step.
        """
        kept = LastFailure(str(failure.kind), failure.status, _words_of(failure))
        with self._lock:
            tally = self._tallies.get(unit) or self._begin(unit)
            tally.attempts += 1
            tally.last_failure = kept

    def cancelled(self, unit: TallyUnit) -> None:
        """Count an attempt that the caller ended, which is no failure of the route."""
        with self._lock:
            (self._tallies.get(unit) or self._begin(unit)).attempts += 1

    def snapshot(self) -> dict[TallyUnit, Tally]:
        """Return a copy of every count."""
        self.fold()
        with self._lock:
            return {
                unit: Tally(tally.attempts, tally.successes, tally.last_failure)
                for unit, tally in self._tallies.items()
            }

    def _begin(self, unit: TallyUnit) -> Tally:
        if len(self._tallies) >= self._most:
            others = (each for each in self._tallies if not self._is_kept(each))
            del self._tallies[next(others, next(iter(self._tallies)))]
        tally = self._tallies[unit] = Tally()
        return tally


def redact_failure(failure: LastFailure, environ: Mapping[str, str]) -> LastFailure:
    """Return *failure* with its message shortened, and without the secrets of *environ*.

    Secrets are the values of variables that are named like secrets.
    """
    return replace(failure, message=_shortened(failure.message, environ))


def message_of(failure: Failure, environ: Mapping[str, str]) -> str:
    """Return the message of *failure* as `redact_failure` shows it."""
    return _shortened(_words_of(failure), environ)


def _words_of(failure: Failure) -> str:
    """Return the provider's own message; for another exception its class, as `LastFailure` says."""
    if failure.kind is FailureKind.UNKNOWN and failure.status is None:
        return "" if failure.cause is None else type(failure.cause).__name__
    return failure.message[:_LONGEST_KEPT]


def _shortened(message: str, environ: Mapping[str, str]) -> str:
    secrets = [environ.get(name, "") for name in environ if is_secret_name(name)]
    text = redact_keys(message, secrets)
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[: _LONGEST_MESSAGE - 1]}…"
