from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import FailureKind, Route
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.classify.classify import (
    classify_error_object,
    classify_response,
    has_error_object,
)
from sidestep.provider.classify.exception import classify_exception
from sidestep.provider.failure import Stage
from sidestep.provider.json_value import write_json

if TYPE_CHECKING:
    from sidestep.provider.wire_name import Wire

K = FailureKind


def answered(
    status: int, error: object, *, provider: str = "openrouter", wire: Wire = "openai-chat"
) -> FailureKind:
    body = json.dumps(error).encode()
    return classify_response(status, {}, body, provider=provider, wire=wire).kind


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, K.BAD_REQUEST),
        (401, K.AUTH),
        (402, K.QUOTA),
        (403, K.AUTH),
        (404, K.NOT_FOUND),
        (408, K.TIMEOUT),
        (409, K.SERVER_ERROR),
        (413, K.REQUEST_TOO_LARGE),
        (418, K.BAD_REQUEST),
        (422, K.BAD_REQUEST),
        (429, K.RATE_LIMIT),
        (500, K.SERVER_ERROR),
        (502, K.SERVER_ERROR),
        (503, K.OVERLOADED),
        (504, K.TIMEOUT),
        (520, K.SERVER_ERROR),
        (522, K.TIMEOUT),
        (524, K.TIMEOUT),
        (529, K.OVERLOADED),
        (599, K.SERVER_ERROR),
        *((status, K.NETWORK) for status in (301, 302, 303, 307, 308)),
        *((status, K.UNKNOWN) for status in (300, 304)),
    ],
)
@pytest.mark.parametrize("body", [b"", b"<html>", b"null", b"[]", b"{}", b'{"error":null}'])
def test_the_status_decides_where_nothing_else_does(
    status: int, kind: FailureKind, body: bytes
) -> None:
    failure = classify_response(status, {}, body, provider="openrouter", wire="openai-chat")

    assert (failure.kind, failure.status) == (kind, status)
    assert failure.message


@dataclass(frozen=True)
class Case:
    id: str
    status: int
    error: dict[str, Any]
    kind: FailureKind
    wire: Wire = "openai-chat"
    provider: str = "openrouter"


def anthropic(id_: str, status: int, type_: str, message: str, kind: FailureKind) -> Case:
    error = {"type": "error", "error": {"type": type_, "message": message}}
    return Case(id_, status, error, kind, wire="anthropic", provider="anthropic")


BAD = "invalid_request_error"
ANSWERS = [
    anthropic("overflow", 400, BAD, "prompt is too long: 9 tokens > 8 maximum", K.CONTEXT_OVERFLOW),
    anthropic("no number", 400, BAD, "prompt is too long: many tokens > 8 maximum", K.BAD_REQUEST),
    anthropic(
        "the text inside another",
        400,
        BAD,
        "x: prompt is too long: 9 tokens > 8 maximum",
        K.BAD_REQUEST,
    ),
    anthropic(
        "the text of a rate limit",
        429,
        "rate_limit_error",
        "prompt is too long: 9 tokens > 8 maximum",
        K.RATE_LIMIT,
    ),
    anthropic("type over status", 429, "overloaded_error", "Overloaded", K.OVERLOADED),
    anthropic("vague type under status", 529, BAD, "Upstream request failed", K.OVERLOADED),
    anthropic("unknown type", 500, "new_error", "x", K.SERVER_ERROR),
    anthropic("503 of the API", 503, "api_error", "x", K.SERVER_ERROR),
    Case("quota by type", 429, {"error": {"type": "insufficient_quota", "code": "x"}}, K.QUOTA),
    Case("quota by code", 429, {"error": {"code": "credit_balance_exhausted"}}, K.QUOTA),
    Case("rate limit", 429, {"error": {"code": "rate_limit_exceeded"}}, K.RATE_LIMIT),
    Case("quota in the text only", 429, {"error": {"message": "insufficient_quota"}}, K.RATE_LIMIT),
    Case(
        "overflow by code", 400, {"error": {"code": "context_length_exceeded"}}, K.CONTEXT_OVERFLOW
    ),
    Case("string too long", 400, {"error": {"code": "string_above_max_length"}}, K.BAD_REQUEST),
    Case(
        "overflow by error_type",
        400,
        {"error": {"code": 400, "metadata": {"error_type": "token_limit_exceeded"}}},
        K.CONTEXT_OVERFLOW,
    ),
    Case(
        "in flight",
        402,
        {
            "error": {
                "code": 402,
                "metadata": {
                    "limit_source": "openrouter_in_flight_budget",
                    "reason": "in_flight_budget_exhausted",
                },
            }
        },
        K.RATE_LIMIT,
    ),
    Case(
        "heavier than the budget",
        402,
        {
            "error": {
                "metadata": {
                    "limit_source": "openrouter_in_flight_budget",
                    "reason": "weight_exceeds_budget",
                }
            }
        },
        K.QUOTA,
    ),
    Case("flat", 429, {"message": "m", "type": "insufficient_quota"}, K.QUOTA),
    Case(
        "metadata of another shape", 500, {"error": {"metadata": "x", "code": []}}, K.SERVER_ERROR
    ),
]


