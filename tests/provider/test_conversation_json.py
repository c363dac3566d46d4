"""A conversation as a file holds it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from pydantic import FiniteFloat, PositiveInt

from sidestep import ConfigError, Route
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.conversation import (
    Conversation,
    Image,
    Message,
    Reasoning,
    Text,
    ToolCall,
)
from sidestep.provider.conversation_json import message_to_json, read_conversation
from sidestep.provider.handover.handover import hand_over
from sidestep.provider.handover.target_facts import target_of
from sidestep.provider.handover.tool_result import MISSING_RESULT
from sidestep.provider.json_value import write_json

from ..other_words import pydantic_says
from .conversations import conversations, target

CONVERSATIONS = Path(__file__).parents[2] / "fixtures" / "conversations"
FILES = {file.name: file.read_text("utf-8") for file in sorted(CONVERSATIONS.iterdir(), key=str)}


def written(conversation: Conversation) -> list[dict[str, Any]]:
    return [message_to_json(message) for message in conversation.messages]


@given(conversations(surrogates=False))
def test_messages_are_read_as_they_were_written(conversation: Conversation) -> None:
    told = {"messages": written(conversation)}

    assert read_conversation(write_json(told)).messages == conversation.messages
    assert read_conversation(json.dumps(told)).messages == conversation.messages


def test_messages_say_only_what_there_is_to_say() -> None:
    conversation = Conversation(
        [
            Message("user", [Text("Hi."), Image("image/png", "iVBORw0KGgo=")]),
            Message(
                "assistant",
                [Reasoning("T", complete=False), ToolCall("a", "ls", {})],
                route=Route("x/y"),
                requested=Route("x/z"),
            ),
        ]
    )

    assert written(conversation) == [
        {
            "role": "user",
            "parts": [
                {"type": "text", "text": "Hi."},
                {"type": "image", "media_type": "image/png", "data": "iVBORw0KGgo="},
            ],
        },
        {
            "role": "assistant",
            "route": "x/y",
            "requested": "x/z",
            "parts": [
                {"type": "reasoning", "text": "T", "complete": False},
                {"type": "tool_call", "id": "a", "name": "ls", "input": {}, "state": "pending"},
            ],
        },
    ]


def test_half_a_character_is_read_as_a_question_mark() -> None:
    found = read_conversation(
        r'{"messages": [{"role": "user", "parts": [{"type": "text", "text": "\ud83d"}]}]}'
    )

    assert found.messages == [Message("user", [Text("?")])]


def message(**fields: Any) -> str:
    return json.dumps({"messages": [{"role": "assistant", "parts": []} | fields]})


def part(type_: str | None = "text", **fields: Any) -> str:
    return message(parts=[({"type": type_} if type_ else {}) | fields])


def call(**fields: Any) -> str:
    return part("tool_call", **({"id": "a", "name": "ls"} | fields))


def setting(**fields: Any) -> str:
    return json.dumps({"messages": [], "settings": fields})


def it_should(kind: Any, value: object) -> str:
    return pydantic_says(kind, value).replace("Input should", "it should")


STATES = Literal["pending", "running", "completed", "error", "interrupted"]
EFFORTS = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
AT = "messages[0].parts[0]"
BAD = [
    pytest.param("[]", "a conversation is an object: give it `messages`", id="a list"),
    pytest.param("{}", "messages is missing: write it", id="no messages"),
    pytest.param('{"messages": 1}', f"messages is wrong: {it_should(list, 1)}", id="a number"),
    pytest.param(
        '{"messages": ["Hi."]}', "messages[0] is wrong: it should be an object", id="text"
    ),
    pytest.param(
        '{"messages": [], "tool": []}', "tool is not known: leave it out", id="a key too many"
    ),
    pytest.param(
        '{"messages": [{"role": "user"}]}', "messages[0].parts is missing: write it", id="no parts"
    ),
    pytest.param(
        message(parts="Hi."), f"messages[0].parts is wrong: {it_should(list, 1)}", id="a string"
    ),
    pytest.param(
        message(role="tool"),
        f"messages[0].role is wrong: {it_should(Literal['system', 'user', 'assistant'], 'tool')}",
        id="role",
    ),
    pytest.param(
        message(route="gpt"),
        "messages[0].route is wrong: a route is written \"provider/model\", got 'gpt'",
        id="route",
    ),
    pytest.param(
        message(requested="a b/c"),
        "messages[0].requested is wrong: a route is written \"provider/model\", got 'a b/c'",
        id="requested",
    ),
    pytest.param(message(parts=["Hi."]), f"{AT} is wrong: it should be an object", id="a text"),
    pytest.param(part(None, text="Hi."), f"{AT} is wrong: it has no `type`", id="no type"),
    pytest.param(
        part("file"),
        f"{AT} is wrong: its `type` should be one of 'text', 'image', 'reasoning', 'tool_call'",
        id="type",
    ),
    pytest.param(part(), f"{AT}.text is missing: write it", id="no text"),
    pytest.param(part(text=1), f"{AT}.text is wrong: {it_should(str, 1)}", id="no string"),
    pytest.param(part(text="", x=1), f"{AT}.x is not known: leave it out", id="a field too many"),
    pytest.param(
        part("image", media_type="image/png"), f"{AT}.data is missing: write it", id="no data"
    ),
    pytest.param(
        part("reasoning", details=[1]),
        f"{AT}.details[0] is wrong: it should be an object",
        id="details",
    ),
    pytest.param(call(input=[]), f"{AT}.input is wrong: it should be an object", id="input"),
    pytest.param(
        call(state="done"),
        f"{AT}.state is wrong: {it_should(STATES, 'done')}",
        id="state",
    ),
    pytest.param(
        call(output=1),
        f"{AT}.output is wrong: it should be a string, or a list of texts and images",
        id="output",
    ),
    pytest.param(
        call(output=["Hi."]),
        f"{AT}.output[0] is wrong: it should be an object",
        id="a text in the output",
    ),
    pytest.param(
        call(output=[{"type": "reasoning"}]),
        f"{AT}.output[0] is wrong: its `type` should be one of 'text', 'image'",
        id="reasoning in the output",
    ),
    pytest.param(
        call(output=[{"type": "text"}]),
        f"{AT}.output[0].text is missing: write it",
        id="no text in the output",
    ),
    pytest.param(
        '{"messages": [], "tools": [{}]}', "tools[0].name is missing: write it", id="tool"
    ),
    pytest.param(
        setting(reasoning="much"),
        f"settings.reasoning is wrong: {it_should(EFFORTS, 'much')}",
        id="reasoning",
    ),
    pytest.param(
        setting(max_output_tokens=0),
        f"settings.max_output_tokens is wrong: {it_should(PositiveInt, 0)}",
        id="no tokens",
    ),
    pytest.param(
        setting(temperature=float("nan")),
        f"settings.temperature is wrong: {it_should(FiniteFloat, math.nan)}",
        id="temperature",
    ),
    pytest.param(
        setting(temperature="1"),
        f"settings.temperature is wrong: {it_should(float, '1')}",
        id="a number in a string",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_what_is_wrong_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_conversation(text)

    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["", "{", "{'messages': []}", '{"messages": []} x', b"\xff"])
def test_what_is_no_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(
        ConfigError, match=r"^it is not JSON \(.*\): write an object with `messages`"
    ):
        read_conversation(text)


# The files.


def test_every_file_is_read_here() -> None:
    assert set(FILES) == {
        "encrypted_items.json",
        "many_routes.json",
        "parallel_screenshot.json",
        "signed_parts.json",
        "two_files.json",
    }


@pytest.mark.parametrize("name", FILES)
def test_the_messages_of_a_file_are_written_as_they_stand(name: str) -> None:
    conversation = read_conversation(FILES[name])

    assert written(conversation) == json.loads(FILES[name])["messages"]


OWN = [
    pytest.param("two_files.json", "anthropic/claude-sonnet-5", id="signed"),
    pytest.param("parallel_screenshot.json", "anthropic/claude-opus-4-8", id="parallel"),
    pytest.param("encrypted_items.json", "openai/gpt-5.1", id="items"),
]


@pytest.mark.parametrize(("name", "made_on"), OWN)
def test_its_own_route_gets_a_file_as_it_was_made(name: str, made_on: str) -> None:
    conversation = read_conversation(FILES[name])
    route = Route(made_on)

    handover = hand_over(conversation, target_of(catalog()[route.provider], route))

    stored = [message.parts for message in conversation.messages if message.role != "system"]
    assert [message.parts for message in handover.messages] == stored
    assert {note.action for note in handover.notes} == {"kept"}


def test_gemini_gets_its_signatures_back_on_the_parts_they_came_with() -> None:
    conversation = read_conversation(FILES["signed_parts.json"])

    handover = hand_over(conversation, target("gemini/gemini-3-pro"))

    _, step, answer, _ = handover.messages
    assert step.parts == conversation.messages[2].parts[1:]
    assert answer.parts == conversation.messages[3].parts
    assert [str(note) for note in handover.notes] == [
        "dropped reasoning of messages[2].parts[0]: it has no signature"
    ]


def test_a_conversation_of_many_routes_goes_on_where_it_began() -> None:
    conversation = read_conversation(FILES["many_routes.json"])

    handover = hand_over(conversation, target("anthropic/claude-opus-4-8"))

    told = [type(part).__name__ for message in handover.messages[1:4] for part in message.parts]
    assert told == ["Reasoning", "ToolCall", "Text", "ToolCall", "ToolCall"]
    calls = [p for m in handover.messages for p in m.parts if isinstance(p, ToolCall)]
    assert calls[1].output == MISSING_RESULT["interrupted"]
    assert calls[2].id.startswith("toolu_")
    assert [tool.name for tool in handover.tools] == ["read_file"]
    assert [str(note) for note in handover.notes] == [
        "kept reasoning of messages[2].parts[0]: this route issued it",
        "dropped reasoning of messages[3].parts[0]: another route issued it",
        "made result of messages[3].parts[2]: the call is interrupted, and must have one",
        "dropped reasoning of messages[4].parts[0]: another route issued it",
        "dropped reasoning of messages[4].parts[1]: another route issued it",
        f"changed id 'functions.read_file:0' to {calls[2].id!r} of messages[4].parts[2]: "
        "ids have another form here",
    ]
