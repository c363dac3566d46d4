"""The retry schedule: how often one route is tried, and how long to wait in between."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

DEFAULT_RETRIES = 5
DEFAULT_RETRIES_BESIDE_SIBLING = 2
"""The retries while the step may move to a healthy sibling, because five retries take a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """The retry schedule of one route.

    Args:
        retries: Further attempts after the first; None: 5, and 2 while the step may move to a
            healthy sibling. A configuration's ``maxUpstreamRetryAttempts`` replaces it.
        first_wait: Seconds before the first retry.
        max_backoff: Cap on a computed wait, in seconds, before jitter.
        jitter: Random share that is added to a wait; 0.25 adds up to a quarter.
        max_wait: No retry waits longer, in seconds. If the provider asks for more, there is no
            retry. A configuration's ``maxWaitSeconds`` replaces it.
        patience: Seconds in all that a step may wait for a route to come back, when it would
            fail. It replaces a configuration's ``patienceSeconds``; None: that one counts, else 0.

    Raises:
        ValueError: A number is negative or not finite, or *retries* is not whole.
    """

    retries: int | None = None
    first_wait: float = 2.0
    max_backoff: float = 30.0
    jitter: float = 0.25
    max_wait: float = 60.0
    patience: float | None = None

    def __post_init__(self) -> None:
        for name in ("retries", "first_wait", "max_backoff", "jitter", "max_wait", "patience"):
            value = getattr(self, name)
            if name in ("retries", "patience") and value is None:
                continue
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"`{name}` must be a finite number of 0 or more, got {value!r}")
        if self.retries is not None and self.retries != int(self.retries):
            raise ValueError(f"`retries` must be a whole number, got {self.retries!r}")

    def backoff(self, retry: int, rng: Random) -> float:
        """Return the seconds to wait before *retry*, counted from 1."""
        # 2**62 s outlasts any cap; a larger exponent would overflow a float.
        wait = min(self.first_wait * 2.0 ** min(retry - 1, 62), self.max_backoff)
        return wait * (1.0 + self.jitter * rng.random())
