"""What follows a step that failed because of what the conversation holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...provider.error import ProviderError
from ...provider.failure import Failure, FailureKind
from ...provider.handover.plain_text import message_digest
from ...provider.native_cancel import without_stray_cancellations
from ..error import (
    BudgetExceeded,
    ContextOverflow,
    FallbackUnsafe,
    StepFailed,
    StreamInterrupted,
)
from .transcript import is_answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ...provider.conversation import Message
    from ...provider.cure import Cure
    from ...provider.route import Route
    from .metered_step import MeteredStep
    from .session_state import SessionState

_REFUSALS = frozenset({FailureKind.HISTORY_REJECTED, FailureKind.BAD_REQUEST})
_CURES = 20
"""The most changes of one step that refusals ask for; each names one picture or parameter."""
_COMPACTIONS = 4
"""How often one step may shorten the conversation, because an estimate may be too low."""


def calls_for_compaction(error: Exception) -> bool:
    """True if *error* ended a step, and the conversation must be shorter for another to succeed.

    That is so if a route found it too long, or if every route refused what it holds: a stored
    conversation would be refused again in every turn.
    """
    if isinstance(error, ContextOverflow):
        return True
    failures = failures_of(error)
    return any(failure.kind is FailureKind.REQUEST_TOO_LARGE for failure in failures) or (
        bool(failures) and all(map(_is_of_history, failures))
    )


class Remedies:
    """What a session tries after a refusal, so that a stored conversation is never stuck.

    It tries the change that the refusal names, then a shorter conversation, and at last the
    conversation as plain text, without calls, pictures and reasoning. It leaves out the messages
    that a content filter refused in an earlier turn.

    Attributes:
        messages_before: The number of messages before the last shortening; None: there was none.
    """

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._cures_left = _CURES
        self._compactions_left = _COMPACTIONS
        self._is_plain = False
        self._before: tuple[Route, tuple[Cure, ...]] | None = None
        self.messages_before: int | None = None

    async def apply(self, error: Exception, step: MeteredStep[None] | None) -> str | None:
        """Change what the next step sends after *error* ended *step*; None: nothing is left to try.

        Raises:
            StepFailed, ProviderError: The conversation could not be summarised.
        """
        self.messages_before = None
        if self._take_back() or isinstance(
            error, BudgetExceeded | FallbackUnsafe | StreamInterrupted
        ):
            return None
        failure = next(reversed(failures_of(error)), None)
        change = None if failure is None or step is None else self._cured(failure, step)
        if change is None and await self._compact(error):
            change = "shorten the conversation"
        if change is not None or failure is None or step is None:
            return change
        if failure.kind is FailureKind.CONTENT_FILTER:
            return self._without_filtered(failure, step)
        return self._plain_text(error, failure, step)

    def _without_filtered(self, failure: Failure, step: MeteredStep[None]) -> str | None:
        """Leave out, once, the messages that were new when a filter refused an earlier turn.

        The first such failure ends its turn, because no other route would do better. The
        conversation still holds the refused messages, so that every later turn would end in the
        same way.
        """
        names = filtered_messages(self._state.transcript.messages)
        if failure.route is None or not names:
            return None
        self._before = failure.route, self._state.cures.get(failure.route, ())
        return step.leave_out(failure, names)

    def _cured(self, failure: Failure, step: MeteredStep[None]) -> str | None:
        """Return the change that *failure* names, beyond the one that the step itself made."""
        cure = failure.cure
        kinds = _REFUSALS | {FailureKind.CONTENT_FILTER}
        if failure.kind not in kinds or cure is None or cure.is_for_one_step:
            return None
        if self._cures_left == 0:
            return None
        self._cures_left -= 1
        return step.repair(failure)

    async def _compact(self, error: Exception) -> bool:
        state = self._state
        if state.compact is None or not self._compactions_left or not calls_for_compaction(error):
            return False
        self._compactions_left -= 1
        before = len(state.transcript.messages)
        if not await _shorten(state, state.compact, error):
            return False
        self.messages_before = before
        return True

    def _plain_text(
        self, error: Exception, failure: Failure, step: MeteredStep[None]
    ) -> str | None:
        """Let the next step send plain text, once."""
        route = failure.route
        if self._is_plain or route is None or not all(map(_may_be_of_history, failures_of(error))):
            return None
        self._is_plain = True
        self._before = route, self._state.cures.get(route, ())
        return step.send_plain_text(failure)

    def _take_back(self) -> bool:
        """Undo the plain text, because it failed as well; False: it was not tried."""
        if self._before is None:
            return False
        route, cures = self._before
        self._state.cures[route] = cures
        self._before = None
        return True


def filtered_messages(messages: Sequence[Message]) -> list[str]:
    """Return the names of the messages that were new when a content filter refused a request.

    The last message belongs to the step that failed now.
    """
    new: list[str] = []
    found: list[str] = []
    for message in messages[:-1]:
        if message.role == "user":
            new.append(message_digest(message))
        elif is_answer(message):
            new = [message_digest(message)] if message.has_calls else []
        elif message.attempts and message.attempts[-1].kind == FailureKind.CONTENT_FILTER:
            found += new
            new = []
    # A prompt that the user repeats is new again.
    return [name for name in dict.fromkeys(found) if name not in new]


async def _shorten(
    state: SessionState, compact: Callable[[], Awaitable[bool]], error: Exception
) -> bool:
    """Shorten the conversation until it fits after *error*; False: it cannot be shortened.

    If it is still too long when no more can be left out, the next step raises the error.
    """
    size = state.tokens
    state.room = room = _room_after(error, size)
    is_shorter = False
    try:
        while await _call(compact):
            is_shorter = True
            before, size = size, state.tokens
            if room is None or size <= room or size >= before:
                break
    finally:
        state.room = None
    return is_shorter


async def _call(compact: Callable[[], Awaitable[bool]]) -> bool:
    with without_stray_cancellations("`compact`"):
        return await compact()


def _room_after(error: Exception, sent: int) -> int | None:
    """Return how many tokens the conversation may have after *error*; None: length is no problem.

    That is the window of the next route. If the window is unknown, or the step should have fitted
    into it, that is half of the tokens that were sent.

    Args:
        sent: The estimated tokens of the step that failed.
    """
    if not isinstance(error, ContextOverflow):
        return None
    half = sent // 2
    return half if error.window is None or error.window >= sent else error.window


def failures_of(error: Exception) -> list[Failure]:
    """Return the failures of the attempts behind *error*, in order."""
    if isinstance(error, StepFailed):
        return [each.failure for each in error.attempts if each.failure is not None]
    return [error.failure] if isinstance(error, ProviderError) else []


def _may_be_of_history(failure: Failure) -> bool:
    """True if a route refused the request; the content of the history may be the reason."""
    kinds = _REFUSALS | {FailureKind.REQUEST_TOO_LARGE}
    return failure.kind in kinds and not failure.lacks_capacity


def _is_of_history(failure: Failure) -> bool:
    """True if a route refused a part of the conversation, not a parameter or the step as such."""
    if failure.kind not in _REFUSALS or failure.lacks_capacity:
        return False
    if failure.kind is FailureKind.HISTORY_REJECTED:
        return True
    return failure.cure is not None and failure.cure.is_of_history
