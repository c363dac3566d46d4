"""Calls, names, ids and results in a translated conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sidestep import Route
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import (
    Conversation,
    Text,
    ToolCall,
    ToolSpec,
)
from sidestep.provider.handover.handover import hand_over
from sidestep.provider.handover.note import Note
from sidestep.provider.handover.target_facts import target_of

from ..conversations import ROUTES, target
from .translations import CALL, CHAT, CLAUDE, PICTURE, answer, moved, user

if TYPE_CHECKING:
    from sidestep.provider.wire_name import Wire

# Tools.

LS, GREP = ToolSpec("ls", "List."), ToolSpec("grep")


def test_a_tool_that_was_called_is_declared_where_it_must_be_and_not_called_again() -> None:
    history = [user("Hi."), answer(CALL)]

    ours = moved(CLAUDE, *history, tool_choice="required")
    others = moved(CHAT, *history, tool_choice="required")

    assert ours.tools == [ToolSpec("ls")]
    assert ours.settings.tool_choice == "none"
    assert ours.notes == [Note("made", "tool 'ls'", "tools were called, and some must be declared")]
    assert (others.tools, others.settings.tool_choice) == ([], "required")


def test_a_tool_that_was_called_does_not_change_those_that_are_declared() -> None:
    """One more would void the cached prompt, and the signatures of a Claude that binds them."""
    handover = moved(CLAUDE, user("Hi."), answer(CALL), tools=(GREP,), tool_choice="required")

    assert (handover.tools, handover.notes) == ([GREP], [])
    assert handover.settings.tool_choice == "required"


def test_of_tools_with_one_name_the_last_is_declared() -> None:
    handover = moved(CHAT, user("Hi."), tools=(ToolSpec("ls"), GREP, LS))

    assert handover.tools == [LS, GREP]
    assert [str(note) for note in handover.notes] == [
        "dropped a tool: another of the same name comes after it"
    ]


def test_a_name_that_cannot_be_spelled_is_changed_wherever_it_stands() -> None:
    call = ToolCall("call_1", "read.file", {}, output="")
    history = [user("Hi."), answer(call, ToolCall("call_2", "read file", {}, output=""))]

    handover = moved(CLAUDE, *history, tools=(ToolSpec("read.file"), ToolSpec("read_file")))

    declared = [tool.name for tool in handover.tools]
    called = [part.name for part in handover.messages[1].parts if isinstance(part, ToolCall)]
    assert declared[1] == "read_file"
    assert called[0] == declared[0]
    assert set(called) | set(declared) == {"read_file", *handover.renamed}
    assert set(handover.renamed.values()) == {"read.file", "read file"}
    assert "so it may stand here" in str(handover.notes[0])


def test_an_id_that_is_rewritten_is_noted() -> None:
    handover = moved("mistral/codestral", user("Hi."), answer(CALL))

    (call,) = [part for part in handover.messages[1].parts if isinstance(part, ToolCall)]
    assert [str(note) for note in handover.notes] == [
        f"changed id 'call_1' to {call.id!r} of messages[1].parts[0]: ids have another form here"
    ]


KIMIS = [
    ("openrouter", "openai-chat", "moonshotai/kimi-k2.6"),
    ("openrouter-anthropic", "anthropic", "moonshotai/kimi-k2.6"),
    ("groq", "openai-chat", "moonshotai/kimi-k2-instruct-0905"),
    ("huggingface", "openai-chat", "moonshotai/Kimi-K2-Thinking"),
    ("azure", "openai-responses", "Kimi-K2.6"),
    ("moonshot", "openai-chat", "kimi-k3"),
    ("somewhere", "openai-chat", "a-model-with-strange-ids"),
]


@pytest.mark.parametrize(("name", "wire", "model"), KIMIS)
def test_ids_of_calls_go_back_to_the_route_that_issued_them_as_they_came(
    name: str, wire: Wire, model: str
) -> None:
    """Source: fault W27; github.com/MoonshotAI/kimi-code/pull/2503."""
    route = Route(f"{name}/{model}")
    to = target_of(Provider(name, wire, "https://example.com", None), route)
    ids = ["functions.ls:0", "functions.ls:1"]
    calls = [ToolCall(id_, "ls", {}, output="") for id_ in ids]

    handover = hand_over(Conversation([user("Hi."), answer(*calls, route=route)]), to)

    sent = [part.id for part in handover.messages[1].parts if isinstance(part, ToolCall)]
    assert sent == ids
    assert not [note for note in handover.notes if note.action == "changed"]


@pytest.mark.parametrize("to", ROUTES)
def test_pictures_of_a_result_follow_it_before_anyone_speaks(to: str) -> None:
    looked = ToolCall("call_1", "look", {}, "completed", [Text("See:"), PICTURE])

    handover = moved(to, user("Hi."), answer(looked, CALL), user("Well?"))

    takes = target(to)
    said = [message for message in handover.messages if message.role == "user"]
    is_moved = takes.takes_images and not takes.images_in_results
    assert len(said) == (3 if is_moved else 2)
    assert handover.messages[-1] == user("Well?")
    if is_moved:
        assert handover.messages[2] == user("[Images from the result of look:]", PICTURE)
