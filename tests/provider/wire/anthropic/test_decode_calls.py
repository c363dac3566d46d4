"""Calls and blocks in an Anthropic stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sidestep import (
    ToolCallEnded,
)
from sidestep.provider.conversation import Reasoning, Text, ToolCall

from .streams import (
    CALL,
    START,
    STOP,
    TEXT,
    THINKING,
    Event,
    began,
    closed,
    decoder,
    ended,
    piece,
    read,
)

if TYPE_CHECKING:
    pass


def test_arguments_and_signatures_count_as_output_that_no_delta_shows() -> None:
    reader = decoder()

    read(reader, [START, *THINKING, *CALL[:3], {"type": "ping"}])

    assert reader.silent_output == 2


SKIPPED = began(0, type="server_tool_use", id="s", name="search", input={})


@pytest.mark.parametrize(
    ("event", "silent_output"),
    [
        pytest.param(piece(0, "input_json", '{"q'), 1, id="arguments"),
        pytest.param(piece(0, "text", "a"), 1, id="text"),
        pytest.param(piece(0, "brand_new", "a"), 1, id="a new delta"),
        pytest.param(began(1, type="web_search_tool_result", content=[]), 1, id="another block"),
        pytest.param(closed(0), 0, id="its end"),
        pytest.param({"type": "ping"}, 0, id="a ping"),
    ],
)
def test_what_comes_of_a_block_that_is_skipped_counts_as_output(
    event: Event, silent_output: int
) -> None:
    reader = decoder()
    read(reader, [START, SKIPPED])
    before = reader.silent_output

    assert read(reader, [event]) == []
    assert reader.silent_output - before == silent_output


def test_a_citation_counts_as_output() -> None:
    reader = decoder()

    read(reader, [START, *TEXT[:2], piece(0, "citations", "c")])

    assert reader.silent_output == 1


WHOLE = [
    pytest.param(
        [began(0, type="redacted_thinking", data="enc"), closed(0), *CALL],
        [Reasoning(redacted="enc"), ToolCall("toolu_1", "read", {"path": "a.py"})],
        id="redacted thinking",
    ),
    pytest.param(
        [
            began(0, type="thinking", thinking="", signature=""),
            piece(0, "signature", "s"),
            closed(0),
            *TEXT,
        ],
        [Reasoning(signature="s"), Text("Hello")],
        id="unsupported_parameters thinking keeps its signature",
    ),
    pytest.param(
        [began(0, type="thinking", thinking=""), closed(0), *TEXT],
        [Text("Hello")],
        id="empty thinking without signature",
    ),
    pytest.param(
        [began(0, type="tool_use", id="t", name="now", input={}), closed(0)],
        [ToolCall("t", "now", {})],
        id="no arguments",
    ),
    pytest.param(
        [began(0, type="tool_use", id="t", name="now", input={"a": 1}), closed(0)],
        [ToolCall("t", "now", {"a": 1})],
        id="arguments at the start",
    ),
    pytest.param(
        [
            began(0, type="server_tool_use", id="s", name="x"),
            piece(0, "input_json", "{}"),
            piece(0, "text", "?"),
            closed(0),
            {"type": "news"},
            piece(9, "citations", "x"),
            began(1, type="text", text="a"),
            piece(1, "brand_new", "?"),
            closed(1),
        ],
        [Text("a")],
        id="unknown events, blocks and deltas",
    ),
    pytest.param([piece(0, "text", "a"), piece(0, "text", "b")], [Text("ab")], id="no block start"),
    pytest.param(
        [*THINKING, began(0, type="text", text=""), piece(0, "text", "a"), closed(0)],
        [Reasoning("Hm", signature="sig"), Text("a")],
        id="one index for all",
    ),
    pytest.param(
        [*CALL, *({**event, "index": 2} for event in CALL)],
        [ToolCall("toolu_1", "read", {"path": "a.py"})],
        id="the same call twice",
    ),
    pytest.param(
        [
            began(0, type="tool_use", id="t", name="read", input={"path": "a"}),
            closed(0),
            began(1, type="tool_use", id="t", name="read", input={"path": "b"}),
            closed(1),
        ],
        [ToolCall("t", "read", {"path": "a"}), ToolCall("t", "read", {"path": "b"})],
        id="two calls of one id",
    ),
    pytest.param([*CALL[:-1]], [ToolCall("toolu_1", "read", {"path": "a.py"})], id="no block stop"),
]


@pytest.mark.parametrize(("events", "parts"), WHOLE)
def test_what_facades_leave_out_or_add(events: list[Event], parts: list[object]) -> None:
    reader = decoder()

    read(reader, [START, *events, ended(), STOP])
    reader.end()

    assert reader.parts == parts


BARE = began(2, type="tool_use", id="toolu_2", name="delete", input={})

NEVER_CAME = [
    pytest.param([BARE, closed(2)], id="nothing of them"),
    pytest.param([BARE, piece(2, "input_json", ""), closed(2)], id="an empty piece"),
    pytest.param([BARE, piece(2, "input_json", " "), closed(2)], id="a blank piece"),
    pytest.param([BARE], id="no block stop"),
]


@pytest.mark.parametrize("stop", ["max_tokens", "pause_turn"])
@pytest.mark.parametrize("events", NEVER_CAME)
def test_a_call_that_is_cut_before_its_first_argument_is_left_out(
    events: list[Event], stop: str
) -> None:
    reader = decoder()

    deltas = read(reader, [START, *CALL, *events, ended(stop), STOP])
    deltas += reader.end()

    assert [d.id for d in deltas if isinstance(d, ToolCallEnded)] == ["toolu_1"]
    assert reader.parts == [ToolCall("toolu_1", "read", {"path": "a.py"})]


@pytest.mark.parametrize("events", NEVER_CAME)
def test_a_call_without_arguments_is_told_when_the_answer_is_whole(events: list[Event]) -> None:
    reader = decoder()

    before = read(reader, [START, *events, *TEXT, ended("tool_use"), STOP])
    after = reader.end()

    assert not [delta for delta in before if isinstance(delta, ToolCallEnded)]
    assert after == [ToolCallEnded("toolu_2", "delete", {})]
    assert reader.parts == [ToolCall("toolu_2", "delete", {}), Text("Hello")]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([BARE, piece(2, "input_json", "{}"), closed(2)], id="an empty object"),
        pytest.param([BARE, piece(2, "input_json", "null"), closed(2)], id="null"),
    ],
)
def test_a_call_whose_arguments_came_is_told_when_its_block_is_closed(events: list[Event]) -> None:
    reader = decoder()

    deltas = read(reader, [START, *events])

    assert deltas[-1] == ToolCallEnded("toolu_2", "delete", {})
    assert reader.parts == [ToolCall("toolu_2", "delete", {})]
