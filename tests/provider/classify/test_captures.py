"""Every capture of a failed answer, and every error object in a stream, gives what it should."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from sidestep import Failure, FailureKind
from sidestep.provider.classify.classify import (
    classify_error_object,
    classify_response,
    has_error_object,
)
from sidestep.provider.failure import Stage
from sidestep.provider.wire.sse import SseParser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidestep.provider.wire_name import Wire

K = FailureKind
WIRES: dict[str, Wire] = {
    "anthropic": "anthropic",
    "gemini": "gemini",
    "openai-responses": "openai-responses",
}
FACADE = "-anthropic"
TOO_LONG = {K.CONTEXT_OVERFLOW, K.REQUEST_TOO_LARGE}
LATER = {
    K.RATE_LIMIT,
    K.OVERLOADED,
    K.SERVER_ERROR,
    K.TIMEOUT,
    K.TOOL_CALL_MALFORMED,
}
"""What the same route may answer another time."""

CAPTURES: list[dict[str, Any]] = [
    json.loads(file.read_text("utf-8"))
    for file in sorted(files("sidestep").joinpath("fixtures/captures").iterdir(), key=str)
]
WHOLE = [c for c in CAPTURES if c["kind"] == "http" or "json" in c["headers"]["content-type"]]
IN_STREAM = [c for c in CAPTURES if c not in WHOLE and c["expect"].get("stage") == "in_stream"]


def speaker(capture: dict[str, Any]) -> tuple[str, Wire]:
    name = capture["provider"]
    if name.endswith(FACADE):
        return name.removesuffix(FACADE), "anthropic"
    return name, WIRES.get(name, "openai-chat")


def answered(capture: dict[str, Any], body: str | None = None) -> Failure:
    provider, wire = speaker(capture)
    return classify_response(
        capture["status"],
        capture["headers"],
        (capture["body"] if body is None else body).encode(),
        provider=provider,
        wire=wire,
    )


def error_in(body: str) -> object:
    """Return the first event of a stream that is an error, however it is framed."""
    parser = SseParser()
    for _, data in [*parser.feed(body.encode()), *parser.flush()]:
        try:
            value = json.loads(data)
        except ValueError:
            continue
        groq = value.get("x_groq", {}).get("error")
        value = {"error": {"code": groq}} if groq else value
        if has_error_object(value):
            return value
    value = json.loads(body[body.index("\n{") :])
    assert has_error_object(value)
    return value


def check(failure: Failure, expect: dict[str, Any]) -> None:
    assert failure.kind == expect["kind"], failure.because
    assert failure.retry_after == expect["retry_after"]
    assert failure.reset_at is None
    assert (failure.kind in LATER) is expect["retryable"]
    assert (failure.kind in TOO_LONG) is expect["overflow"]


@pytest.mark.parametrize("capture", WHOLE, ids=lambda capture: capture["name"])
def test_a_captured_answer(capture: dict[str, Any]) -> None:
    failure = answered(capture)

    check(failure, capture["expect"])
    is_success = capture["status"] == 200
    assert failure.stage is (Stage.STREAM if is_success else Stage.RESPONSE)
    assert is_success or failure.status == capture["status"]


@pytest.mark.parametrize("capture", IN_STREAM, ids=lambda capture: capture["name"])
def test_a_captured_error_in_a_stream(capture: dict[str, Any]) -> None:
    provider, wire = speaker(capture)

    failure = classify_error_object(error_in(capture["body"]), provider=provider, wire=wire)

    check(failure, capture["expect"])
    assert failure.stage is Stage.STREAM
    assert failure.status is None or failure.status >= 400


def test_all_captures_of_failures_are_here() -> None:
    assert len(WHOLE) == 58
    assert len(IN_STREAM) == 12


# Only the wording shows what these are: any bad request has their type and status.
BY_TEXT = {
    "anthropic_400_bound_conversation",
    "anthropic_400_credit_balance",
    "anthropic_400_invalid_signature",
    "anthropic_400_prompt_too_long",
    "anthropic_400_thinking_modified",
    "anthropic_400_tool_pairing",
    "deepseek_400_reasoning_missing",
    "gemini_400_corrupted_signature",
    "gemini_400_missing_signature",
    "gemini_400_turn_order",
    "kimi_400_overflow",
    "kimi_400_reasoning_missing",
    "openai_400_reasoning_without_item",
    "openai_429_request_too_large",
}


def without_text(value: object) -> Iterator[tuple[str, object]]:
    for name, inner in value.items() if isinstance(value, dict) else ():
        if isinstance(inner, dict):
            yield name, dict(without_text(inner))
        else:
            yield name, "Something." if name in {"message", "status_msg"} else inner


@pytest.mark.parametrize("capture", WHOLE, ids=lambda capture: capture["name"])
def test_no_text_decides_where_a_status_type_or_code_does(capture: dict[str, Any]) -> None:
    body = capture["body"] and json.dumps(dict(without_text(json.loads(capture["body"]))))

    failure = answered(capture, body)

    assert (failure.kind == capture["expect"]["kind"]) is (capture["name"] not in BY_TEXT)
