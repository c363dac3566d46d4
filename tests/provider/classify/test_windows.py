"""The windows of a plan in whole answers: the route returns when the last used-up one opens."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import FailureKind
from sidestep.provider.classify.classify import classify_error_object, classify_response
from sidestep.provider.classify.retry_after import LONGEST, LONGEST_WINDOW

from ...property import examples
from .facts.rows import K, chat, claude, google, info, router, wire_of

if TYPE_CHECKING:
    from sidestep.provider.wire_name import Wire

NOON = "Sun, 29 Nov 2026 12:00:00 GMT"
IN_FIVE_HOURS, IN_A_WEEK, IN_A_MONTH = 1_795_971_600, 1_796_558_400, 1_798_545_600
THE_FIVE_HOURS = datetime.fromtimestamp(IN_FIVE_HOURS, UTC)
THE_WEEK = datetime.fromtimestamp(IN_A_WEEK, UTC)


@dataclass(frozen=True)
class Used:
    """An answer that calls windows used up, and until when."""

    id: str
    provider: str
    status: int
    body: Any
    seconds: float | None = None
    at: datetime | None = None
    headers: dict[str, str] = field(default_factory=dict)
    kind: FailureKind = K.QUOTA
    wire: Wire | None = None


def unified(**values: str | int) -> dict[str, str]:
    prefix = "anthropic-ratelimit-unified-"
    return {prefix + name.lstrip("_").replace("_", "-"): str(v) for name, v in values.items()}


def codex(name: str, percent: int, at: int) -> dict[str, str]:
    return {f"x-codex-{name}-used-percent": str(percent), f"x-codex-{name}-reset-at": str(at)}


LIMITED = claude("This request would exceed your account's rate limit.", "rate_limit_error")
REACHED = chat("The usage limit has been reached", "usage_limit_reached", None, plan_type="plus")
FIVE_HOURS = unified(_5h_status="rejected", _5h_reset=IN_FIVE_HOURS, status="rejected")
EXHAUSTED = info("QUOTA_EXHAUSTED") | {
    "metadata": {"quotaResetDelay": "5h0m0.5s", "quotaResetTimeStamp": "2026-11-29T17:00:00Z"}
}

ANSWERS = [
    Used("Claude's five hours", "anthropic", 429, LIMITED, at=THE_FIVE_HOURS, headers=FIVE_HOURS |
        unified(_7d_status="allowed", _7d_reset=IN_A_WEEK, _7d_utilization="0.59")),
    Used("Claude's five hours, and what it says to wait", "anthropic", 429, LIMITED, 2094.0,
        THE_FIVE_HOURS, FIVE_HOURS | {"retry-after": "2094"}),
    Used("Claude's five hours, the week nearly", "anthropic", 429, LIMITED, at=THE_FIVE_HOURS,
        headers=FIVE_HOURS | unified(_7d_status="allowed_warning", _7d_reset=IN_A_WEEK)),
    Used("both of Claude's windows", "anthropic", 429, LIMITED, at=THE_WEEK, headers=FIVE_HOURS |
        unified(_7d_status="rejected", _7d_reset=IN_A_WEEK, reset=IN_FIVE_HOURS)),
    Used("Claude's verdict alone", "anthropic", 429, LIMITED, at=THE_FIVE_HOURS,
        headers=unified(status="rejected", reset=IN_FIVE_HOURS)),
    Used("Claude's money beyond the plan", "anthropic", 429, LIMITED, at=THE_FIVE_HOURS,
        headers=FIVE_HOURS | unified(overage_status="rejected", overage_reset=IN_A_MONTH)),
    Used("Claude's windows, none used up", "anthropic", 429, LIMITED, kind=K.RATE_LIMIT,
        headers=unified(status="allowed", reset=IN_FIVE_HOURS, _5h_status="allowed_warning",
                        _5h_reset=IN_FIVE_HOURS, _7d_utilization="0.9", _7d_reset=IN_A_WEEK)),
    Used("Codex, by its body", "openai", 429, chat(
        "x", "usage_limit_reached", None, resets_at=IN_FIVE_HOURS, resets_in_seconds=18_000),
        at=THE_FIVE_HOURS),
    Used("Codex, in seconds", "openai", 429, chat(
        "x", "usage_limit_reached", None, resets_in_seconds=511_860), 511_860.0),
    Used("Codex, both windows", "openai", 429, chat(
        "x", "usage_limit_reached", None, resets_at=IN_FIVE_HOURS), at=THE_WEEK,
        headers=codex("primary", 100, IN_FIVE_HOURS) | codex("secondary", 100, IN_A_WEEK)),
    Used("Codex, one of two windows", "openai", 429, REACHED, at=THE_FIVE_HOURS,
        headers=codex("primary", 100, IN_FIVE_HOURS) | codex("secondary", 80, IN_A_WEEK)),
    Used("Codex, another model's window", "openai", 429, REACHED, at=THE_FIVE_HOURS,
        headers=codex("primary", 100, IN_FIVE_HOURS) | codex("bengalfox-primary", 100, IN_A_WEEK)),
    Used("Codex, in seconds of its headers", "openai", 429, REACHED, 9_000.0, headers={
        "x-codex-primary-used-percent": "12", "x-codex-primary-reset-after-seconds": "90",
        "x-codex-secondary-used-percent": "100", "x-codex-secondary-reset-after-seconds": "9000"}),
    Used("Codex, a rate with windows that are open", "openai", 429, chat(
        "x", "tokens", "rate_limit_exceeded"), kind=K.RATE_LIMIT,
        headers=codex("primary", 42, IN_FIVE_HOURS) | codex("secondary", 84, IN_A_WEEK)),
    Used("Codex's sentence behind a proxy", "my-proxy", 429, chat(
        "You've hit your usage limit. Upgrade to Pro or try again in 5 days 22 hours 11 minutes."),
        511_860.0),
    Used("Claude Code's sentence behind a proxy", "my-proxy", 429, chat(
        f"Claude AI usage limit reached|{IN_FIVE_HOURS}"), at=THE_FIVE_HOURS),
    Used("Claude Code's newer sentence", "my-proxy", 429, chat(
        "You've hit your limit · resets 5pm (UTC)"), at=THE_FIVE_HOURS),
    Used("a typographer's apostrophe", "my-proxy", 429, chat(
        "You\u2019ve hit your usage limit. Try again at Dec 6th, 2026 1:00 PM (UTC)."),
        at=datetime(2026, 12, 6, 13, tzinfo=UTC)),
    Used("Copilot's month", "my-copilot", 402, chat("You have no quota", code="quota_exceeded"),
        at=datetime(2026, 12, 1, tzinfo=UTC), headers={"x-quota-snapshot-premium_interactions":
            "ent=300&ov=0.0&ovPerm=false&rem=0.0&rst=2026-12-01T00%3A00%3A00Z"}),
    Used("Copilot's month, paid beyond", "my-copilot", 402, chat("x"), headers={
        "x-quota-snapshot-premium_models":
            "ent=300&ov=9.0&ovPerm=true&rem=0.0&rst=2026-12-01T00%3A00%3A00Z"}),
    Used("Copilot's month, not used up", "my-copilot", 429, chat("x", code="rate_limited"),
        kind=K.RATE_LIMIT, headers={"x-quota-snapshot-chat":
            "ent=300&ov=0.0&ovPerm=false&rem=35.5&rst=2026-12-01T00%3A00%3A00Z"}),
    Used("Gemini's agent", "gemini", 429, google(
        429, "RESOURCE_EXHAUSTED", "You have exhausted your capacity on this model. Your quota "
        "will reset after 5h0m0s.", EXHAUSTED), 18_000.5, THE_FIVE_HOURS),
    Used("Gemini's agent, by its sentence", "gemini", 429, google(
        429, "RESOURCE_EXHAUSTED", "Your quota will reset after 5h.", info("QUOTA_EXHAUSTED")),
        18_000.0),
    Used("z.ai's plan", "zai", 429, chat(
        "Your limit will reset at 2026-11-30 01:00:00", code="1308"), at=THE_FIVE_HOURS),
    Used("MiniMax's plan", "minimax-anthropic", 429, claude(
        "usage limit exceeded, 5-hour usage limit reached for Token Plan Starter (0/0 used), "
        "resets at 2026-11-29T17:00:00Z (2056)", "rate_limit_error"), at=THE_FIVE_HOURS,
        wire="anthropic"),
    Used("OpenCode's plan", "opencode", 429, claude(
        "Weekly usage limit reached. Resets in 3 days.", "GoUsageLimitError"), 259_200.0,
        headers={"retry-after": "259200"}),
    Used("Kimi's plan, which says no time", "moonshot-anthropic", 403, chat(
        "You've reached your weekly (7-day) usage limit. Your quota will reset when the current "
        "7-day window ends.", "access_terminated_error"), wire="anthropic"),
    Used("OpenRouter's day", "openrouter", 429, router(
        429, "Rate limit exceeded: free-models-per-day.", headers={
            "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(IN_FIVE_HOURS * 1000)}),
        at=THE_FIVE_HOURS),
    Used("a window that opened long ago", "openai", 429, chat(
        "x", "usage_limit_reached", None, resets_at=1_764_000_000)),
    Used("a wait without end", "openai", 429, chat(
        "x", "usage_limit_reached", None, resets_in_seconds=99_999_999), LONGEST_WINDOW),
    Used("the cooldown of a proxy", "my-proxy", 429, chat(
        "All credentials for model m are cooling down", code="model_cooldown", reset_seconds=459),
        459.0, kind=K.RATE_LIMIT),
    Used("a long cooldown of a proxy", "my-proxy", 429, chat("x", code="model_cooldown"), LONGEST,
        kind=K.RATE_LIMIT, headers={"retry-after": "459202"}),
]  # fmt: skip


@pytest.mark.parametrize("row", ANSWERS, ids=lambda row: row.id)
def test_the_last_window_that_is_used_up_counts(row: Used) -> None:
    failure = classify_response(
        row.status,
        row.headers | {"date": NOON},
        json.dumps(row.body).encode(),
        provider=row.provider,
        wire=row.wire or wire_of(row.provider),
    )

    assert failure.kind is row.kind, failure.because
    assert (failure.retry_after, failure.reset_at) == (row.seconds, row.at)


def test_an_event_of_codex_has_its_headers_in_it() -> None:
    """earendil-works/pi#4172."""
    headers = {
        "X-Codex-Primary-Used-Percent": "100",
        "X-Codex-Primary-Reset-At": str(IN_FIVE_HOURS),
        "X-Codex-Secondary-Used-Percent": "100",
        "X-Codex-Secondary-Reset-At": str(IN_A_WEEK),
    }
    event = {"type": "error", **REACHED, "status_code": 429, "headers": headers}

    failure = classify_error_object(event, provider="openai", wire="openai-responses")

    assert (failure.kind, failure.status, failure.reset_at) == (K.QUOTA, 429, THE_WEEK)


