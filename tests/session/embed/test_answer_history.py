"""Which route answered last is read from the stamps on a framework's messages, the newest first."""

from __future__ import annotations

from typing import Any

import pytest

from sidestep import MoveHistory, Route
from sidestep.session.embed.answer_history import FROM_THE_USER, answer_history

A, B = Route("openrouter/a"), Route("groq/b")
BY_B = {"route": "groq/b", "requested": "openrouter/a"}
IN_TURN, BEFORE = MoveHistory(route=B, turn=True), MoveHistory(route=B)


@pytest.mark.parametrize(
    ("stamps", "history"),
    [
        pytest.param([BY_B, FROM_THE_USER], IN_TURN, id="in the turn"),
        pytest.param([None, BY_B, FROM_THE_USER], IN_TURN, id="before the result of a tool"),
        pytest.param([FROM_THE_USER, BY_B], BEFORE, id="before the prompt"),
        pytest.param([FROM_THE_USER, FROM_THE_USER, BY_B], BEFORE, id="before two prompts"),
        pytest.param([{**BY_B, "requested": "groq/b"}, BY_B], IN_TURN, id="another was asked for"),
        pytest.param([FROM_THE_USER], None, id="no answer"),
        pytest.param([], None, id="nothing"),
        pytest.param([None, None], None, id="answers without a stamp"),
        pytest.param(["groq/b", 1, []], None, id="no object"),
        pytest.param([{"requested": "openrouter/a"}], None, id="no route"),
        pytest.param([{**BY_B, "route": 7}, BY_B], IN_TURN, id="a number for a route"),
        pytest.param([{**BY_B, "route": "b"}, BY_B], IN_TURN, id="a model for a route"),
        pytest.param([{**BY_B, "route": None}], None, id="null for a route"),
        pytest.param([{**BY_B, "requested": ["x"]}], None, id="a list for the requested route"),
    ],
)
def test_which_route_answered_last(stamps: list[Any], history: MoveHistory | None) -> None:
    assert answer_history(stamps, A) == history
