"""A call that was cut never runs, however the end is reported.

Each row is a call without its arguments, or with half of them, and the words of one server.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sidestep import FailureKind, ProviderError
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import ToolCall, Usage
from sidestep.provider.wire.registry import decoder_of
from sidestep.provider.wire.stop_word import is_cut

from .anthropic.streams import began, piece
from .anthropic.streams import closed as block_closed
from .gemini import streams as gemini
from .openai_responses import streams as responses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sidestep.provider.wire.protocol import Decoder
    from sidestep.provider.wire_name import Wire

Event = dict[str, Any]

WHOLE = {"index": 0, "id": "1", "function": {"name": "read", "arguments": '{"a":1}'}}
KEPT = ToolCall("1", "read", {"a": 1})


def decoded(wire: Wire, events: Sequence[Event], *, limit: int | None = None) -> Decoder:
    decoder = decoder_of(Provider("somebody", wire, "http://h", None))
    decoder.max_output_tokens = limit
    for event in events:
        decoder.decode(json.dumps(event).encode())
    decoder.end()
    return decoder


def chat(arguments: str, finish: str | None, **beside: Any) -> list[Event]:
    """Return a whole call, a call with *arguments*, and a reason for the end."""
    cut = {"index": 1, "id": "2", "function": {"name": "delete", "arguments": arguments}}
    return [
        {"choices": [{"index": 0, "delta": {"tool_calls": [WHOLE]}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [cut]}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": finish, **beside}]},
    ]


REPORTS: list[Any] = [
    *(
        pytest.param("tool_calls", {"native_finish_reason": word}, id=f"OpenRouter, {word}")
        for word in ("length", "max_tokens", "max_output_tokens", "MAX_TOKENS", "model_length")
    ),
    pytest.param("stop", {"native_finish_reason": "MAX_TOKENS"}, id="a stop, MAX_TOKENS"),
    pytest.param(
        "tool_calls",
        {"provider_specific_fields": {"native_finish_reason": "max_tokens"}},
        id="LiteLLM",
    ),
    pytest.param(
        "tool_calls",
        {"provider_specific_fields": {"stop_reason": "max_tokens"}},
        id="LiteLLM, a stop reason",
    ),
    pytest.param(
        "tool_calls",
        {"delta": {"provider_specific_fields": {"finishReason": "MAX_TOKENS"}}},
        id="LiteLLM, in the delta",
    ),
    pytest.param("tool_calls", {"stop_reason": "max_tokens"}, id="a facade of Bedrock"),
    pytest.param("tool_calls", {"finish_details": {"type": "max_tokens"}}, id="Azure's previews"),
    *(
        pytest.param("tool_calls", {name: "max_tokens"}, id=name)
        for name in ("original_finish_reason", "provider_finish_reason", "upstreamStopReason")
    ),
    pytest.param(
        "tool_calls",
        {"provider_metadata": {"google": {"finishReason": "MAX_TOKENS"}}},
        id="metadata of the provider",
    ),
    pytest.param("tool-calls", {"rawFinishReason": "MAX_TOKENS"}, id="the words of the AI SDK"),
    pytest.param(
        "tool_calls", {"incomplete_details": {"reason": "max_output_tokens"}}, id="over Responses"
    ),
    *(
        pytest.param(word, {}, id=f"the word {word}")
        for word in (
            *("length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_length"),
            *("FinishReason.MAX_TOKENS", "max_completion_tokens", "maxTokens", "token_limit"),
            *("max_output", "max-tokens", "MaxTokens", "truncated", "incomplete", "ERROR_LIMIT"),
            *("context_length", "context_window_exceeded", "max_context_length", "length_limit"),
            *("max_generated_tokens", "out_of_tokens"),
        )
    ),
]


@pytest.mark.parametrize(
    "arguments", ["", "{}", '{"path"', '{"path": "a'], ids=["none", "empty", "a key", "half"]
)
@pytest.mark.parametrize(("finish", "beside"), REPORTS)
def test_a_call_that_was_cut_is_left_out(
    finish: str, beside: dict[str, Any], arguments: str
) -> None:
    decoder = decoded("openai-chat", chat(arguments, finish, **beside))

    assert decoder.parts == [KEPT]
    assert is_cut(decoder.stop)


@pytest.mark.parametrize(
    "later",
    [
        {"finish_reason": "tool_calls"},
        {"finish_reason": "tool_calls", "native_finish_reason": "tool_calls"},
        {"finish_reason": "stop"},
    ],
    ids=["tool calls", "both words", "stop"],
)
def test_a_cut_that_was_reported_stays_one(later: Event) -> None:
    """OpenRouter sends several reasons for the end."""
    events = chat("{}", "tool_calls", native_finish_reason="max_tokens")

    decoder = decoded("openai-chat", [*events, {"choices": [{"delta": {}, **later}]}])

    assert decoder.parts == [KEPT]


HONEST = [
    pytest.param("tool_calls", {"native_finish_reason": "tool_use"}, id="Claude's word"),
    pytest.param("tool_calls", {"native_finish_reason": "completed"}, id="the word of Responses"),
    pytest.param("tool_calls", {"native_finish_reason": "STOP"}, id="Gemini's word"),
    pytest.param("tool_calls", {"native_finish_reason": None}, id="null"),
    pytest.param("tool_calls", {"stop_reason": 151645}, id="vLLM's number of a token"),
    pytest.param("tool_calls", {"provider_specific_fields": {"length": "max_tokens"}}, id="a key"),
    pytest.param("stop", {}, id="a stop"),
]


@pytest.mark.parametrize(("finish", "beside"), HONEST)
def test_a_call_without_arguments_that_was_not_cut_is_kept(
    finish: str, beside: dict[str, Any]
) -> None:
    decoder = decoded("openai-chat", chat("{}", finish, **beside))

    assert decoder.parts == [KEPT, ToolCall("2", "delete", {})]
    assert decoder.stop == "tool_calls"


@pytest.mark.parametrize(
    ("finish", "native"),
    [
        ("function_call_filter: MALFORMED_FUNCTION_CALL", None),
        ("malformed_function_call", None),
        ("stop", "MALFORMED_FUNCTION_CALL"),
        ("tool_calls", "UNEXPECTED_TOOL_CALL"),
        ("tool_calls", "malformed_tool_use"),
    ],
)
def test_a_call_that_the_provider_itself_cannot_read_does_not_run(
    finish: str, native: str | None
) -> None:
    with pytest.raises(ProviderError) as caught:
        decoded("openai-chat", chat("{}", finish, native_finish_reason=native))

    assert caught.value.failure.kind is FailureKind.TOOL_CALL_MALFORMED


@pytest.mark.parametrize(
    ("finish", "kind"),
    [
        ("content_filter: RECITATION", FailureKind.CONTENT_FILTER),
        ("content_filter: PROHIBITED_CONTENT", FailureKind.CONTENT_FILTER),
    ],
)
def test_a_title_before_a_word_of_gemini_does_not_hide_it(finish: str, kind: FailureKind) -> None:
    with pytest.raises(ProviderError) as caught:
        decoded("openai-chat", chat('{"a":2}', finish))

    assert caught.value.failure.kind is kind


def counted(output: int) -> Event:
    return {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": output}}


@pytest.mark.parametrize("arguments", ["", "{}", '{"path": "a'], ids=["none", "empty", "half"])
def test_an_answer_as_long_as_was_allowed_was_cut(arguments: str) -> None:
    """vLLM reports `tool_calls` for a call that it cut, and only the count shows it."""
    decoder = decoded("openai-chat", [*chat(arguments, "tool_calls"), counted(64)], limit=64)

    assert decoder.parts == [KEPT]
    assert decoder.stop == "length"


@pytest.mark.parametrize("limit", [None, 65, 63], ids=["no limit", "below it", "above it"])
def test_an_answer_of_another_length_was_not_cut(limit: int | None) -> None:
    decoder = decoded("openai-chat", [*chat("{}", "tool_calls"), counted(64)], limit=limit)

    assert len(decoder.parts) == 2


def test_a_whole_last_call_is_kept_where_the_answer_is_as_long_as_was_allowed() -> None:
    decoder = decoded("openai-chat", [*chat('{"b":2}', "tool_calls"), counted(64)], limit=64)

    assert len(decoder.parts) == 2
    assert decoder.stop == "tool_calls"


def claude(arguments: Sequence[str], stop: str, output: int = 7) -> list[Event]:
    return [
        began(0, type="tool_use", id="1", name="read", input={}),
        piece(0, "input_json", '{"a":1}'),
        block_closed(0),
        began(1, type="tool_use", id="2", name="delete", input={}),
        *(piece(1, "input_json", each) for each in arguments),
        block_closed(1),
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop},
            "usage": {"output_tokens": output},
        },
        {"type": "message_stop"},
    ]


@pytest.mark.parametrize("stop", ["max_tokens", "length", "MAX_TOKENS", "max_output_tokens"])
@pytest.mark.parametrize("arguments", [[], ["{}"], ['{"path"']], ids=["none", "empty", "half"])
def test_a_cut_call_of_a_facade_of_anthropic_is_left_out(arguments: list[str], stop: str) -> None:
    assert decoded("anthropic", claude(arguments, stop)).parts == [KEPT]


@pytest.mark.parametrize("arguments", [[], ["{}"], ['{"path"']], ids=["none", "empty", "half"])
def test_a_facade_of_anthropic_may_report_a_cut_call_as_a_whole_one(arguments: list[str]) -> None:
    decoder = decoded("anthropic", claude(arguments, "tool_use", 64), limit=64)

    assert decoder.parts == [KEPT]
    assert decoder.usage == Usage(output=64)


def test_a_malformed_call_in_the_words_of_bedrock_does_not_run() -> None:
    with pytest.raises(ProviderError) as caught:
        decoded("anthropic", claude(["{}"], "malformed_tool_use"))

    assert caught.value.failure.kind is FailureKind.TOOL_CALL_MALFORMED


CALLING = {"type": "function_call", "id": "fc_2", "call_id": "2", "name": "delete"}


def response(arguments: str, terminal: Event, status: str = "completed") -> list[Event]:
    first = {"type": "function_call", "id": None, "call_id": "1", "name": "read"}
    return [
        responses.done(0, **first, arguments='{"a":1}'),
        responses.added(1, **CALLING, arguments=""),
        responses.arguments(arguments),
        responses.done(1, **CALLING, arguments=arguments, status=status),
        terminal,
    ]


CUT_RESPONSES = [
    *(
        pytest.param(responses.incomplete(word), id=f"incomplete, {word}")
        for word in ("max_output_tokens", "max_tokens", "length", "MAX_TOKENS")
    ),
    pytest.param(
        responses.ended("completed", incomplete_details={"reason": "max_output_tokens"}),
        id="completed, with a reason why not",
    ),
    pytest.param(
        responses.ended("completed", usage={"input_tokens": 9, "output_tokens": 64}),
        id="completed, as long as was allowed",
    ),
]


@pytest.mark.parametrize("status", ["completed", "incomplete"])
@pytest.mark.parametrize("arguments", ["", "{}", '{"path": "a'], ids=["none", "empty", "half"])
@pytest.mark.parametrize("terminal", CUT_RESPONSES)
def test_a_cut_call_of_responses_is_left_out(terminal: Event, arguments: str, status: str) -> None:
    decoder = decoded("openai-responses", response(arguments, terminal, status), limit=64)

    assert decoder.parts == [KEPT]


def test_a_call_without_arguments_in_a_whole_response_is_kept() -> None:
    decoder = decoded("openai-responses", response("{}", responses.ended()), limit=64)

    assert len(decoder.parts) == 2


@pytest.mark.parametrize("finish", ["MAX_TOKENS", "FinishReason.MAX_TOKENS", "max_tokens"])
def test_a_last_call_of_gemini_without_arguments_is_left_out_where_it_was_cut(finish: str) -> None:
    calls = gemini.call(id="1", args={"a": 1}), gemini.call("delete", id="2", args={})

    assert decoded("gemini", [gemini.chunk(*calls, finish=finish)]).parts == [KEPT]
    assert len(decoded("gemini", [gemini.chunk(*calls, finish="STOP")]).parts) == 2


@pytest.mark.parametrize("finish", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"])
def test_a_call_that_gemini_cannot_read_does_not_run(finish: str) -> None:
    """The answer may hold a part of the call all the same."""
    with pytest.raises(ProviderError) as caught:
        decoded("gemini", [gemini.chunk(gemini.call(args={"a": 1}), finish=finish)])

    assert caught.value.failure.kind is FailureKind.TOOL_CALL_MALFORMED


@pytest.mark.parametrize(
    "stop",
    [
        *("stop", "end_turn", "tool_use", "tool_calls", "completed", "STOP", "eos", "", None),
        *("content_filter", "refusal", "model_context_window_exceeded", "lengthy", "stop_sequence"),
    ],
)
def test_other_words_mean_no_cut(stop: str | None) -> None:
    assert not is_cut(stop)


BROKEN = ("USER_CANCEL", "cancelled", "aborted", "interrupted", "timeout", "server_shutdown")


@pytest.mark.parametrize("word", BROKEN)
@pytest.mark.parametrize("name", ["finish_reason", "native_finish_reason"])
def test_an_answer_that_the_server_gave_up_is_a_failure(name: str, word: str) -> None:
    finish = word if name == "finish_reason" else "tool_calls"
    beside = {} if name == "finish_reason" else {name: word}

    with pytest.raises(ProviderError) as caught:
        decoded("openai-chat", chat("{}", finish, **beside))

    assert caught.value.failure.kind is FailureKind.SERVER_ERROR


@pytest.mark.parametrize("beside", [{"incomplete_details": {"reason": "max_output_tokens"}}])
def test_a_cut_is_also_read_beside_the_choices(beside: dict[str, Any]) -> None:
    events = chat("{}", "tool_calls")
    events[-1] |= beside

    assert decoded("openai-chat", events).parts == [KEPT]


def test_an_error_in_a_choice_is_a_failure_whatever_its_stop_reason_says() -> None:
    error = {"code": 502, "message": "Upstream closed."}

    with pytest.raises(ProviderError, match="Upstream closed"):
        decoded("openai-chat", chat('{"path": "a"}', "tool_calls", error=error))


def test_a_cut_of_gemini_is_not_undone_by_a_later_word() -> None:
    first = {"candidates": [{"content": {"parts": [CUT_CALL]}, "finishReason": "MAX_TOKENS"}]}
    last = {"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}]}

    decoder = decoded("gemini", [first, last])

    assert decoder.parts == []
    assert decoder.stop == "MAX_TOKENS"


def test_a_gateway_on_anthropics_wire_may_name_the_cut_beside_its_own_word() -> None:
    block = {"type": "tool_use", "id": "t", "name": "delete", "input": {}}
    stop = {"stop_reason": "tool_use", "native_finish_reason": "MAX_TOKENS"}
    events: list[Event] = [
        {"type": "message_start", "message": {"model": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]

    assert decoded("anthropic", events).parts == []


CUT_CALL = {"functionCall": {"name": "delete", "args": {}}}
