from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import Failure, FailureKind
from sidestep.provider.classify.classify import classify_error_object, classify_response
from sidestep.provider.classify.retry_after import LONGEST, retry_after
from sidestep.provider.json_value import write_json

NOON = 1_795_953_600.0  # Sun, 29 Nov 2026 12:00:00 GMT
DATE = "Sun, 29 Nov 2026 12:00:00 GMT"
SOON = "Sun, 29 Nov 2026 12:00:30 GMT"
SOON_AT = datetime(2026, 11, 29, 12, 0, 30, tzinfo=UTC)


@dataclass(frozen=True)
class Case:
    id: str
    headers: dict[str, str]
    seconds: float | None
    now: float | None = field(default=NOON)


HEADERS = [
    Case("whole seconds", {"retry-after": "20"}, 20.0),
    Case("fraction", {"retry-after": "1.5"}, 1.5),
    Case("spaces", {"retry-after": " 7 "}, 7.0),
    Case("milliseconds", {"retry-after-ms": "3982"}, 3.982),
    Case("milliseconds win", {"retry-after-ms": "3982", "retry-after": "4"}, 3.982),
    Case("milliseconds of nonsense", {"retry-after-ms": "soon", "retry-after": "4"}, 4.0),
    Case("no milliseconds", {"retry-after-ms": "0", "retry-after": "4"}, 4.0),
    Case("date, from the answer's own", {"retry-after": SOON, "date": DATE}, 30.0, now=None),
    Case("date, the own one wins", {"retry-after": SOON, "date": DATE}, 30.0, now=0.0),
    Case("date, from now", {"retry-after": SOON}, 30.0),
    Case("date, own one nonsense", {"retry-after": SOON, "date": "today"}, 30.0),
    Case("date, from nothing", {"retry-after": SOON}, None, now=None),
    Case("date that has passed", {"retry-after": DATE, "date": SOON}, None),
    Case("zero", {"retry-after": "0"}, None),
    Case("negative", {"retry-after": "-3"}, None),
    Case("not a number", {"retry-after": "NaN"}, None),
    Case("infinite", {"retry-after": "inf"}, None),
    Case("words", {"retry-after": "soon"}, None),
    Case("exponent", {"retry-after": "1e3"}, None),
    Case("underscores", {"retry-after": "1_0"}, None),
    Case("other digits", {"retry-after": "٣"}, None),
    Case("with its unit", {"retry-after": "1m30s"}, 90.0),
    Case("a list", {"retry-after": "120, 120"}, 120.0),
    Case("a list without spaces", {"retry-after": "1.5,30"}, 1.5),
    Case("a list of dates", {"retry-after": f"{SOON}, {SOON}"}, 30.0),
    Case("a date, then seconds", {"retry-after": f"{SOON}, 90"}, 30.0),
    Case("seconds, then a date", {"retry-after": f"7, {SOON}"}, 7.0),
    Case("a list of milliseconds", {"retry-after-ms": "3982, 3982", "retry-after": "4, 4"}, 3.982),
    Case("a list that begins with nonsense", {"retry-after": "soon, 120"}, None),
    Case("empty", {"retry-after": ""}, None),
    Case("with a parameter", {"retry-after": "30;q=1"}, 30.0),
    Case("in quotes", {"retry-after": '"30"'}, 30.0),
    Case("an instant", {"retry-after": "2026-11-29T12:00:30Z", "date": DATE}, 30.0),
    Case("epoch seconds that have passed", {"retry-after": "1764510030", "date": DATE}, None),
    Case("missing", {}, None),
    Case("absurd", {"retry-after": "99999999"}, LONGEST),
    Case("beyond numbers", {"retry-after": "9" * 400}, LONGEST),
]


@pytest.mark.parametrize("case", HEADERS, ids=lambda case: case.id)
def test_headers_say_how_long_to_wait(case: Case) -> None:
    assert retry_after(case.headers, now=case.now) == case.seconds


