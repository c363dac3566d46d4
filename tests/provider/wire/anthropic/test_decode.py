""""""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from sidestep.provider.conversation import Reasoning, Text, ToolCall, Usage
from sidestep.provider.failure import Stage

from .streams import CALL, START, STOP, TEXT, THINKING, Event, closed, decoder, ended, read

if TYPE_CHECKING:
    pass


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


def test_the_name_of_an_event_stands_in_for_its_type() -> None:
    reader = decoder()
    event = b'{"index":0,"delta":{"type":"text_delta","text":"a"}}'

    assert reader.decode(event, b"content_block_delta") == (TextDelta("a"),)


def test_half_a_surrogate_pair_does_not_end_the_stream() -> None:
    event = (
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\ud83d"}}'
    )

    assert decoder().decode(event) == (TextDelta("a?"),)


USAGES = [
    pytest.param(
        {"input_tokens": 10_000},
        {"input_tokens": 200, "cache_read_input_tokens": 9_800, "output_tokens": 7},
        Usage(input=200, output=7, cache_read=9_800),
        id="the whole prompt, then what was not cached",
    ),
    pytest.param(
        {"input_tokens": 10_000, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0},
        {"input_tokens": 200, "cache_creation_input_tokens": 9_800, "output_tokens": 7},
        Usage(input=200, output=7, cache_read=0, cache_write=9_800),
        id="the whole prompt, then what was written to the cache",
    ),
    pytest.param(
        {"input_tokens": 10_000},
        {"input_tokens": 0, "cache_read_input_tokens": 10_000, "output_tokens": 7},
        Usage(input=0, output=7, cache_read=10_000),
        id="all of it was cached",
    ),
    pytest.param(
        {"input_tokens": 9, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2},
        {
            "input_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
            "output_tokens": 7,
        },
        Usage(input=9, output=7, cache_read=5, cache_write=2),
        id="counts of 0 at the end",
    ),
    pytest.param(
        {"input_tokens": 100, "cache_read_input_tokens": 900},
        {"input_tokens": 1_000, "output_tokens": 7},
        Usage(input=100, output=7, cache_read=900),
        id="what was not cached, then the whole prompt",
    ),
    pytest.param(
        {"input_tokens": 9, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2},
        {"input_tokens": 9, "cache_read_input_tokens": 5, "output_tokens": 7},
        Usage(input=9, output=7, cache_read=5, cache_write=2),
        id="the same twice, as Anthropic counts",
    ),
    pytest.param(
        {"input_tokens": 0, "output_tokens": 0},
        {"input_tokens": 9, "cache_read_input_tokens": 5, "output_tokens": 7},
        Usage(input=9, output=7, cache_read=5),
        id="only at the end",
    ),
    pytest.param(
        {"input_tokens": 9},
        {"cache_read_input_tokens": 5, "output_tokens": 7},
        Usage(input=9, output=7, cache_read=5),
        id="a cache without an input",
    ),
    pytest.param(
        {"input_tokens": 9}, {"output_tokens": 7}, Usage(input=9, output=7), id="no cache"
    ),
    pytest.param(
        {"input_tokens": 0, "output_tokens": 1},
        {"input_tokens": 0, "output_tokens": 0},
        Usage(input=0, output=0),
        id="nothing is counted",
    ),
    pytest.param(
        {"input_tokens": 9, "output_tokens": 7},
        {"input_tokens": 0, "output_tokens": 0},
        Usage(input=9, output=7),
        id="only at the start",
    ),
]


@pytest.mark.parametrize(("first", "last", "usage"), USAGES)
def test_the_prompt_counts_once(first: Event, last: Event, usage: Usage) -> None:
    reader = decoder()
    start = {"type": "message_start", "message": {"model": "m", "usage": first}}

    read(reader, [start, *TEXT, {**ended(), "usage": last}, STOP])

    assert reader.usage == usage


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
