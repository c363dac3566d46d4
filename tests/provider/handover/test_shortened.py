"""Texts and arguments that are shortened, because a route takes none as long."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import Message, Route, Text, ToolCall
from sidestep.provider.conversation import Conversation, Image, Part, ToolSpec
from sidestep.provider.cure import Change, Cure
from sidestep.provider.handover.cured_target import cured
from sidestep.provider.handover.handover import hand_over
from sidestep.provider.handover.shortened import shortened_input, shortened_text, size_of
from sidestep.provider.handover.tool_result import REFUSED_IMAGE
from sidestep.provider.json_value import write_json

from ..conversations import target

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3_000),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(st.text(max_size=400), st.integers(1, 400))
def test_a_text_has_no_more_bytes_than_asked_for(text: str, longest: int) -> None:
    made = shortened_text(text, longest)

    assert size_of(made) <= longest
    assert made == text or size_of(text) > longest


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4), st.integers(100, 5_000))
def test_arguments_have_no_more_bytes_than_asked_for(given: dict[str, Any], longest: int) -> None:
    made = shortened_input(given, longest)

    assert len(write_json(made)) <= longest
    assert made == given or len(write_json(given)) > longest


def test_the_ends_of_what_is_long_stay_with_a_note_between() -> None:
    made = shortened_input({"path": "a.py", "text": f"begin{'x' * 9_000}end"}, 2_000)

    assert made["path"] == "a.py"
    assert made["text"].startswith("beginx")
    assert made["text"].endswith("xend")
    assert "bytes and more were left out here" in made["text"]


CURE = Cure(Change.SHORTEN, "1000")
LONG = "long " * 1_000


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(Message("user", [Text(LONG)]), id="the user's text"),
        pytest.param(Message("assistant", [Text(LONG)], Route("x/y")), id="an answer"),
        pytest.param(
            Message("assistant", [ToolCall("c", "f", {"a": LONG}, output="")]), id="arguments"
        ),
        pytest.param(Message("assistant", [ToolCall("c", "f", {}, output=LONG)]), id="output"),
        pytest.param(
            Message("assistant", [ToolCall("c", "f", {}, output=[Text(LONG)])]), id="a list"
        ),
    ],
)
def test_a_field_that_is_too_long_is_shortened_wherever_it_is(message: Message) -> None:
    talk = Conversation([message, Message("user", [Text("Go on.")])])

    made = hand_over(talk, cured(target("somewhere/some-model"), [CURE]))

    assert len(write_json(made.messages)) < 2_000
    assert "left out here" in write_json(made.messages).decode()
    assert LONG in write_json(talk.messages).decode()


def test_an_image_that_is_too_long_is_left_out() -> None:
    talk = Conversation([Message("user", [Image("image/png", "A" * 2_000)])])

    made = hand_over(talk, cured(target("somewhere/some-model"), [CURE]))

    assert made.messages[0].parts == [Text(REFUSED_IMAGE)]


def test_a_description_that_is_too_long_is_shortened() -> None:
    talk = Conversation([Message("user", [Text("Hi.")])], [ToolSpec("f", LONG), ToolSpec("g", "G")])
    cure = Cure(Change.SHORTEN, "description 100")

    made = hand_over(talk, cured(target("somewhere/some-model"), [cure]))

    assert [len(tool.description) for tool in made.tools] == [100, 1]


@pytest.mark.parametrize(
    ("detail", "shortened"),
    [
        ("arguments 1000", {"arguments"}),
        ("output 1000", {"output"}),
        ("1000", {"arguments", "output", "text"}),
    ],
)
def test_a_limit_of_one_kind_of_field_leaves_the_others_as_they_are(
    detail: str, shortened: set[str]
) -> None:
    call = ToolCall("c", "f", {"a": LONG}, output=LONG)
    parts: list[Part] = [Text(LONG), call]
    talk = Conversation(
        [Message("assistant", parts, Route("x/y")), Message("user", [Text("Go on.")])]
    )
    cure = Cure(Change.SHORTEN, detail)

    made = hand_over(talk, cured(target("somewhere/some-model"), [cure])).messages[0].parts

    text, kept = made
    assert isinstance(text, Text)
    assert isinstance(kept, ToolCall)
    fields = {"text": text.text, "arguments": str(kept.input), "output": str(kept.output)}
    assert {name for name, value in fields.items() if "left out here" in value} == shortened
