from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.classify.limit_reset import governing_reset

SOON = "Sun, 29 Nov 2026 12:00:30 GMT"
SOON_AT = datetime(2026, 11, 29, 12, 0, 30, tzinfo=UTC)


@dataclass(frozen=True)
class Limits:
    id: str
    headers: dict[str, str]
    seconds: float | None = None
    at: datetime | None = None
    exhausted_only: bool = False


def anthropic(name: str, remaining: str, reset: str) -> dict[str, str]:
    prefix = f"anthropic-ratelimit-{name}"
    return {f"{prefix}-limit": "50", f"{prefix}-remaining": remaining, f"{prefix}-reset": reset}


def openai(name: str, limit: str, remaining: str, reset: str) -> dict[str, str]:
    return {
        f"x-ratelimit-limit-{name}": limit,
        f"x-ratelimit-remaining-{name}": remaining,
        f"x-ratelimit-reset-{name}": reset,
    }


UNIFIED = "anthropic-ratelimit-unified"
RESETS = [
    Limits(
        "the exhausted one",
        openai("requests", "9", "8", "1h") | openai("tokens", "9", "0", "4s"),
        4.0,
    ),
    Limits(
        "the last of the exhausted",
        openai("requests", "9", "0", "9m") | openai("tokens", "9", "0", "4s"),
        540.0,
    ),
    Limits(
        "the one most used",
        openai("requests", "500", "499", "120ms") | openai("tokens", "30000", "2000", "4s"),
        4.0,
    ),
    Limits(
        "the first if nobody says", {"x-ratelimit-reset-a": "9", "x-ratelimit-reset-b": "4"}, 4.0
    ),
    Limits("RFC 3339", anthropic("requests", "0", "2026-11-29T12:00:30Z"), at=SOON_AT),
    Limits(
        "of instants the exhausted one",
        anthropic("requests", "49", "2026-11-29T12:00:01Z")
        | anthropic("input-tokens", "0", "2026-11-29T12:00:30Z"),
        at=SOON_AT,
    ),
    Limits("epoch seconds", {"x-ratelimit-reset": "1795953630"}, at=SOON_AT),
    Limits(
        "epoch milliseconds",
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1795953630000"},
        at=SOON_AT,
    ),
    Limits(
        "the window that rejected",
        {
            f"{UNIFIED}-status": "rejected",
            f"{UNIFIED}-5h-status": "rejected",
            f"{UNIFIED}-5h-reset": "1795953630",
            f"{UNIFIED}-7d-status": "allowed",
            f"{UNIFIED}-7d-reset": "1796500000",
        },
        at=SOON_AT,
    ),
    Limits(
        "the nearer window",
        {
            f"{UNIFIED}-status": "rejected",
            f"{UNIFIED}-5h-reset": "1795953630",
            f"{UNIFIED}-7d-reset": "1796500000",
        },
        at=SOON_AT,
    ),
    Limits(
        "the window that is used up",
        {
            "x-codex-primary-used-percent": "100",
            "x-codex-primary-reset-after-seconds": "90",
            "x-codex-secondary-used-percent": "12",
            "x-codex-secondary-reset-after-seconds": "9000",
        },
        90.0,
    ),
    Limits("one that has passed", {"date": SOON, "x-ratelimit-reset": "1795953600"}),
    Limits("zero", openai("tokens", "9", "0", "0s")),
    Limits("nonsense", openai("tokens", "9", "0", "soon")),
    Limits("none", {"content-type": "text/html", "x-reset-password": "9"}),
    Limits("none that is exhausted", openai("tokens", "9", "3", "4s"), exhausted_only=True),
    Limits("the only one", {"x-ratelimit-reset": "1795953630"}, at=SOON_AT, exhausted_only=True),
]


@pytest.mark.parametrize("case", RESETS, ids=lambda case: case.id)
def test_of_all_resets_the_one_that_holds_us_up_counts(case: Limits) -> None:
    reset = governing_reset(case.headers, exhausted_only=case.exhausted_only)

    found = (None, None) if reset is None else (reset.seconds, reset.at)
    assert found == (case.seconds, case.at)


@given(st.dictionaries(st.sampled_from(sorted(
    openai("a", "", "", "") | anthropic("b", "", "") | {"x-ratelimit-reset": "", "date": ""}
)), st.text() | st.integers().map(str)))  # fmt: skip
def test_any_limits_give_a_reset_or_none(headers: dict[str, str]) -> None:
    governing_reset(headers)