@pytest.mark.parametrize(
    ("headers", "lacks_capacity"),
    [
        pytest.param({}, True, id="which says nothing"),
        pytest.param({"retry-after": "0"}, True, id="which says no time"),
        pytest.param({"retry-after": "7"}, False, id="which says how long"),
    ],
)
def test_a_402_in_flight_is_waited_for_where_it_says_how_long(
    headers: dict[str, str], lacks_capacity: bool
) -> None:
    metadata = {
        "limit_source": "openrouter_in_flight_budget",
        "reason": "in_flight_budget_exhausted",
    }
    body = json.dumps({"error": {"code": 402, "metadata": metadata}}).encode()

    found = classify_response(402, headers, body, provider="openrouter", wire="openai-chat")

    assert (found.kind, found.lacks_capacity) == (K.RATE_LIMIT, lacks_capacity)


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.id)
def test_an_answer_is_named_by_its_own_words_first(case: Case) -> None:
    kind = answered(case.status, case.error, provider=case.provider, wire=case.wire)

    assert kind is case.kind


@pytest.mark.parametrize(
    ("error", "wire", "kind", "status"),
    [
        ({"type": "error", "error": {"type": "overloaded_error"}}, "anthropic", K.OVERLOADED, 529),
        ({"type": "overloaded_error", "message": "m"}, "anthropic", K.OVERLOADED, 529),
        ({"type": "error", "error": {"type": "api_error"}}, "anthropic", K.SERVER_ERROR, 500),
        ({"type": "error", "error": {"type": "rate_limit_error"}}, "anthropic", K.RATE_LIMIT, 429),
        ({"type": "error", "error": {"type": BAD}}, "anthropic", K.BAD_REQUEST, 400),
        ({"error": {"type": "server_error"}}, "openai-chat", K.SERVER_ERROR, 500),
        ({"error": {"code": 502, "message": "m"}}, "openai-chat", K.SERVER_ERROR, 502),
        ({"error": {"code": "429"}}, "openai-chat", K.RATE_LIMIT, 429),
        ({"error": {"code": 400}}, "openai-chat", K.BAD_REQUEST, 400),
        ({"error": {"code": "1302"}}, "openai-chat", K.SERVER_ERROR, None),  # not z.ai's here
        ({"error": {"message": "m"}, "status_code": 503}, "openai-chat", K.OVERLOADED, 503),
        ({"error": {"code": "rate_limit_exceeded"}}, "openai-chat", K.RATE_LIMIT, 429),
        ({"error": "broken"}, "openai-chat", K.SERVER_ERROR, None),
        ([{"error": {"code": 503}}], "openai-chat", K.OVERLOADED, 503),
    ],
)
def test_an_error_in_a_stream_stands_for_a_status(
    error: object, wire: Wire, kind: FailureKind, status: int | None
) -> None:
    failure = classify_error_object(error, provider="x", wire=wire)

    assert (failure.kind, failure.status, failure.stage) == (kind, status, Stage.STREAM)


def test_a_failure_says_what_the_provider_said() -> None:
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow\n down"}}
    headers = {"retry-after": "17", "request-id": "req_1"}

    failure = classify_response(
        429, headers, json.dumps(body).encode(), provider="anthropic", wire="anthropic"
    )

    assert str(failure) == "rate_limit 429: slow down"
    assert (failure.code, failure.retry_after) == ("rate_limit_error", 17.0)
    assert (failure.request_id, failure.stage) == ("req_1", Stage.RESPONSE)


def test_a_long_message_is_cut_and_a_page_is_not_repeated() -> None:
    long = json.dumps({"error": {"message": "x" * 10_000}}).encode()

    cut = classify_response(500, {}, long, provider="openrouter", wire="openai-chat")
    page = classify_response(
        502, {"content-type": "text/html"}, b"<html>a", provider="openrouter", wire="openai-chat"
    )
    text = classify_response(
        502,
        {"content-type": "text/plain"},
        b"no upstream",
        provider="openrouter",
        wire="openai-chat",
    )

    assert len(cut.message) == 500
    assert page.message == "answered 502 with no error object, but a body of type text/html"
    assert text.message == "no upstream"


