"""Errors and stop reasons inside a stream: what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sidestep import FailureKind
from sidestep.provider.classify.classify import (
    classify_error_object,
    has_error_object,
)
from sidestep.provider.classify.fact_lookup import kind_of_stop

from .rows import BAD, K, chat, claude, google, minimax, router

if TYPE_CHECKING:
    from sidestep.provider.wire_name import Wire

RESPONSES: Wire = "openai-responses"
IN_STREAM = [
    pytest.param(value, provider, wire, kind, status, id=id_)
    for id_, value, provider, wire, kind, status in [
        ("Responses, nested", {"type": "error", "sequence_number": 2, "error": {
            "type": "service_unavailable_error", "code": "server_is_overloaded", "message": "x"}},
            "openai", RESPONSES, K.OVERLOADED, 503),
        ("Responses, flat", {"type": "error", "code": "rate_limit_exceeded", "message": "x"},
            "openai", RESPONSES, K.RATE_LIMIT, 429),
        ("Responses, failed", {"type": "response.failed", "response": {
            "status": "failed", "error": {"code": "rate_limit_exceeded", "message": "x"}}},
            "openai", RESPONSES, K.RATE_LIMIT, 429),
        ("Responses, failed without a code", {"type": "response.failed", "response": {
            "status": "failed", "error": {"message": "x"}}},
            "openai", RESPONSES, K.SERVER_ERROR, None),
        ("Responses, failed without an error", {"type": "response.failed", "response": {
            "status": "failed", "error": None}}, "openai", RESPONSES, K.SERVER_ERROR, None),
        ("Responses, quota", {"type": "error", "error": {
            "type": "insufficient_quota", "code": "insufficient_quota"}},
            "openai", RESPONSES, K.QUOTA, 429),
        ("Responses, policy", {"type": "response.failed", "response": {"error": {
            "code": "cyber_policy"}}}, "openai", RESPONSES, K.CONTENT_FILTER, 400),
        ("Responses, upstream", {"type": "response.failed", "response": {"error": {
            "code": "upstream_stream_read_error"}}}, "openai", RESPONSES, K.SERVER_ERROR, 502),
        ("Responses, limited for safety", {"type": "response.failed", "response": {"error": {
            "code": None, "message": "This user's access to gpt-x has been temporarily limited "
            "for potentially suspicious activity"}}},
            "openai", RESPONSES, K.CONTENT_FILTER, None),
        ("Responses, an image", {"type": "response.failed", "response": {"error": {
            "code": "image_parse_error"}}}, "openai", RESPONSES, K.BAD_REQUEST, 400),
        ("DeepSeek, no balance", {"error": {"message": "Insufficient Balance",
            "type": "unknown_error", "code": BAD}}, "deepseek", "openai-chat", K.QUOTA, 400),
        ("Responses, store", {"type": "response.failed", "response": {"error": {
            "code": "vector_store_timeout"}}}, "openai", RESPONSES, K.TIMEOUT, 504),
        ("Anthropic, bare", {"type": "overloaded_error", "message": "Overloaded"},
            "anthropic", "anthropic", K.OVERLOADED, 529),
        ("Anthropic, details", {"type": "error", "error": {
            "details": None, "type": "overloaded_error", "message": "Overloaded"}},
            "anthropic", "anthropic", K.OVERLOADED, 529),
        ("Anthropic, code", claude("x", "rate_limit_error", "enforced_spend_limit_reached"),
            "anthropic", "anthropic", K.QUOTA, 429),
        ("Anthropic, gateway", claude("Connection closed.", "api_error"),
            "anthropic", "anthropic", K.SERVER_ERROR, 500),
        ("Anthropic, filter", claude("Output blocked by content filtering policy", "api_error"),
            "anthropic", "anthropic", K.CONTENT_FILTER, 500),
        ("Anthropic skin, unpaid", claude("[1113][x][y]", "rate_limit_error"),
            "zai", "anthropic", K.QUOTA, 429),
        ("OpenRouter, a code as text", {"error": {"code": "server_error", "message": "x"}},
            "openrouter", "openai-chat", K.SERVER_ERROR, 500),
        ("OpenRouter, no choices", {"error": {"code": 502, "message": "x"}, "choices": []},
            "openrouter", "openai-chat", K.SERVER_ERROR, 502),
        ("OpenRouter, only a code", {"error": {"code": 400}},
            "openrouter", "openai-chat", K.BAD_REQUEST, 400),
        ("OpenRouter, no status", {"error": {"message": "Provider returned error"}},
            "openrouter", "openai-chat", K.SERVER_ERROR, None),
        ("OpenRouter, a day", router(429, "Rate limit exceeded: limit_rpd/m/x"),
            "openrouter", "openai-chat", K.QUOTA, 429),
        ("OpenRouter, in flight", router(
            402, "x", limit_source="openrouter_in_flight_budget",
            reason="in_flight_budget_exhausted"), "openrouter", "openai-chat", K.RATE_LIMIT, 402),
        ("OpenRouter, canonical word only", router(None, "x", error_type="provider_overloaded"),
            "openrouter", "openai-chat", K.OVERLOADED, 529),
        ("Groq", {"error": {"code": "tool_use_failed", "status_code": 400}},
            "groq", "openai-chat", K.TOOL_CALL_MALFORMED, 400),
        ("Cerebras, queue", {"status_code": 429, "error": {
            "type": "too_many_requests_error", "param": "queue", "code": "queue_exceeded"}},
            "cerebras", "openai-chat", K.OVERLOADED, 429),
        ("SGLang", {"object": "error", "message":
            "The input (36002 tokens) is longer than the model's context length (32768 tokens)."},
            "my-server", "openai-chat", K.CONTEXT_OVERFLOW, None),
        ("free usage, in words", {"error": {"message": "Free usage exceeded, subscribe to Go"}},
            "my-server", "openai-chat", K.QUOTA, None),
        ("overloaded, in words", {"error": {"message": "The AI service is temporarily overloaded"}},
            "my-server", "openai-chat", K.OVERLOADED, None),
        ("a status in words", {"message": "Streaming response failed: [503] The request queue is "
            "full.", "type": "server_error", "param": None},
            "my-server", "openai-chat", K.SERVER_ERROR, 500),
        ("limited for safety", {"error": {"message": "This user's access to gpt-x has been "
            "temporarily limited for potentially suspicious activity"}},
            "my-server", "openai-chat", K.CONTENT_FILTER, None),
        ("a cause under a vague type", {"error": {
            "type": BAD, "code": "server_is_overloaded"}},
            "my-server", "openai-chat", K.OVERLOADED, 503),
        ("Gemini, in an array", [google(503, "UNAVAILABLE")], "gemini", "gemini",
            K.OVERLOADED, 503),
        ("Gemini, its word only", {"error": {"status": "RESOURCE_EXHAUSTED", "message": "x"}},
            "gemini", "gemini", K.RATE_LIMIT, 429),
        ("Gemini, interactions", {"event_type": "error", "error": {"code": "quota_exceeded"}},
            "gemini", "gemini", K.RATE_LIMIT, 429),
        ("Bedrock, a frame", {"throttlingException": {"message": "Too many tokens, please wait"}},
            "bedrock", "openai-chat", K.RATE_LIMIT, 429),
        ("Bedrock, a broken frame", {"modelStreamErrorException": {"message": "x"}},
            "bedrock", "openai-chat", K.SERVER_ERROR, 424),
        ("z.ai", {"error": {"code": "1305", "message": "x"}}, "zai", "openai-chat",
            K.OVERLOADED, 503),
        ("Mistral", {"object": "error", "code": "3505", "message": "x"}, "mistral", "openai-chat",
            K.OVERLOADED, 429),
        ("DeepSeek", chat("Insufficient Balance", "unknown_error"), "deepseek", "openai-chat",
            K.QUOTA, None),
        ("MiniMax", minimax(1013, "x"), "minimax", "openai-chat", K.SERVER_ERROR, 500),
        ("a gateway", {"success": False, "code": 500, "msg": "x"}, "zai", "openai-chat",
            K.SERVER_ERROR, 500),
    ]
]  # fmt: skip


@pytest.mark.parametrize(("value", "provider", "wire", "kind", "status"), IN_STREAM)
def test_an_error_in_a_stream_is_found_and_named(
    value: object, provider: str, wire: Wire, kind: FailureKind, status: int | None
) -> None:
    """In-band errors are failed attempts, whatever the 200 says."""
    assert has_error_object(value)

    failure = classify_error_object(value, provider=provider, wire=wire)

    assert (failure.kind, failure.status) == (kind, status), failure.because


@pytest.mark.parametrize(
    ("stop", "provider", "wire", "kind"),
    [
        ("stop", "openai", "openai-chat", None),
        (None, "openai", "openai-chat", None),
        ("content_filter", "openai", "openai-chat", K.CONTENT_FILTER),
        ("error", "mistral", "openai-chat", K.SERVER_ERROR),
        ("model_length", "mistral", "openai-chat", K.CONTEXT_OVERFLOW),
        ("model_length", "groq", "openai-chat", None),
        ("insufficient_system_resource", "deepseek", "openai-chat", K.OVERLOADED),
        ("abort", "my-server", "openai-chat", K.SERVER_ERROR),
        ("network_error", "zai", "anthropic", K.SERVER_ERROR),
        ("sensitive", "zai", "anthropic", K.CONTENT_FILTER),
        ("refusal", "anthropic", "anthropic", K.REFUSAL),
        ("model_context_window_exceeded", "anthropic", "anthropic", K.CONTEXT_OVERFLOW),
        ("pause_turn", "anthropic", "anthropic", None),
    ],
)
def test_a_word_for_the_end_may_mean_failure(
    stop: str | None, provider: str, wire: Wire, kind: FailureKind | None
) -> None:
    """An abort that is not the caller's is the provider's failure."""
    assert kind_of_stop(stop, provider=provider, wire=wire) is kind
