"""What an observer of a `Sidestep` gets: every event, and what the events leave out.

An observer is called in the task of the attempt, the tool or the turn that it is about, while the
context variables of that task are in force. So an observer can put a trace's span around them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..provider.conversation import Conversation, Part
from ..provider.fork import after_fork, renew_lock
from ..provider.log import logger
from ..provider.route import Route
from .callback import is_own_error, log_callback_error
from .event import Event


@dataclass(slots=True)
class FirstOutput:
    """The attempt has shown its first output."""

    step: int
    attempt: int
    route: Route


@dataclass(slots=True)
class RequestSent:
    """An attempt of our own client is about to send *conversation* to *base_url*."""

    step: int
    attempt: int
    route: Route
    conversation: Conversation
    base_url: str


@dataclass(slots=True)
class AnswerRead:
    """The answer of an attempt of our own client is whole.

    Args:
        stop: Why the model stopped, in the provider's own word; None: the provider did not say.
        model: The model that the provider reports; None: it reported none.
    """

    step: int
    attempt: int
    route: Route
    parts: Sequence[Part]
    stop: str | None
    model: str | None


@dataclass(slots=True)
class TurnStarted:
    """A turn of a `Session` starts; *prompt* is None if it continues the conversation."""

    requested: Route
    prompt: str | None
    system: str | None


Observation = Event | FirstOutput | RequestSent | AnswerRead | TurnStarted
Observer = Callable[[Observation], object]


class HandlerTable:
    """An observer that handles some kinds of observations, and is not called for the others."""

    def __init__(self, handlers: Mapping[type, Callable[[Any], None]]) -> None:
        self.handlers = handlers

    def __call__(self, observation: Observation) -> None:
        """Handle *observation*, if it is of a kind that has a handler."""
        handle = self.handlers.get(type(observation))
        if handle is not None:
            handle(observation)


class LockedHandlerTable(HandlerTable):
    """A `HandlerTable` that handles the observations of all threads one after the other."""

    def __init__(self, handlers: Mapping[type, Callable[[Any], None]]) -> None:
        super().__init__({kind: partial(self._locked, each) for kind, each in handlers.items()})
        self._lock = threading.RLock()  # the garbage collector may end a step in this thread
        after_fork(self, renew_lock)

    def _locked(self, handle: Callable[[Any], None], observation: Observation) -> None:
        with self._lock:
            handle(observation)


class Observers:
    """Hand each observation to several observers, and log their exceptions.

    The exceptions of one observer are logged once, because an exporter that is broken raises at
    every step.
    """

    __slots__ = ("_calls", "_complained", "all")

    def __init__(self, observers: tuple[Observer, ...]) -> None:
        self.all = observers
        self._calls: dict[type, tuple[tuple[Callable[[Any], object], Observer], ...]] = {}
        self._complained: set[int] = set()

    def __call__(self, observation: Observation) -> None:
        calls = self._calls.get(type(observation))
        interrupt: BaseException | None = None
        for call, observer in self._find(type(observation)) if calls is None else calls:
            try:
                call(observation)
            except BaseException as exc:  # noqa: BLE001 - raised below, once all were called
                if is_own_error(exc):
                    self._complain(observer, observation)
                else:
                    interrupt = interrupt or exc
        if interrupt is not None:
            raise interrupt

    def _find(self, kind: type) -> tuple[tuple[Callable[[Any], object], Observer], ...]:
        """Return what to call with an observation of *kind*, each with its observer."""
        found: list[tuple[Callable[[Any], object], Observer]] = []
        for observer in self.all:
            call: Callable[[Any], object] | None = observer
            if isinstance(observer, HandlerTable):
                call = observer.handlers.get(kind)
            if call is not None:
                found.append((call, observer))
        calls = self._calls[kind] = tuple(found)
        return calls

    def _complain(self, observer: Observer, observation: Observation) -> None:
        if id(observer) in self._complained:
            logger.debug("an observer raised again on %s", type(observation).__name__)
            return
        self._complained.add(id(observer))
        log_callback_error(
            f"an observer raised on {type(observation).__name__}; this is logged once"
        )
