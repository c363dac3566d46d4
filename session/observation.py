"""What an observer of a `Sidestep` gets: every event, and what the events leave out.

An observer is called in the task of the attempt, the tool or the turn that it is about, while the
context variables of that task are in force. So an observer can put a trace's span around them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..provider.conversation import Conversation, Part
from ..provider.log import logger
from ..provider.route import Route
from .callback import log_callback_error
from .event import Event


@dataclass(slots=True)
class FirstOutput:
    """The attempt has shown its first output."""

    step: int
    attempt: int
    route: Route


@dataclass(slots=True)
class RequestSent:
    """An attempt of our own client is about to send *conversation*."""

    step: int
    attempt: int
    route: Route
    conversation: Conversation


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


class Observers:
    """Hand each observation to several observers, and log their exceptions.

    The exceptions of one observer are logged once, because an exporter that is broken raises at
    every step.
    """

    __slots__ = ("_complained", "all")

    def __init__(self, observers: tuple[Observer, ...]) -> None:
        self.all = observers
        self._complained: set[int] = set()

    def __call__(self, observation: Observation) -> None:
        for observer in self.all:
            try:
                observer(observation)
            except Exception:  # noqa: BLE001 - it is logged
                self._complain(id(observer), observation)

    def _complain(self, observer: int, observation: Observation) -> None:
        if observer in self._complained:
            logger.debug("an observer raised again on %s", type(observation).__name__)
            return
        self._complained.add(observer)
        log_callback_error(
            f"an observer raised on {type(observation).__name__}; this is logged once"
        )
