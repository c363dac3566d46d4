"""Warn once of mistakes of an agent that make failures worse.

A program has one object of this kind, because each report is made once in a process.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from weakref import ReferenceType, ref

import sniffio

from ...provider.log import logger
from ..clock import Clock, SystemClock
from ..plan.plan import Plan

_RETRY_COUNT = "x-stainless-retry-count"
"""The header in which the SDKs of openai, anthropic and groq count the retries of a request."""

_LONGEST_CHAIN = 10
_MOST_SINGLE = 5
"""The most instances in a row that may take a single step each."""


class CarelessUse:
    """Look for three mistakes, and log a warning of each.

    - The SDK retries inside each attempt, so that an attempt is several requests.
    - A new `Sidestep` is made for each step, so that none knows which routes are degraded.
    - A synchronous step waits in a thread that runs an event loop. A notebook does that rightly.
    """

    def __init__(self) -> None:
        self._reported: set[str] = set()
        self._line: _Line | None = None

    def look_at_failure(self, exc: BaseException) -> None:
        """Warn if *exc* shows that the SDK has retried the request."""
        try:
            name = _retrying_sdk(exc)
        except Exception:  # noqa: BLE001 - an agent's own exception may raise anything
            return
        if name is None or name in self._reported:
            return
        self._reported.add(name)
        setting = "max_retries=0 and num_retries=0" if name == "litellm" else "max_retries=0"
        logger.warning(
            "%s retries by itself inside each attempt, so that each attempt is several requests: "
            "call it with %s", name, setting,
        )  # fmt: skip

    def look_at_first_step(
        self, engine: object, numbers: count[int], plan: Plan, clock: Clock
    ) -> None:
        """Warn if *engine*, a `Sidestep`, is one of many that take one step each.

        Args:
            numbers: Counts the steps of *engine*.
            plan: What *engine* follows.
            clock: The clock of *engine*.
        """
        if _ENGINE in self._reported or (place := _place(clock)) is None:
            return
        configured = (plan.source, plan.config, plan.chains)
        line = self._line  # another thread may replace it
        if line is None or not line.continues(configured, place):
            line = self._line = _Line(configured, place)
        if line.add(engine, numbers):
            self._reported.add(_ENGINE)
            self._line = None
            logger.warning(
                "a new `Sidestep` with the same configuration is made for each step, so that none "
                "knows which routes are degraded: make one for the whole process"
            )

    def look_at_wait(self, seconds: float) -> None:
        """Warn if this thread, which is about to block for *seconds*, runs an event loop."""
        library = _running_library()
        if library is None or _WAIT in self._reported:
            return
        self._reported.add(_WAIT)
        logger.warning(
            "a synchronous step waits %.1f s in the thread of a running event loop (%s), which "
            "stands still meanwhile: take `middleware.step(route)`, or run the step in a thread "
            "of its own", seconds, library,
        )  # fmt: skip


_WAIT = "wait"
_ENGINE = "Sidestep"


class _Line:
    """Instances with one configuration in one place, which come one after the other."""

    def __init__(self, configured: object, place: object) -> None:
        self._configured = configured
        self._place = ref(place)
        self._ended = 0
        self._present: list[tuple[ReferenceType[object], count[int]]] = []
        self._is_collected = False

    def continues(self, configured: object, place: object) -> bool:
        return self._place() is place and configured == self._configured

    def add(self, engine: object, numbers: count[int]) -> bool:
        """Add an instance; True if too many before it took one step each, and are gone."""
        self._count_ended()
        if self._ended < _MOST_SINGLE <= len(self._present) and not self._is_collected:
            self._is_collected = True
            gc.collect()  # a step and its attempts refer to each other
            self._count_ended()
        if len(self._present) < 2 * _MOST_SINGLE:
            self._present.append((ref(engine), numbers))
        return self._ended >= _MOST_SINGLE

    def _count_ended(self) -> None:
        present = []
        for engine, numbers in self._present:
            if engine() is not None:
                present.append((engine, numbers))
            elif next(numbers) == 2:  # the number of the step that was never taken
                self._ended += 1
            else:
                self._ended = 0
        self._present = present


def _place(clock: Clock) -> object:
    """Return the event loop or the thread that a step is taken in; None: it does not count.

    A test has an event loop, or else a clock, of its own.
    """
    place: object = None
    for library, current in (
        ("asyncio", "get_running_loop"),
        ("trio.lowlevel", "current_trio_token"),
    ):
        if library in sys.modules:  # importing one takes long
            with suppress(RuntimeError):
                place = getattr(sys.modules[library], current)()
    if place is not None:
        return place
    return threading.current_thread() if isinstance(clock, SystemClock) else None


def _running_library() -> str | None:
    """Return the library of the event loop that runs in this thread; None: none runs.

    `sniffio.current_async_library` says "asyncio" in a worker thread of `anyio.run` as well.
    """
    if "asyncio" in sys.modules and sys.modules["asyncio"]._get_running_loop() is not None:
        return "asyncio"
    return sniffio.thread_local.name  # trio's, which asyncio cannot see


def _retrying_sdk(exc: BaseException) -> str | None:
    """Return the SDK that has retried the request behind *exc*; None: none says so."""
    chain = list(_chain(exc))
    names = [type(link).__module__.partition(".")[0] for link in chain]
    for link, name in zip(chain, names, strict=True):
        if _retries_of(link) > 0:
            return "litellm" if "litellm" in names else name
    return None


def _chain(exc: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = exc
    for _ in range(_LONGEST_CHAIN):
        if link is None:
            return
        yield link
        link = link.__cause__ or link.__context__


def _retries_of(link: BaseException) -> int:
    """Return how often the request behind *link* was retried, as far as *link* says."""
    counts = [getattr(link, "num_retries", None)]
    if type(link).__module__.startswith("litellm."):
        counts.append(getattr(link, "max_retries", None))  # the router has used them up
    for holder in (link, getattr(link, "response", None)):
        with suppress(Exception):  # httpx raises where there is no request
            headers = getattr(getattr(holder, "request", None), "headers", None) or {}
            counts.append(int(headers.get(_RETRY_COUNT, 0)))
    return max((each for each in counts if type(each) is int), default=0)


CARELESS_USE = CarelessUse()
"""Of this process."""
