"""Gemini's ``generateContent``: writing an answer for a client.

Source: ai.google.dev/api/generate-content, the types of the google-genai package 2.34, and
gemini-cli (packages/core/src/utils/googleQuotaErrors.ts), read on 2026-11-30.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, assert_never

from ...conversation import Reasoning, Text, ToolCall
from ...delta import ReasoningDelta, TextDelta, ToolCallEnded
from ...failure import FailureKind
from ...json_value import write_json_line
from ..answer import new_id
from ..refusal import Refusal, headers_of, overflow_message, seconds_to_wait, status_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...conversation import ModelPart
    from ...delta import Delta
    from ...failure import Failure
    from ...wire_name import Wire
    from ..answer import Answer

Json = dict[str, Any]

PING = b"\r\n"
"""A blank line, because google-genai takes a comment for JSON that is broken."""
TOO_LONG = "The input token count exceeds the maximum number of tokens allowed."

_STATUSES: Mapping[FailureKind, str] = MappingProxyType(
    {
        FailureKind.RATE_LIMIT: "RESOURCE_EXHAUSTED",
        FailureKind.OVERLOADED: "UNAVAILABLE",
        FailureKind.TIMEOUT: "DEADLINE_EXCEEDED",
        FailureKind.NETWORK: "UNAVAILABLE",
        FailureKind.QUOTA: "RESOURCE_EXHAUSTED",
        FailureKind.AUTH: "UNAUTHENTICATED",
        FailureKind.NOT_FOUND: "NOT_FOUND",
        FailureKind.BAD_REQUEST: "INVALID_ARGUMENT",
        FailureKind.REQUEST_TOO_LARGE: "INVALID_ARGUMENT",
        FailureKind.HISTORY_REJECTED: "INVALID_ARGUMENT",
        FailureKind.CONTEXT_OVERFLOW: "INVALID_ARGUMENT",
        FailureKind.CONTENT_FILTER: "INVALID_ARGUMENT",
        FailureKind.REFUSAL: "INVALID_ARGUMENT",
        FailureKind.CANCELLED: "CANCELLED",
    }
)
"""The status word of each kind of failure; of all others ``INTERNAL``."""
_RPC = "type.googleapis.com/google.rpc."


class GeminiWriter:
    """The `Writer` of Gemini."""

    wire: ClassVar[Wire] = "gemini"

    def __init__(
        self,
        *,
        model: str,
        answer_id: str = "",
        created: int = 0,
        wants_usage: bool = True,
        is_array: bool = False,
    ) -> None:
        self._tail: Json = {"modelVersion": model, "responseId": answer_id or new_id("")}
        self._is_array = is_array
        self._has_begun = False
        self._is_fed = False
        rest = write_json_line(self._tail)[1:]
        self._rest = b'}],"role":"model"},"index":0}],' + rest

    def start(self) -> bytes:
        """Return the beginning of a stream: nothing, because the first output begins it."""
        return b""

    def feed(self, deltas: Sequence[Delta]) -> bytes:
        """Return the chunks for *deltas*; a call always stands in one chunk."""
        pieces: list[bytes] = []
        for delta in deltas:
            if isinstance(delta, TextDelta):
                part = b'{"text":%s' % write_json_line(delta.text)
            elif isinstance(delta, ReasoningDelta):
                part = b'{"thought":true,"text":%s' % write_json_line(delta.text)
            elif isinstance(delta, ToolCallEnded):
                call = {"name": delta.name, "args": delta.input, "id": delta.id}
                part = b'{"functionCall":%s' % write_json_line(call)
            else:
                continue
            chunk = b'{"candidates":[{"content":{"parts":[' + part + self._rest
            pieces.append(self._frame(chunk))
        self._is_fed = self._is_fed or bool(pieces)
        return b"".join(pieces)

    def end(self, answer: Answer) -> bytes:
        """Return the rest of a stream; the reason for the end is the terminal marker."""
        pieces: list[bytes] = []
        if not self._is_fed:
            is_own = answer.wire == self.wire
            for part in answer.model_parts:
                pieces += (self._json(self._chunk([made])) for made in _parts(part, is_own=is_own))
        pieces.append(self._json(self._last(answer, [{"text": ""}])))
        return b"".join((*pieces, b"]" if self._is_array else b""))

    def error(self, failure: Failure) -> bytes:
        """Return the event that ends a stream which fails."""
        body = {"error": _error(failure, status_of(failure))}
        return self._json(body) + (b"]" if self._is_array else b"")

    def ping(self) -> bytes:
        """Return a blank line."""
        return PING

    def whole(self, answer: Answer) -> bytes:
        """Return *answer* as one response."""
        is_own = answer.wire == self.wire
        parts = [made for part in answer.model_parts for made in _parts(part, is_own=is_own)]
        return write_json_line(self._last(answer, parts))

    @staticmethod
    def refusal(failure: Failure, *, is_streamed: bool = False) -> Refusal:
        """Return the response to a request that failed before a byte was sent."""
        status = status_of(failure)
        body = write_json_line({"error": _error(failure, status)})
        return Refusal(status, headers_of(failure), body)

    def _json(self, value: Json) -> bytes:
        return self._frame(write_json_line(value))

    def _frame(self, chunk: bytes) -> bytes:
        """Return *chunk* as an event, or as the next element of the array."""
        if not self._is_array:
            return b"data: %s\r\n\r\n" % chunk
        before = b"," if self._has_begun else b"["
        self._has_begun = True
        return before + chunk + b"\r\n"

    def _chunk(self, parts: list[Json]) -> Json:
        candidate = {"content": {"parts": parts, "role": "model"}, "index": 0}
        return {"candidates": [candidate], **self._tail}

    def _last(self, answer: Answer, parts: list[Json]) -> Json:
        chunk = self._chunk(parts)
        stop = "MAX_TOKENS" if answer.end == "cut" else "STOP"
        chunk["candidates"][0]["finishReason"] = stop
        return {**chunk, "usageMetadata": _usage(answer)}


def _parts(part: ModelPart, *, is_own: bool) -> Iterator[Json]:
    """Yield *part*, with its signature only if the answer is of this wire."""
    signature = part.signature if is_own else None
    proof = {"thoughtSignature": signature} if signature else {}
    match part:
        case Text():
            if part.text or proof:
                yield {"text": part.text, **proof}
        case Reasoning():
            if part.text or proof:
                yield {"text": part.text, "thought": True, **proof}
        case ToolCall():
            call = {"name": part.name, "args": part.input, "id": part.id}
            yield {"functionCall": call, **proof}
        case _:
            assert_never(part)


def _usage(answer: Answer) -> Json:
    """Return the tokens; in this wire the prompt includes what was cached."""
    counts = answer.counts
    usage = {
        "promptTokenCount": counts.prompt,
        "candidatesTokenCount": counts.output,
        "totalTokenCount": counts.total,
    }
    if counts.cache_read:
        usage["cachedContentTokenCount"] = counts.cache_read
    return usage


def _error(failure: Failure, status: int) -> Json:
    message = failure.message
    if failure.kind is FailureKind.CONTEXT_OVERFLOW:
        message = overflow_message(failure, TOO_LONG)
    word = _STATUSES.get(failure.kind, "INTERNAL")
    if failure.kind is FailureKind.AUTH and status == 403:
        word = "PERMISSION_DENIED"
    error: Json = {"code": status, "message": message, "status": word}
    details = list(_details(failure))
    return {**error, "details": details} if details else error


def _details(failure: Failure) -> Iterator[Json]:
    """Yield what gemini-cli reads: that credits are used up, and how long to wait."""
    if failure.kind is FailureKind.QUOTA:
        info = {"reason": "QUOTA_EXHAUSTED", "domain": "cloudcode-pa.googleapis.com"}
        yield {"@type": f"{_RPC}ErrorInfo", **info}
    if (seconds := seconds_to_wait(failure)) is not None:
        yield {"@type": f"{_RPC}RetryInfo", "retryDelay": f"{seconds}s"}
