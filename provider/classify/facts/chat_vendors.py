"""Facts about the errors of Groq, Cerebras, Mistral, DeepSeek and Moonshot.

The words that all who imitate OpenAI's API share are in `openai.py`.
"""

from __future__ import annotations

from ...fact import FactTable, fact, facts, stands_for
from ...failure import FailureKind as K
from ...failure import Scope
from ..time_text import WAIT
from .openai import TOO_LARGE, WAITS
from .unknown_words import NO_MODEL

# In a request, only messages of the history have this field.
REASONING = (
    r"[^\n]{0,200}?\breasoning_content\b|"
    r"(?:The )?`?[\w.\[\]]{1,60}`? in the thinking mode must be passed back"
)
"""What DeepSeek and Kimi say of reasoning that does not come back.

DeepSeek names the field as each of its wires does: ``reasoning_content``, ``content[].thinking``
and, on Responses, ``reasoning_text`` (lidge-jun/opencodex#1594, read on 2026-11-30).
"""

# Source: console.groq.com/docs/errors and /rate-limits, and traffic recorded by pydantic-ai
# (tests/models/cassettes/test_groq), read on 2026-11-29; captures groq_*.
GROQ = FactTable(
    # "API calls from any key in your organization": console.groq.com/docs/spend-limits
    money=(fact(K.QUOTA, code="blocked_api_access", scope=Scope.KEY),),
    overflow=(
        fact(K.REQUEST_TOO_LARGE, status="413", code="rate_limit_exceeded"),
        *TOO_LARGE,
        *facts(
            K.CONTEXT_OVERFLOW,
            r"Please reduce the length of the messages",
            status="400 413 none",
        ),
    ),
    # It names the message, and what a message of its role must or must not have.
    history=facts(
        K.HISTORY_REJECTED,
        r"'messages\.\d{1,6}' ?: for 'role:(?:assistant|tool)' the following must be satisfied",
        status="400 422 none",
    ),
    other=(
        fact(K.TOOL_CALL_MALFORMED, code="tool_use_failed"),
        fact(K.NOT_FOUND, code="model_decommissioned"),
        *facts(K.NOT_FOUND, *NO_MODEL, status="400 422 none"),
        fact(K.AUTH, code="organization_restricted", scope=Scope.KEY),
        fact(K.OVERLOADED, code="over_capacity flex_capacity_exceeded capacity_exceeded"),
    ),
    by_status={498: K.OVERLOADED},
    statuses=stands_for(
        {
            400: "tool_use_failed model_decommissioned organization_restricted blocked_api_access",
            498: "flex_capacity_exceeded capacity_exceeded",
            503: "over_capacity",
        }
    ),
    waits=WAITS,
)

# Source: inference-docs.cerebras.ai/support/error and /support/rate-limits, and the types of the
# cerebras-cloud-sdk package 1.91, read on 2026-11-29; captures cerebras_*.
CEREBRAS = FactTable(
    overflow=(
        # Its front end answers a request that is too long with an empty body.
        fact(K.CONTEXT_OVERFLOW, status="400 413", form="empty"),
        *facts(
            K.CONTEXT_OVERFLOW,
            r"Please reduce the length of the messages",
            r"Current length is \d{1,12} while limit is \d",
            status="400 413 none",
        ),
    ),
    other=(
        fact(K.OVERLOADED, code="queue_exceeded", lacks_capacity=True),
        fact(K.RATE_LIMIT, code="request_quota_exceeded token_quota_exceeded"),
        fact(K.RATE_LIMIT, type="too_many_requests_error"),
    ),
    by_status={413: K.CONTEXT_OVERFLOW},
    statuses=stands_for(
        {429: "queue_exceeded request_quota_exceeded token_quota_exceeded too_many_requests_error"}
    ),
)

