""""""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import (
    FailureKind,
    ProviderError,
    TextDelta,
    ToolCallEnded,
    ToolCallStarted,
)
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import Text, ToolCall, Usage
from sidestep.provider.failure import Stage
from sidestep.provider.wire.openai_chat.decode import ChatDecoder

from .streams import READ, Event, calls, chunk, decoder, fragment, read

if TYPE_CHECKING:
    pass


def test_text_and_a_call_are_told_and_kept() -> None:
    reader = decoder()

    deltas = read(
        reader,
        [
            chunk(role="assistant", content=""),
            chunk(content="Hel"),
            chunk(content="lo"),
            calls(fragment("", index=0, id="call_1", name="read")),
            calls(fragment('{"path": ', index=0)),
            calls(fragment('"a.py"}', index=0)),
            chunk("tool_calls"),
            {"choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 7}},
        ],
    )

    assert deltas == [
        TextDelta("Hel"),
        TextDelta("lo"),
        ToolCallStarted("call_1", "read"),
        ToolCallEnded("call_1", "read", {"path": "a.py"}),
    ]
    assert reader.end() == []
    assert reader.parts == [Text("Hello"), ToolCall("call_1", "read", {"path": "a.py"})]
    assert (reader.stop, reader.model, reader.request_id) == ("tool_calls", "m", "gen-1")
    assert reader.usage == Usage(input=4, output=7)
    assert reader.silent_output == 3


ENDS = [
    pytest.param([chunk(content="a")], "truncated", id="no reason for the end"),
    pytest.param([], "truncated", id="nothing"),
    pytest.param([chunk(content="a"), chunk("")], "truncated", id="an empty reason"),
    pytest.param([chunk("content_filter", content="a")], "content_filter", id="filter"),
    pytest.param([chunk("sensitive", content="a")], "content_filter", id="filter of GLM"),
    pytest.param([chunk("error", content="a")], "server_error", id="error"),
    pytest.param([chunk("error"), chunk("stop", content="a")], "server_error", id="error first"),
    pytest.param([chunk("network_error")], "server_error", id="network of GLM"),
    pytest.param([chunk("insufficient_system_resource")], "overloaded", id="DeepSeek is full"),
    pytest.param([chunk("model_context_window_exceeded")], "context_overflow", id="window"),
    pytest.param([chunk(refusal="No"), chunk(refusal="."), chunk("stop")], "refusal", id="refusal"),
    pytest.param([chunk("stop")], "empty_response", id="nothing in it"),
    pytest.param([chunk("stop", reasoning="Hm")], "empty_response", id="thinking only"),
    pytest.param(
        [calls(fragment('{"a', index=0, id="1", **READ)), chunk("tool_calls")],
        "tool_call_malformed",
        id="bad call",
    ),
    pytest.param(
        [calls(fragment("[]", index=0, id="1", **READ)), chunk("tool_calls")],
        "tool_call_malformed",
        id="a list for arguments",
    ),
    pytest.param(
        [calls(fragment("{}", index=0, id="1")), chunk("tool_calls")],
        "tool_call_malformed",
        id="a call without a name",
    ),
    pytest.param(
        [calls(fragment('{"a', index=0, id="1", **READ)), chunk("length")], None, id="cut by limit"
    ),
    pytest.param([chunk("length")], None, id="nothing, by the limit"),
    pytest.param([chunk(content="a"), chunk("eos")], None, id="another word"),
    pytest.param(
        [chunk("stop", content="a"), chunk("stop"), chunk(content="b")], None, id="goes on"
    ),
]


@pytest.mark.parametrize("is_clean", [True, False], ids=["clean", "broken"])
@pytest.mark.parametrize(("events", "kind"), ENDS)
def test_the_end_is_judged(events: list[Event], kind: str | None, is_clean: bool) -> None:
    reader = decoder()
    read(reader, events)

    if kind is None:
        reader.end(is_clean=is_clean)
    else:
        with pytest.raises(ProviderError) as caught:
            reader.end(is_clean=is_clean)
        assert caught.value.failure.kind == kind
        assert (caught.value.failure.stage, caught.value.failure.status) == (Stage.END, None)
    assert not [part for part in reader.parts if isinstance(part, ToolCall)]


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("SAFETY", FailureKind.CONTENT_FILTER),
        ("IMAGE_SAFETY", FailureKind.CONTENT_FILTER),
        ("MALFORMED_FUNCTION_CALL", FailureKind.TOOL_CALL_MALFORMED),
        ("MISSING_THOUGHT_SIGNATURE", FailureKind.HISTORY_REJECTED),
        ("OTHER", FailureKind.SERVER_ERROR),
    ],
)
def test_a_gemini_may_say_in_its_own_words_why_it_failed(word: str, kind: FailureKind) -> None:
    url = "https://generativelanguage.googleapis.com/v1beta/openai"
    reader = ChatDecoder(Provider("mine", "openai-chat", url, None))
    read(reader, [chunk(word, content="a")])

    with pytest.raises(ProviderError) as caught:
        reader.end()

    assert caught.value.failure.kind is kind


def test_content_after_the_reason_for_the_end_is_kept() -> None:
    reader = decoder()

    read(reader, [chunk("stop", content="a"), chunk(content="b"), chunk("stop", content="c")])

    assert reader.parts == [Text("abc")]


@pytest.mark.parametrize(
    "base_url",
    [
        pytest.param("https://openrouter.ai/api/v1", id="known"),
        pytest.param("http://h", id="unknown"),
    ],
)
def test_done_alone_proves_nothing(base_url: str) -> None:
    reader = ChatDecoder(Provider("my-server", "openai-chat", base_url, None))
    read(reader, [chunk(reasoning="Hm"), chunk(content="a")])

    assert reader.decode(b"[DONE]") == ()
    assert reader.is_done
    assert reader.stop is None
    with pytest.raises(ProviderError, match="truncated"):
        reader.end()