WIRES: tuple[Wire, ...] = ("anthropic", "openai-chat", "openai-responses", "gemini")
PROVIDERS = [
    "anthropic", "openai", "openrouter", "gemini", "groq", "cerebras", "mistral", "deepseek",
    "moonshot", "zai", "minimax", "bedrock", "x",
]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
ERRORS = st.dictionaries(
    st.sampled_from(["error", "type", "code", "message", "metadata", "details", "detail"]), JSON
)


@given(ERRORS | JSON, st.sampled_from([400, 429, 500]), st.sampled_from(PROVIDERS))
def test_any_json_is_named(value: object, status: int, provider: str) -> None:
    body = write_json(value)
    for wire in WIRES:
        in_stream = classify_error_object(value, provider=provider, wire=wire)
        answer = classify_response(status, {}, body, provider=provider, wire=wire)

        assert isinstance(in_stream.kind, FailureKind)
        assert isinstance(answer.kind, FailureKind)
        has_error_object(value)


@given(st.binary(max_size=400), st.sampled_from([200, 400, 429, 503]))
def test_any_body_is_named(body: bytes, status: int) -> None:
    failure = classify_response(status, {}, body, provider="gemini", wire="gemini")

    assert isinstance(failure.kind, FailureKind)
    assert failure.message


@pytest.mark.parametrize(
    "value",
    [
        {"choices": [], "base_resp": {"status_code": 0, "status_msg": ""}},
        {"type": "response.created", "response": {"error": None}},
        {"choices": [{"delta": {"content": "error: 529 overloaded_error"}}]},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"error": None, "choices": []},
        [],
        [{"candidates": []}],
        "error",
    ],
)
def test_what_is_no_error(value: object) -> None:
    assert not has_error_object(value)


@pytest.mark.parametrize("provider", [*PROVIDERS, "openai-chat", ""])
def test_a_bare_status_means_the_same_in_an_answer_and_an_exception(provider: str) -> None:
    own: dict[str, Wire] = {"anthropic": "anthropic", "gemini": "gemini"}
    wire = own.get(provider, "openai-chat")
    error = Exception("gone")
    error.status_code = 503  # type: ignore[attr-defined]
    route = Route(f"{provider}/m") if provider else None

    raised = classify_exception(error, route=route)
    answered = classify_response(503, {}, b"", provider=provider, wire=wire)

    assert raised.kind is answered.kind is K.OVERLOADED
    assert raised.status == answered.status == 503


@pytest.mark.parametrize(
    ("name", "base_url", "kind"),
    [
        pytest.param("glm", "https://api.z.ai/api/anthropic", K.QUOTA, id="its address"),
        pytest.param("glm", "https://open.bigmodel.cn/api/anthropic", K.QUOTA, id="in China"),
        pytest.param("glm", "https://notz.ai", K.RATE_LIMIT, id="an address that ends alike"),
        pytest.param("glm", "", K.RATE_LIMIT, id="no address"),
        pytest.param("zai", "http://127.0.0.1:8503", K.QUOTA, id="its name"),
    ],
)
def test_a_provider_is_known_by_its_address_as_well(
    name: str, base_url: str, kind: FailureKind
) -> None:
    provider = Provider(name, "anthropic", base_url, None)
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "[1113][x][1]"}}

    assert classify_error_object(body, provider=provider, wire="anthropic").kind is kind


@pytest.mark.parametrize(
    ("said", "should_retry"),
    [("true", True), ("false", False), ("False", False), ("", None), ("maybe", None)],
)
def test_the_provider_may_say_whether_to_retry(said: str, should_retry: bool | None) -> None:
    headers = {"x-should-retry": said}

    failure = classify_response(503, headers, b"", provider="openai", wire="openai-chat")

    assert failure.should_retry is should_retry


@pytest.mark.parametrize(
    ("body", "because"),
    [
        ({"error": {"type": "insufficient_quota", "code": "new"}}, "type 'insufficient_quota'"),
        ({"error": {"message": "x"}}, "status 429"),
        ({"error": {"message": "Request too large for gpt-x"}}, "the wording of the message"),
    ],
)
def test_a_failure_says_what_decided(body: object, because: str) -> None:
    said = json.dumps(body).encode()

    failure = classify_response(429, {}, said, provider="openai", wire="openai-chat")

    assert failure.because == because
