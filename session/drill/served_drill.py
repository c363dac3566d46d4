"""What a client can play of a drill, and how the drill is changed for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...provider.stub.answer import ModelAnswer
from ...provider.stub.answer_list import read_answers
from ...provider.stub.scenario import ANY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...provider.stub.answer import Answer
    from ...provider.stub.received import ReceivedRequest
    from ...provider.stub.scenario import Scenario
    from .drill import Drill
    from .drill_file import DrilledTurn

TOOL_PREFIX = "drill_"
"""Before the name of each called tool, so that no tool of a client runs: it has none of this name.

Every client then answers the call with an error, and goes on.
"""
_ASIDE = [{"text": "A short text."}]
"""What the stub answers on every route that is not the drill's, such as a client's own title."""
_NEW = "and each run of a client begins a new one"


def why_unplayable(drill: Drill) -> str | None:
    """Return why no client can play *drill*, and what to do; None: a client can."""
    if drill.file.eager:
        return (
            "its agent begins a tool while the answer is still coming, and the local address sends "
            "no part of an answer before the answer is whole: play it without --serve"
        )
    return None


def playable_turns(drill: Drill) -> tuple[Sequence[DrilledTurn], str | None]:
    """Return the turns of *drill* that a client can play, and why the others are left out.

    None: all can be played. A turn cannot be if it depends on the conversation of earlier turns.
    """
    turns = drill.file.turns
    for number, turn in enumerate(turns[1:], 2):
        why = None
        if drill.scenario.keyed and turn.pause:
            why = "needs a conversation that keeps its key after the pause"
        elif turn.expect is not None and turn.expect.repaired:
            why = "needs what earlier turns have left in the conversation"
        if why is not None:
            return turns[: number - 1], f"from turn {number} on it {why}, {_NEW}"
    return turns, None


def scenario_of(drill: Drill) -> Scenario:
    """Return what the stub answers to a client."""
    answers = {route: _renamed(each) for route, each in drill.scenario.answers.items()}
    answers.setdefault(ANY, read_answers(_ASIDE, ANY))
    keyed = {
        route: {key: _renamed(each) for key, each in keys.items()}
        for route, keys in drill.scenario.keyed.items()
    }
    return replace(drill.scenario, answers=answers, keyed=keyed)


def _renamed(answers: Sequence[Answer]) -> tuple[Answer, ...]:
    return tuple(
        replace(answer, tool_calls=tuple(
            replace(call, name=f"{TOOL_PREFIX}{call.name}") for call in answer.tool_calls
        )) if isinstance(answer, ModelAnswer) else answer
        for answer in answers
    )  # fmt: skip


def tool_seconds(drill: Drill, answered: ReceivedRequest | None) -> float:
    """Return how long the drill's tools take that the answer to *answered* calls, side by side."""
    answer = None if answered is None else answered.answer
    if not isinstance(answer, ModelAnswer) or answer.fault is not None:
        return 0.0
    tools = drill.file.tools
    names = (call.name.removeprefix(TOOL_PREFIX) for call in answer.tool_calls)
    return max((tools[name].seconds for name in names if name in tools), default=0.0)