@pytest.mark.parametrize(
    ("header", "advice"),
    [
        *(("true", True), ("false", False), ("false, false", False), ("TRUE,false", True)),
        *(("", None), ("maybe", None), ("maybe, false", None)),
    ],
)
def test_the_first_advice_on_a_retry_counts(header: str, advice: bool | None) -> None:
    failure = classify_response(
        503, {"x-should-retry": header}, b"", provider="anthropic", wire="anthropic"
    )

    assert failure.should_retry is advice


@given(st.text(), st.text(), st.text())
def test_any_header_gives_a_usable_wait_or_none(ms: str, seconds: str, date: str) -> None:
    hint = retry_after({"retry-after-ms": ms, "retry-after": seconds, "date": date}, now=NOON)

    assert hint is None or 0 < hint <= LONGEST


def anthropic(name: str, remaining: str, reset: str) -> dict[str, str]:
    prefix = f"anthropic-ratelimit-{name}"
    return {f"{prefix}-limit": "50", f"{prefix}-remaining": remaining, f"{prefix}-reset": reset}


def openai(name: str, limit: str, remaining: str, reset: str) -> dict[str, str]:
    return {
        f"x-ratelimit-limit-{name}": limit,
        f"x-ratelimit-remaining-{name}": remaining,
        f"x-ratelimit-reset-{name}": reset,
    }


@dataclass(frozen=True)
class Hint:
    """An answer, and what it asks us to wait."""

    id: str
    provider: str
    status: int
    error: dict[str, Any]
    seconds: float | None = None
    at: datetime | None = None
    headers: dict[str, str] = field(default_factory=dict)
    kind: FailureKind = FailureKind.RATE_LIMIT


K = FailureKind
TPM = (
    "Rate limit reached for m on tokens per min (TPM): Limit 250000, Used 250000, Requested 58487."
)
RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.074824224s"}
DAILY = {"@type": "x.QuotaFailure", "violations": [{"quotaId": "RequestsPerDay"}]}
MINUTELY = {"@type": "x.QuotaFailure", "violations": [{"quotaId": "RequestsPerMinute"}]}
SPENT = {"type": "rate_limit_error", "details": {"error_code": "enforced_spend_limit_reached"}}
REGAIN = "You have reached your specified API usage limits. You will regain access on "


def said(message: str, **more: Any) -> dict[str, Any]:
    return {"message": message, **more}


def limited(message: str) -> dict[str, Any]:
    return said(message, type="rate_limit_error")


