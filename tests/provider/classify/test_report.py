"""Whatever the body of a failed answer is, what it says is found."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import FailureKind
from sidestep.provider.classify.classify import classify_error_object, classify_response
from sidestep.provider.classify.report import parse_body, read_reports

K = FailureKind
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
BODIES = [
    pytest.param(status, body, kind, type_, id=id_)
    for id_, status, body, kind, type_ in [
        ("of the wrong type", 529, OVERLOADED, K.OVERLOADED, "text/html"),
        ("after a BOM", 429, b"\xef\xbb\xbf" + json.dumps(OVERLOADED).encode(), K.OVERLOADED, ""),
        ("cut off", 429, json.dumps(OVERLOADED)[:-12], K.OVERLOADED, "application/json"),
        ("cut off in its type", 429, json.dumps(OVERLOADED)[:40], K.RATE_LIMIT, ""),
        ("with more after it", 429, json.dumps(OVERLOADED) + "\n{}", K.OVERLOADED, ""),
        ("as an event", 429, f"event: error\ndata: {json.dumps(OVERLOADED)}\n\n", K.OVERLOADED,
            "text/event-stream"),
        ("as a string", 429, json.dumps(json.dumps(OVERLOADED)), K.OVERLOADED, ""),
        ("as a string in a message", 500,
            {"type": "error", "error": {"type": "api_error", "message": json.dumps(OVERLOADED)}},
            K.OVERLOADED, ""),
        ("an error in an error", 429, {"error": OVERLOADED}, K.OVERLOADED, ""),
        ("in an array", 429, [OVERLOADED], K.OVERLOADED, ""),
        ("a list of errors", 429, {"errors": [{"type": "overloaded_error"}]}, K.OVERLOADED, ""),
        ("without the outer type", 500, OVERLOADED["error"], K.OVERLOADED, ""),
        ("HTML that says JSON", 502, "<html>502</html>", K.SERVER_ERROR, "application/json"),
        ("HTML of the edge, 522", 522, "<html>522</html>", K.TIMEOUT, "text/html"),
        ("HTML of the edge, 524", 524, "<html>524</html>", K.TIMEOUT, "text/html"),
        ("text", 503, "upstream connect error or disconnect", K.OVERLOADED, "text/plain"),
        ("text with another's status in it", 503, "429 Too Many Requests", K.OVERLOADED, ""),
        ("no text at all", 500, b"\x00\x01\xff", K.SERVER_ERROR, ""),
        ("null", 429, "null", K.RATE_LIMIT, ""),
        ("a number", 500, "17", K.SERVER_ERROR, ""),
        ("nested without end", 500, "[" * 9_000, K.SERVER_ERROR, ""),
    ]
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind", "type_"), BODIES)
def test_a_body_is_read_whatever_its_form(
    status: int, body: object, kind: FailureKind, type_: str
) -> None:
    """The status and type of a nested body count."""
    written = body if isinstance(body, str | bytes) else json.dumps(body)
    sent = written.encode() if isinstance(written, str) else written

    failure = classify_response(
        status, {"content-type": type_}, sent, provider="anthropic", wire="anthropic"
    )

    assert (failure.kind, failure.status) == (kind, status), failure.because
    assert failure.message


@given(st.binary(max_size=400))
def test_any_body_has_a_form_and_a_report(body: bytes) -> None:
    value, form = parse_body(body)
    reports = read_reports(value, form=form)

    assert form in {"json", "html", "text", "binary", "empty"}
    assert 1 <= len(reports) <= 4


def test_bodies_inside_bodies_are_read_to_a_depth() -> None:
    body: dict[str, Any] = {"error": {"type": "innermost"}}
    for _ in range(20):
        body = {"error": {"type": "outer", "message": json.dumps(body)[:20_000]}}

    assert len(read_reports(body)) <= 4


def test_a_failure_says_what_the_provider_behind_the_provider_said() -> None:
    said = "prompt is too long: 213462 tokens > 200000 maximum"
    raw = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": said}})
    metadata = {"provider_name": "Anthropic", "raw": raw}
    body = {"error": {"code": 400, "message": "Provider returned error", "metadata": metadata}}

    failure = classify_error_object(body, provider="openrouter", wire="openai-chat")

    assert failure.message == f"Provider returned error: {said}"
