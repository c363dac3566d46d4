"""What a client is shown of a sibling's answer."""

from __future__ import annotations

import pytest

from sidestep import Conversation, Message, Route, Text, ToolCall
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.conversation import Part, Reasoning
from sidestep.provider.delta import ReasoningDelta, TextDelta, ToolCallEnded, ToolCallStarted
from sidestep.provider.handover.target import Target
from sidestep.provider.handover.target_facts import target_of
from sidestep.session.serve.shown_answer import ShownAnswer

NOTHING = Conversation()
THINKING = Reasoning("Hm.", signature="proof", encrypted="x", item_id="r")


def target(route: str) -> Target:
    return target_of(catalog()[Route(route).provider], Route(route))


@pytest.mark.parametrize(
    ("route", "reasoning"),
    [
        pytest.param("anthropic/claude-sonnet-5", [], id="signed"),
        pytest.param("openai/gpt-5.6", [], id="encrypted"),
        pytest.param("gemini/gemini-3-pro", [], id="Gemini"),
        pytest.param("groq/llama-3", [], id="another field"),
        pytest.param("mistral/magistral-medium", [], id="in the content"),
        pytest.param("deepseek/deepseek-v4-pro", [Reasoning("Hm.")], id="plain text"),
        pytest.param(None, [], id="another wire"),
    ],
)
def test_no_proof_is_shown_and_reasoning_only_as_plain_text(
    route: str | None, reasoning: list[Part]
) -> None:
    shown = ShownAnswer(None if route is None else target(route), NOTHING)
    call = ToolCall("abcdefghi", "b", {}, signature="proof", item_id="f")
    parts: list[Part] = [THINKING, Text("Yes.", signature="proof", item_id="m"), call]

    assert shown.parts(parts) == [*reasoning, Text("Yes."), ToolCall("abcdefghi", "b", {})]


def test_an_answer_without_reasoning_gets_a_word_for_it_where_the_route_wants_some() -> None:
    shown = ShownAnswer(target("deepseek/deepseek-v4-pro"), NOTHING).parts([Text("Yes.")])

    assert [type(part) for part in shown] == [Reasoning, Text]


@pytest.mark.parametrize(
    ("route", "id_", "is_kept"),
    [
        ("anthropic/claude-sonnet-5", "call_abc", True),
        ("anthropic/claude-sonnet-5", "functions.read:0", False),
        ("mistral/magistral-medium", "abcdefghi", True),
        ("mistral/magistral-medium", "call_abc", False),
        ("openai-chat/gpt-4.1", "call_abc", True),
        ("openai-chat/gpt-4.1", "x" * 65, False),
        ("moonshot/kimi-k3", "functions.read:0", True),
    ],
)
def test_ids_of_calls_have_the_form_of_the_route_that_is_asked_for(
    route: str, id_: str, is_kept: bool
) -> None:
    shown = ShownAnswer(target(route), NOTHING)
    streamed = [shown.delta(ToolCallStarted(id_, "b")), shown.delta(ToolCallEnded(id_, "b", {}))]
    call = shown.parts([ToolCall(id_, "b", {})])[-1]

    assert isinstance(call, ToolCall)
    assert (call.id == id_) is is_kept
    assert target(route).ids.pattern.fullmatch(call.id)
    assert streamed == [ToolCallStarted(call.id, "b"), ToolCallEnded(call.id, "b", {})]


def test_an_id_that_the_conversation_has_already_is_another_one() -> None:
    earlier = Message("assistant", [ToolCall("call_1", "b", {}, state="completed", output="x")])
    shown = ShownAnswer(target("anthropic/claude-sonnet-5"), Conversation([earlier]))
    (call,) = shown.parts([ToolCall("call_1", "b", {})])

    assert isinstance(call, ToolCall)
    assert call.id != "call_1"


def test_text_is_streamed_and_reasoning_is_not() -> None:
    shown = ShownAnswer(target("deepseek/deepseek-v4-pro"), NOTHING)

    assert shown.delta(TextDelta("a")) == TextDelta("a")
    assert shown.delta(ReasoningDelta("a")) is None
