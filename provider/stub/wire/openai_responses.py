"""Write a model's answer as OpenAI Responses.

Source: fixtures/captures/responses_*.json, and for the parts of items the types of the openai
package 3.57, read on 2026-11-29.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, assert_never

from ...conversation import ModelPart, Reasoning, Text, ToolCall
from ...json_value import listed, mapping
from .base import (
    CREATED,
    Frame,
    StreamedAnswer,
    StubRequest,
    arguments_of,
    event,
    parts_of,
    pieces_of,
    usage_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..answer import ModelAnswer

COMPLETED = "completed"

ECHOED: Mapping[str, object] = {
    "background": False,
    "frequency_penalty": 0.0,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "presence_penalty": 0.0,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "prompt_cache_retention": None,
    "reasoning": {},
    "safety_identifier": None,
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
"""The parameters that a response repeats, each with its default."""

TEXT = {"format": {"type": "text"}, "verbosity": "medium"}

EMPTY: Mapping[str, object] = {"summary": [], "content": [], "arguments": ""}
"""The fields that are still empty when an item is announced."""


class _Event(NamedTuple):
    """One event that has no sequence number yet."""

    kind: str
    fields: Mapping[str, object]
    is_output: bool = False

    def frame(self, number: int) -> Frame:
        """Return it as event *number* of its stream, counted from 0."""
        numbered = {**self.fields, "sequence_number": number}
        return event(f"response.{self.kind}", is_output=self.is_output, **numbered)


def stream(answer: ModelAnswer, request: StubRequest) -> StreamedAnswer:
    """Return *answer* as events."""
    events = [*_opening(request), *_items(answer, request)]
    response = whole(answer, request)
    last = _Event(str(response["status"]), {"response": response})
    return StreamedAnswer(
        tuple(each.frame(number) for number, each in enumerate(events)),
        (last.frame(len(events)),),
    )


def whole(answer: ModelAnswer, request: StubRequest) -> dict[str, object]:
    """Return *answer* as one response; a reason to stop makes it incomplete."""
    reason = answer.stop or COMPLETED
    status, details = COMPLETED, None
    if reason != COMPLETED:
        status, details = "incomplete", {"reason": reason}
    return {
        **_response(status, request),
        "incomplete_details": details,
        "output": _spelled(parts_of(answer, request), request),
        "usage": _usage(answer, request),
    }


def error_frames(error: Mapping[str, object], request: StubRequest, sent: int) -> tuple[Frame, ...]:
    """Return the event with which *error* ends a stream; without a code it has the type there."""
    code = error.get("code") or error.get("type")
    with_code = {**error, "code": code} if code else error
    response = {**_response("failed", request), "error": with_code}
    return (_Event("failed", {"response": response}).frame(sent),)


def _response(status: str, request: StubRequest) -> dict[str, object]:
    """Return the envelope of a response; it repeats what the request asks for.

    Source: the types of the openai package 3.57 and of openresponses-types 2.4.
    """
    given = {key: request.body[key] for key in ECHOED if request.body.get(key) is not None}
    return {
        "id": request.id("resp_"),
        "object": "response",
        "created_at": CREATED,
        "completed_at": CREATED if status == COMPLETED else None,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": request.route.model,
        "output": [],
        "usage": None,
        **ECHOED,
        **given,
        "reasoning": {"effort": None, "summary": None, **mapping(given.get("reasoning"))},
        "text": {**TEXT, **mapping(given.get("text"))},
        "tools": [_tool(each) for each in listed(given.get("tools"))],
    }


def _tool(tool: object) -> object:
    """Return *tool* as the API repeats it: a function with all its fields."""
    fields = mapping(tool)
    if fields.get("type") != "function":
        return tool
    return {"description": None, "parameters": None, "strict": True, **fields}


def _opening(request: StubRequest) -> Iterator[_Event]:
    for kind in ("created", "in_progress"):
        yield _Event(kind, {"response": _response("in_progress", request)})


def _items(answer: ModelAnswer, request: StubRequest) -> Iterator[_Event]:
    parts = parts_of(answer, request)
    for index, (part, item) in enumerate(zip(parts, _spelled(parts, request), strict=True)):
        yield _Event("output_item.added", {"output_index": index, "item": _begun(item)})
        at = {"item_id": item["id"], "output_index": index}
        yield from _deltas(part, at, answer.chunk, request)
        yield _Event("output_item.done", {"output_index": index, "item": item})


def _spelled(parts: list[ModelPart], request: StubRequest) -> list[dict[str, object]]:
    """Return *parts* as items; the id of an item after reasoning is bound to that reasoning."""
    is_after = any(isinstance(part, Reasoning) for part in parts)
    return [_item(part, index, request, is_after) for index, part in enumerate(parts)]


def _item(part: ModelPart, index: int, request: StubRequest, is_after: bool) -> dict[str, object]:
    match part:
        case Text():
            item_id = request.item_id("msg", index, is_after=is_after)
            kind = {"id": item_id, "type": "message", "role": "assistant"}
            return {**kind, "status": COMPLETED, "content": [_output_text(part.text)]}
        case Reasoning():
            return {
                "id": request.item_id("rs", index),
                "type": "reasoning",
                "status": COMPLETED,
                **_thought(part, request),
            }
        case ToolCall():
            return {
                "id": request.item_id("fc", index, is_after=is_after),
                "type": "function_call",
                "status": COMPLETED,
                "call_id": part.id,
                "name": part.name,
                "arguments": arguments_of(part),
            }
        case _:
            assert_never(part)


def _thought(reasoning: Reasoning, request: StubRequest) -> dict[str, object]:
    """Return the fields with the reasoning: in DeepSeek's answers its text, else a proof of it."""
    if request.thinks_openly:
        return {"summary": [], "content": [_reasoning_text(reasoning.text)]}
    summary = [_summary_text(reasoning.text)] if reasoning.text else []
    return {"summary": summary, "encrypted_content": reasoning.signature}


