"""The errors of Gemini: what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .rows import PLAN, RPC, K, Row, check, google, info, quota

if TYPE_CHECKING:
    pass

ROWS = [
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
        info("MODEL_CAPACITY_EXHAUSTED"))], K.OVERLOADED, lacks_capacity=True),
    Row("no capacity, without details", "gemini", 429, google(
        429, "RESOURCE_EXHAUSTED", "No capacity available for model g on the server"),
        K.OVERLOADED, lacks_capacity=True),
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


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_an_answer_is_what_its_provider_means(row: Row) -> None:
    check(row)
