""""""

from __future__ import annotations

import json
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

from .streams import (
    CALL,
    CALLING,
    MESSAGE,
    SAID,
    THINKING,
    Event,
    added,
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

USAGE = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 2},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 6},
}


def test_thinking_text_and_a_call_are_told_and_kept() -> None:
    reader = decoder()

    deltas = read(
        reader,
        [
            event("created", response={"id": "resp_1", "model": "m", "status": "in_progress"}),
            added(0, **THINKING, encrypted_content="part"),
            thought("Hm"),
            done(0, **{**THINKING, "summary": summary("Hm")}, encrypted_content="whole"),
            *CALL,
            added(2, **MESSAGE),
            text("Hel", 2),
            text("lo", 2),
            done(2, **MESSAGE, content=content("Hello")),
            ended(usage=USAGE),
        ],
    )

    assert deltas == [
        ReasoningDelta("Hm"),
        ToolCallStarted("call_1", "read"),
        ToolCallEnded("call_1", "read", {"path": "a.py"}),
        TextDelta("Hel"),
        TextDelta("lo"),
    ]
    assert reader.end() == []
    assert reader.is_done
    assert reader.parts == [
        Reasoning("Hm", encrypted="whole", item_id="rs_1"),
        ToolCall("call_1", "read", {"path": "a.py"}, item_id="fc_1"),
        Text("Hello", item_id="msg_1"),
    ]
    assert (reader.stop, reader.model, reader.request_id) == ("completed", "m", "resp_1")
    assert reader.usage == Usage(input=9, output=7, cache_read=5, cache_write=2)
    assert reader.silent_output == 3


REFUSED = {"type": "refusal", "refusal": "No."}

ENDS = [
    pytest.param([], "truncated", id="nothing"),
    pytest.param(SAID, "truncated", id="no terminal event"),
    pytest.param([*SAID, *CALL], "truncated", id="no terminal event after a call"),
    pytest.param([ended()], "empty_response", id="nothing in it"),
    pytest.param([done(0, **THINKING), ended()], "empty_response", id="thinking only"),
    pytest.param([*CALL[:3], ended()], "tool_call_malformed", id="a call that was not closed"),
    pytest.param(
        [*CALL[:3], ended(output=[{**CALLING, "arguments": "{}"}])],
        "tool_call_malformed",
        id="a call that ends only in the terminal event",
    ),
    pytest.param(
        [*SAID, done(1, **CALLING, arguments='{"a'), ended()],
        "tool_call_malformed",
        id="arguments that are not JSON",
    ),
    pytest.param([done(1, **CALLING, arguments="[]"), ended()], "tool_call_malformed", id="a list"),
    pytest.param(
        [done(1, **{**CALLING, "name": ""}, arguments="{}"), ended()],
        "tool_call_malformed",
        id="a call without a name",
    ),
    pytest.param(
        [*CALL[:3], done(1, **CALLING, arguments="{}", status="incomplete"), ended()],
        "tool_call_malformed",
        id="a call that calls itself incomplete",
    ),
    pytest.param(
        [event("refusal.delta", output_index=0, delta="No."), ended()], "refusal", id="refusal"
    ),
    pytest.param(
        [done(0, **MESSAGE, content=[*content("Hi"), REFUSED]), ended()],
        "refusal",
        id="refusal after text",
    ),
    pytest.param([*SAID, incomplete("content_filter")], "content_filter", id="filter"),
    pytest.param([incomplete("content_filter")], "content_filter", id="filter, nothing in it"),
    pytest.param([incomplete("max_messages")], "empty_response", id="cut, nothing in it"),
    pytest.param([incomplete("max_output_tokens")], None, id="limit, nothing in it"),
    pytest.param([*CALL[:3], incomplete("max_output_tokens")], None, id="limit in a call"),
    pytest.param(
        [done(1, **CALLING, arguments='{"a', status="incomplete"), incomplete("max_output_tokens")],
        None,
        id="limit in a call that is closed",
    ),
    pytest.param([*SAID, incomplete("steered")], None, id="steered"),
    pytest.param([*SAID, incomplete(None)], None, id="no reason"),
    pytest.param([*SAID, ended(status=None)], None, id="no status"),
]


