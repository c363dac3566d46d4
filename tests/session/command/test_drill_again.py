"""`sidestep drill` plays a drill that failed once more, because a busy machine may be late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from click.testing import CliRunner

from sidestep.session.command import drill as command
from sidestep.session.drill.drill import Drill
from sidestep.session.drill.play import play
from sidestep.session.drill.played_turn import PlayedTurn

from ...virtual import run_virtually

FAST, SLOW = 0.02, 0.1


@pytest.fixture(scope="module")
def good() -> list[PlayedTurn]:
    """Return what happens in the first drill."""
    return run_virtually(lambda: play(Drill.find("primary-503")))


@pytest.mark.parametrize(
    ("outcomes", "pause", "options", "scales", "status"),
    [
        pytest.param(["passed"], 0, [], [FAST], 0, id="passes at once"),
        pytest.param(["failed", "passed"], 0, [], [FAST, SLOW], 0, id="passes when it is slower"),
        pytest.param(["failed", "failed"], 0, [], [FAST, SLOW], 1, id="fails twice"),
        pytest.param(["failed"], 0, ["--time-scale", "0.02"], [FAST], 1, id="at a scale asked for"),
        pytest.param(["failed"], 3600, [], [FAST], 1, id="a drill of an hour"),
        pytest.param(["failed", "passed"], 0, ["--json"], [FAST, SLOW], 0, id="in JSON"),
    ],
)
def test_a_drill_that_failed_is_played_again(
    outcomes: Sequence[str],
    pause: float,
    options: Sequence[str],
    scales: Sequence[float],
    status: int,
    good: list[PlayedTurn],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left, played = list(outcomes), list[float]()

    async def outcome(_drill: Drill, *, time_scale: float) -> list[PlayedTurn]:
        played.append(time_scale)
        if left.pop(0) == "passed":
            return good
        return [replace(good[0], pause=pause, error=TimeoutError("late")), *good[1:]]

    monkeypatch.setattr(command, "play", outcome)
    ran = CliRunner().invoke(command.drill, list(options), standalone_mode=False)

    assert played == pytest.approx(scales)
    assert ran.return_value == status