def _begun(item: Mapping[str, object]) -> dict[str, object]:
    """Return *item* as it is announced: empty, with half of its encrypted content."""
    empty = {key: value for key, value in EMPTY.items() if key in item}
    begun = {**item, **empty, "status": "in_progress"}
    encrypted = item.get("encrypted_content")
    if isinstance(encrypted, str):
        begun["encrypted_content"] = encrypted[: len(encrypted) // 2]
    return begun


def _deltas(
    part: ModelPart, at: Mapping[str, object], size: int, request: StubRequest
) -> Iterator[_Event]:
    match part:
        case Text():
            at = {**at, "content_index": 0}
            yield _Event("content_part.added", {**at, "part": _output_text("")})
            yield from _text_events("output_text", at, "text", part.text, size)
            yield _Event("content_part.done", {**at, "part": _output_text(part.text)})
        case Reasoning() if request.thinks_openly:
            at = {**at, "content_index": 0}
            yield _Event("content_part.added", {**at, "part": _reasoning_text("")})
            yield from _text_events("reasoning_text", at, "text", part.text, size)
            yield _Event("content_part.done", {**at, "part": _reasoning_text(part.text)})
        case Reasoning(text=""):
            pass
        case Reasoning():
            at = {**at, "summary_index": 0}
            yield _Event("reasoning_summary_part.added", {**at, "part": _summary_text("")})
            yield from _text_events("reasoning_summary_text", at, "text", part.text, size)
            done = {**at, "part": _summary_text(part.text)}
            yield _Event("reasoning_summary_part.done", done)
        case ToolCall():
            text = arguments_of(part)
            yield from _text_events("function_call_arguments", at, "arguments", text, size)
        case _:
            assert_never(part)


def _text_events(
    stem: str, at: Mapping[str, object], name: str, text: str, size: int
) -> Iterator[_Event]:
    """Return events with *text* in pieces, and a last one with all of it under *name*."""
    more: dict[str, object] = {"logprobs": []} if stem == "output_text" else {}
    for piece in pieces_of(text, size):
        yield _Event(f"{stem}.delta", {**at, "delta": piece, **more}, is_output=True)
    yield _Event(f"{stem}.done", {**at, name: text, **more})


def _output_text(text: str) -> dict[str, object]:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _reasoning_text(text: str) -> dict[str, object]:
    return {"type": "reasoning_text", "text": text}


def _summary_text(text: str) -> dict[str, object]:
    return {"type": "summary_text", "text": text}


def _usage(answer: ModelAnswer, request: StubRequest) -> dict[str, object]:
    """Return the usage; in this wire the input's tokens include the cached ones."""
    usage = usage_of(answer, request)
    cached = {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write}
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": cached,
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.prompt + usage.output,
    }
