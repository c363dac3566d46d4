"""What servers say that nobody knows, on every wire, and what the edge before a server says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sidestep import FailureKind
from sidestep.provider.classify.classify import classify_error_object, classify_response
from sidestep.provider.cure import Change, Cure

from .rows import BAD, PLAN, K, Row, chat, check, claude

if TYPE_CHECKING:
    from sidestep.provider.wire_name import Wire

NO_FIT = (
    "Input does not fit in context length. The input has 31430 tokens, but the context length only "
    "supports 30000 tokens."
)
More = dict[str, Any]
PAGE = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body></body></html>"
XAI = "Client specified an invalid argument"
ANSWERS: list[tuple[str, int, Any, FailureKind, More]] = [
    # W1: overflow.
    ("LM Studio", 400, {"error": NO_FIT}, K.CONTEXT_OVERFLOW, {}),
    ("LM Studio, 500", 500, chat(NO_FIT, "internal_error"), K.CONTEXT_OVERFLOW, {}),
    ("LM Studio on Anthropic's wire", 400, claude(NO_FIT), K.CONTEXT_OVERFLOW,
        {"wire": "anthropic"}),
    ("mlx-serve on Anthropic's wire", 400, claude("Prompt exceeds maximum context length"),
        K.CONTEXT_OVERFLOW, {"wire": "anthropic"}),
    ("on Gemini's wire", 400, {"error": {"code": 400, "message": NO_FIT}}, K.CONTEXT_OVERFLOW,
        {"wire": "gemini"}),
    ("in a message of an api_error", 503, claude(NO_FIT, "api_error"), K.CONTEXT_OVERFLOW,
        {"wire": "anthropic"}),
    ("llama.cpp", 500, chat("context shift is disabled", "server_error", 500),
        K.CONTEXT_OVERFLOW, {}),
    ("vLLM", 400, chat("max_tokens must be at least 1, got -186.", "BadRequestError", 400),
        K.CONTEXT_OVERFLOW, {}),
    ("vLLM, longer", 400, chat("max_tokens must be at least 1, got -7584. (parameter=max_tokens"
        ", value=-7584)", "BadRequestError", 400), K.CONTEXT_OVERFLOW, {}),
    ("vLLM, really too little", 400, chat("max_tokens must be at least 1, got 0."),
        K.BAD_REQUEST, {}),
    ("no room for an answer", 400, chat("'max_tokens' is too large: 4000. This model's maximum "
        "context length is 32768 tokens and your request has 32000 input tokens"),
        K.CONTEXT_OVERFLOW, {}),
    # Guards.
    ("429 in such words", 429, chat(NO_FIT), K.RATE_LIMIT, {}),
    ("401 in such words", 401, chat(NO_FIT), K.AUTH, {}),
    ("a quota by its code", 400, chat(NO_FIT, code="insufficient_quota"), K.QUOTA, {}),
    ("a limit by its code", 400, chat(NO_FIT, code="rate_limit_exceeded"), K.RATE_LIMIT, {}),
    ("a key by its code", 400, chat(NO_FIT, code="invalid_api_key"), K.AUTH, {}),
    ("Go's deadline", 500, chat("context deadline exceeded (limit 30 s)"), K.SERVER_ERROR, {}),
    # Bodies of other forms.
    ("Cloudflare", 400, {"success": False, "errors": [{"code": 5021, "message": "AiError: The "
        "estimated number of input and maximum output tokens (35036) exceeded this model context "
        "window limit (32000)."}]}, K.CONTEXT_OVERFLOW, {}),
    ("Baidu", 400, {"error_code": 336103, "error_msg": "x"}, K.CONTEXT_OVERFLOW, {}),  # made up
    ("Baidu, characters", 400, {"error_code": 336007, "error_msg":
        "the max input characters is 20000"}, K.CONTEXT_OVERFLOW, {}),
    ("Qianfan", 400, chat("Prompt tokens too long", BAD, "tokens_too_long"),
        K.CONTEXT_OVERFLOW, {}),
    ("Qianfan, characters", 400, chat("the max input characters is 516096", BAD,
        "characters_too_long"), K.CONTEXT_OVERFLOW, {}),
    ("Qianfan, a rate", 429, chat("Rate limit reached for TPM", code="tpm_rate_limit_exceeded"),
        K.RATE_LIMIT, {}),
    ("error_msg", 400, {"error_msg": NO_FIT}, K.CONTEXT_OVERFLOW, {}),
    ("AWS", 400, {"Message": NO_FIT}, K.CONTEXT_OVERFLOW, {}),
    ("Apigee", 400, {"fault": {"faultstring": NO_FIT}}, K.CONTEXT_OVERFLOW, {}),
    ("OAuth's form", 400, {"error": "bad_request", "error_description": NO_FIT},
        K.CONTEXT_OVERFLOW, {}),
    ("in data", 400, {"data": {"error": {"message": NO_FIT}}}, K.CONTEXT_OVERFLOW, {}),
    ("a type alone", 400, chat("Bad request", "context_exceeded"), K.CONTEXT_OVERFLOW, {}),
    ("Kiro's reason", 400, {"message": "No.", "code": "CONTENT_LENGTH_EXCEEDS_THRESHOLD"},
        K.CONTEXT_OVERFLOW, {}),
    ("a type about an image", 400, chat("Bad request", "input_image_too_large"), K.BAD_REQUEST, {}),
    ("a body in a sentence", 400, chat('Error from provider: {"error": {"message": "x", "code": '
        '"context_length_exceeded"}}'), K.CONTEXT_OVERFLOW, {}),
    ("a body that Python printed", 400, chat("litellm.RateLimitError: OpenAIException - Error "
        "code: 429 - {'error': {'message': \"You're out\", 'code': 'insufficient_quota'}}"),
        K.QUOTA, {}),
    ("a body that a tool printed", 400, chat('Invalid tool_result content: {"error": {"code": '
        '"insufficient_quota"}}'), K.BAD_REQUEST, {}),
    ("Volcengine", 400, chat("Total tokens of image and text exceed max message tokens"),
        K.CONTEXT_OVERFLOW, {}),
    ("Snowflake", 400, {"message": "max tokens of 200000 exceeded"}, K.CONTEXT_OVERFLOW, {}),
    *((code, 400, chat("The request failed because the input text may contain sensitive "
        "information.", "BadRequest", code), K.CONTENT_FILTER, {}) for code in [
        "SensitiveContentDetected", "SensitiveContentDetected.Violence",
        "InputTextSensitiveContentDetected", "OutputTextSensitiveContentDetected",
        "InputImageSensitiveContentDetected.PrivacyInformation", "InputTextRiskDetection",
        "OutputImageRiskDetection"]),
    ("Volcengine's filter itself failed", 400, chat("Internal error.", "BadRequest",
        "ContentSecurityDetectionError"), K.BAD_REQUEST, {}),
    # W2
    ("Perplexity", 400, chat("x", "too_many_prompt_tokens", 400), K.CONTEXT_OVERFLOW, {}),
    # W5: bytes of a request.
    ("Kimi behind a gateway", 400, chat("total message size 2100954 exceeds limit 2097152"),
        K.REQUEST_TOO_LARGE, {}),
    ("a proxy's ceiling", 500, chat("Maximum request body size 1048576 exceeded, actual body "
        "size 1056562"), K.REQUEST_TOO_LARGE, {}),
    ("Go's ceiling", 400, chat("http: request body too large"), K.REQUEST_TOO_LARGE, {}),
    # W9: names.
    ("Copilot", 400, chat("The requested model is not supported.", code="model_not_supported"),
        K.NOT_FOUND, {}),
    ("Copilot, an integrator's", 400, chat("x", code="model_not_available_for_integrator"),
        K.NOT_FOUND, {}),
    ("xAI", 400, {"code": XAI, "error": "Model not found: grok-9"}, K.NOT_FOUND, {}),
    ("Ollama", 400, chat("model 'qwen9' not found"), K.NOT_FOUND, {}),
    ("OpenAI's words", 400, chat("The model `x` does not exist or you have no access", BAD),
        K.NOT_FOUND, {}),
    ("a model that no output came of", 400, chat("Invalid model output"), K.BAD_REQUEST, {}),
    ("no tools", 400, chat("registry.ollama.ai/library/gemma3:latest does not support tools"),
        K.HISTORY_REJECTED, {"lacks_capacity": True}),
    ("no function calling", 400, chat("This model does not support function calling"),
        K.HISTORY_REJECTED, {"lacks_capacity": True}),
    # W10
    ("xAI's key", 400, {"code": XAI, "error": "Incorrect API key provided: xa***y. You can "
        "obtain an API key from the console."}, K.AUTH, {}),
    ("a missing key", 400, chat("Missing or invalid API key"), K.AUTH, {}),
    ("a key that is not valid", 403, chat("API key is invalid"), K.AUTH, {}),
    ("a key of a dictionary", 400, chat("invalid key in metadata"), K.BAD_REQUEST, {}),
    # W11
    ("Ollama's own model", 500, chat("error parsing tool call: raw='{\"a\":1}]', err=invalid "
        "character ']' after top-level value", "api_error"), K.TOOL_CALL_MALFORMED, {}),
    ("another's own model", 500, chat("Failed to parse tool call: unexpected end of JSON"),
        K.TOOL_CALL_MALFORMED, {}),
    ("with its class", 500, chat("ValueError: could not parse the function call"),
        K.TOOL_CALL_MALFORMED, {}),
    ("a tool that was not found", 500, chat("tool call failed"), K.SERVER_ERROR, {}),
    # A picture that is refused with a 500.
    ("llama.cpp without a projector", 500, chat("image input is not supported - hint: if this is "
        "unexpected, you may need to provide the mmproj", "server_error", 500), K.BAD_REQUEST, {}),
    ("an image that got lost", 500, chat("image worker crashed"), K.SERVER_ERROR, {}),
    # W12
    ("a name in the sentence", 429, chat("you (jane-doe) have reached your weekly usage limit, "
        "upgrade for higher limits"), K.QUOTA, {}),
    ("a name with a space", 429, chat("You (Jane Doe) have exceeded your monthly usage limit"),
        K.QUOTA, {}),
    ("a name in place of you", 429, chat("jane-doe has reached its weekly usage limit"),
        K.QUOTA, {}),
    ("a rate", 429, chat("you (jane-doe) have reached your requests per minute"),
        K.RATE_LIMIT, {}),
    # W9 to W12, in other words.
    *((text, status, chat(text), K.HISTORY_REJECTED, {"lacks_capacity": True}) for text, status in [
        ('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser', 400),
        ("Tool calling is not supported by this model", 400),
        ("`tools` is not supported for this model", 400),
        ("The model `x` does not support function calling.", 400),
        ("tools param requires --jinja flag", 500)]),
    *((text, 400, chat(text), K.NOT_FOUND, {}) for text in [
        "The model `x` has been decommissioned and is no longer supported", "模型不存在",
        "model_not_found", "The engine x could not be found", "The model x-1 is unavailable"]),
    *((text, 400, chat(text), K.AUTH, {}) for text in [
        "Unauthorized", "invalid token", "No auth credentials found", "invalid x-api-key",
        "You didn't provide an API key.", "token expired or incorrect", "无效的令牌"]),
    *((text, status, chat(text), K.QUOTA, {}) for text, status in [
        ("Org acme has hit its monthly usage limit", 429), ("You have run out of credits", 429),
        ("Budget has been exceeded! Current cost: 10, Max budget: 5", 400),
        ("Your plan's monthly limit has been reached", 429), ("您的额度已用完", 429),
        ("API key USD spend limit exceeded", 403), ("账户欠费", 403)]),
    *((text, 500, chat(text), K.TOOL_CALL_MALFORMED, {}) for text in [
        "Failed to parse input at pos 10: <tool_call>", "invalid tool call arguments",
        "XML syntax error on line 3: unexpected EOF"]),
    # Gateways: the model is not there, whatever the status; QuantumNous/new-api, one-api,
    # SiliconFlow.
    *((text, status, chat(text, type_, code), K.NOT_FOUND, {}) for text, status, type_, code in [
        ("No available channel for model gpt-9 under group default (distributor)", 503,
            "new_api_error", "model_not_found"),
        ("No available channel for model gpt-9 under group default (distributor)", 503, None, None),
        ("当前分组 svip 下对于模型 gpt-9 无可用渠道 (request id: 2)", 503, "one_api_error", None),
        ("分组 auto 下模型 grok-2-latest 无可用渠道\uff08distributor\uff09", 503, None, None),
        ("no available channel for model: DeepSeek-V4-Flash", 400, None, None),
        ("Model is disabled", 403, None, None)]),
    ("SiliconFlow", 403, {"code": 30003, "message": "Model disabled.", "data": None},
        K.NOT_FOUND, {}),
    ("a server without room", 503, chat("No available server for model x"), K.OVERLOADED, {}),
    ("a key that is disabled", 403, chat("Key disabled"), K.AUTH, {}),
    ("a region", 403, chat("This model is not available in your region"), K.AUTH, {}),
    # Copilot's own limit ends by itself: github/copilot-cli#793, #954.
    *((f"Copilot, {status}", status, chat("Sorry, you have exceeded your Copilot token usage. "
        "Please review our Terms of Service", None, code), K.RATE_LIMIT, {})
        for status, code in [(429, "rate_limited"), (429, None), (400, "rate_limited"),
            (400, None), (403, None)]),
    # Money: BerriAI/litellm#14144, and OpenAI's sentence without its code.
    *((text, status, chat(text, type_), K.QUOTA, {}) for text, status, type_ in [
        ("Payment required", 400, None), ("Payment Required: top up", 429, None),
        ("Budget has been exceeded! Team=99c74652", 400, None),
        ("No deployments available - crossed budget: Exceeded budget for deployment", 429, None),
        ("LiteLLM User: engineer-1, exceeded budget for model=x", 429, "budget_exceeded"),
        ("LiteLLM Team: blue team, exceeded budget for model=x", 429, None),
        (PLAN, 429, None), (f"429 {PLAN} For more information on this error, read the docs", 429,
            None)]),
    ("Gemini's rate behind a gateway", 429, chat(f"{PLAN} For more information on this error, head "
        "to: https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for metric: "
        "free_tier_requests, limit: 15\nPlease retry in 32.9s."), K.RATE_LIMIT, {}),
    ("no deployment, by LiteLLM", 429, chat("No deployments available for selected model, Try "
        "again in 5 seconds"), K.RATE_LIMIT, {}),
    ("Qianfan, without its code", 400, chat("the max input characters is 20000"),
        K.CONTEXT_OVERFLOW, {}),
    ("a call of the history", 400, chat("invalid tool call arguments"), K.BAD_REQUEST, {}),
    ("an hour", 429, chat("You have reached your hourly limit"), K.RATE_LIMIT, {}),
    ("a token of a grammar", 400, chat("invalid token at position 3"), K.BAD_REQUEST, {}),
    ("a tool that is not there", 400, chat("tool x is not available"), K.BAD_REQUEST, {}),
    ("a model of something", 400, chat("the model output has been removed"), K.BAD_REQUEST, {}),
]  # fmt: skip
ROWS = [
    Row(id_, "my-server", status, body, kind, **more) for id_, status, body, kind, more in ANSWERS
] + [
    Row(f"{id_}, by {provider}", provider, status, body, kind, headers=headers)
    for provider in ("my-server", "anthropic", "openai", "gemini")
    for id_, status, body, headers, kind in [
        # W13
        ("a challenge", 403, b"", {"cf-mitigated": "challenge"}, K.SERVER_ERROR),
        ("a page of a challenge", 403, PAGE, {"content-type": "text/html"}, K.SERVER_ERROR),
        # The pages are cut to the words that `edge` looks for; its docstring has the reports.
        ("a page of a block", 403, b"<html><h1>Sorry, you have been blocked</h1>", {},
            K.SERVER_ERROR),
        ("a title of a block", 403, b"<title>Attention Required! | Cloudflare</title>", {},
            K.SERVER_ERROR),  # made up
        ("a page of a restriction", 403, b"<!doctype html><title>Access denied | a.example used "
            b"Cloudflare to restrict access</title>", {}, K.SERVER_ERROR),
        ("CloudFront", 403, b"<HTML><TITLE>ERROR: The request could not be satisfied</TITLE>",
            {}, K.SERVER_ERROR),
        ("Akamai", 403, b"<HTML>Access Denied https://errors.edgesuite.net/18.2</HTML>", {},
            K.SERVER_ERROR),
        ("Imperva", 403, b'<html><iframe src="/_Incapsula_Resource?CWUDNSAI=9">Request '
            b"unsuccessful. Incapsula incident ID: 4-1</iframe>", {}, K.SERVER_ERROR),
        ("Imperva, a newer page", 403, b"<!DOCTYPE html><noscript><title>Pardon Our Interruption"
            b"</title></noscript>", {}, K.SERVER_ERROR),
        ("Cloudflare, in short", 403, b"error code: 1010", {}, K.SERVER_ERROR),
        ("Cloudflare, of a country", 403, b"error code: 1009", {}, K.SERVER_ERROR),  # made up
        ("Vercel", 429, b"<html></html>", {"x-vercel-mitigated": "challenge"}, K.SERVER_ERROR),
        ("Vercel, denied", 403, b"", {"x-vercel-mitigated": "deny"}, K.SERVER_ERROR),
        ("Vercel's page", 403, b"<html><title>Vercel Security Checkpoint</title>", {},
            K.SERVER_ERROR),
        ("AWS", 405, b"", {"x-amzn-waf-action": "captcha"}, K.SERVER_ERROR),
        ("another code", 403, b"error code: 7", {}, K.AUTH),
        ("another page", 403, b"<html><title>Forbidden</title></html>", {}, K.AUTH),
        *((str(status), status, b"error code: 1033", {}, K.SERVER_ERROR)
            for status in (521, 523, 525, 526, 527, 530)),
    ]
] + [
    Row("Bedrock, overflow", "bedrock", 400, {"__type": "ValidationException", "message":
        "Input Tokens Exceeded: Number of input tokens exceeds maximum length"},
        K.CONTEXT_OVERFLOW),
    Row("Bedrock, overflow of a model", "bedrock", 400, {"message": "The model returned the "
        "following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length. "
        "Please update the input to try again."}, K.CONTEXT_OVERFLOW),
    Row("Kimi, bytes", "moonshot", 400, chat("total message size 4194305 exceeds limit 4194304",
        BAD), K.REQUEST_TOO_LARGE),
    Row("DeepSeek, no content", "deepseek", 400, chat(
        "Invalid assistant message: content or tool_calls must be set", BAD), K.HISTORY_REJECTED),
    Row("DeepSeek, no output", "deepseek", 400, chat(
        "No tool output found for tool call call_1.", BAD), K.HISTORY_REJECTED),
    *(
        Row(f"a picture, {name}", name, 404, chat("No endpoints found that support image input",
            code=404), K.BAD_REQUEST)
        for name in ("openrouter", "my-server")
    ),
    Row("a forced call", "openrouter", 404, chat("No endpoints found that support the provided "
        "'tool_choice' value. To learn more", code=404), K.BAD_REQUEST),
    Row("nobody's words for those we know", "groq", 400, chat(NO_FIT, BAD), K.BAD_REQUEST),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_an_answer_is_what_its_server_means(row: Row) -> None:
    check(row)


IN_STREAM = [
    pytest.param({"error": {"message": NO_FIT}}, K.CONTEXT_OVERFLOW, id="a bare error"),
    pytest.param({"error": NO_FIT}, K.CONTEXT_OVERFLOW, id="a text"),
    pytest.param(
        {"error": {"code": 400, "message": NO_FIT, "type": BAD}}, K.CONTEXT_OVERFLOW, id="400"
    ),
    pytest.param({"error": {"code": 429, "message": NO_FIT}}, K.RATE_LIMIT, id="429"),
    pytest.param({"error": {"message": "It broke."}}, K.SERVER_ERROR, id="no overflow"),
]


@pytest.mark.parametrize(("event", "kind"), IN_STREAM)
def test_an_error_in_a_stream_is_read_likewise(event: dict[str, Any], kind: str) -> None:
    failure = classify_error_object(event, provider="my-server", wire="openai-chat")

    assert failure.kind == kind


FAILED = [
    pytest.param({"error": {}}, {"code": "insufficient_quota", "message": "No."}, id="empty"),
    pytest.param({"error": None}, {"code": "insufficient_quota", "message": "No."}, id="null"),
    pytest.param({}, {"code": "insufficient_quota", "message": "No."}, id="missing"),
    pytest.param(
        {"error": {"code": None, "message": None}},
        {"code": "insufficient_quota", "message": "No."},
        id="nulls",
    ),
    pytest.param({"error": {"code": "insufficient_quota", "message": "No."}}, None, id="inside"),
    pytest.param(
        {"error": {"code": "insufficient_quota", "message": "No."}},
        {"code": "server_error", "message": "Another."},
        id="the inner one comes first",
    ),
]


@pytest.mark.parametrize(("inside", "beside"), FAILED)
def test_the_first_error_that_is_one_counts(
    inside: dict[str, Any], beside: dict[str, Any] | None
) -> None:
    """As openai/codex#24973 has it: an empty `response.error`, with an error beside it."""
    event = {"type": "response.failed", "response": {"status": "failed", **inside}, "error": beside}

    failure = classify_error_object(event, provider="openai", wire="openai-responses")

    assert (failure.kind, failure.message) == (K.QUOTA, "No.")


