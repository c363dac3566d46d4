"""Errors as the played providers spell them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, assert_never

if TYPE_CHECKING:
    from collections.abc import Iterator

Dialect = Literal["anthropic", "openrouter", "openai-chat", "openai-responses", "gemini"]
"""A way to spell answers; ``openai-chat`` stands for every chat API but OpenRouter's."""

# Source: platform.claude.com/docs/en/api/errors; the messages of 402, 404, 500,
# 504 and 529 as in fixtures/captures/anthropic_*.json, the others made up.
ANTHROPIC: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request_error", "messages: the request is invalid"),
    401: ("authentication_error", "invalid x-api-key"),
    402: ("billing_error", "There is an issue with your billing or payment information."),
    403: (
        "permission_error",
        "Your API key does not have permission to use the specified resource.",
    ),
    404: ("not_found_error", "model: {model}"),
    409: ("conflict_error", "The request conflicts with the current state of the resource."),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your organization's rate limit."),
    500: ("api_error", "Internal server error"),
    503: ("api_error", "Service unavailable"),
    504: ("timeout_error", "Request timed out."),
    408: ("timeout_error", "Request timed out."),  # after 504, because the type stands for that
    529: ("overloaded_error", "Overloaded"),
}

# Source: openrouter.ai/docs/api/reference/errors-and-debugging; the messages of 402, 502, 524
# and 529 as in fixtures/captures/openrouter_*.json, the others made up.
OPENROUTER: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request", "Provider returned error"),
    401: ("authentication", "No auth credentials found"),
    402: (
        "payment_required",
        "Insufficient credits. Add more using https://openrouter.ai/settings/credits",
    ),
    403: ("permission_denied", "Your key may not use this model"),
    404: ("not_found", "No endpoints found for {model}."),
    408: ("timeout", "Request timed out"),
    413: ("payload_too_large", "Request payload is too large"),
    422: ("unprocessable", "Request could not be processed"),
    429: ("rate_limit_exceeded", "Rate limit exceeded"),
    500: ("server", "Internal Server Error"),
    502: ("provider_unavailable", "Provider disconnected unexpectedly"),
    503: (
        "provider_unavailable",
        "No available model provider that meets your routing requirements",
    ),
    524: ("timeout", "Provider request timed out at edge network"),
    529: ("provider_overloaded", "Provider is temporarily overloaded"),
}

