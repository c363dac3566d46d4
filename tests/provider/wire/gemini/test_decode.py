""""""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import (
    ProviderError,
    ReasoningDelta,
    TextDelta,
    ToolCallEnded,
    ToolCallStarted,
)
from sidestep.provider.conversation import Reasoning, Text, ToolCall

from .streams import STOP, Event, call, chunk, decoder, read, text, thought

if TYPE_CHECKING:
    pass


def test_thinking_text_and_a_call_are_told_and_kept() -> None:
    reader = decoder()

    deltas = read(
        reader,
        [
            chunk(thought("H")),
            chunk(thought("m")),
            chunk(text("Hel")),
            chunk(text("lo"), call(id="c1", args={"path": "a.py"}, signature="sig")),
            STOP,
        ],
    )

    assert deltas == [
        ReasoningDelta("H"),
        ReasoningDelta("m"),
        TextDelta("Hel"),
        TextDelta("lo"),
        ToolCallStarted("c1", "read"),
        ToolCallEnded("c1", "read", {"path": "a.py"}),
    ]
    assert reader.end() == ()
    assert reader.parts == [
        Reasoning("Hm"),
        Text("Hello"),
        ToolCall("c1", "read", {"path": "a.py"}, signature="sig"),
    ]
    assert (reader.stop, reader.model, reader.request_id) == ("STOP", "m", "r")
    assert not reader.is_done


PLACES = [
    pytest.param(
        [chunk(text("Hel")), chunk(text("lo")), chunk(text("", "s"), finish="STOP")],
        [Text("Hello"), Text("", signature="s")],
        id="on empty text",
    ),
    pytest.param(
        [chunk(text("a")), chunk(text("b", "s")), chunk(text("c")), STOP],
        [Text("a"), Text("b", signature="s"), Text("c")],
        id="nothing is merged over it",
    ),
    pytest.param(
        [chunk(text("a", "s")), chunk(text("b", "t")), STOP],
        [Text("a", signature="s"), Text("b", signature="t")],
        id="one each",
    ),
    pytest.param(
        [chunk(text("a")), chunk({"thoughtSignature": "s"}, text("b")), STOP],
        [Text("a"), Text("", signature="s"), Text("b")],
        id="on a part without text",
    ),
    pytest.param(
        [chunk(thought("a"), thought("b", "s"), text("c")), STOP],
        [Reasoning("a"), Reasoning("b", signature="s"), Text("c")],
        id="on thinking",
    ),
    pytest.param(
        [chunk(call(id="1", args={}, signature="s"), call(id="2", args={})), STOP],
        [ToolCall("1", "read", {}, signature="s"), ToolCall("2", "read", {})],
        id="on the first of parallel calls",
    ),
    pytest.param(
        [chunk(call(id="1", args={}, signature="s")), chunk(call(id="1", args={})), STOP],
        [ToolCall("1", "read", {}, signature="s")],
        id="the same call twice",
    ),
    pytest.param(
        [chunk(text("a"), thought("b"), text("c"), thought("d")), STOP],
        [Text("a"), Reasoning("b"), Text("c"), Reasoning("d")],
        id="none, in order",
    ),
    pytest.param(
        [chunk(text("a", "")), chunk(text("b", None)), STOP], [Text("ab")], id="empty is none"
    ),
    pytest.param(
        [chunk(text("a"), {"inlineData": {"data": ""}, "thoughtSignature": "s"}), STOP],
        [Text("a")],
        id="on a part that we do not keep",
    ),
]


@pytest.mark.parametrize(("events", "parts"), PLACES)
def test_a_signature_stays_in_its_place(events: list[Event], parts: list[object]) -> None:
    reader = decoder()

    read(reader, events)
    reader.end()

    assert reader.parts == parts


def test_before_the_end_the_last_thinking_is_unfinished() -> None:
    reader = decoder()

    read(reader, [chunk(thought("a", "s"), thought("b"))])
    unfinished = reader.parts
    read(reader, [chunk(text("c"))])

    assert unfinished == [Reasoning("a", signature="s"), Reasoning("b", complete=False)]
    assert reader.parts == [Reasoning("a", signature="s"), Reasoning("b"), Text("c")]


def test_calls_without_ids_get_them() -> None:
    reader = decoder()

    read(reader, [chunk(call(args={"x": 1}), call(args=None)), chunk(call(id="")), STOP])

    calls = [part for part in reader.parts if isinstance(part, ToolCall)]
    assert [made.input for made in calls] == [{"x": 1}, {}, {}]
    assert len({made.id for made in calls}) == 3
    assert all(made.id.startswith("call_") for made in calls)
    assert [made.id for made in reader.parts if isinstance(made, ToolCall)] == [
        made.id for made in calls
    ]


def test_signatures_alone_count_as_output_that_no_delta_shows() -> None:
    reader = decoder()

    read(reader, [chunk(text("a")), chunk(text("", "s")), chunk(text("")), STOP])

    assert reader.silent_output == 1


def test_an_array_is_read_as_its_events() -> None:
    reader = decoder()

    deltas = reader.decode(json.dumps([chunk(text("a")), chunk(text("b")), STOP]).encode())

    assert deltas == [TextDelta("a"), TextDelta("b")]
    assert reader.stop == "STOP"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)

CALL = st.fixed_dictionaries({}, optional={"name": JSON, "args": JSON, "id": JSON})

PART = st.fixed_dictionaries(
    {},
    optional={"text": JSON, "thought": JSON, "thoughtSignature": JSON, "functionCall": CALL | JSON},
)

CONTENT = st.fixed_dictionaries({}, optional={"parts": st.lists(PART | JSON) | JSON})

CANDIDATE = st.fixed_dictionaries(
    {}, optional={"content": CONTENT | JSON, "finishReason": JSON, "index": JSON}
)

ODD = st.fixed_dictionaries(
    {},
    optional={
        "candidates": st.lists(CANDIDATE, min_size=1) | JSON,
        "usageMetadata": st.dictionaries(
            st.sampled_from(["promptTokenCount", "thoughtsTokenCount"]), JSON
        )
        | JSON,
        "promptFeedback": st.fixed_dictionaries({}, optional={"blockReason": JSON}) | JSON,
        "error": JSON,
    },
)


@given(st.lists(ODD, max_size=6))
def test_any_json_is_read_or_refused(events: list[Event]) -> None:
    reader = decoder()
    try:
        read(reader, events)
        reader.end()
    except ProviderError:
        pass

    assert isinstance(reader.parts, list)