HINTS = [
    Hint("text, seconds", "openai", 429, said(f"{TPM} Please try again in 14.036s."), 14.036),
    Hint("text, minutes", "openai", 429, said(f"{TPM} Please try again in 7m12s. Visit x"), 432.0),
    Hint(
        "text, minutes and a fraction",
        "groq",
        429,
        said(f"{TPM} Please try again in 1m42.653s."),
        102.653,
    ),
    Hint("text, milliseconds", "openai", 429, said(f"{TPM} Please try again in 120ms."), 0.12),
    Hint("text, in words", "openai", 429, said("Slow down. try again in 2 seconds"), 2.0),
    Hint(
        "text of Gemini",
        "gemini",
        429,
        said("Quota. Please retry in 34.07s.", status="RESOURCE_EXHAUSTED"),
        34.07,
    ),
    Hint("text of Gemini, last line", "gemini", 429, said("x\n* y\nPlease retry in 900ms."), 0.9),
    Hint(
        "text of Moonshot",
        "moonshot",
        429,
        said("max RPM: 3, please try again after 1 seconds", type="rate_limit_reached_error"),
        1.0,
    ),
    Hint("text of another provider", "mistral", 429, said("Please try again in 14.036s.")),
    Hint("text, no number", "openai", 429, said("Please try again in a moment.")),
    Hint("text, in the middle of a word", "openai", 429, said("x. Please try again in 5sx")),
    Hint("text, inside another sentence", "openai", 429, said("he said please try again in 5s")),
    Hint("text, absurd", "openai", 429, said("Please try again in 99999999s."), LONGEST),
    Hint("text, zero", "openai", 429, said("Please try again in 0s.")),
    Hint(
        "text of what is too long",
        "anthropic",
        400,
        said(
            "prompt is too long: 9 tokens > 8 maximum. Please try again in 5s",
            type="invalid_request_error",
        ),
        kind=K.CONTEXT_OVERFLOW,
    ),
    Hint(
        "text of what never passes",
        "openai",
        429,
        said("Request too large for m. Please try again in 5s."),
        kind=K.REQUEST_TOO_LARGE,
    ),
    Hint(
        "header before text",
        "openai",
        429,
        said(f"{TPM} Please try again in 14s."),
        1.0,
        headers={"retry-after": "1"},
    ),
    Hint(
        "text before a reset",
        "openai",
        429,
        said(f"{TPM} Please try again in 14s."),
        14.0,
        headers=openai("tokens", "9", "0", "40s"),
    ),
    Hint("body", "gemini", 429, said("x", details=[RETRY_INFO]), 34.074824224),
    Hint(
        "body, in milliseconds",
        "gemini",
        429,
        said("x", details=[RETRY_INFO | {"retryDelay": "900ms"}]),
        0.9,
    ),
    Hint(
        "body before text",
        "gemini",
        429,
        said("Please retry in 9s.", details=[RETRY_INFO]),
        34.074824224,
    ),
    Hint(
        "body of a quota for a day",
        "gemini",
        429,
        said("Please retry in 9s.", details=[DAILY, RETRY_INFO]),
        kind=K.QUOTA,
    ),
    *(
        Hint(
            f"midnight Pacific, {season}",
            "gemini",
            429,
            said("Please retry in 9s.", details=[DAILY, RETRY_INFO]),
            at=datetime.fromisoformat(f"{at}Z"),
            headers={"date": date},
            kind=K.QUOTA,
        )
        for season, date, at in (
            ("winter", "Sun, 29 Nov 2026 12:00:00 GMT", "2026-11-30T08:00"),
            ("winter, still the day before", "Mon, 30 Nov 2026 07:59:59 GMT", "2026-11-30T08:00"),
            ("winter, just begun", "Mon, 30 Nov 2026 08:00:00 GMT", "2026-12-01T08:00"),
            ("summer", "Wed, 01 Jul 2026 12:00:00 GMT", "2026-07-02T07:00"),
            ("the day on which summer ends", "Sun, 01 Nov 2026 08:00:00 GMT", "2026-11-02T08:00"),
        )
    ),
    Hint(
        "a quota for a minute knows no midnight",
        "gemini",
        429,
        said("x", details=[MINUTELY], status="RESOURCE_EXHAUSTED"),
        headers={"date": DATE},
    ),
    Hint(
        "a spent balance knows no midnight",
        "gemini",
        402,
        said("x", status="RESOURCE_EXHAUSTED"),
        headers={"date": DATE},
        kind=K.QUOTA,
    ),
    Hint("body in seconds", "x", 429, said("x", retry_after=7), 7.0),
    Hint("body in milliseconds", "x", 429, said("x", retry_after_ms=7500), 7.5),
    Hint(
        "headers in a body",
        "openrouter",
        429,
        said("x", metadata={"headers": {"Retry-After": "9"}}),
        9.0,
    ),
    Hint(
        "reset in a body",
        "openrouter",
        429,
        said(
            "Rate limit exceeded: limit_rpd/x",
            metadata={
                "headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1795953630000"}
            },
        ),
        at=SOON_AT,
        kind=K.QUOTA,
    ),
    Hint(
        "reset in a body, a minute",
        "openrouter",
        429,
        said(
            "Rate limit exceeded: free-models-per-min",
            metadata={
                "headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1795953630000"}
            },
        ),
        at=SOON_AT,
    ),
    Hint(
        "the upstream's message",
        "openrouter",
        429,
        said(
            "Provider returned error",
            metadata={"provider_name": "OpenAI", "raw": f"{TPM} Please try again in 14s."},
        ),
        14.0,
    ),
    Hint(
        "plan's window",
        "openai",
        429,
        said("x", type="usage_limit_reached", resets_at=1795953630),
        at=SOON_AT,
        kind=K.QUOTA,
    ),
    Hint(
        "plan's window, in seconds",
        "openai",
        429,
        said("x", type="usage_limit_reached", resets_in_seconds=90),
        90.0,
        kind=K.QUOTA,
    ),
    Hint(
        "z.ai's clock",
        "zai",
        429,
        said(
            "Usage limit reached for 5 hour. Your limit will reset at 2026-11-29 20:00:30",
            code="1308",
        ),
        at=SOON_AT,
        kind=K.QUOTA,
    ),
    *(
        Hint(
            f"z.ai's clock in Chinese, {id_}",
            "zai",
            429,
            said(text, **more),
            at=SOON_AT,
            kind=K.QUOTA,
        )
        for id_, text, more in (
            *(
                (text.split("2026")[0], text, {"code": "1310"})
                for text in (
                    "限额重置时间: 2026-11-29 20:00:30",
                    "下次重置时间为 2026-11-29 20:00:30",
                    "Your quota will be refreshed on 2026-11-29 20:00:30",
                    "Your limit will reset at 2026-11-29T20:00:30",
                )
            ),
            (
                "as bigmodel has it",
                "您已达到本周使用上限\uff0c2026-11-29 20:00:30 后可继续使用。",
                {"code": "1310"},
            ),
            (
                "in brackets",
                "[1308][您已达到每5小时的使用上限\uff0c2026-11-29 20:00:30后可继续使用。][1]",
                {},
            ),
            (
                "reset",
                "已达到 5 小时的使用上限。您的限额将在 2026-11-29 20:00:30 重置。",
                {"code": "1308"},
            ),
            ("resumed", "使用上限已用完\uff0c2026-11-29 20:00:30 恢复", {"code": "1308"}),
            *(  # made up
                (text.split("2026")[0] + " 2026年", text, {"code": "1308"})
                for text in (
                    "5小时使用上限已达到\uff0c将于2026年11月29日20:00:30重置",
                    "限额将在 2026年11月29日 20时0分30秒 恢复",
                    "重置时间为2026年11月29日 20:00:30",
                )
            ),
        )
    ),
    Hint(
        "z.ai's clock, in brackets",
        "zai",
        429,
        said("[1310][Weekly limit. Your limit will reset at 2026-11-29 20:00:30][1]"),
        at=SOON_AT,
        kind=K.QUOTA,
    ),
    Hint(
        "month of Anthropic",
        "anthropic",
        400,
        said(f"{REGAIN}2026-12-01 at 00:00 UTC.", type="invalid_request_error"),
        at=datetime(2026, 12, 1, tzinfo=UTC),
        kind=K.QUOTA,
    ),
    Hint(
        "month of Anthropic, by its code",
        "anthropic",
        429,
        SPENT | said("You will regain access on 2026-12-01 at 00:00 UTC."),
        at=datetime(2026, 12, 1, tzinfo=UTC),
        kind=K.QUOTA,
    ),
    Hint(
        "month that has begun",
        "anthropic",
        429,
        SPENT | said("You will regain access on 2026-11-01 at 00:00 UTC."),
        headers={"date": DATE},
        kind=K.QUOTA,
    ),
    Hint(
        "spend limit, next to a limit that is not exhausted",
        "anthropic",
        429,
        SPENT,
        headers=anthropic("requests", "49", "2026-11-29T12:00:30Z"),
        kind=K.QUOTA,
    ),
    Hint(
        "reset of Anthropic",
        "anthropic",
        429,
        limited("x"),
        at=SOON_AT,
        headers=anthropic("requests", "0", "2026-11-29T12:00:30Z"),
    ),
    Hint(
        "reset of Anthropic, from its date",
        "anthropic",
        429,
        limited("x"),
        30.0,
        SOON_AT,
        headers=anthropic("requests", "0", "2026-11-29T12:00:30Z") | {"date": DATE},
    ),
    Hint(
        "reset only",
        "x",
        429,
        said("x"),
        40.0,
        headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset": "40"},
    ),
    Hint("nothing but what is left", "x", 429, said("x"), headers={"x-ratelimit-remaining": "0"}),
    Hint(
        "no reset for an overload",
        "openai",
        503,
        said("x"),
        headers=openai("tokens", "9", "0", "40s"),
        kind=K.OVERLOADED,
    ),
    Hint(
        "header for an overload",
        "anthropic",
        529,
        said("x", type="overloaded_error"),
        2.0,
        headers={"Retry-After": "2"},
        kind=K.OVERLOADED,
    ),
    Hint("an hour", "anthropic", 429, limited("x"), 3600.0, headers={"retry-after": "3600"}),
    Hint(
        "header for a quota",
        "openai",
        429,
        said("x", type="insufficient_quota"),
        3600.0,
        headers={"retry-after": "3600"},
        kind=K.QUOTA,
    ),
    Hint(
        "no header but its type",
        "x",
        502,
        said("x"),
        headers={"content-type": "application/json"},
        kind=K.SERVER_ERROR,
    ),
]