@pytest.mark.parametrize("is_clean", [True, False], ids=["clean", "broken"])
@pytest.mark.parametrize(("events", "kind"), ENDS)
def test_the_end_is_judged(events: list[Event], kind: str | None, is_clean: bool) -> None:
    reader = decoder()
    read(reader, events)

    if kind is None:
        reader.end(is_clean=is_clean)
        return
    with pytest.raises(ProviderError) as caught:
        reader.end(is_clean=is_clean)
    failure = caught.value.failure
    assert (failure.kind, failure.stage, failure.status) == (kind, Stage.END, None)


STOPS = [
    pytest.param(incomplete("max_output_tokens"), "max_output_tokens", id="limit"),
    pytest.param(incomplete(None), "incomplete", id="no reason"),
    pytest.param(
        ended("completed", status="incomplete", incomplete_details={"reason": "steered"}),
        "steered",
        id="a status that is worse than the event",
    ),
    pytest.param(ended(), "completed", id="completed"),
]


@pytest.mark.parametrize(("terminal", "stop"), STOPS)
def test_the_reason_for_the_end_is_the_providers_word(terminal: Event, stop: str) -> None:
    reader = decoder()

    read(reader, [*SAID, terminal])

    assert reader.stop == stop


def test_done_alone_proves_nothing() -> None:
    reader = decoder()
    read(reader, SAID)

    assert reader.decode(b"[DONE]") == ()
    assert reader.is_done
    with pytest.raises(ProviderError, match="truncated"):
        reader.end()


SERVER = {"code": "server_error", "message": "m"}

BROKEN = [
    pytest.param({"type": "error", **SERVER, "param": None, "sequence_number": 3}, id="flat"),
    pytest.param({"type": "error", "error": {**SERVER, "type": "server_error"}}, id="nested"),
    pytest.param({"error": SERVER}, id="without a type"),
    pytest.param(ended("failed", error=SERVER), id="failed"),
    pytest.param(ended("failed", error={"message": "m"}), id="failed without a code"),
    pytest.param(ended("failed", error=None), id="failed without an error"),
    pytest.param(event("failed"), id="failed without a response"),
    pytest.param(ended("completed", status="failed", error=SERVER), id="completed but failed"),
    pytest.param(ended("completed", status="cancelled"), id="completed but cancelled"),
    pytest.param(event("output_item.done"), id="no item"),
    pytest.param(event("output_item.added", item=None), id="null for an item"),
    pytest.param(event("output_text.delta"), id="no delta"),
    pytest.param(ended(output=1), id="odd output"),
]


@pytest.mark.parametrize("events", [pytest.param([], id="first"), pytest.param(SAID, id="late")])
@pytest.mark.parametrize("broken", BROKEN)
def test_an_event_that_is_no_answer_raises(events: list[Event], broken: Event) -> None:
    reader = decoder()
    read(reader, events)

    with pytest.raises(ProviderError) as caught:
        read(reader, [broken])

    failure = caught.value.failure
    assert (failure.kind, failure.stage) == (FailureKind.SERVER_ERROR, Stage.STREAM)
    assert failure.message


K = FailureKind

