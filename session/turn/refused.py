"""Whether a step failed because of what the conversation holds, so that a shorter one may do."""

from __future__ import annotations

from ...provider.error import ProviderError
from ...provider.failure import Failure, FailureKind
from ..error import ContextOverflow, StepFailed

_REFUSALS = frozenset({FailureKind.HISTORY_REJECTED, FailureKind.BAD_REQUEST})


def calls_for_compaction(error: Exception) -> bool:
    """True if *error* ended a step, and the conversation must be shorter for another to succeed.

    That is so if a route found it too long, or if every route refused what it holds: a stored
    conversation would be refused again in every turn.
    """
    if isinstance(error, ContextOverflow):
        return True
    failures = _failures(error)
    return any(failure.kind is FailureKind.REQUEST_TOO_LARGE for failure in failures) or (
        bool(failures) and all(map(_is_of_history, failures))
    )


def _failures(error: Exception) -> list[Failure]:
    if isinstance(error, StepFailed):
        return [each.failure for each in error.attempts if each.failure is not None]
    return [error.failure] if isinstance(error, ProviderError) else []


def _is_of_history(failure: Failure) -> bool:
    """True if a route refused a part of the conversation, not a parameter or the step as such."""
    if failure.kind not in _REFUSALS or failure.lacks_capacity:
        return False
    if failure.kind is FailureKind.HISTORY_REJECTED:
        return True
    return failure.cure is not None and failure.cure.is_of_history
