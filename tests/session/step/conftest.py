"""What the tests of a step share."""

from __future__ import annotations

import pytest

from sidestep import Sidestep


@pytest.fixture(params=["in a loop", "without a loop"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every `step` of the test one of this form."""
    if request.param == "without a loop":
        monkeypatch.setattr(Sidestep, "step", Sidestep.step_sync)
