"""The errors of OpenAI: what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .rows import BAD, TPM, K, Row, chat, check

if TYPE_CHECKING:
    pass

ROWS = [
    Row("spend code", "openai", 429, chat("x", code="project_spend_limit_reached"), K.QUOTA),
    Row("any code under the quota type", "openai", 429,
        chat("x", "insufficient_quota", "brand_new"), K.QUOTA),
    Row("not active", "openai", 429, chat("x", "invalid", "billing_not_active"), K.QUOTA),
    Row("plan's window", "openai", 429, {"error": {
        "type": "usage_limit_reached", "message": "The usage limit has been reached",
        "plan_type": "plus", "resets_at": 1796036400}}, K.QUOTA),
    Row("not in the plan", "openai", 403, chat("x", code="usage_not_included"), K.QUOTA),
    Row("per day", "openai", 429, chat(
        "Rate limit reached for gpt-x in organization org-1 on requests per day (RPD): Limit 200, "
        "Used 200, Requested 1. Please try again in 7m12s.", "requests", "rate_limit_exceeded"),
        K.RATE_LIMIT),
    Row("more than the limit ever", "openai", 429, chat(
        f"Rate limit reached for gpt-x {TPM}: Limit 30000, Used 0, Requested 41210. Please try "
        "again in 22s.", "tokens", "rate_limit_exceeded"), K.REQUEST_TOO_LARGE),
    Row("slow down", "openai", 429, chat("x", "rate_limit_error", "slow_down"), K.RATE_LIMIT),
    Row("slow down, as it was", "openai", 503, chat("Slow down", code="slow_down"), K.OVERLOADED),
    Row("overloaded", "openai", 503,
        chat("x", "service_unavailable_error", "server_is_overloaded"), K.OVERLOADED),
    Row("overloaded under a 429", "openai", 429,
        chat("That model is currently overloaded with other requests."), K.OVERLOADED),
    Row("wrong key", "openai", 401, chat("x", BAD, "invalid_api_key"), K.AUTH),
    Row("region", "openai", 403, chat("x", BAD, "unsupported_country_region_territory"), K.AUTH),
    Row("no such model, under a 400", "openai", 400, chat("x", BAD, "model_not_found"),
        K.NOT_FOUND),
    Row("no access to the model", "openai", 403, chat("x", BAD, "model_not_found"), K.NOT_FOUND),
    Row("too long, without a code", "openai", 400,
        chat("This model's maximum context length is 128000 tokens. However, you", BAD),
        K.CONTEXT_OVERFLOW),
    Row("a long `user` is no overflow", "openai", 400, chat(
        "Invalid 'user': string too long. Expected a string with maximum length 64", BAD,
        "string_above_max_length", param="user"), K.BAD_REQUEST),
    Row("item id of another issuer", "openai", 400, {"error": {
        "message": "Invalid 'input[8].id': 'toolu_1'. Expected an ID that begins with 'fc'.",
        "type": BAD, "param": "input[8].id", "code": "invalid_value"}}, K.HISTORY_REJECTED),
    Row("item without its reasoning", "openai", 400, chat(
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: "
        "'rs_1'.", BAD), K.HISTORY_REJECTED),
    Row("item that was not stored", "openai", 404, chat(
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
        BAD), K.HISTORY_REJECTED),
    Row("encrypted content, without a code", "openai", 400,
        chat("The encrypted content gAAAAABo1x could not be verified.", BAD), K.HISTORY_REJECTED),
    Row("encrypted content of another vendor", "openai", 400,
        chat("The encrypted content could not be decrypted.", BAD), K.HISTORY_REJECTED),
    Row("name of a tool that another route called", "openai", 400, chat(
        "Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern.", BAD,
        "invalid_value"), K.HISTORY_REJECTED),
    Row("two results of one call, OpenAI", "openai", 400, chat(
        "Duplicate value for 'tool_call_id' of 'call_1' found in message[3] and message[4]", BAD),
        K.HISTORY_REJECTED),
    Row("an answer with neither text nor call", "openai", 400, chat(
        "Invalid value for 'content': expected a string, got null.", BAD), K.HISTORY_REJECTED),
    Row("too long, in other words", "openai", 400, chat(
        "The input exceeds the context window of this model. Please adjust it.", BAD),
        K.CONTEXT_OVERFLOW),
    Row("flagged, without a code", "openai", 400, chat(
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy.", BAD),
        K.CONTENT_FILTER),
    Row("call without a result", "openai", 400,
        chat("No tool output found for function call call_1.", BAD), K.HISTORY_REJECTED),
    Row("calls without messages", "openai", 400, chat(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'.", BAD), K.HISTORY_REJECTED),
    Row("policy", "openai", 400, chat("x", BAD, "content_policy_violation"), K.CONTENT_FILTER),
    Row("prompt refused", "openai", 400, chat("x", BAD, "invalid_prompt"), K.CONTENT_FILTER),
    Row("filter of Azure", "openai", 400, chat(
        "The response was filtered", None, "content_filter", status=400,
        innererror={"code": "ResponsibleAIPolicyViolation"}), K.CONTENT_FILTER),
    Row("limited for safety", "openai", 400, chat(
        "This user's access to gpt-x has been temporarily limited for potentially suspicious "
        "activity"), K.CONTENT_FILTER),
    Row("unsupported parameter", "openai", 400,
        chat("Unsupported parameter: 'max_tokens'", BAD, "unsupported_parameter"), K.BAD_REQUEST),
    Row("words of a rate limit in a 400", "openai", 400,
        chat("rate limit exceeded, try again in 5s", BAD), K.BAD_REQUEST),
    Row("edge, 520", "openai", 520, "<!DOCTYPE html><title>520</title>", K.SERVER_ERROR,
        headers={"content-type": "text/html", "cf-ray": "1"}),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_an_answer_is_what_its_provider_means(row: Row) -> None:
    check(row)
