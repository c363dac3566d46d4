"""What each provider says when something went wrong, and what it means.

The facts are those of the tables ``provider/fact_*.py``, which name their sources.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import FailureKind
from sidestep.provider.classify.classify import (
    classify_error_object,
    classify_response,
    has_error_object,
)
from sidestep.provider.classify.fact_lookup import kind_of_stop
from sidestep.provider.classify.fact_tables import tables_of
from sidestep.provider.classify.report import Report
from sidestep.provider.fact import PREFIX, Fact
from sidestep.provider.failure import Stage

from ...property import examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from sidestep.provider.wire_name import Wire

K = FailureKind
BAD = "invalid_request_error"


@dataclass(frozen=True)
class Row:
    """A whole answer, and what it is."""

    id: str
    provider: str
    status: int
    body: Any
    kind: FailureKind
    wire: Wire | None = None
    headers: dict[str, str] = field(default_factory=dict)
    is_capacity: bool = False

    @property
    def bytes(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


def wire_of(provider: str) -> Wire:
    own: dict[str, Wire] = {"anthropic": "anthropic", "gemini": "gemini"}
    return own.get(provider, "openai-chat")


def claude(message: str, type_: str = BAD, code: str | None = None) -> dict[str, Any]:
    error = {"type": type_, "message": message, "details": {"error_code": code} if code else None}
    return {"type": "error", "error": error, "request_id": "req_1"}


def chat(message: str, type_: str | None = None, code: Any = None, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": type_, "param": None, "code": code, **more}}


def router(code: Any, message: str = "Provider returned error", **metadata: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "metadata": metadata}, "user_id": "u"}


def google(code: int, status: str, message: str = "m", *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": [*details]}}


RPC = "type.googleapis.com/google.rpc."


def info(reason: str) -> dict[str, Any]:
    return {"@type": f"{RPC}ErrorInfo", "reason": reason, "domain": "googleapis.com"}


def quota(id_: str, value: str = "250") -> dict[str, Any]:
    violation = {"quotaMetric": "m", "quotaId": id_, "quotaValue": value}
    return {"@type": f"{RPC}QuotaFailure", "violations": [violation]}


def minimax(code: int, message: str) -> dict[str, Any]:
    return {"choices": None, "base_resp": {"status_code": code, "status_msg": message}}


PLAN = "You exceeded your current quota, please check your plan and billing details."
RAW_CLAUDE = json.dumps(claude("prompt is too long: 213462 tokens > 200000 maximum"))
TPM = "in organization org-1 on tokens per min (TPM)"

ANTHROPIC_ROWS = [
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
OPENAI_ROWS = [
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
OPENROUTER_ROWS = [
    Row("in flight, without a reason", "openrouter", 402,
        router(402, "x", limit_source="openrouter_in_flight_budget"), K.RATE_LIMIT,
        is_capacity=True),
    Row("key limit", "openrouter", 402,
        router(402, "x", limit_source="openrouter_key_limit"), K.QUOTA),
    Row("free models, a day", "openrouter", 429,
        router(429, "Rate limit exceeded: free-models-per-day. Add credits"), K.QUOTA),
    Row("free models, a minute", "openrouter", 429,
        router(429, "Rate limit exceeded: free-models-per-min."), K.RATE_LIMIT),
    Row("upstream's limit", "openrouter", 429, router(
        429, provider_name="Chutes",
        raw="m/x:free is temporarily rate-limited upstream. Please retry shortly"),
        K.RATE_LIMIT, is_capacity=True),
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
        K.RATE_LIMIT, is_capacity=True),
    Row("Google's lack of room", "openrouter", 429, router(
        429, provider_name="Google AI Studio", raw=json.dumps([google(
            429, "RESOURCE_EXHAUSTED", "No capacity available for model g on the server",
            info("MODEL_CAPACITY_EXHAUSTED"))])), K.RATE_LIMIT, is_capacity=True),
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
        router(404, "No endpoints found that support tool use."), K.NOT_FOUND),
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
GEMINI_ROWS = [
    Row("a day, though it says 18 s", "gemini", 429, google(
        429, "RESOURCE_EXHAUSTED", PLAN,
        quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
        {"@type": f"{RPC}RetryInfo", "retryDelay": "18s"}), K.QUOTA),
    Row("a minute, in the same words", "gemini", 429, google(
        429, "RESOURCE_EXHAUSTED", PLAN,
        quota("GenerateContentInputTokensPerModelPerMinute-FreeTier")), K.RATE_LIMIT),
    Row("those words alone", "gemini", 429, google(429, "RESOURCE_EXHAUSTED", PLAN), K.RATE_LIMIT),
    Row("limit of 0", "gemini", 429, google(
        429, "RESOURCE_EXHAUSTED", f"{PLAN}\n* Quota exceeded for metric: g/free, limit: 0, model:"
        " g-pro\nPlease retry in 12.3s."), K.QUOTA),
    Row("limit of 0 in the details", "gemini", 429, google(
        429, "RESOURCE_EXHAUSTED", "m", quota("RequestsPerMinute", "0")), K.QUOTA),
    Row("limit of 0.5 or 05", "gemini", 429, google(
        429, "RESOURCE_EXHAUSTED", "* Quota exceeded for metric: g, limit: 05"), K.RATE_LIMIT),
    Row("credits, as it was", "gemini", 429,
        google(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."), K.QUOTA),
    Row("no capacity, in an array", "gemini", 429, [google(
        429, "RESOURCE_EXHAUSTED", "No capacity available for model g on the server",
        info("MODEL_CAPACITY_EXHAUSTED"))], K.OVERLOADED, is_capacity=True),
    Row("no capacity, without details", "gemini", 429, google(
        429, "RESOURCE_EXHAUSTED", "No capacity available for model g on the server"),
        K.OVERLOADED, is_capacity=True),
    Row("check quota", "gemini", 429, google(
        429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
        K.RATE_LIMIT),
    Row("too long under a 429", "gemini", 429, google(
        429, "RESOURCE_EXHAUSTED",
        "The input token count exceeds the maximum number of tokens allowed 1048576."),
        K.CONTEXT_OVERFLOW),
    Row("tokens of a minute under a 429", "gemini", 429, google(
        429, "RESOURCE_EXHAUSTED",
        "The input token count exceeds the maximum number of tokens allowed per minute.",
        quota("InputTokensPerMinute")), K.RATE_LIMIT),
    Row("too long", "gemini", 400, google(
        400, "INVALID_ARGUMENT",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        K.CONTEXT_OVERFLOW),
    Row("high demand", "gemini", 503, google(
        503, "UNAVAILABLE", "This model is currently experiencing high demand."), K.OVERLOADED),
    Row("deadline", "gemini", 504, google(504, "DEADLINE_EXCEEDED"), K.TIMEOUT),
    Row("internal", "gemini", 500, google(500, "INTERNAL"), K.SERVER_ERROR),
    Row("cancelled, though not by us", "gemini", 499, google(499, "CANCELLED"), K.RATE_LIMIT),
    Row("leaked key", "gemini", 403, google(403, "PERMISSION_DENIED"), K.AUTH),
    Row("location", "gemini", 400, google(
        400, "FAILED_PRECONDITION", "User location is not supported for the API use."), K.AUTH),
    Row("Vertex, no signature", "gemini", 400, google(
        400, "INVALID_ARGUMENT",
        "Function call `read` in the `2.` content block is missing a `thought_signature`."),
        K.HISTORY_REJECTED),
    Row("Vertex, wrong signature", "gemini", 400,
        google(400, "INVALID_ARGUMENT", "Invalid thought signature."), K.HISTORY_REJECTED),
    Row("number of responses", "gemini", 400, google(
        400, "INVALID_ARGUMENT",
        "Please ensure that the number of function response parts is equal to the number of "
        "function call parts of the function call turn."), K.HISTORY_REJECTED),
    Row("bad schema", "gemini", 400,
        google(400, "INVALID_ARGUMENT", "Unknown name \"$ref\""), K.BAD_REQUEST),
    Row("code that is a string", "gemini", 429,
        {"error": {"code": "quota_exceeded", "message": PLAN}}, K.RATE_LIMIT),
]  # fmt: skip
OTHER_ROWS = [
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
ZAI_KINDS = {
    K.AUTH: "1000 1001 1002 1003 1004 1110 1111 1112 1220 1221 1222",
    K.QUOTA: "1113 1304 1308 1309 1310 1313",
    K.BAD_REQUEST: "1210 1212 1213 1214 1215",
    K.NOT_FOUND: "1211",
    K.SERVER_ERROR: "1234",
    K.CONTEXT_OVERFLOW: "1261",
    K.CONTENT_FILTER: "1301",
    K.RATE_LIMIT: "1302 1303",
    K.OVERLOADED: "1305",
}
ZAI_FORMS: list[tuple[str, int, Callable[[str], Any], Wire]] = [
    ("429", 429, lambda code: chat("x", None, code), "openai-chat"),
    ("in a 200", 200, lambda code: chat("x", None, int(code)), "openai-chat"),
    ("in brackets", 429, lambda code: claude(f"[{code}][x][1]", "rate_limit_error"), "anthropic"),
]
ZAI_ROWS = [
    Row(f"z.ai, {code}, {form}", "zai", status, body(code), kind, wire=wire)
    for kind, codes in ZAI_KINDS.items()
    for code in codes.split()
    for form, status, body, wire in ZAI_FORMS
]
GENERIC_ROWS = [
    Row(f"generic, {id_}", "my-server", status, body, kind)
    for id_, status, body, kind in [
        ("vLLM", 400, {"object": "error", "type": "BadRequestError", "code": 400, "message":
            "This model's maximum context length is 4096 tokens. However, you requested 5000"},
            K.CONTEXT_OVERFLOW),
        ("vLLM, max_tokens", 400, {"object": "error", "type": "BadRequestError", "message":
            "'max_tokens' is too large: 40000. This model's maximum context length is 32768"},
            K.BAD_REQUEST),
        ("llama.cpp", 400, chat("x", "exceed_context_size_error", 400), K.CONTEXT_OVERFLOW),
        ("llama.cpp, in words", 400, chat(
            "request (11016 tokens) exceeds the available context size (8192 tokens), try"),
            K.CONTEXT_OVERFLOW),
        ("LM Studio", 400, {"error": "The number of tokens to keep from the initial prompt is "
            "greater than the context length."}, K.CONTEXT_OVERFLOW),
        ("Ollama", 400, chat("prompt too long; exceeded max context length by 4 tokens", BAD),
            K.CONTEXT_OVERFLOW),
        ("SGLang", 400, {"object": "error", "message":
            "The input (36002 tokens) is longer than the model's context length (32768 tokens)."},
            K.CONTEXT_OVERFLOW),
        ("Together", 422, chat("`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000"),
            K.CONTEXT_OVERFLOW),
        ("DashScope", 400, chat("<400> InternalError.Algo.InvalidParameter: Range of input length "
            "should be [1, 30720]", BAD, "invalid_parameter_error"), K.CONTEXT_OVERFLOW),
        ("xAI", 400, {"code": "Client specified an invalid argument", "error":
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens."},
            K.CONTEXT_OVERFLOW),
        ("LiteLLM", 400, chat("litellm.ContextWindowExceededError: litellm.BadRequestError: "
            "AnthropicException - prompt is too long: 9 tokens > 8 maximum", code="400"),
            K.CONTEXT_OVERFLOW),
        ("LiteLLM, with the whole body", 400, chat(
            f"litellm.BadRequestError: AnthropicException - {RAW_CLAUDE}", code="400"),
            K.CONTEXT_OVERFLOW),
        ("Ollama", 400, chat("the input length exceeds the context length", BAD),
            K.CONTEXT_OVERFLOW),
        ("Fireworks", 400, chat(
            "The prompt is too long: 140000, model maximum context length: 131071", BAD),
            K.CONTEXT_OVERFLOW),
        ("Copilot", 400, chat("prompt token count of 140000 exceeds the limit of 128000",
            code="model_max_prompt_tokens_exceeded"), K.CONTEXT_OVERFLOW),
        ("DashScope, filter", 400, chat("x", BAD, "data_inspection_failed"), K.CONTENT_FILTER),
        ("DashScope, overdue", 400, chat("Access denied", BAD, "Arrearage"), K.QUOTA),
        ("xAI, no credits", 403, {"code": "The caller does not have permission", "error":
            "Your newly created team doesn't have any credits yet."}, K.QUOTA),
        ("xAI, spent", 429, {"code": "Some resource has been exhausted", "error":
            "Your team t has either used all available credits or reached its monthly limit."},
            K.QUOTA),
        ("Anthropic's balance behind LiteLLM", 400, chat(
            "litellm.BadRequestError: AnthropicException - Your credit balance is too low to "
            "access the Anthropic API."), K.QUOTA),
        ("Claude's signature behind LiteLLM", 400, chat(
            "litellm.BadRequestError: AnthropicException - messages.1.content.0: Invalid "
            "`signature` in `thinking` block"), K.HISTORY_REJECTED),
        ("a signature that a gateway lost", 400, chat("signature: Field required", BAD),
            K.HISTORY_REJECTED),
        ("two calls of one id behind a gateway", 400, chat(
            "BedrockException - The toolUse blocks at messages.1.content contain duplicate Ids: "
            "a"), K.HISTORY_REJECTED),
        ("xAI, reasoning of another vendor", 400, {
            "code": "Client specified an invalid argument",
            "error": "Could not decrypt the provided encrypted_content."}, K.HISTORY_REJECTED),
        ("Gemini's signature behind a gateway", 400, chat(
            "Function call is missing a thought_signature in functionCall parts.", BAD),
            K.HISTORY_REJECTED),
        ("throttled, in the words of an overflow", 429,
            chat("prompt too long; exceeded max context length"), K.RATE_LIMIT),
        ("throttled, in other such words", 429,
            chat("Too many tokens, please wait before trying again."), K.RATE_LIMIT),
        ("throttled behind LiteLLM", 429, chat(
            "litellm.RateLimitError: BedrockException - Too many tokens, please wait", code="429"),
            K.RATE_LIMIT),
        ("an overflow that says to try again", 400, chat(
            "input length and `max_tokens` exceed context limit: 171899 + 34048 > 200000, decrease "
            "input length or `max_tokens` and try again", BAD), K.CONTEXT_OVERFLOW),
        ("limited for safety behind a gateway", 400, chat(
            "litellm.BadRequestError: OpenAIException - This user's access to gpt-x has been "
            "temporarily limited for potentially suspicious activity"), K.CONTENT_FILTER),
        ("rate limit, in the words of an overflow", 400, chat(
            "rate limit: input is longer than the model's context length"), K.BAD_REQUEST),
        ("OpenAI's ceiling", 413, chat(f"Request too large for gpt-x {TPM}: Limit 1, Requested 2"),
            K.REQUEST_TOO_LARGE),
        ("five hours", 429, chat(
            "Too Many Requests: Sorry, you've exceeded your 5 hour session limits."), K.QUOTA),
        ("usage limit", 429, chat("usage limit reached"), K.QUOTA),
        ("free usage", 429, chat("Free usage exceeded, subscribe to Go"), K.QUOTA),
        ("free usage, by type", 429, chat("x", "FreeUsageLimitError"), K.QUOTA),
        ("overloaded", 429, chat("The AI service is temporarily overloaded"), K.OVERLOADED),
        ("queue in a text", 500, {"message": "Streaming response failed: [503] The request "
            "queue is full.", "type": "server_error", "param": None}, K.SERVER_ERROR),
        ("digits in a text", 400, chat("[503] The request queue is full."), K.BAD_REQUEST),
        ("dressed up", 400, chat(
            "Error from provider (Console Go): Upstream request failed", BAD), K.BAD_REQUEST),
        ("output of a tool", 400, chat("cannot parse: setTimeout(() => 529 overloaded)", BAD),
            K.BAD_REQUEST),
        ("a body in the output of a tool", 400, chat(
            'bad arguments: {"error": {"type": "insufficient_quota"}}', BAD), K.BAD_REQUEST),
        ("a body behind a status", 500, chat(
            '503 {"error": {"code": "server_is_overloaded"}}'), K.OVERLOADED),
        ("a body as bytes", 500, chat(
            """litellm.APIError: XException - b'{"error": {"code": "slow_down"}}'"""),
            K.RATE_LIMIT),
        ("tool error", 400, chat("guildId required", BAD), K.BAD_REQUEST),
        ("filter of LiteLLM", 400, chat("x", "ContentPolicyViolationError", "400"),
            K.CONTENT_FILTER),
        ("invalid request", 400, chat("x", "invalid_request_error", "400"), K.BAD_REQUEST),
    ]
] + [
    Row("generic, model's limit", "my-server", 429, chat(
        "Too Many Requests: Sorry, you've exhausted this model's rate limit. Please try a "
        "different model."), K.RATE_LIMIT, is_capacity=True),
    Row("the wide net is not for those we know", "groq", 400,
        chat("prompt too long; exceeded max context length by 4 tokens", BAD), K.BAD_REQUEST),
    Row("nor are one provider's words for another", "deepseek", 400,
        chat("Input is too long for requested model", BAD), K.BAD_REQUEST),
]  # fmt: skip
ROWS = [
    *ANTHROPIC_ROWS,
    *OPENAI_ROWS,
    *OPENROUTER_ROWS,
    *GEMINI_ROWS,
    *OTHER_ROWS,
    *ZAI_ROWS,
    *GENERIC_ROWS,
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_an_answer_is_what_its_provider_means(row: Row) -> None:
    failure = classify_response(
        row.status,
        row.headers,
        row.bytes,
        provider=row.provider,
        wire=row.wire or wire_of(row.provider),
    )

    assert (failure.kind, failure.is_capacity) == (row.kind, row.is_capacity), failure.because
    assert row.status == 200 or failure.status == row.status
    assert row.status == 200 or failure.stage is Stage.RESPONSE


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


def every_fact() -> list[Fact]:
    names = ["anthropic", "openai", "openrouter", "gemini", "groq", "cerebras", "mistral"]
    names += ["deepseek", "moonshot", "zai", "minimax", "bedrock", "nobody's"]
    tables = {id(t): t for name in names for t in tables_of(name, "openai-chat")}
    sections = ("money", "overflow", "history", "filter", "other")
    return [fact for t in tables.values() for name in sections for fact in getattr(t, name)]


@given(st.text(alphabet="aA1.,:;`'[]{}() \n-_<>", max_size=3_000))
@examples(20)
def test_no_pattern_fits_noise_or_takes_long(noise: str) -> None:
    for fact in every_fact():
        if fact.text is not None:
            said = {name: tuple(words) for name, words in fact.exact.items()}
            assert not fact.matches(Report(message=noise, words=said)), fact


def test_no_pattern_can_match_nothing_and_none_looks_past_its_prefix() -> None:
    for fact in every_fact():
        said = {name: tuple(words) for name, words in fact.exact.items()}
        assert fact.text is None or not fact.matches(Report(message="", words=said))
        assert fact.text is None or re.match(fact.text, "x" * PREFIX) is None
        assert fact.exact or fact.patterns or fact.text
