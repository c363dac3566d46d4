"""The end of a Gemini stream, its usage, and what cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sidestep import (
    FailureKind,
    ProviderError,
)
from sidestep.provider.conversation import Text, Usage
from sidestep.provider.failure import Stage

from .streams import STOP, Event, call, chunk, decoder, read, text, thought

if TYPE_CHECKING:
    pass

K = FailureKind


def blocked(reason: str, **feedback: Any) -> Event:
    return {"promptFeedback": {"blockReason": reason, **feedback}}


@pytest.mark.parametrize(
    "last",
    [{"trafficType": "ON_DEMAND"}, {"promptTokenCount": None}, {"cachedContentTokenCount": 3}],
    ids=["its traffic", "null", "what was cached"],
)
def test_usage_that_counts_nothing_undoes_no_count(last: Event) -> None:
    reader = decoder()
    counted = {"promptTokenCount": 4, "candidatesTokenCount": 7}

    read(reader, [{**chunk(text("a")), "usageMetadata": counted}, {**STOP, "usageMetadata": last}])

    assert reader.usage == Usage(input=4, output=7)


ENDS = [
    pytest.param([], "truncated", id="nothing"),
    pytest.param([chunk(text("a"))], "truncated", id="no reason for the end"),
    pytest.param([chunk(call(args={}))], "truncated", id="a call, no reason for the end"),
    pytest.param(
        [chunk(text("a"), finish="FINISH_REASON_UNSPECIFIED")], "truncated", id="no reason named"
    ),
    pytest.param([{"usageMetadata": {"promptTokenCount": 1}}], "truncated", id="usage only"),
    pytest.param([STOP], "empty_response", id="nothing in it"),
    pytest.param([chunk(thought("a")), STOP], "empty_response", id="thinking only"),
    pytest.param(
        [chunk(thought("a")), chunk(text("", "s"), finish="STOP")],
        "empty_response",
        id="thinking and a signature",
    ),
    *(
        pytest.param([chunk(text("a"), finish=word)], "content_filter", id=word)
        for word in (
            "SAFETY",
            "RECITATION",
            "LANGUAGE",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "MODEL_ARMOR",
            "IMAGE_SAFETY",
        )
    ),
    *(
        pytest.param([chunk(finish=word, said="why")], "tool_call_malformed", id=word)
        for word in ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS")
    ),
    pytest.param(
        [chunk(finish="MISSING_THOUGHT_SIGNATURE")], "history_rejected", id="missing signature"
    ),
    pytest.param([chunk(text("a"), finish="OTHER")], "server_error", id="OTHER"),
    pytest.param([chunk(finish="MALFORMED_RESPONSE")], "server_error", id="MALFORMED_RESPONSE"),
    pytest.param(
        [chunk(text("a"), finish="SAFETY"), STOP], "content_filter", id="a failure stays one"
    ),
    *(
        pytest.param([blocked(word)], "content_filter", id=f"prompt: {word}")
        for word in ("SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "JAILBREAK")
    ),
    pytest.param([blocked("BLOCK_REASON_UNSPECIFIED")], "truncated", id="no block named"),
    pytest.param([chunk(call(args="[1")), STOP], "tool_call_malformed", id="bad arguments"),
    pytest.param([chunk(call(args=[1])), STOP], "tool_call_malformed", id="a list"),
    pytest.param([chunk(call(name="", args={})), STOP], "tool_call_malformed", id="no name"),
    pytest.param(
        [chunk(text("a"), call(willContinue=True)), STOP],
        "tool_call_malformed",
        id="a call in pieces",
    ),
    pytest.param([chunk(finish="MAX_TOKENS")], None, id="limit, nothing in it"),
    pytest.param([chunk(thought("a"), finish="MAX_TOKENS")], None, id="limit while thinking"),
    pytest.param([chunk(call(args={})), STOP], None, id="a call ends with STOP"),
    pytest.param([chunk(text("a"), finish="NEW_REASON")], None, id="another word"),
    pytest.param(
        [chunk(text("a"), finish="STOP"), chunk(text("b"), finish="STOP")], None, id="goes on"
    ),
    pytest.param(
        [{"promptFeedback": {"safetyRatings": []}}, chunk(text("a")), STOP],
        None,
        id="feedback without a block",
    ),
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
    assert failure.code == reader.stop or kind in {"empty_response", "tool_call_malformed"}


@pytest.mark.parametrize(
    "event",
    [
        chunk(finish="SAFETY", said="because of that"),
        blocked("OTHER", blockReasonMessage="because of that"),
    ],
    ids=["answer", "prompt"],
)
def test_a_failure_says_what_the_provider_said(event: Event) -> None:
    reader = decoder()
    read(reader, [event])

    with pytest.raises(ProviderError, match="because of that"):
        reader.end()


USAGES = [
    pytest.param(
        [{"promptTokenCount": 29, "candidatesTokenCount": 10, "thoughtsTokenCount": 202}],
        Usage(input=29, output=212),
        id="thoughts are output",
    ),
    pytest.param(
        [
            {"promptTokenCount": 29, "thoughtsTokenCount": 5},
            {"promptTokenCount": 29, "candidatesTokenCount": 3, "thoughtsTokenCount": 9},
        ],
        Usage(input=29, output=12),
        id="the last counts",
    ),
    pytest.param(
        [{"promptTokenCount": 29, "cachedContentTokenCount": 20}],
        Usage(input=29, cache_read=20),
        id="cached",
    ),
    pytest.param(
        [{"promptTokenCount": 29, "toolUsePromptTokenCount": 4}], Usage(input=33), id="tool use"
    ),
    pytest.param([{"promptTokenCount": 29}, {}, None], Usage(input=29), id="then nothing"),
    pytest.param([{"promptTokenCount": "29"}], Usage(), id="no number"),
]


@pytest.mark.parametrize(("usages", "usage"), USAGES)
def test_usage_is_that_of_the_whole_answer(usages: list[object], usage: Usage) -> None:
    reader = decoder()

    read(reader, [{**chunk(text("a")), "usageMetadata": counted} for counted in usages])

    assert reader.usage == usage


ERROR = {"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}

BROKEN = [
    pytest.param(ERROR, K.OVERLOADED, 503, id="an error"),
    pytest.param([ERROR], K.OVERLOADED, 503, id="in an array"),
    pytest.param({**chunk(text("a")), **ERROR}, K.OVERLOADED, 503, id="beside an answer"),
    pytest.param({"error": {"code": 500, "status": "INTERNAL"}}, K.SERVER_ERROR, 500, id="500"),
    pytest.param({"error": "broken"}, K.SERVER_ERROR, None, id="a string"),
    pytest.param({"candidates": [1]}, K.SERVER_ERROR, None, id="odd candidate"),
    pytest.param({"candidates": 1}, K.SERVER_ERROR, None, id="odd candidates"),
    pytest.param(chunk(1), K.SERVER_ERROR, None, id="odd part"),  # type: ignore[arg-type]
    pytest.param(chunk({"functionCall": 1}), K.SERVER_ERROR, None, id="odd call"),
    pytest.param("text", K.SERVER_ERROR, None, id="a string for an event"),
]


@pytest.mark.parametrize("events", [[], [chunk(text("a"))]], ids=["first", "late"])
@pytest.mark.parametrize(("broken", "kind", "status"), BROKEN)
def test_an_event_that_is_no_answer_raises(
    events: list[Event], broken: Any, kind: FailureKind, status: int | None
) -> None:
    reader = decoder()
    read(reader, events)

    with pytest.raises(ProviderError) as caught:
        read(reader, [broken])

    failure = caught.value.failure
    assert (failure.kind, failure.status, failure.stage) == (kind, status, Stage.STREAM)


def test_the_name_of_an_event_can_make_it_an_error() -> None:
    with pytest.raises(ProviderError) as caught:
        decoder().decode(b'{"code":503,"message":"m"}', b"error")

    assert caught.value.failure.status == 503


def test_other_candidates_are_none_of_ours() -> None:
    reader = decoder()
    other = {"content": {"parts": [text("b")]}, "index": 1, "finishReason": "SAFETY"}

    read(reader, [{"candidates": [other, *chunk(text("a"), finish="STOP")["candidates"]]}])
    reader.end()

    assert reader.parts == [Text("a")]


def test_done_alone_proves_nothing() -> None:
    reader = decoder()
    read(reader, [chunk(text("a"))])

    assert reader.decode(b"[DONE]") == ()
    assert reader.is_done
    with pytest.raises(ProviderError, match="truncated"):
        reader.end()


def test_what_is_not_json_is_not_repeated() -> None:
    with pytest.raises(ProviderError, match="invalid JSON") as caught:
        decoder().decode(b'{"secret')

    assert "secret" not in str(caught.value)