# Source: docs.mistral.ai/api and the types of the mistralai package 3.7; the codes and wordings
# from github.com/BerriAI/litellm/issues, read on 2026-11-29; captures mistral_*.
MISTRAL = FactTable(
    overflow=facts(
        K.CONTEXT_OVERFLOW,
        r"Prompt contains \d{1,12} tokens[^\n]{0,80} too large for model",
        r"(?:The number of tokens in the prompt|Too many tokens in the prompt) ",
        status="400 413 422 none",
    ),
    history=(
        fact(K.HISTORY_REJECTED, code="3230"),
        fact(K.HISTORY_REJECTED, type="invalid_request_message_order"),
        *facts(
            K.HISTORY_REJECTED,
            r"Tool call id (?:was|has to be) [^\n]{0,200}",
            r"Not the same number of function calls and responses",
            r"Unexpected (?:role '\w{1,20}'|tool call id)",
            r"Expected last role ",
            r"Assistant message must have either content or tool_calls",
            status="400 422 none",
        ),
    ),
    other=(
        fact(K.OVERLOADED, code="3505", lacks_capacity=True),
        fact(K.OVERLOADED, type="service_tier_capacity_exceeded", lacks_capacity=True),
        fact(K.RATE_LIMIT, type="rate_limited"),
        fact(K.NOT_FOUND, type="invalid_model"),
        fact(K.NOT_FOUND, code="1500"),
        *facts(K.NOT_FOUND, *NO_MODEL, status="400 422 none"),
    ),
    statuses=stands_for(
        {
            400: "3230 invalid_request_message_order 1500 invalid_model",
            429: "3505 service_tier_capacity_exceeded 1300 rate_limited",
        }
    ),
    stops={"model_length": K.CONTEXT_OVERFLOW},
)

# Source: api-docs.deepseek.com/quick_start/error_codes and /guides/thinking_mode, read on
# 2026-11-29; captures deepseek_*.
DEEPSEEK = FactTable(
    # In a stream, its code stands for a 400.
    money=facts(K.QUOTA, r"Insufficient Balance", scope=Scope.KEY, status="400 402 none"),
    overflow=facts(
        K.CONTEXT_OVERFLOW,
        r"This model's maximum context length is \d",
        status="400 413 none",
    ),
    history=facts(
        K.HISTORY_REJECTED,
        REASONING,
        r"An assistant message with 'tool_calls' must be followed by tool messages",
        r"Messages with role 'tool' must be a response to",
        r"Invalid assistant message: content or tool_calls must be set",
        r"No tool (?:output|call) found for ",
        status="400 422 none",
    ),
    # All bad requests have one code, so that only the text shows these.
    filter=facts(K.CONTENT_FILTER, r"Content Exists Risk", status="400 none"),
    other=facts(K.NOT_FOUND, r"Model Not Exist", status="400 none"),
)

# Source: platform.moonshot.ai/docs/api/errors, and github.com/MoonshotAI/kimi-code/issues for the
# wordings, read on 2026-11-29; captures kimi_*.
MOONSHOT = FactTable(
    money=(
        fact(K.QUOTA, type="exceeded_current_quota_error", scope=Scope.KEY),
        # Its coding plan. Another model of the plan answered: openclaw/openclaw pull 142656.
        fact(
            K.QUOTA,
            text=r"You've reached your [^.\n]{1,60}usage limit",
            type="access_terminated_error",
            scope=Scope.KEY_ON_ROUTE,
        ),
    ),
    overflow=(
        *facts(
            K.CONTEXT_OVERFLOW,
            r"(?:Invalid request: )?Your request exceeded model token limit",
            r"(?:Invalid request: )?Input token length too long",
            status="400 413 none",
        ),
        # MoonshotAI/kimi-code#1862
        *facts(
            K.REQUEST_TOO_LARGE,
            r"(?:Invalid request: )?total message size \d{1,15} exceeds limit \d",
            status="400 413 none",
        ),
    ),
    history=facts(
        K.HISTORY_REJECTED,
        REASONING,
        r"(?:Invalid request: )?tool_call_id\s+is not found",
        r"(?:Invalid request: )?(?:an assistant message|the message at position \d{1,6}) with "
        r"(?:'tool_calls' must be followed|role 'assistant' must not be empty)",
        status="400 none",
    ),
    filter=(fact(K.CONTENT_FILTER, type="content_filter"),),
    other=(
        fact(K.OVERLOADED, type="engine_overloaded_error"),
        fact(K.RATE_LIMIT, type="rate_limit_reached_error"),
        fact(K.AUTH, type="invalid_authentication_error permission_denied_error"),
        fact(K.NOT_FOUND, type="resource_not_found_error"),
        fact(K.SERVER_ERROR, type="unexpected_output"),
    ),
    statuses=stands_for(
        {
            401: "invalid_authentication_error incorrect_api_key_error",
            403: "permission_denied_error",
            404: "resource_not_found_error",
            429: "engine_overloaded_error rate_limit_reached_error exceeded_current_quota_error",
            500: "unexpected_output",
        }
    ),
    waits=(rf"(?:\A|[.,:;!]\s)please (?:try again|retry) (?:after|in) {WAIT}",),
)
