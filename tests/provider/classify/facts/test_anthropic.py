"""The errors of Anthropic: what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .rows import K, Row, chat, check, claude

if TYPE_CHECKING:
    pass

ROWS = [
    Row("spend limit, enforced", "anthropic", 429,
        claude("x", "rate_limit_error", "enforced_spend_limit_reached"), K.QUOTA),
    Row("spend limit, contract", "anthropic", 429,
        claude("x", "rate_limit_error", "contract_spend_limit_reached"), K.QUOTA),
    Row("ramp limit", "anthropic", 429,
        claude("x", "rate_limit_error", "ramp_limit_exceeded"), K.RATE_LIMIT),
    Row("unknown code falls back to the type", "anthropic", 429,
        claude("x", "rate_limit_error", "brand_new"), K.RATE_LIMIT),
    Row("linked organization", "anthropic", 402,
        claude("x", "billing_error", "linked_organization_billing_unavailable"), K.QUOTA),
    Row("on hold", "anthropic", 400, claude("x", code="organization_on_hold"), K.QUOTA),
    Row("own spend limit", "anthropic", 400, claude(
        "You have reached your specified workspace API usage limits. You will regain access on "
        "2026-12-01 at 00:00 UTC."), K.QUOTA),
    Row("body timeout", "anthropic", 400, claude("x", code="request_body_timeout"), K.TIMEOUT),
    Row("no room to compact", "anthropic", 529,
        claude("x", "overloaded_error", "compaction_unavailable"), K.OVERLOADED),
    Row("images", "anthropic", 400, claude("x", code="image_dimensions_too_large"), K.BAD_REQUEST),
    Row("too large when decoded", "anthropic", 413,
        claude("x", code="request_body_too_large_after_decoding"), K.CONTEXT_OVERFLOW),
    Row("a 413 from the edge", "anthropic", 413, "<html>413</html>", K.CONTEXT_OVERFLOW),
    Row("thread gone", "anthropic", 404,
        claude("x", "not_found_error", "thread_not_found"), K.HISTORY_REJECTED),
    Row("input and output", "anthropic", 400, claude(
        "input length and `max_tokens` exceed context limit: 171899 + 34048 > 200000, decrease "
        "input length or `max_tokens` and try again"), K.CONTEXT_OVERFLOW),
    Row("too long, in short", "anthropic", 400, claude("Prompt is too long"), K.CONTEXT_OVERFLOW),
    Row("max_tokens is no overflow", "anthropic", 400, claude(
        "max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens"),
        K.BAD_REQUEST),
    Row("redacted data", "anthropic", 400,
        claude("messages.1.content.0: Invalid `data` in `redacted_thinking` block"),
        K.HISTORY_REJECTED),
    Row("signature that is null", "anthropic", 400,
        claude("messages.1.content.0.thinking.signature.str: Input should be a valid string"),
        K.HISTORY_REJECTED),
    Row("thinking without text", "anthropic", 400,
        claude("messages.1.content.0.thinking: each thinking block must contain thinking"),
        K.HISTORY_REJECTED),
    Row("thinking expected", "anthropic", 400, claude(
        "messages.5.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
        "`tool_use`."), K.HISTORY_REJECTED),
    Row("result without its call", "anthropic", 400, claude(
        "messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1"),
        K.HISTORY_REJECTED),
    Row("id of another form", "anthropic", 400, claude(
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"),
        K.HISTORY_REJECTED),
    Row("prefill", "anthropic", 400, claude(
        "This model does not support assistant message prefill. The conversation must end with a "
        "user message."), K.HISTORY_REJECTED),
    Row("empty text", "anthropic", 400,
        claude("messages: text content blocks must be non-empty"), K.HISTORY_REJECTED),
    Row("two results of one call", "anthropic", 400, claude(
        "messages.6.content.0: each `tool_use` must have a single result. Found multiple "
        "`tool_result` blocks with id: toolu_1"), K.HISTORY_REJECTED),
    Row("an image in a result that is an error", "anthropic", 400, claude(
        'messages.2.content.0.tool_result: all content must be type "text" if `is_error` is true'),
        K.HISTORY_REJECTED),
    Row("a block of a beta that is not asked for", "anthropic", 400, claude(
        "messages.1.content.0: Input tag 'fallback' found using 'type' does not match any of the "
        "expected tags: 'text', 'thinking', 'tool_use'"), K.HISTORY_REJECTED),
    Row("a subscription's window, through a facade", "opencode", 429,
        claude("Go usage limit reached", "GoUsageLimitError"), K.QUOTA, wire="anthropic"),
    Row("forced tool", "anthropic", 400,
        claude("Thinking may not be enabled when tool_choice forces tool use."), K.BAD_REQUEST),
    Row("output blocked", "anthropic", 400,
        claude("Output blocked by content filtering policy"), K.CONTENT_FILTER),
    Row("output blocked, under a 500", "anthropic", 500,
        claude("Output blocked by content filtering policy", "api_error"), K.CONTENT_FILTER),
    Row("500 that the SDK would not retry", "anthropic", 500,
        claude("Internal server error", "api_error"), K.SERVER_ERROR,
        headers={"x-should-retry": "false"}),
    Row("529", "anthropic", 529,
        claude("Overloaded", "overloaded_error"), K.OVERLOADED),
    Row("conflict", "anthropic", 409, claude("x", "conflict_error"), K.SERVER_ERROR),
    Row("request timeout without a body", "anthropic", 408, b"", K.TIMEOUT),
    Row("its words inside another's text", "openrouter", 400,
        chat("Your credit balance is too low to access the Anthropic API", code=400),
        K.BAD_REQUEST),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_an_answer_is_what_its_provider_means(row: Row) -> None:
    check(row)
