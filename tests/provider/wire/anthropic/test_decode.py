from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import (
    FailureKind,
    ProviderError,
    ReasoningDelta,
    TextDelta,
    ToolCallEnded,
    ToolCallStarted,
)
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.conversation import Reasoning, Text, ToolCall, Usage
from sidestep.provider.failure import Stage
from sidestep.provider.wire.anthropic.decode import AnthropicDecoder

if TYPE_CHECKING:
    from sidestep.provider.delta import Delta

Event = dict[str, Any]

START: Event = {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 4}}}
STOP: Event = {"type": "message_stop"}


def ended(reason: str | None = "end_turn", **more: Any) -> Event:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": reason, **more},
        "usage": {"output_tokens": 7},
    }


def began(index: int, **block: Any) -> Event:
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index: int, type_: str, text: str) -> Event:
    name = {"input_json": "partial_json"}.get(type_, type_)
    return {
        "type": "content_block_delta",
        "index": index,
        "delta": {"type": f"{type_}_delta", name: text},
    }


def closed(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


TEXT = [began(0, type="text", text=""), piece(0, "text", "Hel"), piece(0, "text", "lo"), closed(0)]
CALL = [
    began(1, type="tool_use", id="toolu_1", name="read", input={}),
    piece(1, "input_json", ""),
    piece(1, "input_json", '{"path": "a'),
    piece(1, "input_json", '.py"}'),
    closed(1),
]
THINKING = [
    began(0, type="thinking", thinking="", signature=""),
    piece(0, "thinking", "Hm"),
    piece(0, "signature", "sig"),
    closed(0),
]


def decoder() -> AnthropicDecoder:
    return AnthropicDecoder(catalog()["anthropic"])


def read(reader: AnthropicDecoder, events: list[Event]) -> list[Delta]:
    return [delta for event in events for delta in reader.decode(json.dumps(event).encode())]


def test_text_and_a_call_are_told_and_kept() -> None:
    reader = decoder()

    deltas = read(reader, [START, *TEXT, *CALL, ended("tool_use"), STOP])

    assert deltas == [
        TextDelta("Hel"),
        TextDelta("lo"),
        ToolCallStarted("toolu_1", "read"),
        ToolCallEnded("toolu_1", "read", {"path": "a.py"}),
    ]
    assert reader.end() == []
    assert reader.parts == [Text("Hello"), ToolCall("toolu_1", "read", {"path": "a.py"})]
    assert (reader.stop, reader.model) == ("tool_use", "m")
    assert reader.usage == Usage(input=4, output=7)


def test_thinking_keeps_its_signature_once_its_block_is_closed() -> None:
    reader = decoder()

    deltas = read(reader, [START, *THINKING[:-1]])
    unfinished = reader.parts
    read(reader, THINKING[-1:])

    assert deltas == [ReasoningDelta("Hm")]
    assert unfinished == [Reasoning("Hm", complete=False)]
    assert reader.parts == [Reasoning("Hm", signature="sig")]


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


def test_the_name_of_an_event_stands_in_for_its_type() -> None:
    reader = decoder()
    event = b'{"index":0,"delta":{"type":"text_delta","text":"a"}}'

    assert reader.decode(event, b"content_block_delta") == (TextDelta("a"),)


def test_half_a_surrogate_pair_does_not_end_the_stream() -> None:
    event = (
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\ud83d"}}'
    )

    assert decoder().decode(event) == (TextDelta("a?"),)


ENDS = [
    pytest.param([START, *TEXT], "truncated", id="no reason for the end"),
    pytest.param([], "truncated", id="nothing"),
    pytest.param([START, *CALL[:-1]], "truncated", id="inside a call"),
    pytest.param([START, *TEXT, ended("refusal"), STOP], "refusal", id="refusal"),
    pytest.param([START, ended("sensitive"), STOP], "content_filter", id="filter of a facade"),
    pytest.param(
        [START, *TEXT, ended("model_context_window_exceeded"), STOP],
        "context_overflow",
        id="window",
    ),
    pytest.param([START, ended(), STOP], "empty_response", id="nothing in it"),
    pytest.param(
        [START, *CALL[:3], closed(1), ended("tool_use"), STOP], "tool_call_malformed", id="bad call"
    ),
    pytest.param([START, *CALL[:3], closed(1), ended("max_tokens"), STOP], None, id="cut by limit"),
    pytest.param([START, *TEXT, ended()], None, id="no marker, but a reason"),
    pytest.param([START, *TEXT, STOP], None, id="a marker without reason"),
]


@pytest.mark.parametrize(("events", "kind"), ENDS)
def test_the_end_is_judged(events: list[Event], kind: str | None) -> None:
    reader = decoder()
    read(reader, events)

    if kind is None:
        reader.end()
    else:
        with pytest.raises(ProviderError) as caught:
            reader.end()
        assert caught.value.failure.kind == kind
        assert (caught.value.failure.stage, caught.value.failure.status) == (Stage.END, None)
    assert not [part for part in reader.parts if isinstance(part, ToolCall)]


def test_a_broken_connection_needs_the_marker_itself() -> None:
    reader = decoder()
    read(reader, [START, *TEXT, ended()])

    with pytest.raises(ProviderError, match="truncated"):
        reader.end(is_clean=False)


def test_a_refusal_says_which() -> None:
    reader = decoder()
    read(reader, [START, ended("refusal", stop_details={"category": "cyber"}), STOP])

    with pytest.raises(ProviderError, match="'refusal': cyber"):
        reader.end()


BROKEN = [
    pytest.param(b"{", FailureKind.SERVER_ERROR, None, id="not JSON"),
    pytest.param(b"[]", FailureKind.SERVER_ERROR, None, id="no object"),
    pytest.param(b'{"type":"content_block_delta"}', FailureKind.SERVER_ERROR, None, id="no delta"),
    pytest.param(
        b'{"type":"error","error":{"type":"overloaded_error"}}',
        FailureKind.OVERLOADED,
        529,
        id="error",
    ),
    pytest.param(
        b'{"type":"overloaded_error","message":"m"}', FailureKind.OVERLOADED, 529, id="bare error"
    ),
    pytest.param(
        b'[{"type":"error","error":{"type":"overloaded_error"}}]',
        FailureKind.OVERLOADED,
        529,
        id="in an array",
    ),
    pytest.param(b'{"error":{"code":"x"}}', FailureKind.SERVER_ERROR, None, id="unknown error"),
]


@pytest.mark.parametrize(("data", "kind", "status"), BROKEN)
def test_an_event_that_is_no_answer_raises(
    data: bytes, kind: FailureKind, status: int | None
) -> None:
    with pytest.raises(ProviderError) as caught:
        decoder().decode(data)

    failure = caught.value.failure
    assert (failure.kind, failure.status, failure.stage) == (kind, status, Stage.STREAM)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
ODD = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(
            ["message_start", "content_block_start", "content_block_delta", "message_delta", "x"]
        )
        | JSON,
        "index": st.integers(0, 2) | JSON,
        "delta": JSON
        | st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(
                    ["text_delta", "thinking_delta", "input_json_delta", "signature_delta"]
                ),
                "text": JSON,
                "thinking": JSON,
                "partial_json": JSON,
                "signature": JSON,
                "stop_reason": JSON,
            },
        ),
        "content_block": JSON
        | st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(["text", "thinking", "tool_use", "redacted_thinking"]),
                "id": JSON,
                "name": JSON,
                "input": JSON,
                "text": JSON,
                "data": JSON,
            },
        ),
        "message": JSON,
        "usage": JSON,
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
