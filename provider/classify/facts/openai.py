"""Facts about the errors of OpenAI, and the words that all who imitate its API share.

Source: platform.openai.com/docs/guides/error-codes, the error types of the openai package 3.57,
github.com/openai/codex codex-rs/codex-api/src/sse/responses.rs and api_bridge.rs, and
github.com/openai/codex/issues for the wordings, read on 2026-11-29; captures openai_*,
responses_*, deepseek_stream_*.
"""

from __future__ import annotations

from ...fact import FactTable, fact, facts, stands_for
from ...failure import FailureKind as K
from ...failure import Scope
from ..time_text import WAIT
from .history_words import BROKEN_HISTORY
from .unknown_words import NO_TOOLS

_QUOTA_CODES = (
    "insufficient_quota credit_balance_exhausted billing_hard_limit_reached billing_not_active "
    "usage_limit_reached usage_not_included subscription_sharing_usage_limit_exceeded "
    "GoUsageLimitError FreeUsageLimitError"
)
# Of the account, so of every model: help.openai.com/en/articles/6891831, and
# router-for-me/CLIProxyAPI#5286 for the plans, read on 2026-11-30.
_SPENT_BY_ACCOUNT = (
    "insufficient_quota credit_balance_exhausted billing_hard_limit_reached billing_not_active "
    "usage_limit_reached usage_not_included"
)
_SPENT = r"\w{0,60}(?:spend|usage|billing)_limit_(?:reached|exceeded)\Z"

CHAT = FactTable(
    money=(
        fact(K.QUOTA, type=_SPENT_BY_ACCOUNT, scope=Scope.KEY),
        fact(K.QUOTA, code=_SPENT_BY_ACCOUNT, scope=Scope.KEY),
        fact(K.QUOTA, type=_QUOTA_CODES),
        fact(K.QUOTA, code=_QUOTA_CODES),
        fact(K.QUOTA, seen={"code": _SPENT}, scope=Scope.KEY),
    ),
    overflow=(
        fact(K.CONTEXT_OVERFLOW, code="context_length_exceeded"),
        fact(K.CONTEXT_OVERFLOW, type="context_length_exceeded"),
    ),
    history=(
        fact(K.HISTORY_REJECTED, code="invalid_encrypted_content"),
        *facts(K.HISTORY_REJECTED, *BROKEN_HISTORY, status="400 422 none"),
    ),
    filter=(
        fact(
            K.CONTENT_FILTER,
            code="content_filter content_policy_violation ResponsibleAIPolicyViolation "
            "bio_policy cyber_policy misalignment_policy_violation image_content_policy_violation",
        ),
        fact(K.CONTENT_FILTER, type="content_filter content_policy_violation"),
    ),
    other=(
        fact(K.OVERLOADED, status="503", code="slow_down"),
        fact(K.RATE_LIMIT, code="slow_down rate_limit_exceeded"),
        fact(K.OVERLOADED, code="server_is_overloaded"),
        fact(K.OVERLOADED, type="service_unavailable_error overloaded_error"),
        fact(K.HISTORY_REJECTED, text=NO_TOOLS, status="400 404 422 none", lacks_capacity=True),
        # "Project `p` does not have access to model `m`": Aider-AI/aider#1903
        fact(K.NOT_FOUND, status="403", code="model_not_found", scope=Scope.KEY_ON_ROUTE),
        fact(K.NOT_FOUND, code="model_not_found"),
        fact(K.AUTH, code="invalid_api_key", scope=Scope.KEY),
        fact(K.AUTH, code="unsupported_country_region_territory"),
        fact(K.TIMEOUT, code="vector_store_timeout"),
        fact(K.SERVER_ERROR, code="upstream_request_failed upstream_stream_read_error"),
    ),
    # A wrong key and a spent balance, as platform.openai.com/docs/guides/error-codes has them.
    scopes={401: Scope.KEY, 402: Scope.KEY},
    statuses=stands_for(
        {
            400: "invalid_request_error context_length_exceeded invalid_request invalid_prompt "
            "string_above_max_length invalid_value unsupported_parameter content_filter "
            "invalid_encrypted_content content_policy_violation previous_response_not_found "
            "invalid_function_parameters bio_policy cyber_policy misalignment_policy_violation "
            "image_content_policy_violation data_residency_mismatch invalid_image "
            "invalid_image_format invalid_base64_image invalid_image_url image_too_large "
            "image_too_small image_parse_error invalid_image_mode image_file_too_large "
            "unsupported_image_media_type empty_image_file failed_to_download_image "
            "image_file_not_found",
            401: "authentication_error authentication invalid_api_key",
            402: "payment_required",
            403: "permission_denied permission_error unsupported_country_region_territory",
            404: "not_found not_found_error model_not_found",
            429: "rate_limit_exceeded rate_limit_error insufficient_quota "
            f"credit_balance_exhausted slow_down requests tokens {_QUOTA_CODES}",
            500: "server_error server internal_server_error api_error",
            502: "provider_unavailable upstream_request_failed upstream_stream_read_error",
            503: "server_is_overloaded service_unavailable_error overloaded_error",
            504: "timeout timeout_error vector_store_timeout",
            529: "provider_overloaded",
        }
    ),
    stops={
        "content_filter": K.CONTENT_FILTER,
        "sensitive": K.CONTENT_FILTER,
        "error": K.SERVER_ERROR,
        "network_error": K.SERVER_ERROR,
        "abort": K.SERVER_ERROR,  # vLLM and SGLang, when they drop a request
        "insufficient_system_resource": K.OVERLOADED,
        "model_context_window_exceeded": K.CONTEXT_OVERFLOW,
    },
)

