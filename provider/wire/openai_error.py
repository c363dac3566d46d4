"""A failure as an error of OpenAI, for clients of Chat Completions and of Responses.

Source: platform.openai.com/docs/guides/error-codes, the error types of the openai package 3.57,
and github.com/openai/codex codex-rs/codex-api/src/sse/responses.rs, read on 2026-11-30. Codex
waits as long as the text of a ``rate_limit_exceeded`` says.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..failure import FailureKind
from .refusal import overflow_message, seconds_to_wait

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..failure import Failure

TOO_LONG = "Your input exceeds the context window of this model."

_REQUEST = "invalid_request_error"
_SERVER = "server_error"
_WORDS: Mapping[FailureKind, tuple[str, str | None]] = MappingProxyType(
    {
        FailureKind.RATE_LIMIT: ("requests", "rate_limit_exceeded"),
        FailureKind.OVERLOADED: ("overloaded_error", "server_is_overloaded"),
        FailureKind.TIMEOUT: (_SERVER, "timeout"),
        FailureKind.QUOTA: ("insufficient_quota", "insufficient_quota"),
        FailureKind.AUTH: (_REQUEST, "invalid_api_key"),
        FailureKind.NOT_FOUND: (_REQUEST, "model_not_found"),
        FailureKind.BAD_REQUEST: (_REQUEST, None),
        FailureKind.REQUEST_TOO_LARGE: (_REQUEST, None),
        FailureKind.HISTORY_REJECTED: (_REQUEST, None),
        FailureKind.CONTEXT_OVERFLOW: (_REQUEST, "context_length_exceeded"),
        FailureKind.CONTENT_FILTER: (_REQUEST, "content_policy_violation"),
        FailureKind.REFUSAL: (_REQUEST, "content_policy_violation"),
    }
)
"""The type and the code of each kind of failure; of all others the server is at fault."""


def error_of(failure: Failure) -> dict[str, Any]:
    """Return the error object for *failure*."""
    kind, code = _WORDS.get(failure.kind, (_SERVER, None))
    message = failure.message
    if failure.kind is FailureKind.CONTEXT_OVERFLOW:
        message = overflow_message(failure, TOO_LONG)
    elif failure.kind is FailureKind.RATE_LIMIT and (seconds := seconds_to_wait(failure)):
        message = f"{message.rstrip('.')}. Please try again in {seconds}s."
    return {"message": message, "type": kind, "param": None, "code": code}