def hinted(case: Hint) -> Failure:
    body = write_json({"error": case.error})
    wire = "gemini" if case.provider == "gemini" else "openai-chat"
    wire = "anthropic" if case.provider == "anthropic" else wire
    return classify_response(case.status, case.headers, body, provider=case.provider, wire=wire)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", HINTS, ids=lambda case: case.id)
def test_an_answer_says_how_long_to_wait(case: Hint) -> None:
    failure = hinted(case)

    assert failure.kind is case.kind, failure.because
    assert (failure.retry_after, failure.reset_at) == (case.seconds, case.at)


LIMITED = {"code": "rate_limit_exceeded", "type": "requests"}
FULL = {"headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1795953630000"}}


@pytest.mark.parametrize(
    ("error", "provider", "seconds", "at"),
    [
        pytest.param(
            LIMITED | said(f"{TPM} Please try again in 11.054s."), "openai", 11.054, None, id="text"
        ),
        pytest.param(
            LIMITED | said(f"{TPM} Please try again in 7m12s."), "openai", 432.0, None, id="minutes"
        ),
        pytest.param(
            said("x", code=429, metadata=FULL), "openrouter", None, SOON_AT, id="headers in it"
        ),
        pytest.param(said("x", code=429), "openrouter", None, None, id="nothing"),
    ],
)
@pytest.mark.parametrize("is_nested", [True, False], ids=["in a response", "alone"])
def test_an_error_in_a_stream_has_only_itself_to_say_it_with(
    error: dict[str, Any],
    provider: str,
    seconds: float | None,
    at: datetime | None,
    *,
    is_nested: bool,
) -> None:
    """openai/codex reads the wait of a `response.failed` from its text."""
    failed = {"type": "response.failed", "response": {"error": error}}
    value = failed if is_nested else {"error": error}

    failure = classify_error_object(value, provider=provider, wire="openai-responses")

    assert failure.kind is FailureKind.RATE_LIMIT
    assert (failure.retry_after, failure.reset_at) == (seconds, at)


def test_a_wait_is_found_near_the_end_of_a_long_message_and_cheaply() -> None:
    long = said("Slow. " + "please try again in 1" * 150 + ". Please try again in 5s.")

    assert hinted(Hint("", "openai", 429, long)).retry_after == 5.0
    assert hinted(Hint("", "openai", 429, said("1m" * 100_000))).retry_after is None
