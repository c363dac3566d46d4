"""Every call has one result, with pictures if the target takes them."""

from __future__ import annotations

from typing import get_args

import pytest

from sidestep.provider.conversation import Image, Output, Text, ToolCall, ToolState
from sidestep.provider.handover.target import Target
from sidestep.provider.handover.tool_result import (
    IMAGE_FOLLOWS,
    MISSING_RESULT,
    NO_IMAGE,
    Result,
    result_of,
)

from ..conversations import target

PICTURE = Image("image/png", "iVBORw0KGgo=")
CLAUDE = target("anthropic/claude-opus-4-8")
GPT = target("openai/gpt-5.1")
CHAT = target("openai-chat/gpt-4o")
GEMINI_3 = target("gemini/gemini-3-pro")
GEMINI_2 = target("gemini/gemini-2.5-flash")
MISTRAL = target("mistral/codestral")
DEEPSEEK = target("deepseek/deepseek-chat")

STATES = [
    pytest.param("pending", None, MISSING_RESULT["pending"], True, id="pending"),
    pytest.param("running", None, MISSING_RESULT["running"], True, id="running"),
    pytest.param("interrupted", None, MISSING_RESULT["interrupted"], True, id="interrupted"),
    pytest.param("error", None, MISSING_RESULT["error"], True, id="failed"),
    pytest.param("completed", None, MISSING_RESULT["completed"], False, id="completed"),
    pytest.param("pending", "1", "1", False, id="pending, and a result"),
    pytest.param("running", "1", "1", False, id="running, and a result"),
    pytest.param("interrupted", "1", "1", False, id="interrupted, and a result"),
    pytest.param("error", "no", "no", True, id="failed, and a result"),
    pytest.param("completed", "1", "1", False, id="completed, and a result"),
    pytest.param("completed", "", "", False, id="an empty result"),
    pytest.param("completed", " ", " ", False, id="a blank result"),
    pytest.param("completed", [], "", False, id="a result without parts"),
    pytest.param(
        "completed", [Text(""), Text("a", signature="cw"), Text("b")], "a\nb", False, id="texts"
    ),
]


@pytest.mark.parametrize(("state", "output", "said", "is_error"), STATES)
def test_a_call_in_any_state_has_a_result(
    state: ToolState, output: Output | None, said: str, is_error: bool
) -> None:
    call = ToolCall("a", "ls", {}, state, output)

    assert result_of(call, CHAT) == Result(said, is_error)


def test_a_call_that_is_marked_as_failed_has_failed() -> None:
    for state in get_args(ToolState):
        call = ToolCall("a", "ls", {}, state, "no", is_error=True)

        assert result_of(call, CHAT) == Result("no", is_error=True)


STAYS: Output = [Text("See:"), PICTURE, Text("?")]
MOVES = f"See:\n{IMAGE_FOLLOWS}\n?"
HIDDEN = f"See:\n{NO_IMAGE}\n?"
PLACES = [
    pytest.param(CLAUDE, "completed", STAYS, 0, id="Anthropic"),
    pytest.param(CLAUDE, "error", MOVES, 1, id="Anthropic, failed"),
    pytest.param(GPT, "completed", STAYS, 0, id="Responses"),
    pytest.param(GPT, "error", STAYS, 0, id="Responses, failed"),
    pytest.param(GEMINI_3, "completed", STAYS, 0, id="Gemini 3"),
    pytest.param(GEMINI_3, "error", STAYS, 0, id="Gemini 3, failed"),
    pytest.param(GEMINI_2, "completed", MOVES, 1, id="Gemini 2.5"),
    pytest.param(CHAT, "completed", MOVES, 1, id="Chat Completions"),
    pytest.param(CHAT, "error", MOVES, 1, id="Chat Completions, failed"),
    pytest.param(MISTRAL, "completed", MOVES, 1, id="Mistral"),
    pytest.param(DEEPSEEK, "completed", HIDDEN, 0, id="text alone"),
    pytest.param(DEEPSEEK, "error", HIDDEN, 0, id="text alone, failed"),
]


@pytest.mark.parametrize(("to", "state", "output", "moved"), PLACES)
def test_a_picture_stands_where_the_target_takes_it(
    to: Target, state: ToolState, output: Output, moved: int
) -> None:
    call = ToolCall("a", "look", {}, state, [Text("See:"), PICTURE, Text(" "), Text("?")])

    result = result_of(call, to)

    assert result.output == output
    assert [*result.moved] == [PICTURE] * moved
    assert result.hides_images is (output == HIDDEN)
    assert result.is_error is (state == "error")
