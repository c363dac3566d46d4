"""Facts about the errors of OpenRouter.

Its own words come first. The error of the provider behind it is a body inside the body, which is
read by that provider's table.

Source: openrouter.ai/docs/api/reference/errors-and-debugging, the error types of the
@openrouter/sdk package 1.3.19, and traffic recorded by pydantic-ai (tests/models/cassettes/
test_openrouter), read on 2026-11-29; captures openrouter_*. Its own 402 is the account's or the
key's, for free models too (the same page: "insufficient credits"). A request that asks for more
than is left says nothing of smaller ones (can1357/oh-my-pi#9569: the same account and model
answered a request for fewer tokens). The free models' limit leaves the others open. A limit
upstream is shared by all who have no key of their own there ("add your own key to accumulate your
rate limits"). Read on 2026-11-30.
"""

from __future__ import annotations

from ...fact import ANY, FactTable, fact, facts, stands_for
from ...failure import FailureKind as K
from ...failure import Scope
from .unknown_words import NO_TOOLS

# The model is there, but takes no picture or no forced call: nexu-io/nexu#875, github/app#2163,
# JohnnyZ93/oai-compatible-copilot#229 (another server's same words), zed-industries/zed#36094.
NONE_TAKES = r"No endpoints found that support (?:image input|the provided 'tool_choice')"

_IN_FLIGHT = "openrouter_in_flight_budget"

OPENROUTER = FactTable(
    money=(
        fact(K.QUOTA, limit_source=_IN_FLIGHT, reason="weight_exceeds_budget"),
        # It ends by itself, but waiting is of use only if it says how long.
        fact(K.RATE_LIMIT, limit_source=_IN_FLIGHT, lacks_capacity=True),
        fact(K.QUOTA, status="402", affords=ANY, scope=Scope.KEY_ON_ROUTE),
        fact(K.QUOTA, limit_source="openrouter_credits openrouter_key_limit", scope=Scope.KEY),
        fact(K.QUOTA, error_type="payment_required", provider_name=ANY),
        fact(K.QUOTA, error_type="payment_required", provider_code=ANY),
        fact(K.QUOTA, error_type="payment_required", scope=Scope.KEY),
        # Its own limits for free models; only the text says how long their window is.
        *facts(
            K.QUOTA,
            r"Rate limit exceeded: (?:free-models-per-day|limit_rpd)",
            scope=Scope.KEY_ON_ROUTE,
            status="429",
        ),
        # The limit that the owner of a key has set.
        *facts(K.QUOTA, r"Key limit exceeded", scope=Scope.KEY, status="402 403"),
    ),
    overflow=(
        fact(
            K.CONTEXT_OVERFLOW,
            error_type="context_length_exceeded max_tokens_exceeded token_limit_exceeded "
            "string_too_long",
        ),
        *facts(
            K.CONTEXT_OVERFLOW,
            r"This endpoint's maximum context length is \d",
            r"(?:The )?input (?:length )?[^.]{0,80}exceeds the maximum allowed input length",
            status="400 413 none",
        ),
    ),
    filter=(
        fact(K.CONTENT_FILTER, error_type="content_policy_violation"),
        fact(K.REFUSAL, error_type="refusal"),
        fact(K.CONTENT_FILTER, status="403", moderation=ANY),
    ),
    other=(
        fact(K.HISTORY_REJECTED, text=NO_TOOLS, status="404", lacks_capacity=True),
        fact(K.BAD_REQUEST, text=NONE_TAKES, status="404"),
        fact(K.OVERLOADED, error_type="provider_overloaded"),
        # Of the account, and one model: speakeasy-api/gram pull 4911.
        fact(K.RATE_LIMIT, limit_source="openrouter_shared_capacity", scope=Scope.KEY_ON_ROUTE),
        # From the provider behind it, which another route may not use.
        fact(
            K.RATE_LIMIT,
            status="429",
            provider_name=ANY,
            byok=ANY,
            lacks_capacity=True,
            scope=Scope.KEY_ON_ROUTE,
        ),
        fact(
            K.RATE_LIMIT,
            error_type="rate_limit_exceeded",
            provider_name=ANY,
            lacks_capacity=True,
            scope=Scope.ROUTE,
        ),
        fact(K.RATE_LIMIT, status="429", provider_name=ANY, lacks_capacity=True, scope=Scope.ROUTE),
        fact(K.RATE_LIMIT, error_type="rate_limit_exceeded"),
        fact(K.TIMEOUT, error_type="timeout"),
        fact(K.SERVER_ERROR, error_type="provider_unavailable server"),
        fact(K.AUTH, error_type="authentication permission_denied"),
        fact(K.NOT_FOUND, error_type="not_found"),
        fact(K.REQUEST_TOO_LARGE, error_type="payload_too_large"),
        fact(
            K.BAD_REQUEST,
            error_type="invalid_image image_too_large precondition_failed unprocessable",
        ),
        *facts(K.NOT_FOUND, r"\S{1,200} is not a valid model ID", status="400 none"),
    ),
    scopes={401: Scope.KEY, 402: Scope.KEY},
    statuses=stands_for(
        {
            400: "max_tokens_exceeded token_limit_exceeded string_too_long refusal invalid_image "
            "image_too_large",
            412: "precondition_failed",
            413: "payload_too_large",
            422: "unprocessable",
        }
    ),
)
