"""Facts about the errors of Gemini, in its own API and in Vertex.

Source: ai.google.dev/gemini-api/docs/troubleshooting, /rate-limits and /thought-signatures,
github.com/google-gemini/gemini-cli packages/core/src/utils/googleQuotaErrors.ts, and
discuss.ai.google.dev/t/183654 for the depleted credits, read on 2026-11-29; captures gemini_*.
The stop reasons come from the google-genai package 2.34. MODEL_ARMOR, MALFORMED_RESPONSE and
MISSING_THOUGHT_SIGNATURE are not in it, but in ai.google.dev/api/generate-content and in Vertex's
reference. Credits and a key are of all models; a daily quota names its model in its id
("…PerProjectPerModel"), and so does "Your quota will reset after": ai.google.dev/gemini-api/docs/
rate-limits, google-gemini/gemini-cli#29429; a leaked key: continuedev/continue#11541, read on
2026-11-30.
"""

from __future__ import annotations

from ...fact import ANY, FactTable, fact, facts, stands_for
from ...failure import FailureKind as K
from ...failure import Scope
from ..time_text import WAIT
from .unknown_words import NO_TOOLS

_DAILY = r"\w{0,200}(?:PerDay|Daily)"

REJECTED = (
    r"Function call (?:`[^`]{1,200}` in the `[^`]{1,20}` content block )?is missing a",
    r"(?:Corrupted|Invalid) thought[ _]signature",
    r"Thought signature is not valid",
    r"Please ensure that (?:the )?(?:single turn requests|multiturn requests)",
    r"Please ensure that (?:the )?(?:number of )?function (?:call|response)",
    r"Invalid value at 'contents\[\d+\]\.parts\[\d+\]\.thought_?signature'",
    r"Unable to submit request because it must include at least one parts field",
    r"(?:\* )?GenerateContentRequest\.contents\[\d+\]\.parts: contents\.parts must not be",
)

GEMINI = FactTable(
    money=(
        fact(K.QUOTA, status="402", scope=Scope.KEY),
        fact(K.QUOTA, seen={"quota_id": _DAILY}),
        fact(K.QUOTA, status="429", quota_value="0"),
        fact(K.QUOTA, reason="BILLING_DISABLED", scope=Scope.KEY),
        fact(K.QUOTA, reason="QUOTA_EXHAUSTED INSUFFICIENT_G1_CREDITS_BALANCE"),
        *facts(
            K.QUOTA,
            r"Your prepayment credits are depleted",
            scope=Scope.KEY,
            rpc="RESOURCE_EXHAUSTED",
        ),
        *facts(
            K.QUOTA,
            # No quota for this model at all; a limit per minute has the same words, but not the 0.
            r"[\s\S]{0,900}?, limit: 0(?![\d.])",
            rpc="RESOURCE_EXHAUSTED",
        ),
    ),
    overflow=(
        # A quota with a shorter window, even if its text mentions plan, billing and tokens.
        fact(K.RATE_LIMIT, rpc="RESOURCE_EXHAUSTED", quota_id=ANY),
        *facts(K.REQUEST_TOO_LARGE, r"Request payload size exceeds the limit", status="400 413"),
        *facts(
            K.CONTEXT_OVERFLOW,
            r"(?:The )?input token count (?:\(\d{1,12}\) )?exceeds the maximum number of tokens",
            r"(?:The )?(?:input|request|prompt)[^.]{0,120} exceeds the maximum number of tokens",
        ),
    ),
    history=facts(K.HISTORY_REJECTED, *REJECTED, rpc="INVALID_ARGUMENT"),
    other=(
        fact(
            K.OVERLOADED,
            reason="MODEL_CAPACITY_EXHAUSTED MODEL_CAPACITY_EXCEEDED",
            lacks_capacity=True,
        ),
        fact(
            K.OVERLOADED,
            text=r"No capacity available for model",
            rpc="RESOURCE_EXHAUSTED",
            lacks_capacity=True,
        ),
        fact(
            K.AUTH,
            reason="API_KEY_INVALID API_KEY_SERVICE_BLOCKED API_KEY_HTTP_REFERRER_BLOCKED "
            "API_KEY_IP_ADDRESS_BLOCKED CONSUMER_SUSPENDED SERVICE_DISABLED",
            scope=Scope.KEY,
        ),
        fact(K.HISTORY_REJECTED, text=NO_TOOLS, status="400 404 422 none", lacks_capacity=True),
        fact(K.AUTH, rpc="FAILED_PRECONDITION"),  # not in this region, or not in the free tier
        fact(K.AUTH, rpc="UNAUTHENTICATED", scope=Scope.KEY),
        fact(K.AUTH, leaked=ANY, scope=Scope.KEY),
        fact(K.AUTH, rpc="PERMISSION_DENIED"),
        fact(K.OVERLOADED, rpc="UNAVAILABLE"),
        fact(K.TIMEOUT, rpc="DEADLINE_EXCEEDED"),
        fact(K.RATE_LIMIT, rpc="CANCELLED"),
        fact(K.NOT_FOUND, rpc="NOT_FOUND"),
        fact(K.SERVER_ERROR, rpc="INTERNAL UNKNOWN ABORTED DATA_LOSS"),
    ),
    scopes={401: Scope.KEY, 402: Scope.KEY},
    statuses=stands_for(
        {
            400: "INVALID_ARGUMENT FAILED_PRECONDITION OUT_OF_RANGE",
            401: "UNAUTHENTICATED",
            403: "PERMISSION_DENIED",
            404: "NOT_FOUND",
            409: "ABORTED ALREADY_EXISTS",
            429: "RESOURCE_EXHAUSTED quota_exceeded",
            499: "CANCELLED",
            500: "INTERNAL UNKNOWN DATA_LOSS",
            501: "UNIMPLEMENTED",
            503: "UNAVAILABLE",
            504: "DEADLINE_EXCEEDED",
        }
    ),
    stops={
        "SAFETY": K.CONTENT_FILTER,
        "RECITATION": K.CONTENT_FILTER,
        "LANGUAGE": K.CONTENT_FILTER,
        "BLOCKLIST": K.CONTENT_FILTER,
        "PROHIBITED_CONTENT": K.CONTENT_FILTER,
        "SPII": K.CONTENT_FILTER,
        "MODEL_ARMOR": K.CONTENT_FILTER,
        "IMAGE_SAFETY": K.CONTENT_FILTER,
        "IMAGE_PROHIBITED_CONTENT": K.CONTENT_FILTER,
        "IMAGE_RECITATION": K.CONTENT_FILTER,
        "MALFORMED_FUNCTION_CALL": K.TOOL_CALL_MALFORMED,
        "UNEXPECTED_TOOL_CALL": K.TOOL_CALL_MALFORMED,
        "TOO_MANY_TOOL_CALLS": K.TOOL_CALL_MALFORMED,
        "MISSING_THOUGHT_SIGNATURE": K.HISTORY_REJECTED,
        # Their own client repeats the request after these, so the request is not at fault.
        "MALFORMED_RESPONSE": K.SERVER_ERROR,
        "OTHER": K.SERVER_ERROR,
        "IMAGE_OTHER": K.SERVER_ERROR,
    },
    waits=(rf"(?:\A|[.,:;!]\s|\n)Please retry in {WAIT}",),
    daily=(_DAILY, "America/Los_Angeles"),
)
