"""When a window opens again, in the sentences of coding agents and providers."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.classify.window_text import window_reset

from ...property import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

SENT = datetime(2026, 9, 17, 20, 0, tzinfo=UTC)  # a Thursday, 16:00 in New York


@pytest.fixture(autouse=True)
def _in_new_york() -> Iterator[None]:
    """Put this machine where it is four hours before UTC."""
    if not hasattr(time, "tzset"):
        pytest.skip("this system cannot change its time zone")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


HIT = "You've hit your usage limit."
UPGRADE = f"{HIT} Upgrade to Pro (https://openai.com/chatgpt/pricing)"
ROWS = [
    pytest.param(text, at, id=id_)
    for id_, text, at in [
        ("Codex, a date", f"{UPGRADE} or try again at Sep 18th, 2026 12:04 AM.",
            "2026-09-18T04:04"),
        ("Codex, first", f"{HIT} Try again at Oct 1st, 2026 12:00 PM.", "2026-10-01T16:00"),
        ("Codex, today", f"{HIT} Try again at 4:05 PM.", "2026-09-17T20:05"),
        ("Codex, in winter", f"{HIT} Try again at Dec 2nd, 2026 1:00 AM.", "2026-12-02T06:00"),
        ("Claude", "You've hit your session limit · resets 8pm (America/New_York)",
            "2026-09-18T00:00"),
        ("Claude, before noon", "You're out of extra usage · resets 11:30am (Asia/Colombo)",
            "2026-09-18T06:00"),
        ("Claude, tomorrow there", "You've hit your limit · resets 2am (Europe/Berlin)",
            "2026-09-18T00:00"),
        ("Claude, a day ahead there", "You've hit your limit · resets 4am (Asia/Tokyo)",
            "2026-09-18T19:00"),
        ("Claude, midnight", "limit reached ∙ resets 12am (America/New_York)", "2026-09-18T04:00"),
        ("Claude, noon", "limit reached ∙ resets 12pm (America/New_York)", "2026-09-18T16:00"),
        ("Claude, no zone", "5-hour limit reached ∙ resets 5pm", "2026-09-17T21:00"),
        ("Claude, a week", "Weekly limit reached ∙ resets Oct 6, 1pm (Europe/London)",
            "2026-10-06T12:00"),
        ("Claude, a day only", "Weekly limit reached ∙ resets Sep 20", "2026-09-20T04:00"),
        ("Claude, an epoch", "Claude AI usage limit reached|1789700400", "2026-09-18T03:00"),
        ("an epoch in milliseconds", "usage limit reached|1789700400000", "2026-09-18T03:00"),
        ("a weekday", "Limit reached. Resets Monday at 9:00 AM", "2026-09-21T13:00"),
        ("a weekday, later today", "Limit reached. Resets Thu 5:30pm UTC", "2026-09-24T17:30"),
        ("this weekday", "Limit reached. Resets Thu 11:30pm UTC", "2026-09-17T23:30"),
        ("tomorrow", "Your limit will reset tomorrow at 00:00 UTC", "2026-09-18T00:00"),
        ("a day first", "Your plan renews on 28 September 2026 at 10:00 AM.",
            "2026-09-28T14:00"),
        ("a long month", "Your limit resets on September 28, 2026 at 10:00 AM UTC",
            "2026-09-28T10:00"),
        ("next year", "resets Jan 2, 3pm", None),
        ("RFC 3339", "5-hour limit (0/0 used), resets at 2026-09-18T15:00:00Z (2056)",
            "2026-09-18T15:00"),
        ("ISO without a zone", "Your limit resets at 2026-09-18 15:00:00", "2026-09-18T15:00"),
        ("ISO with another zone", "It resets on 2026-09-18T15:00:00+08:00.", "2026-09-18T07:00"),
        ("a clock of 24 hours", "Quota exceeded. Reset time: 23:15 (UTC)", "2026-09-17T23:15"),
        ("the first of two", "limit reached, resets 8pm. The week resets Oct 6, 1pm",
            "2026-09-18T00:00"),
        ("after words that say nothing", "It will reset when it ends. It resets 8pm.",
            "2026-09-18T00:00"),
        ("a date that has passed", f"{HIT} Try again at Sep 16th, 2026 12:04 AM.", None),
        ("a date long ago", f"{HIT} Try again at Sep 18th, 2001 12:04 AM.", None),
        ("a date that is absurd", f"{HIT} Try again at Sep 18th, 2096 12:04 AM.", None),
        ("an epoch that has passed", "usage limit reached|1689700400", None),
        ("a time that just was", "limit reached ∙ resets 3:58pm", None),
        ("a day that has passed", "limit reached ∙ resets Sep 16", None),
        ("no such day", f"{HIT} Try again at Feb 31st, 2027 12:04 AM.", None),
        ("no such hour", f"{HIT} Try again at 13:05 PM.", None),
        ("no such minute", f"{HIT} Try again at 3:75 PM.", None),
        ("no such zone", "limit reached ∙ resets 8pm (America/Atlantis)", None),
        ("a folder of zones", "limit reached ∙ resets 8pm (America/Argentina)", None),
        ("a zone with two meanings", "limit reached ∙ resets 8pm CST", None),
        ("German", "Nutzungslimit erreicht, wird um 20 Uhr zurückgesetzt", None),
        ("Japanese", "使用制限に達しました。午後8時にリセットされます", None),
        ("later", f"{HIT} Try again later.", None),
        ("a window", "Your quota will reset when the current 7-day window ends.", None),
        ("a password", "reset your password on 8pm.example", None),
        ("beyond what is read", "x" * 1_000 + " resets 8pm", None),
        ("nothing", "", None),
    ]
]  # fmt: skip


@pytest.mark.parametrize(("text", "at"), ROWS)
def test_a_sentence_says_when_the_window_opens(text: str, at: str | None) -> None:
    reset = window_reset(text, sent_at=SENT)

    assert (reset and reset.at) == (at and datetime.fromisoformat(f"{at}+00:00"))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param(f"{UPGRADE} or try again in 5 days 22 hours 11 minutes.", 511_860.0, id="3"),
        pytest.param("try again in 3 days 2 hours", 266_400.0, id="two"),
        pytest.param("try again in 1 day, 2 hours and 5 minutes.", 93_900.0, id="with and"),
        pytest.param("Weekly usage limit reached. Resets in 19hr", 68_400.0, id="OpenCode"),
        pytest.param("Your quota will reset after 13h19m1s.", 47_941.0, id="Gemini's agent"),
        pytest.param("resets in 2h 30m", 9_000.0, id="short, with a space"),
        pytest.param("Resets in 3 days.", 259_200.0, id="days"),
        pytest.param("resets in 900 days", None, id="absurd"),
        pytest.param("resets in 0s", None, id="zero"),
        pytest.param("resets in a while", None, id="words"),
    ],
)  # fmt: skip
def test_a_sentence_says_in_how_long_the_window_opens(text: str, seconds: float | None) -> None:
    reset = window_reset(text, sent_at=None)

    assert (reset and reset.seconds) == seconds


@pytest.mark.parametrize(
    ("text", "at"),
    [
        pytest.param("Try again at Sep 18th, 2026 12:04 AM.", "2026-09-18T04:04", id="whole"),
        pytest.param("limit reached|1789700400", "2026-09-18T03:00", id="an epoch"),
        pytest.param("resets 8pm (America/New_York)", None, id="a time"),
        pytest.param("resets Oct 6, 1pm", None, id="no year"),
        pytest.param("resets Monday 1pm", None, id="a weekday"),
    ],
)
def test_without_the_time_of_the_message_only_a_whole_date_counts(
    text: str, at: str | None
) -> None:
    reset = window_reset(text, sent_at=None)

    assert (reset and reset.at) == (at and datetime.fromisoformat(f"{at}+00:00"))


PIECES = st.sampled_from(
    ["resets", "try again at", "Sep", "18th", ",", "2026", "12:04", "AM", "3pm", "in", "days", "9",
     "(America/New_York)", "(", ")", "UTC", "CST", "|", "1789700400", "29 Feb", "0", "99", "\n",
     "2026-02-30T25:61:00Z", "Monday", "tomorrow", "at", "٣", "²", "hours", "9" * 30, "2999"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40).map(" ".join) | st.text(), st.none() | st.datetimes())
@examples(200)
def test_any_text_is_read_as_a_window_or_not(text: str, sent_at: datetime | None) -> None:
    zoned = None if sent_at is None else sent_at.replace(tzinfo=UTC)

    reset = window_reset(text, sent_at=zoned)

    assert reset is None or reset.at is None or zoned is None or reset.at > zoned


@pytest.mark.parametrize(
    "piece", ["resets ", "resets 9 ", "resets Sep 9, ", "try again in 9 days "]
)
def test_a_text_without_end_is_read_in_a_bounded_part(piece: str) -> None:
    assert window_reset(piece.replace("days", "x") * 200_000, sent_at=None) is None
