"""The errors of OpenRouter: what they mean."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .rows import RAW_CLAUDE, K, Row, chat, check, claude, google, info, router

if TYPE_CHECKING:
    pass

ROWS = [
    Row("in flight, without a reason", "openrouter", 402,
        router(402, "x", limit_source="openrouter_in_flight_budget"), K.RATE_LIMIT,
        lacks_capacity=True),
    Row("key limit", "openrouter", 402,
        router(402, "x", limit_source="openrouter_key_limit"), K.QUOTA),
    Row("free models, a day", "openrouter", 429,
        router(429, "Rate limit exceeded: free-models-per-day. Add credits"), K.QUOTA),
    Row("free models, a minute", "openrouter", 429,
        router(429, "Rate limit exceeded: free-models-per-min."), K.RATE_LIMIT),
    Row("upstream's limit", "openrouter", 429, router(
        429, provider_name="Chutes",
        raw="m/x:free is temporarily rate-limited upstream. Please retry shortly"),
        K.RATE_LIMIT, lacks_capacity=True),
    Row("upstream's own words, in a string", "openrouter", 400,
        router(400, provider_name="Anthropic", raw=RAW_CLAUDE), K.CONTEXT_OVERFLOW),
    Row("upstream's own words, as an object", "openrouter", 400,
        router(400, provider_name="Anthropic", raw=json.loads(RAW_CLAUDE)), K.CONTEXT_OVERFLOW),
    Row("AI Studio's words for Anthropic's", "openrouter", 400,
        router(400, provider_name="Google AI Studio", raw=RAW_CLAUDE), K.BAD_REQUEST),
    Row("Claude behind Google", "openrouter", 400,
        router(400, provider_name="Google", raw=RAW_CLAUDE), K.CONTEXT_OVERFLOW),
    Row("Claude behind Bedrock", "openrouter", 400, router(
        400, provider_name="Amazon Bedrock", raw=json.dumps(claude(
            "messages.3: `tool_use` ids were found without `tool_result` blocks immediately "
            "after: toolu_1."))), K.HISTORY_REJECTED),
    Row("limit of a key", "openrouter", 403, chat(
        "Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys",
        code=403), K.QUOTA),
    Row("no such model, OpenRouter", "openrouter", 400,
        chat("house/none is not a valid model ID", code=400), K.NOT_FOUND),
    Row("Google's own, in an array in a string", "openrouter", 400, router(
        400, provider_name="Google AI Studio", raw=json.dumps([google(
            400, "INVALID_ARGUMENT",
            "The input token count (9) exceeds the maximum number of tokens allowed (8).")])),
        K.CONTEXT_OVERFLOW),
    Row("Bedrock's", "openrouter", 400, router(
        400, provider_name="Amazon Bedrock",
        raw='{"message":"Input is too long for requested model."}'), K.CONTEXT_OVERFLOW),
    Row("Bedrock's throttling in the words of an overflow", "openrouter", 429, router(
        429, provider_name="Amazon Bedrock",
        raw='{"message":"Too many tokens, please wait before trying again."}'),
        K.RATE_LIMIT, lacks_capacity=True),
    Row("Google's lack of room", "openrouter", 429, router(
        429, provider_name="Google AI Studio", raw=json.dumps([google(
            429, "RESOURCE_EXHAUSTED", "No capacity available for model g on the server",
            info("MODEL_CAPACITY_EXHAUSTED"))])), K.RATE_LIMIT, lacks_capacity=True),
    Row("a signature of another upstream", "openrouter", 400, router(
        400, provider_name="Anthropic",
        raw=json.dumps(claude("messages.1.content.0: Invalid `signature` in `thinking` block"))),
        K.HISTORY_REJECTED),
    Row("code of an upstream that nobody mapped", "openrouter", 503, router(
        503, error_type="unmapped", provider_code="server_is_overloaded"), K.OVERLOADED),
    Row("a guardrail", "openrouter", 403, router(403, "x", patterns=["p"]), K.CONTENT_FILTER),
    Row("permission", "openrouter", 403, router(403, "x", error_type="permission_denied"), K.AUTH),
    Row("refusal", "openrouter", 400, router(400, "x", error_type="refusal"), K.REFUSAL),
    Row("nothing supports it", "openrouter", 404,
        router(404, "No endpoints found that support tool use."), K.HISTORY_REJECTED,
        lacks_capacity=True),
    Row("nothing is there", "openrouter", 503, router(503, "No allowed providers"), K.OVERLOADED),
    Row("endpoint's window", "openrouter", 400, router(
        400, "This endpoint's maximum context length is 131072 tokens. However, you requested "
        "about 140000 tokens"), K.CONTEXT_OVERFLOW),
    Row("input length", "openrouter", 400, router(
        400, "Input length 9000 exceeds the maximum allowed input length of 8192 tokens."),
        K.CONTEXT_OVERFLOW),
    Row("upstream is gone", "openrouter", 502,
        router(502, "x", error_type="provider_unavailable"), K.SERVER_ERROR),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_an_answer_is_what_its_provider_means(row: Row) -> None:
    check(row)
