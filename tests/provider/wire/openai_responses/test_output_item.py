"""The output items of a Responses stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sidestep import (
    ReasoningDelta,
    TextDelta,
    ToolCallEnded,
    ToolCallStarted,
)
from sidestep.provider.conversation import Reasoning, Text, ToolCall

from .streams import (
    CALL,
    CALLING,
    MESSAGE,
    SAID,
    THINKING,
    Event,
    added,
    arguments,
    content,
    decoder,
    done,
    ended,
    event,
    incomplete,
    read,
    summary,
    text,
    thought,
)

if TYPE_CHECKING:
    pass

WHOLE = [
    pytest.param(
        [done(0, **MESSAGE, content=content("Hi"))],
        [Text("Hi", item_id="msg_1")],
        id="message only at its end",
    ),
    pytest.param(
        [text("H"), done(0, **MESSAGE, content=content("Hi"))],
        [Text("Hi", item_id="msg_1")],
        id="message whose last piece did not come",
    ),
    pytest.param(
        [text("x"), done(0, **MESSAGE, content=content("Hi"))],
        [Text("Hi", item_id="msg_1")],
        id="message that ends as another",
    ),
    pytest.param(
        [text("Hi"), done(0, **MESSAGE)],
        [Text("Hi", item_id="msg_1")],
        id="message that ends without content",
    ),
    pytest.param([text("Hi")], [Text("Hi")], id="message without beginning and end"),
    pytest.param(
        [
            added(0, **MESSAGE, phase="commentary"),
            text("Hi"),
            done(0, **MESSAGE, content=content("Hi")),
        ],
        [Text("Hi", item_id="msg_1", phase="commentary")],
        id="a phase that only its beginning names",
    ),
    pytest.param(
        [
            added(0, **MESSAGE, phase=None),
            text("Hi"),
            done(0, **MESSAGE, content=content("Hi"), phase="final_answer"),
        ],
        [Text("Hi", item_id="msg_1", phase="final_answer")],
        id="a phase that only its end names",
    ),
    pytest.param([*SAID, *SAID[-1:]], [Text("Hi", item_id="msg_1")], id="the same end twice"),
    pytest.param(
        [
            *SAID,
            added(0, **{**MESSAGE, "id": "msg_2"}),
            text("Ho"),
            done(0, **{**MESSAGE, "id": "msg_2"}, content=content("Ho")),
        ],
        [Text("Hi", item_id="msg_1"), Text("Ho", item_id="msg_2")],
        id="two items of one number",
    ),
    pytest.param(
        [
            {**text("Hi"), "item_id": "a", "output_index": None},
            event("output_item.done", item={**MESSAGE, "id": "a", "content": content("Hi")}),
            event("output_item.done", item={**CALLING, "id": "b", "arguments": "{}"}),
        ],
        [Text("Hi", item_id="a"), ToolCall("call_1", "read", {}, item_id="b")],
        id="items without numbers",
    ),
    pytest.param(
        [
            done(0, **{**CALLING, "id": "fc_1", "arguments": "{}"}),
            done(1, **{**CALLING, "id": "fc_2", "arguments": "{}"}),
        ],
        [ToolCall("call_1", "read", {}, item_id="fc_1")],
        id="the same call twice",
    ),
    pytest.param(
        [
            event("output_item.done", item={**CALLING, "id": None, "arguments": "{}"}),
            event(
                "output_item.done", item={**CALLING, "id": None, "call_id": "2", "arguments": "{}"}
            ),
        ],
        [ToolCall("call_1", "read", {}), ToolCall("2", "read", {})],
        id="calls without numbers and item ids",
    ),
    pytest.param(
        [
            added(1, **CALLING),
            {**arguments("{}"), "item_id": "fc_x"},
            done(1, **{**CALLING, "id": "fc_y"}, arguments="{}"),
        ],
        [ToolCall("call_1", "read", {}, item_id="fc_y")],
        id="a gateway that changes ids",
    ),
    pytest.param(
        [*CALL[:3], done(1, **CALLING)],
        [ToolCall("call_1", "read", {"path": "a.py"}, item_id="fc_1")],
        id="arguments in pieces only",
    ),
    pytest.param(
        [
            added(1, **CALLING),
            event("function_call_arguments.done", output_index=1, arguments='{"a": 1}'),
            done(1, **CALLING),
        ],
        [ToolCall("call_1", "read", {"a": 1}, item_id="fc_1")],
        id="arguments in their own event only",
    ),
    pytest.param(
        [*CALL, event("function_call_arguments.done", output_index=1, arguments="{}")],
        [ToolCall("call_1", "read", {"path": "a.py"}, item_id="fc_1")],
        id="arguments after the end of their call",
    ),
    pytest.param(
        [
            thought("A"),
            thought("B"),
            thought("C", 1),
            done(0, **{**THINKING, "summary": summary("AB", "C")}),
            text("Hi", 1),
        ],
        [Reasoning("AB\n\nC", item_id="rs_1"), Text("Hi")],
        id="two summaries",
    ),
    pytest.param(
        [
            event("reasoning_text.delta", output_index=0, content_index=0, delta="Hm"),
            done(0, **THINKING, content=[{"type": "reasoning_text", "text": "Hm"}]),
            text("Hi", 1),
        ],
        [Reasoning("Hm", item_id="rs_1", field_name="content"), Text("Hi")],
        id="thinking of an open model",
    ),
    pytest.param(
        [done(0, **THINKING), text("Hi", 1)],
        [Reasoning(item_id="rs_1"), Text("Hi")],
        id="thinking that says nothing keeps its place",
    ),
    pytest.param(
        [
            added(0, type="web_search_call", id="ws_1"),
            event("web_search_call.searching", output_index=0),
            done(0, type="web_search_call", id="ws_1"),
            event("content_part.added", output_index=1, part={"type": "output_text"}),
            event("output_text.annotation.added", output_index=1, annotation={}),
            text("Hi", 1),
            {"type": "a.new.event"},
            {"type": "response.compaction.compacting"},
        ],
        [Text("Hi")],
        id="what we do not keep",
    ),
]


@pytest.mark.parametrize(("events", "parts"), WHOLE)
def test_items_are_what_their_own_end_says(events: list[Event], parts: list[object]) -> None:
    reader = decoder()

    read(reader, [*events, ended()])
    reader.end()

    assert reader.parts == parts


BARE = {**CALLING, "id": "fc_2", "call_id": "call_2"}

NEVER_CAME = [
    pytest.param([done(2, **BARE)], id="nothing of them"),
    pytest.param([added(2, **BARE), done(2, **BARE, arguments="")], id="empty"),
    pytest.param([done(2, **BARE, arguments=" ", status="completed")], id="blank"),
    pytest.param([added(2, **BARE), arguments(" ", 2), done(2, **BARE)], id="a blank piece"),
]


@pytest.mark.parametrize("events", NEVER_CAME)
def test_a_call_that_is_cut_before_its_first_argument_is_left_out(events: list[Event]) -> None:
    reader = decoder()

    deltas = read(reader, [*CALL, *events, incomplete("max_output_tokens")])
    deltas += reader.end()

    assert [d.id for d in deltas if isinstance(d, ToolCallEnded)] == ["call_1"]
    assert [part.id for part in reader.parts if isinstance(part, ToolCall)] == ["call_1"]


@pytest.mark.parametrize("events", NEVER_CAME)
def test_a_call_without_arguments_is_told_when_the_answer_is_whole(events: list[Event]) -> None:
    reader = decoder()

    before = read(reader, [*events, *events[-1:], ended()])
    after = reader.end()

    assert not [delta for delta in before if isinstance(delta, ToolCallEnded)]
    assert after == [ToolCallEnded("call_2", "read", {})]
    assert reader.parts == [ToolCall("call_2", "read", {}, item_id="fc_2")]


def test_what_was_told_is_what_is_kept() -> None:
    reader = decoder()

    deltas = read(reader, [thought("A"), thought("B", 1), text("H", 1)])
    deltas += read(reader, [done(1, **MESSAGE, content=content("Hi")), *CALL[-1:]])

    assert deltas == [
        ReasoningDelta("A"),
        ReasoningDelta("\n\nB"),
        TextDelta("H"),
        TextDelta("i"),
        ToolCallStarted("call_1", "read"),
        ToolCallEnded("call_1", "read", {"path": "a.py"}),
    ]


def test_azure_names_the_encrypted_thinking_at_the_end_only() -> None:
    reader = decoder()

    read(reader, [done(0, **THINKING, encrypted_content=None), *SAID])
    read(reader, [ended(output=[{**THINKING, "encrypted_content": "late"}, MESSAGE])])

    assert reader.parts[0] == Reasoning(encrypted="late", item_id="rs_1")


def test_before_the_end_thinking_is_unfinished_and_calls_are_left_out() -> None:
    reader = decoder()

    read(reader, [added(0, **THINKING, encrypted_content="part"), thought("Hm"), *CALL[:3]])

    assert reader.parts == [Reasoning("Hm", complete=False)]
    assert reader.stop is None


def test_a_call_without_an_id_gets_one() -> None:
    reader = decoder()

    read(reader, [done(1, type="function_call", name="read", arguments={"a": 1})])

    (call,) = reader.parts
    assert isinstance(call, ToolCall)
    assert call.id.startswith("call_")
    assert (call.input, call.item_id) == ({"a": 1}, None)
