"""Reasoning in its fields, in details and in a tag."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sidestep import (
    ReasoningDelta,
    TextDelta,
)
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import Reasoning, Text
from sidestep.provider.wire.openai_chat.decode import ChatDecoder

from .streams import READ, Event, calls, chunk, decoder, fragment, read

if TYPE_CHECKING:
    pass

DETAIL = {"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1"}

THOUGHTS = [
    pytest.param([chunk(reasoning="Hm"), chunk(reasoning=".")], [Reasoning("Hm.")], id="reasoning"),
    pytest.param(
        [chunk(reasoning_content="Hm", content=None)], [Reasoning("Hm")], id="reasoning_content"
    ),
    pytest.param(
        [
            chunk(content="", reasoning="Hm", reasoning_details=[{**DETAIL, "text": "Hm"}]),
            chunk(content="", reasoning=".", reasoning_details=[{**DETAIL, "text": "."}]),
            chunk(content="", reasoning_details=[{**DETAIL, "signature": "sig"}]),
        ],
        [Reasoning("Hm.", details=({**DETAIL, "text": "Hm.", "signature": "sig"},))],
        id="the same text twice, and a late signature",
    ),
    pytest.param(
        [chunk(reasoning_details=[{**DETAIL, "text": "Hm"}])],
        [Reasoning("Hm", details=({**DETAIL, "text": "Hm"},))],
        id="details alone",
    ),
    pytest.param(
        [
            chunk(reasoning_details=[{"type": "reasoning.summary", "index": 0, "summary": "S"}]),
            chunk(reasoning_details=[{"type": "reasoning.encrypted", "index": 1, "data": "e"}]),
            chunk(reasoning_details=[{"type": "reasoning.encrypted", "index": 1, "data": "f"}]),
        ],
        [
            Reasoning(
                "S",
                details=(
                    {"type": "reasoning.summary", "index": 0, "summary": "S"},
                    {"type": "reasoning.encrypted", "index": 1, "data": "e"},
                    {"type": "reasoning.encrypted", "index": 1, "data": "f"},
                ),
            )
        ],
        id="encrypted entries stay apart",
    ),
    pytest.param(
        [
            chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "H"}]}]),
            chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "m"}]}]),
            chunk(content=[{"type": "text", "text": "a"}, "b"]),
        ],
        [Reasoning("Hm"), Text("ab")],
        id="a list of chunks",
    ),
]


@pytest.mark.parametrize(("events", "parts"), THOUGHTS)
def test_thinking_is_read_once(events: list[Event], parts: list[object]) -> None:
    reader = decoder()

    deltas = read(reader, [*events, chunk("length")])

    assert reader.parts == parts
    thought = "".join(d.text for d in deltas if isinstance(d, ReasoningDelta))
    assert [Reasoning(thought).text] == [p.text for p in reader.parts if isinstance(p, Reasoning)]


MINIMAX = Provider("minimax", "openai-chat", "https://api.minimax.io/v1", None)
BY_ADDRESS = Provider("mine", "openai-chat", "https://api.minimaxi.com/v1", None)
TAGGED = [chunk(role="", content="<thi"), chunk(content="nk>\nHm"), chunk(content="\n</think>\n\n")]


@pytest.mark.parametrize("provider", [MINIMAX, BY_ADDRESS], ids=["by name", "by address"])
def test_thinking_in_a_tag_is_no_text(provider: Provider) -> None:
    reader = ChatDecoder(provider)

    deltas = read(reader, [*TAGGED, chunk(content="a"), chunk(content="b"), chunk("stop")])

    assert deltas == [ReasoningDelta("Hm"), TextDelta("a"), TextDelta("b")]
    assert reader.parts == [Reasoning("Hm"), Text("ab")]
    assert reader.silent_output == 2
    assert reader.end() == []


TAGGED_ENDS = [
    pytest.param([*TAGGED[:2], chunk("length")], [Reasoning("Hm")], id="cut while it thinks"),
    pytest.param(
        [chunk(content="<think>Hm</th"), chunk("length")], [Reasoning("Hm</th")], id="cut in a tag"
    ),
    pytest.param([chunk(content="<t"), chunk("stop")], [Text("<t")], id="much like a tag"),
    pytest.param(
        [chunk("stop", content="<think>Hm</think>a")],
        [Reasoning("Hm"), Text("a")],
        id="all at once",
    ),
    pytest.param(
        [chunk(reasoning_content="Hm"), chunk(content="a"), chunk("stop")],
        [Reasoning("Hm"), Text("a")],
        id="in a field of its own",
    ),
]


@pytest.mark.parametrize(("events", "parts"), TAGGED_ENDS)
def test_all_that_was_held_back_for_a_tag_is_told(
    events: list[Event], parts: list[Reasoning | Text]
) -> None:
    reader = ChatDecoder(MINIMAX)

    deltas = read(reader, events)

    assert reader.parts == parts
    told = "".join(d.text for d in deltas if isinstance(d, TextDelta | ReasoningDelta))
    assert told == "".join(part.text for part in parts)


def test_elsewhere_a_tag_is_text() -> None:
    reader = decoder()

    read(reader, [*TAGGED, chunk("stop")])

    assert reader.parts == [Text("<think>\nHm\n</think>\n\n")]


def test_before_the_end_thinking_is_unfinished_and_calls_are_left_out() -> None:
    reader = decoder()

    read(reader, [chunk(reasoning="Hm", reasoning_details=[{**DETAIL, "signature": "s"}])])
    read(reader, [chunk(content="a"), calls(fragment("{}", index=0, id="1", **READ))])

    assert reader.parts == [Reasoning("Hm", complete=False), Text("a")]


FIELDS = [
    pytest.param("local", "reasoning", "reasoning", id="unknown vendor"),
    pytest.param("local", "reasoning_content", None, id="unknown vendor, the usual field"),
    pytest.param("cerebras", "reasoning", None, id="known vendor"),
]


@pytest.mark.parametrize(("name", "field", "kept"), FIELDS)
def test_the_field_of_reasoning_is_kept_where_no_table_has_it(
    name: str, field: str, kept: str | None
) -> None:
    reader = ChatDecoder(Provider(name, "openai-chat", "https://example.com", None))
    read(reader, [chunk(**{field: "Hm"}), chunk(content="Hi"), chunk("stop")])

    assert reader.parts == [Reasoning("Hm", field_name=kept), Text("Hi")]