USAGES = [
    pytest.param({"usage": {"prompt_tokens": 1}}, Usage(input=1), id="top level"),
    pytest.param(
        {"choices": [{"delta": {}, "usage": {"prompt_tokens": 1, "cached_tokens": 3}}]},
        Usage(input=1, cache_read=3),
        id="in the choice",
    ),
    pytest.param({"x_groq": {"usage": {"completion_tokens": 2}}}, Usage(output=2), id="of Groq"),
    pytest.param(
        {"usage": {"prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 4}}},
        Usage(cache_read=3, cache_write=4),
        id="cached",
    ),
    pytest.param({"usage": {"prompt_cache_hit_tokens": 5}}, Usage(cache_read=5), id="of DeepSeek"),
    pytest.param({"usage": None}, Usage(), id="null"),
]


@pytest.mark.parametrize(("event", "usage"), USAGES)
def test_usage_is_found(event: Event, usage: Usage) -> None:
    reader = decoder()

    read(reader, [chunk(content="a"), {**chunk(), **event}])

    assert reader.usage == usage


@pytest.mark.parametrize(
    "last",
    [
        pytest.param({"usage": {"cost": 0.1}}, id="what it costs"),
        pytest.param({"usage": {"prompt_tokens": None, "completion_tokens": None}}, id="null"),
        pytest.param({"usage": {"prompt_tokens": True, "completion_tokens": False}}, id="booleans"),
        pytest.param({"x_groq": {"usage": {"queue_time": 0.1}}}, id="of Groq"),
        pytest.param({"usage": {"prompt_tokens_details": {"cached_tokens": 3}}}, id="details"),
    ],
)
def test_usage_that_counts_nothing_undoes_no_count(last: Event) -> None:
    reader = decoder()
    counted = {"usage": {"prompt_tokens": 4, "completion_tokens": 7}}

    read(reader, [{**chunk("stop", content="a"), **counted}, {**chunk(), **last}])

    assert reader.usage == Usage(input=4, output=7)


BROKEN = [
    pytest.param(
        {"error": {"code": 502, "message": "m"}}, FailureKind.SERVER_ERROR, 502, id="code"
    ),
    pytest.param(
        {**chunk("error"), "error": {"code": 429}}, FailureKind.RATE_LIMIT, 429, id="in a chunk"
    ),
    pytest.param([{"error": {"code": 502}}], FailureKind.SERVER_ERROR, 502, id="in an array"),
    pytest.param([{"choices": []}], FailureKind.SERVER_ERROR, None, id="an array of no errors"),
    pytest.param({"choices": [], "error": "x"}, FailureKind.SERVER_ERROR, None, id="a string"),
    pytest.param({"object": "error", "type": "x"}, FailureKind.SERVER_ERROR, None, id="flat"),
    pytest.param(
        {"error": {"type": "insufficient_quota"}}, FailureKind.QUOTA, 429, id="quota by type"
    ),
    pytest.param({"choices": [1]}, FailureKind.SERVER_ERROR, None, id="odd choice"),
    pytest.param({"choices": {"a": 1}}, FailureKind.SERVER_ERROR, None, id="odd choices"),
]


@pytest.mark.parametrize(("event", "kind", "status"), BROKEN)
def test_an_event_that_is_no_answer_raises(
    event: Event, kind: FailureKind, status: int | None
) -> None:
    with pytest.raises(ProviderError) as caught:
        read(decoder(), [event])

    failure = caught.value.failure
    assert (failure.kind, failure.status, failure.stage) == (kind, status, Stage.STREAM)


def test_what_is_not_json_is_not_repeated() -> None:
    with pytest.raises(ProviderError, match="invalid JSON") as caught:
        decoder().decode(b'{"secret')

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "kind"),
    [("over_capacity", FailureKind.OVERLOADED), ("new", FailureKind.SERVER_ERROR)],
)
def test_groq_says_in_its_own_field_why_a_stream_stopped(error: str, kind: FailureKind) -> None:
    with pytest.raises(ProviderError) as caught:
        read(decoder("groq"), [chunk(content="a"), {**chunk(), "x_groq": {"error": error}}])

    assert caught.value.failure.kind is kind


def test_the_name_of_an_event_can_make_it_an_error() -> None:
    with pytest.raises(ProviderError) as caught:
        decoder("groq").decode(b'{"message":"m","code":"tool_use_failed"}', b"error")

    assert caught.value.failure.kind is FailureKind.TOOL_CALL_MALFORMED


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)

FUNCTION = st.fixed_dictionaries({}, optional={"name": JSON, "arguments": JSON})

FRAGMENT = st.fixed_dictionaries(
    {}, optional={"index": JSON, "id": JSON, "function": FUNCTION | JSON}
)

DELTA = st.fixed_dictionaries(
    {},
    optional={
        "content": JSON | st.lists(st.fixed_dictionaries({"thinking": JSON, "text": JSON})),
        "tool_calls": st.lists(FRAGMENT) | JSON,
        "reasoning": JSON,
        "reasoning_details": JSON | st.lists(st.fixed_dictionaries({"type": JSON, "text": JSON})),
        "refusal": JSON,
    },
)

CHOICE = st.fixed_dictionaries({}, optional={"delta": DELTA | JSON, "finish_reason": JSON})

ODD = st.fixed_dictionaries(
    {},
    optional={
        "choices": st.lists(CHOICE, min_size=1) | JSON,
        "usage": JSON,
        "error": JSON,
        "x_groq": JSON,
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
