"""The errors of vendors on Chat Completions, and of Bedrock: what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .rows import BAD, K, Row, chat, check, claude, google, minimax

if TYPE_CHECKING:
    pass

ROWS = [
    Row("Groq, per minute", "groq", 429, chat(
        "Rate limit reached for model `m` on tokens per minute (TPM): Limit 7500, Used 16673, "
        "Requested ~3658. Please try again in 1m42.653s.", "tokens", "rate_limit_exceeded"),
        K.RATE_LIMIT),
    Row("Groq, more than the limit ever", "groq", 429, chat(
        "Rate limit reached for model `m` in organization `org_1` service tier `on_demand` on "
        "tokens per minute (TPM): Limit 6000, Used 0, Requested 9012. Please try again in 30.1s.",
        "tokens", "rate_limit_exceeded"), K.REQUEST_TOO_LARGE),
    Row("Groq, flex", "groq", 498, chat("x"), K.OVERLOADED),
    Row("Groq, a model that is gone", "groq", 400,
        chat("x", BAD, "model_decommissioned"), K.NOT_FOUND),
    *(
        Row(f"{name}, {text}", name, 400, chat(text), K.NOT_FOUND)
        for name in ("groq", "mistral")
        for text in (
            "The model `llama-x` does not exist or you do not have access to it.",
            "The model `llama3-8b` has been decommissioned and is no longer supported.",
            "Invalid model: mistral-medium-9",
        )
    ),
    Row("Groq, a tool", "groq", 400, chat("The model does not support tool `x`"), K.BAD_REQUEST),
    Row("Groq, restricted", "groq", 400, chat("x", BAD, "organization_restricted"), K.AUTH),
    Row("Groq, a field of another route", "groq", 400, chat(
        "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : "
        "property 'reasoning_content' is unsupported)]", BAD), K.HISTORY_REJECTED),
    Row("Cerebras, a page in place of nothing", "cerebras", 413, "<html>", K.CONTEXT_OVERFLOW),
    Row("Mistral, no such model", "mistral", 400, {
        "object": "error", "message": "Invalid model: m", "type": "invalid_model", "code": "1500"},
        K.NOT_FOUND),
    Row("DeepSeek, no such model", "deepseek", 400,
        chat("Model Not Exist", BAD, BAD), K.NOT_FOUND),
    Row("DeepSeek, filter", "deepseek", 400,
        chat("Content Exists Risk", BAD, BAD), K.CONTENT_FILTER),
    Row("DeepSeek, reasoning that must not come back", "deepseek", 400, chat(
        "messages[3]: the field reasoning_content is not accepted by this model", BAD, BAD),
        K.HISTORY_REJECTED),
    Row("MiniMax, load under the code for anything", "minimax", 529, {
        "type": "error", "error": {"type": "overloaded_error", "message": "busy (1000)"}},
        K.OVERLOADED),
    Row("Bedrock, no such model", "bedrock", 400,
        {"message": "The provided model identifier is invalid."}, K.NOT_FOUND,
        headers={"x-amzn-errortype": "ValidationException:http://internal.amazon.com/"}),
    Row("Bedrock, thinking without its signature", "bedrock", 400,
        {"message": "***.***.content.0.thinking.signature: Field required"}, K.HISTORY_REJECTED),
    Row("Bedrock, the same in the words of its model", "bedrock", 400,
        {"message": "The model returned the following errors: messages.1.content.0: Expected "
        "`thinking` or `redacted_thinking`, but found `text`"}, K.HISTORY_REJECTED),
    Row("Bedrock, two calls of one id", "bedrock", 400,
        {"message": "The toolUse blocks at messages.1.content contain duplicate Ids: tooluse_a"},
        K.HISTORY_REJECTED),
    Row("Vertex, a message of nothing", "gemini", 400, google(
        400, "INVALID_ARGUMENT", "Unable to submit request because it must include at least one "
        "parts field, which describes the prompt input."), K.HISTORY_REJECTED),
    Row("Groq, too long", "groq", 400,
        chat("Please reduce the length of the messages or completion.", BAD), K.CONTEXT_OVERFLOW),
    Row("Groq, bad call", "groq", 400,
        chat("x", BAD, "tool_use_failed", failed_generation="{"), K.TOOL_CALL_MALFORMED),
    Row("Groq, body too large", "groq", 413, chat("Request Entity Too Large", BAD),
        K.REQUEST_TOO_LARGE),
    Row("Cerebras, nothing at all", "cerebras", 400, b"  ", K.CONTEXT_OVERFLOW),
    Row("Cerebras, requests", "cerebras", 429, {
        "message": "x", "type": "too_many_requests_error", "param": "quota",
        "code": "request_quota_exceeded"}, K.RATE_LIMIT),
    Row("Cerebras, too long", "cerebras", 400, {
        "message": "Please reduce the length of the messages or completion. Current length is 9 "
        "while limit is 8", "type": BAD, "code": "context_length_exceeded"}, K.CONTEXT_OVERFLOW),
    Row("Cerebras, unpaid", "cerebras", 402, {"message": "x"}, K.QUOTA),
    Row("nothing at all from another", "groq", 400, b"", K.BAD_REQUEST),
    Row("Mistral, order", "mistral", 400, {
        "object": "error", "message": "x", "type": "invalid_request_message_order",
        "param": None, "code": "3230"}, K.HISTORY_REJECTED),
    Row("Mistral, id", "mistral", 400, {
        "object": "error", "type": BAD, "message": "Tool call id was toolu_1 but must be a-z, A-Z, "
        "0-9, with a length of 9."}, K.HISTORY_REJECTED),
    Row("Mistral, too long", "mistral", 400, {
        "object": "error", "type": BAD, "message": "Prompt contains 40000 tokens and 0 draft "
        "tokens, too large for model with 32768 maximum context length"}, K.CONTEXT_OVERFLOW),
    Row("Mistral, key", "mistral", 401, {"detail": "Unauthorized"}, K.AUTH),
    Row("Mistral, details in a message", "mistral", 422, {
        "object": "error", "type": BAD, "message": {"detail": [{"msg": "Extra inputs"}]}},
        K.BAD_REQUEST),
    Row("DeepSeek, too long", "deepseek", 400, chat(
        "This model's maximum context length is 131072 tokens. However, you requested 140000",
        BAD, BAD), K.CONTEXT_OVERFLOW),
    Row("DeepSeek, which message", "deepseek", 400, chat(
        "Missing `reasoning_content` field in the assistant message at message index 3.", BAD),
        K.HISTORY_REJECTED),
    Row("DeepSeek, its other wire", "deepseek", 400, claude(
        "The `content[].thinking` in the thinking mode must be passed back to the API."),
        K.HISTORY_REJECTED, wire="anthropic"),
    *(Row(f"{vendor}, its third wire", vendor, 400, chat(
        "The `reasoning_text` in the thinking mode must be passed back to the API.", BAD, BAD),
        K.HISTORY_REJECTED, wire="openai-responses") for vendor in ("deepseek", "acme")),
    Row("DeepSeek, on thinking", "deepseek", 400, chat(
        "The `budget` in the thinking mode must be an integer.", BAD), K.BAD_REQUEST),
    Row("DeepSeek, busy", "deepseek", 429, chat("x"), K.RATE_LIMIT),
    Row("Moonshot, overloaded", "moonshot", 429, chat(
        "The engine is currently overloaded, please try again later", "engine_overloaded_error"),
        K.OVERLOADED),
    Row("Moonshot, filter", "moonshot", 400, chat("x", "content_filter"), K.CONTENT_FILTER),
    Row("Moonshot, key", "moonshot", 401, chat("x", "invalid_authentication_error"), K.AUTH),
    Row("Moonshot, unexpected", "moonshot", 500, chat("x", "unexpected_output"), K.SERVER_ERROR),
    Row("MiniMax, plan", "minimax", 200, minimax(2056, "usage limit exceeded"), K.QUOTA),
    Row("MiniMax, requests", "minimax", 200, minimax(1002, "rate limit"), K.RATE_LIMIT),
    Row("MiniMax, tokens", "minimax", 200, minimax(1039, "x"), K.RATE_LIMIT),
    Row("MiniMax, sensitive", "minimax", 200, minimax(1027, "x"), K.CONTENT_FILTER),
    Row("MiniMax, key", "minimax", 200, minimax(1004, "x"), K.AUTH),
    Row("MiniMax, timeout", "minimax", 200, minimax(1001, "x"), K.TIMEOUT),
    Row("MiniMax, too long", "minimax", 200,
        minimax(2013, "invalid params, context window exceeds limit"), K.CONTEXT_OVERFLOW),
    Row("MiniMax, pairing", "minimax", 200,
        minimax(2013, "invalid params, tool result's tool id not found"), K.HISTORY_REJECTED),
    Row("MiniMax, parameters", "minimax", 200, minimax(2013, "invalid params, x"), K.BAD_REQUEST),
    Row("MiniMax, code in the text", "minimax", 429, {"type": "error", "error": {
        "type": "rate_limit_error", "message": "usage limit exceeded (2056)"}}, K.QUOTA,
        wire="anthropic"),
    Row("MiniMax, high traffic", "minimax", 529,
        {"error": {"message": "High traffic detected. Upgrade to our Plus plan"}}, K.OVERLOADED),
    Row("Bedrock, throttled", "bedrock", 429, {
        "__type": "com.amazon.coral.service#ThrottlingException",
        "message": "Too many tokens, please wait before trying again."}, K.RATE_LIMIT),
    Row("Bedrock, too long", "bedrock", 400,
        {"message": "Input is too long for requested model."}, K.CONTEXT_OVERFLOW,
        headers={"x-amzn-errortype": "ValidationException:http://internal.amazon.com/"}),
    Row("Bedrock, not ready", "bedrock", 429, {"message": "x"}, K.OVERLOADED,
        headers={"x-amzn-errortype": "ModelNotReadyException"}),
    Row("Bedrock, stream broke", "bedrock", 424, {"message": "x"}, K.SERVER_ERROR,
        headers={"x-amzn-errortype": "ModelStreamErrorException"}),
    Row("Bedrock, no access", "bedrock", 403, {"message": "x"}, K.AUTH,
        headers={"x-amzn-errortype": "AccessDeniedException"}),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_an_answer_is_what_its_provider_means(row: Row) -> None:
    check(row)
