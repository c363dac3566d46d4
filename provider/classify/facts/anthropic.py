"""Facts about the errors of Anthropic, and of those who imitate its API.

Source: platform.claude.com/docs/en/api/errors, docs.claude.com/en/api/messages-streaming, the
error types of the anthropic package 2.14, and github.com/anthropics/claude-code/issues for
the wordings, read on 2026-11-29; captures anthropic_*. Spent
money is the whole organization's (the same page); so are the windows of a subscription
(support.claude.com/en/articles/11145838), unless another window than those of five hours and seven
days rejects: router-for-me/CLIProxyAPI#5915. Read on 2026-11-30.
"""

from __future__ import annotations

from ...fact import ANY, FactTable, fact, facts, stands_for
from ...failure import FailureKind as K
from ...failure import Scope

_BAD = "invalid_request_error"
# The place in the request, such as "messages.3.content.0: ".
PLACE = r"(?:(?:messages?|system|tools)\b[\w.\[\]]{0,80}: )?"

REJECTED = (
    r"Invalid `(?:signature|data)` in `(?:redacted_)?thinking` block",
    r"The block is bound to a different conversation",
    r"`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified",
    r"Expected `thinking` or `redacted_thinking`",
    r"each thinking block must contain thinking",
    r"`tool_use` ids (?:were found without|must be unique)",
    r"each `tool_use` must have a single result",
    r"all content must be type .text. if .is_error. is true",
    # A block of a beta that only another route uses, such as "fallback".
    r"Input tag '\w{1,60}' found using 'type' does not match any of the expected tags",
    r"unexpected `tool_use_id`",
    r"This model does not support assistant message prefill",
    r"text content blocks must (?:be non-empty|contain non-whitespace)",
    r"final assistant content cannot end with trailing whitespace",
    r"all messages must have non-empty content",
    r"first message must use the .user. role",
    r"roles must alternate",
    # DeepSeek and Moonshot ask so for the thinking that they sent themselves.
    r"(?:The )?`?content\[\]\.thinking`? in the thinking mode must be passed back",
)
REJECTED_FIELDS = (
    r"(?:[\w.*\[\]]{1,80}\.)?signature(?:\.str)?: "
    r"(?:Input should be a valid string|Field required)",
    r"[\w.\[\]]{1,80}\.tool_use\.id: (?:String should match pattern|String should have at most)",
    r"[\w.\[\]]{1,80}\.tool_use_id: (?:String should match pattern|String should have at most)",
)

ANTHROPIC = FactTable(
    money=(
        fact(
            K.QUOTA,
            error_code="enforced_spend_limit_reached contract_spend_limit_reached "
            "linked_organization_spend_limit_reached linked_organization_billing_unavailable "
            "organization_on_hold",
            scope=Scope.KEY,
        ),
        fact(K.QUOTA, type="billing_error", scope=Scope.KEY),
        # A subscription's windows of five hours and seven days; others are of some models.
        fact(K.QUOTA, type="rate_limit_error", window="5h 7d", scope=Scope.KEY),
        fact(K.QUOTA, type="rate_limit_error", window=ANY, scope=Scope.KEY_ON_ROUTE),
        # Subscriptions that are sold with a facade: OpenCode's, Kimi's.
        fact(
            K.QUOTA,
            type="GoUsageLimitError FreeUsageLimitError usage_limit_reached "
            "subscription_sharing_usage_limit_exceeded",
        ),
        *facts(
            K.QUOTA,
            r"Your credit balance is too low to access",
            r"You have reached your specified (?:\w{1,20} )?API usage limits",
            scope=Scope.KEY,
            type=_BAD,
        ),
        # What a subscription pays for beyond its plan, which not every model needs:
        # router-for-me/CLIProxyAPI#6004.
        *facts(
            K.QUOTA,
            r"You're out of extra usage",
            r"Extra usage is required for",
            scope=Scope.KEY_ON_ROUTE,
            type=f"{_BAD} rate_limit_error",
        ),
    ),
    overflow=(
        fact(K.CONTEXT_OVERFLOW, error_code="request_body_too_large_after_decoding"),
        fact(K.CONTEXT_OVERFLOW, type="request_too_large"),
        *facts(
            K.CONTEXT_OVERFLOW,
            PLACE + r"prompt is too long(?:: \d|\.|\s*\Z)",
            PLACE + r"input length and `max_tokens` exceed context limit",
            type=_BAD,
        ),
    ),
    history=(
        fact(
            K.HISTORY_REJECTED,
            error_code="compaction_signature_invalid compaction_content_mismatch",
        ),
        fact(K.HISTORY_REJECTED, seen={"error_code": "thread_"}),
        *facts(K.HISTORY_REJECTED, *(PLACE + text for text in REJECTED), type=_BAD),
        *facts(K.HISTORY_REJECTED, *REJECTED_FIELDS, type=_BAD),
    ),
    filter=(
        fact(
            K.CONTENT_FILTER,
            text="Output blocked by content filtering policy",
            type=f"{_BAD} api_error",
        ),
    ),
    other=(
        # anthropics/claude-code#19028
        fact(K.AUTH, text="This organization has been disabled", type=_BAD, scope=Scope.KEY),
        fact(K.RATE_LIMIT, error_code="ramp_limit_exceeded"),
        fact(K.TIMEOUT, error_code="request_body_timeout"),
        fact(K.OVERLOADED, error_code="compaction_unavailable"),
        fact(
            K.BAD_REQUEST,
            error_code="image_dimensions_too_large available_tools_limit_exceeded "
            "tool_name_conflict tool_reference_unresolved",
        ),
        fact(K.OVERLOADED, type="overloaded_error"),
        fact(K.RATE_LIMIT, type="rate_limit_error"),
        fact(K.TIMEOUT, type="timeout_error"),
        fact(K.SERVER_ERROR, type="api_error"),
        fact(K.AUTH, type="authentication_error permission_error"),
        fact(K.NOT_FOUND, type="not_found_error"),
    ),
    by_status={413: K.CONTEXT_OVERFLOW},
    scopes={401: Scope.KEY, 402: Scope.KEY},
    statuses=stands_for(
        {
            400: "invalid_request_error image_dimensions_too_large request_body_timeout "
            "organization_on_hold",
            401: "authentication_error",
            402: "billing_error linked_organization_spend_limit_reached "
            "linked_organization_billing_unavailable",
            403: "permission_error",
            404: "not_found_error",
            409: "conflict_error",
            413: "request_too_large request_body_too_large_after_decoding",
            429: "rate_limit_error enforced_spend_limit_reached contract_spend_limit_reached "
            "ramp_limit_exceeded",
            500: "api_error",
            504: "timeout_error",
            529: "overloaded_error compaction_unavailable",
        }
    ),
    stops={
        "refusal": K.REFUSAL,
        "sensitive": K.CONTENT_FILTER,
        "model_context_window_exceeded": K.CONTEXT_OVERFLOW,
    },
    waits=(r"You will regain access on (?P<at>\d{4}-\d\d-\d\d(?: at \d\d:\d\d)?) ?(?:UTC)?",),
)
