"""Write a model's answer as Gemini's ``generateContent``.

Source: fixtures/captures/gemini_stream_*.json, and for the signatures
ai.google.dev/gemini-api/docs/thought-signatures, read on 2026-11-29.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, assert_never

from ...conversation import Reasoning, Text, ToolCall
from ..signature.gemini import content_of
from ..vendor_error import error_envelope, to_json
from .base import Frame, StreamedAnswer, StubRequest, parts_of, pieces_of, signature_of, usage_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..answer import ModelAnswer
    from .base import TokenCounts

STOP = "STOP"
"""The finish reason of a complete answer, with calls of tools too."""


def stream(answer: ModelAnswer, request: StubRequest) -> StreamedAnswer:
    """Return *answer* as chunks; a call is always in one chunk."""
    parts = list(_parts(answer, request, answer.chunk))
    usage = usage_of(answer, request)
    chunks = (
        _response([part], _usage(usage, number / len(parts)), request)
        for number, part in enumerate(parts, start=1)
    )
    last = _response([_last(answer, request)], _usage(usage), request, answer.stop or STOP)
    return StreamedAnswer(tuple(_data(chunk, is_output=True) for chunk in chunks), (_data(last),))


def whole(answer: ModelAnswer, request: StubRequest) -> dict[str, object]:
    """Return *answer* as one response."""
    size = max(1, len(answer.text), len(answer.reasoning))
    parts = [*_parts(answer, request, size), _last(answer, request)]
    return _response(parts, _usage(usage_of(answer, request)), request, answer.stop or STOP)


def error_frames(
    error: Mapping[str, object], request: StubRequest, _sent: int
) -> tuple[Frame, ...]:
    """Return *error* as it interrupts a stream: JSON over several lines, not an event.

    Source: fixtures/captures/gemini_stream_raw_json_error.json.
    """
    body = error_envelope("gemini", error, request_id=request.id(""))
    text = json.dumps(body, ensure_ascii=False, indent=2, default=str) + "\n"
    return (Frame(text.replace("\n", "\r\n").encode(errors="backslashreplace")),)


def _data(value: object, *, is_output: bool = False) -> Frame:
    return Frame(b"data: %s\r\n\r\n" % to_json(value), is_output)


def _response(
    parts: list[dict[str, object]],
    usage: Mapping[str, object],
    request: StubRequest,
    stop: str | None = None,
) -> dict[str, object]:
    candidate: dict[str, object] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if stop is not None:
        candidate["finishReason"] = stop
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": request.route.model,
        "responseId": request.id(""),
    }


def _parts(answer: ModelAnswer, request: StubRequest, size: int) -> Iterator[dict[str, object]]:
    """Return the parts, with text in pieces of *size* and a signature on the first call."""
    is_signed = False
    for part in parts_of(answer, request):
        match part:
            case Text():
                for piece in pieces_of(part.text, size):
                    yield {"text": piece}
            case Reasoning():
                for piece in pieces_of(part.text, size):
                    yield {"text": piece, "thought": True}
            case ToolCall():
                call = {"name": part.name, "args": part.input, "id": part.id}
                spelled: dict[str, object] = {"functionCall": call}
                yield spelled if is_signed else {**spelled, **_signed(answer, request, spelled)}
                is_signed = True
            case _:
                assert_never(part)


def _last(answer: ModelAnswer, request: StubRequest) -> dict[str, object]:
    """Return the empty part at the end, which carries the signature of a text."""
    is_text = bool(answer.text) and not answer.tool_calls
    return {"text": "", **(_signed(answer, request, {"text": answer.text}) if is_text else {})}


def _signed(
    answer: ModelAnswer, request: StubRequest, part: Mapping[str, object]
) -> dict[str, str]:
    """Return the signature field for *part*; an answer without thinking is signed too."""
    signature = signature_of(answer, request, content_of(part))
    return {"thoughtSignature": signature} if signature else {}


def _usage(usage: TokenCounts, share: float = 1.0) -> dict[str, object]:
    """Return the usage after a *share* of the output, without counts that are 0."""
    output = int(usage.output * share)
    thoughts = min(usage.reasoning, output)
    counts = {
        "promptTokenCount": usage.prompt,
        "candidatesTokenCount": output - thoughts,
        "thoughtsTokenCount": thoughts,
        "cachedContentTokenCount": usage.cache_read,
        "totalTokenCount": usage.prompt + output,
    }
    return {name: count for name, count in counts.items() if count}
