"""The errors of unknown servers that imitate OpenAI: what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .rows import BAD, RAW_CLAUDE, TPM, K, Row, chat, check

if TYPE_CHECKING:
    pass

ROWS = [
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
        "different model."), K.RATE_LIMIT, lacks_capacity=True),
    Row("the wide net is not for those we know", "groq", 400,
        chat("prompt too long; exceeded max context length by 4 tokens", BAD), K.BAD_REQUEST),
    Row("nor are one provider's words for another", "deepseek", 400,
        chat("Input is too long for requested model", BAD), K.BAD_REQUEST),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_an_answer_is_what_its_provider_means(row: Row) -> None:
    check(row)