TOO_LARGE = (
    fact(K.REQUEST_TOO_LARGE, text=r"Request too large for "),
    # It asks for more than the whole limit, so that no wait helps.
    fact(
        K.REQUEST_TOO_LARGE,
        text=r"(?:Rate limit reached|Request too large) for [^:]{0,300}: "
        r"Limit (?P<limit>\d{1,15}), (?:Used ~?\d{1,15}, )?Requested ~?(?P<asked>\d{1,15})",
    ),
)
"""A limit for a single request, which OpenAI and Groq report like a rate limit."""

OVERFLOW = (
    r"This model's maximum context length is \d",
    r"(?:Your|The|This) (?:input|prompt|request|messages?) exceeds? the context window",
    r"Input tokens exceed the configured limit of \d",
)
REJECTED = (
    r"Item '[^']{1,80}' of type '\w{1,40}' was provided without its required",
    r"Item with id '[^']{1,80}' not found",
    r"(?:The e|E)ncrypted content (?:\S{1,300} |for item \S{1,80} )?could not be "
    r"(?:verified|decrypted)",
    # xAI's own, the second also of reasoning: github.com/NousResearch/hermes-agent/issues/32617
    # and github.com/chenyme/grok2api/issues/688.
    r"Could not decrypt the provided encrypted_content",
    r"Could not decode the compaction blob",
    r"No tool (?:output|call) found for ",
    r"An assistant message with 'tool_calls' must be followed by tool messages",
    r"Invalid parameter: messages with role 'tool' must be a response",
    r"Invalid 'messages\[\d+\]\.(?:tool_calls\[\d+\]\.(?:id|function\.name)|tool_call_id)'",
    r"Invalid 'input\[\d+\]\.(?:id|call_id|name)'",
    r"Invalid value for 'content': expected a string, got null",
    r"Duplicate (?:tool_call_id|item found with id|value for 'tool_call_id'"
    r"|function_call_output for call_id|function call id|'?call_id'?\b)",
)
SUSPECTED = r"This user's access to \S{1,80} has been temporarily limited for potentially"
WAITS = (rf"(?:\A|[.,:;!]\s|\n)(?:please )?try again (?:in|after) {WAIT}",)

OPENAI = FactTable(
    overflow=(
        *TOO_LARGE,
        *facts(K.CONTEXT_OVERFLOW, *OVERFLOW, status="400 413 none"),
    ),
    history=(
        fact(
            K.HISTORY_REJECTED,
            status="400",
            seen={
                "param": r"messages\[\d+\]\.(?:tool_calls\[\d+\]\.(?:id|function\.name)"
                r"|tool_call_id)\Z|input\[\d+\]\.(?:id|call_id|name)\Z"
            },
        ),
        *facts(K.HISTORY_REJECTED, *REJECTED, status="400 404 none"),
    ),
    filter=(
        fact(K.CONTENT_FILTER, code="invalid_prompt"),
        fact(K.CONTENT_FILTER, text=SUSPECTED),
        *facts(K.CONTENT_FILTER, r"Invalid prompt: ", status="400 none"),
    ),
    other=(
        fact(K.OVERLOADED, text=r"(?:The engine|That model) is currently overloaded", status="429"),
    ),
    waits=WAITS,
)