FAILED = [
    pytest.param("rate_limit_exceeded", "try again in 11.054s", K.RATE_LIMIT, 11.054, id="wait"),
    pytest.param("rate_limit_exceeded", "try again in 120ms", K.RATE_LIMIT, 0.12, id="wait in ms"),
    pytest.param("rate_limit_exceeded", "try again in 2 seconds", K.RATE_LIMIT, 2.0, id="spelled"),
    pytest.param("insufficient_quota", "m", K.QUOTA, None, id="quota"),
    pytest.param("usage_not_included", "m", K.QUOTA, None, id="not in the plan"),
    pytest.param("context_length_exceeded", "m", K.CONTEXT_OVERFLOW, None, id="overflow"),
    pytest.param("server_is_overloaded", "m", K.OVERLOADED, None, id="overloaded"),
    pytest.param("cyber_policy", "m", K.CONTENT_FILTER, None, id="policy"),
    pytest.param("data_residency_mismatch", "m", K.BAD_REQUEST, None, id="residency"),
    pytest.param("vector_store_timeout", "m", K.TIMEOUT, None, id="timeout"),
    pytest.param("upstream_stream_read_error", "m", K.SERVER_ERROR, None, id="upstream"),
    pytest.param("a_new_code", "insufficient_quota", K.SERVER_ERROR, None, id="unknown code"),
]


@pytest.mark.parametrize("shape", ["failed", "flat", "nested", "in an array"])
@pytest.mark.parametrize(("code", "message", "kind", "wait"), FAILED)
def test_an_error_has_the_same_name_in_every_shape(
    shape: str, code: str, message: str, kind: FailureKind, wait: float | None
) -> None:
    error = {"code": code, "message": message}
    shapes = {
        "failed": ended("failed", error=error),
        "flat": {"type": "error", **error},
        "nested": {"type": "error", "error": error},
        "in an array": [{"type": "error", "error": error}],
    }

    with pytest.raises(ProviderError) as caught:
        decoder().decode(json.dumps(shapes[shape]).encode())

    failure = caught.value.failure
    assert (failure.kind, failure.retry_after, failure.code) == (kind, wait, code)


def test_the_usage_of_a_failure_is_counted() -> None:
    reader = decoder()

    with pytest.raises(ProviderError):
        read(reader, [ended("failed", error=SERVER, usage=USAGE)])

    assert reader.usage == Usage(input=9, output=7, cache_read=5, cache_write=2)


def test_the_name_of_an_event_stands_in_for_its_type() -> None:
    reader = decoder()

    deltas = reader.decode(b'{"delta":"Hi"}', b"response.output_text.delta")

    assert deltas == (TextDelta("Hi"),)
    with pytest.raises(ProviderError):
        reader.decode(b'{"code":"server_error","message":"m"}', b"error")


def test_what_is_not_json_is_not_repeated() -> None:
    with pytest.raises(ProviderError, match="invalid JSON") as caught:
        decoder().decode(b'{"secret')

    assert "secret" not in str(caught.value)


def test_half_an_emoji_is_read() -> None:
    assert decoder().decode(
        b'{"type":"response.output_text.delta","output_index":0,"delta":"a\\ud83d"}'
    ) == (TextDelta("a?"),)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)

ENTRIES = st.lists(st.fixed_dictionaries({}, optional={"text": JSON, "refusal": JSON}))

ITEM = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["message", "reasoning", "function_call"]) | JSON,
        "id": JSON,
        "call_id": JSON,
        "name": JSON,
        "arguments": JSON,
        "content": ENTRIES | JSON,
        "summary": ENTRIES | JSON,
        "encrypted_content": JSON,
    },
)

RESPONSE = st.fixed_dictionaries(
    {},
    optional={"id": JSON, "status": JSON, "usage": JSON, "output": st.lists(ITEM) | JSON},
)

NAMES = st.sampled_from(
    [
        "output_item.added",
        "output_item.done",
        "output_text.delta",
        "refusal.delta",
        "reasoning_summary_text.delta",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "completed",
        "incomplete",
        "failed",
        "created",
    ]
)

ODD = st.fixed_dictionaries(
    {"type": NAMES.map("response.{}".format) | JSON},
    optional={
        "output_index": st.integers(0, 2) | JSON,
        "item_id": JSON,
        "delta": JSON,
        "arguments": JSON,
        "summary_index": JSON,
        "item": ITEM | JSON,
        "response": RESPONSE | JSON,
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