# Source: platform.openai.com/docs/guides/error-codes.
OPENAI: Mapping[int, tuple[str, str | None, str]] = {
    400: ("invalid_request_error", "invalid_value", "The request is invalid."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    402: ("unknown_error", "invalid_request_error", "Insufficient Balance"),  # DeepSeek's
    403: (
        "invalid_request_error",
        "unsupported_country_region_territory",
        "Country, region, or territory not supported",
    ),
    404: (
        "invalid_request_error",
        "model_not_found",
        "The model `{model}` does not exist or you do not have access to it.",
    ),
    413: ("invalid_request_error", None, "Request body is too large."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for {model}."),
    500: (
        "server_error",
        None,
        "The server had an error while processing your request. Sorry about that!",
    ),
    503: (
        "service_unavailable_error",
        "server_is_overloaded",
        "The server is currently overloaded. Please try again later.",
    ),
}

# Source: ai.google.dev/gemini-api/docs/troubleshooting; the messages of 402 and 503 as in
# fixtures/captures/gemini_*.json, the others made up.
GEMINI: Mapping[int, tuple[str, str]] = {
    400: ("INVALID_ARGUMENT", "Request contains an invalid argument."),
    401: ("UNAUTHENTICATED", "Request had invalid authentication credentials."),
    403: ("PERMISSION_DENIED", "The caller does not have permission"),
    404: ("NOT_FOUND", "models/{model} is not found for API version v1beta."),
    429: ("RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    402: (  # after 429, because the status stands for that
        "RESOURCE_EXHAUSTED",
        "Your prepayment credits are depleted. Please go to AI Studio at "
        "https://ai.studio/projects to manage your project and billing.",
    ),
    499: ("CANCELLED", "The operation was cancelled."),
    500: ("INTERNAL", "An internal error has occurred."),
    503: ("UNAVAILABLE", "The model is overloaded. Please try again later."),
    504: ("DEADLINE_EXCEEDED", "The request timed out."),
}

OTHER_CODES: Mapping[str, int] = {
    "insufficient_quota": 429,
    "credit_balance_exhausted": 429,
    "context_length_exceeded": 400,
}
"""Codes with a status that has a more common code in the tables."""

EDGE = frozenset({502, 504, 520, 522, 524})
"""Statuses that OpenAI's edge answers with an HTML page, not with JSON."""


def error_words(
    dialect: Dialect, status: int, *, model: str = "", message: str | None = None
) -> dict[str, object]:
    """Return what the provider puts under ``error`` for *status*.

    Args:
        model: Goes into the provider's message, if that names the model.
        message: Replaces the provider's message.
    """
    nearest = 400 if status < 500 else 500
    match dialect:
        case "anthropic":
            kind, text = ANTHROPIC.get(status, ANTHROPIC[nearest])
            return {"type": kind, "message": message or text.format(model=model)}
        case "openrouter":
            kind, text = OPENROUTER.get(status, OPENROUTER[nearest])
            metadata = {"error_type": kind}
            if status == 402:
                metadata["limit_source"] = "openrouter_credits"
            return {
                "code": status,
                "message": message or text.format(model=model),
                "metadata": metadata,
            }
        case "gemini":
            kind, text = GEMINI.get(status, GEMINI[nearest])
            return {"code": status, "message": message or text.format(model=model), "status": kind}
        case "openai-chat" | "openai-responses":
            kind, code, text = OPENAI.get(status, OPENAI[nearest])
            return {
                "message": message or text.format(model=model),
                "type": kind,
                "param": None,
                "code": code,
            }
        case _:
            assert_never(dialect)


def error_envelope(
    dialect: Dialect, error: Mapping[str, object], *, request_id: str
) -> dict[str, object]:
    """Return the body of a failed answer with *error* in it."""
    match dialect:
        case "anthropic":
            return {"type": "error", "error": error, "request_id": request_id}
        case "openrouter":
            return {"error": error, "user_id": "user_stub"}
        case "openai-chat" | "openai-responses" | "gemini":
            return {"error": error}
        case _:
            assert_never(dialect)


def error_page(status: int) -> str:
    """Return the HTML page of an edge in front of the provider."""
    return (
        f"<html><head><title>{status} Gateway error</title></head>"
        f"<body><center><h1>{status} Gateway error</h1></center></body></html>"
    )


def status_of(error: int | Mapping[str, object]) -> int:
    """Return the HTTP status that *error* stands for; 500 if none of its words is known."""
    if isinstance(error, int):
        return error
    for key in ("code", "type", "status"):
        match error.get(key):
            case int(code) if 400 <= code <= 599:
                return code
            case str(word) if word in STATUS_BY_WORD:
                return STATUS_BY_WORD[word]
            case str(word) if word in OTHER_CODES:
                return OTHER_CODES[word]
    metadata = error.get("metadata")
    if isinstance(metadata, Mapping):
        return STATUS_BY_WORD.get(str(metadata.get("error_type")), 500)
    return 500


def to_json(value: object) -> bytes:
    """Return *value* as compact JSON in UTF-8, with lone surrogates escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.encode(errors="backslashreplace")


def _words() -> Iterator[tuple[str, int]]:
    for table in (ANTHROPIC, OPENROUTER, GEMINI):
        yield from ((kind, status) for status, (kind, _) in table.items())
    for status, (kind, code, _) in OPENAI.items():
        yield kind, status
        if code is not None:
            yield code, status


STATUS_BY_WORD: Mapping[str, int] = dict(reversed(list(_words())))
"""The status that a provider's type or code stands for: the first in the tables.

The tables come in this order: Anthropic, OpenRouter, Gemini, OpenAI.
"""