ROOM = [
    pytest.param(
        "anthropic",
        claude("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"),
        K.CONTEXT_OVERFLOW,
        Cure(Change.FIT_ANSWER, "11760"),
        id="Anthropic",
    ),
    pytest.param(
        "my-server",
        chat(
            "'max_tokens' is too large: 40000. This model's maximum context length is 32768 tokens "
            "and your request has 1234 input tokens"
        ),
        K.BAD_REQUEST,
        Cure(Change.FIT_ANSWER, "31534"),
        id="vLLM",
    ),
    pytest.param(
        "anthropic",
        claude("input length and `max_tokens` exceed context limit: 199990 + 21333 > 200000"),
        K.CONTEXT_OVERFLOW,
        None,
        id="little is left",
    ),
]


@pytest.mark.parametrize(("provider", "body", "kind", "cure"), ROOM)
def test_where_the_prompt_fits_a_shorter_answer_is_asked_for(
    provider: str, body: dict[str, Any], kind: str, cure: Cure | None
) -> None:
    row = Row("", provider, 400, body, K.BAD_REQUEST)
    wire: Wire = "anthropic" if provider == "anthropic" else "openai-chat"

    failure = classify_response(400, {}, row.bytes, provider=provider, wire=wire)

    assert (failure.kind, failure.cure) == (kind, cure)
