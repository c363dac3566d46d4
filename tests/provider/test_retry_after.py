from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.retry_after import LONGEST, retry_after

NOON = 1_795_953_600.0  # Sun, 29 Nov 2026 12:00:00 GMT
DATE = "Sun, 29 Nov 2026 12:00:00 GMT"
SOON = "Sun, 29 Nov 2026 12:00:30 GMT"


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
    Case("empty", {"retry-after": ""}, None),
    Case("missing", {}, None),
    Case("absurd", {"retry-after": "99999999"}, LONGEST),
    Case("beyond numbers", {"retry-after": "9" * 400}, LONGEST),
]


@pytest.mark.parametrize("case", HEADERS, ids=lambda case: case.id)
def test_headers_say_how_long_to_wait(case: Case) -> None:
    assert retry_after(case.headers, now=case.now) == case.seconds


@given(st.text(), st.text(), st.text())
def test_any_header_gives_a_usable_wait_or_none(ms: str, seconds: str, date: str) -> None:
    hint = retry_after({"retry-after-ms": ms, "retry-after": seconds, "date": date}, now=NOON)

    assert hint is None or 0 < hint <= LONGEST