HEADERS = st.sampled_from(
    sorted({name for row in ANSWERS for name in row.headers} | {"date", "retry-after-ms"})
)
VALUES = (
    st.sampled_from(["rejected", "allowed", "100", "0", "-1", "1e9", NOON, "9" * 40]) | st.text()
)


@given(st.text(), st.dictionaries(HEADERS, VALUES), st.none() | st.floats(0, 4e9))
@examples(100)
def test_any_answer_gives_a_usable_reset_or_none(
    message: str, headers: dict[str, str], now: float | None
) -> None:
    body = json.dumps(chat(message, "usage_limit_reached", None, resets_at=message)).encode()

    failure = classify_response(429, headers, body, provider="openai", wire="openai-chat", now=now)

    assert failure.retry_after is None or 0 < failure.retry_after <= LONGEST_WINDOW
    assert failure.reset_at is None or failure.reset_at.tzinfo is not None


@pytest.mark.parametrize(
    ("reset", "seconds", "at"),
    [
        pytest.param("7.66", 7.66, None, id="seconds"),
        pytest.param("1h2m3.5s", 3723.5, None, id="Go's duration"),
        pytest.param("120ms", 0.12, None, id="Go's duration, short"),
        pytest.param("2026-11-29T17:00:00Z", 18_000.0, THE_FIVE_HOURS, id="RFC 3339"),
        pytest.param(str(IN_FIVE_HOURS), 18_000.0, THE_FIVE_HOURS, id="epoch seconds"),
        pytest.param(f"{IN_FIVE_HOURS}.0", 18_000.0, THE_FIVE_HOURS, id="epoch, with a point"),
        pytest.param(f"{IN_FIVE_HOURS}000", 18_000.0, THE_FIVE_HOURS, id="epoch milliseconds"),
        pytest.param("Sun, 29 Nov 2026 17:00:00 GMT", 18_000.0, THE_FIVE_HOURS, id="HTTP date"),
        pytest.param("7, 7", 7.0, None, id="doubled by a proxy"),
        pytest.param("-7", None, None, id="negative"),
        pytest.param("0", None, None, id="zero"),
        pytest.param("2026-11-29T11:00:00Z", None, None, id="passed"),
        pytest.param("soon", None, None, id="words"),
        pytest.param("9" * 400, LONGEST, None, id="absurd"),
    ],
)
def test_a_reset_header_is_read_in_any_of_its_forms(
    reset: str, seconds: float | None, at: datetime | None
) -> None:
    headers = {"date": NOON, "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": reset}
    body = json.dumps(chat("x", "tokens", "rate_limit_exceeded")).encode()

    failure = classify_response(429, headers, body, provider="openai", wire="openai-chat")

    assert (failure.retry_after, failure.reset_at) == (seconds, at)
