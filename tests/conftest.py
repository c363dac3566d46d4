"""What holds for every test."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The same examples every time, and no clock: a loaded machine must not fail a test.
settings.register_profile(
    "sidestep", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("sidestep")
