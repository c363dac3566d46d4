from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.classify.time_text import duration, instant

DURATIONS = [
    ("34.074824224s", 34.074824224),
    ("900ms", 0.9),
    ("1m42.653s", 102.653),
    ("7m12s", 432.0),
    ("6m0s", 360.0),
    ("1h2m3.5s", 3723.5),
    ("2m59.56s", 179.56),
    ("2 seconds", 2.0),
    ("1 minute", 60.0),
    ("37.21", 37.21),
    ("1d", 86_400.0),
    ("0s", 0.0),
    ("-3s", None),
    ("3 weeks", None),
    ("s", None),
    ("1m x 2s", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "seconds"), DURATIONS)
def test_a_duration_is_read_in_any_of_its_forms(text: str, seconds: float | None) -> None:
    assert duration(text) == (None if seconds is None else pytest.approx(seconds))


SOON_AT = datetime(2026, 11, 29, 12, 0, 30, tzinfo=UTC)
INSTANTS = [
    ("2026-11-29T12:00:30Z", SOON_AT),
    ("2026-11-29T20:00:30+08:00", SOON_AT),
    ("2026-11-29T12:00:30.000Z", SOON_AT),
    ("1795953630", SOON_AT),
    ("1795953630.0", SOON_AT),
    ("1795953630000", SOON_AT),
    ("Sun, 29 Nov 2026 12:00:30 GMT", SOON_AT),
    ("2026-12-01", datetime(2026, 12, 1, tzinfo=UTC)),
    ("2026-12-01 at 00:00", datetime(2026, 12, 1, tzinfo=UTC)),
    ("2026年11月29日 12:00:30", SOON_AT),
    ("2026年11月29日12时0分30秒", SOON_AT),
    ("2026年11月29日 12:00", SOON_AT.replace(second=0)),
    ("2026年12月1日", datetime(2026, 12, 1, tzinfo=UTC)),
    ("2026年13月1日", None),
    ("11月29日", None),
    ("30", None),
    ("9999-01-01T00:00:00Z", None),
    ("9" * 40, None),
    ("2026-13-45T00:00:00Z", None),
    ("tomorrow", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "at"), INSTANTS)
def test_an_instant_is_read_in_any_of_its_forms(text: str, at: datetime | None) -> None:
    assert instant(text) == at


@given(st.text())
def test_any_text_is_read_as_a_time_or_not(text: str) -> None:
    duration(text)
    instant(text)


def test_an_instant_is_aware_of_its_zone() -> None:
    at = instant("2026-11-29 20:00:30", utc_offset=8)

    assert at == SOON_AT
    assert at.utcoffset() == timedelta(0)
