"""The schedule of one route."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import RetryPolicy


def test_waits_double_up_to_the_cap() -> None:
    policy = RetryPolicy(jitter=0.0)

    waits = [policy.backoff(retry, random.Random(0)) for retry in range(1, 7)]

    assert waits == [2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


@given(retry=st.integers(min_value=1, max_value=10**9), seed=st.integers())
def test_a_wait_stays_within_its_cap_and_jitter(retry: int, seed: int) -> None:
    """Opencode #33728 waited nine hours before attempt 15."""
    wait = RetryPolicy().backoff(retry, random.Random(seed))

    assert 2.0 <= wait <= 30.0 * 1.25


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param({"retries": -1}, id="negative retries"),
        pytest.param({"first_wait": float("nan")}, id="a first wait that is no number"),
        pytest.param({"max_backoff": float("inf")}, id="no cap"),
        pytest.param({"jitter": -0.5}, id="negative jitter"),
        pytest.param({"max_wait": -1.0}, id="a negative longest wait"),
    ],
)
def test_a_schedule_without_sense_is_refused_by_name(setting: dict[str, float]) -> None:
    (name, value) = next(iter(setting.items()))

    with pytest.raises(ValueError, match=f"`{name}` must be .* got {value!r}"):
        RetryPolicy(**setting)  # type: ignore[arg-type]
