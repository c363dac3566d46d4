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
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import Reasoning, Text, ToolCall, Usage
from sidestep.provider.failure import Stage
from sidestep.provider.wire.openai_chat.decode import ChatDecoder

if TYPE_CHECKING:
    from sidestep.provider.delta import Delta


Event = dict[str, Any]


def chunk(finish: str | None = None, **delta: Any) -> Event:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "gen-1", "model": "m", "choices": [choice]}


def fragment(arguments: object = "", **fields: Any) -> Event:
    name = fields.pop("name", None)
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return {"function": function, **fields}


def calls(*fragments: Event) -> Event:
    return chunk(tool_calls=list(fragments))


def decoder(provider: str = "openrouter") -> ChatDecoder:
    return ChatDecoder(catalog()[provider])


def read(reader: ChatDecoder, events: list[Event]) -> list[Delta]:
    return [delta for event in events for delta in reader.decode(json.dumps(event).encode())]


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


READ = {"name": "read"}
ASSEMBLED = [
    pytest.param(
        [
            fragment('{"a":1}', index=0, id="1", **READ),
            fragment('{"b":2}', index=1, id="2", **READ),
        ],
        [("1", {"a": 1}), ("2", {"b": 2})],
        id="parallel",
    ),
    pytest.param(
        [
            fragment('{"a"', index=0, id="1", **READ),
            fragment('{"b"', index=1, id="2", **READ),
            fragment(":1}", index=0),
            fragment(":2}", index=1),
        ],
        [("1", {"a": 1}), ("2", {"b": 2})],
        id="interleaved",
    ),
    pytest.param(
        [fragment('{"a"', id="1", **READ), fragment(":1}", id="1", **READ)],
        [("1", {"a": 1})],
        id="no index, id and name repeated",
    ),
    pytest.param(
        [
            fragment('{"a"', id="1", **READ),
            fragment('{"b"', id="2", **READ),
            fragment(":1}", id="1"),
            fragment(":2}", id="2"),
        ],
        [("1", {"a": 1}), ("2", {"b": 2})],
        id="no index, interleaved",
    ),
    pytest.param(
        [fragment('{"a"', id="1", **READ), fragment(":1}")],
        [("1", {"a": 1})],
        id="no index, no id on what follows",
    ),
    *(
        pytest.param(
            [fragment('{"a"', id="1", **READ), fragment(":1", id="2", **nameless), *rest],
            [("1", {"a": 1})],
            id=f"no index, an id that changes, {named}",
        )
        for named, nameless, rest in (
            ("no name", {}, [fragment("}", id="3")]),
            ("an empty name", {"name": ""}, [fragment("}", id="3", name="")]),
            ("which then stays", {}, [fragment("}", id="2"), fragment("", id="4")]),
            ("and then is none", {}, [fragment("}")]),
        )
    ),
    pytest.param(
        [
            fragment('{"a"', id="1", **READ),
            fragment(":1}", id="2"),
            fragment('{"b"', id="3", **READ),
            fragment(":2}", id="4"),
            fragment("", id="1"),
        ],
        [("1", {"a": 1}), ("3", {"b": 2})],
        id="no index, two calls whose ids change",
    ),
    pytest.param(
        [
            fragment('{"a":1}', index=0, id="1", **READ),
            fragment('{"b":2}', index=0, id="2", **READ),
        ],
        [("1", {"a": 1}), ("2", {"b": 2})],
        id="whole calls, all numbered 0",
    ),
    pytest.param(
        [fragment('{"a"', index=0, id="1", **READ), fragment(":1}", index=0, id="2", **READ)],
        [("1", {"a": 1})],
        id="an id that changes",
    ),
    pytest.param(
        [fragment("", index=0, id="1", **READ), fragment('{"a":1}', index=0, id="2", **READ)],
        [("1", {"a": 1})],
        id="an id that changes before the first argument",
    ),
    pytest.param(
        [fragment('{"a":1}', id="1", **READ), fragment('{"a":1}', id="1", **READ)],
        [("1", {"a": 1})],
        id="the same call twice",
    ),
    pytest.param(
        [fragment('{"a":1}', index=n, id="1", **READ) for n in (0, 1)],
        [("1", {"a": 1})],
        id="the same call under two numbers",
    ),
    pytest.param(
        [fragment(f'{{"a":{n}}}', index=n, id="1", **READ) for n in (0, 1)],
        [("1", {"a": 0}), ("1", {"a": 1})],
        id="two calls under one id",
    ),
    pytest.param([fragment({"a": 1}, index=0, id="1", **READ)], [("1", {"a": 1})], id="an object"),
    pytest.param([fragment("", index=0, id="1", **READ)], [("1", {})], id="no arguments"),
    pytest.param([fragment("null", index=0, id="1", **READ)], [("1", {})], id="null"),
    pytest.param(
        [{}, {"function": None, "id": "1", "index": 0}, fragment("{}", index=0, **READ)],
        [("1", {})],
        id="empty fragments, id before name",
    ),
]


@pytest.mark.parametrize(("fragments", "expected"), ASSEMBLED)
def test_fragments_of_calls_find_together(
    fragments: list[Event], expected: list[tuple[str, dict[str, Any]]]
) -> None:
    reader = decoder()

    deltas = read(reader, [*(calls(f) for f in fragments), chunk("stop")])
    deltas += reader.end()

    assert [(d.id, d.input) for d in deltas if isinstance(d, ToolCallEnded)] == expected
    assert [(p.id, p.input) for p in reader.parts if isinstance(p, ToolCall)] == expected
    assert reader.stop == "tool_calls"


LIST = {"name": "list"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(fragment("", id="1", **LIST), {"id": "2"}, id="empty arguments"),
        pytest.param(fragment(None, id="1", **LIST), {"id": "2"}, id="no arguments"),
        pytest.param(fragment(" ", id="1", **LIST), {"id": "2"}, id="blank arguments"),
        pytest.param(fragment("{}", id="1", **LIST), {"id": "2"}, id="whole arguments"),
        pytest.param(fragment("", id="1", **LIST), {"id": "1"}, id="one id"),
        pytest.param(fragment("", **LIST), {}, id="no ids"),
    ],
)
def test_calls_that_all_are_numbered_0_stay_apart(first: Event, second: Event) -> None:
    reader = decoder("mistral")

    read(reader, [calls({"index": 0, **first}), calls(fragment('{"b"', index=0, **second, **READ))])
    read(reader, [calls(fragment(":2}", index=0)), chunk("tool_calls")])
    reader.end()

    made = [(part.name, part.input) for part in reader.parts if isinstance(part, ToolCall)]
    assert made == [("list", {}), ("read", {"b": 2})]


EARLY = [
    pytest.param(
        [chunk("tool_calls"), calls(fragment('{"a":1}', index=0, id="1", **READ))],
        [{"a": 1}],
        id="a whole call",
    ),
    pytest.param(
        [
            chunk("tool_calls"),
            calls(fragment("", index=0, id="1", **READ)),
            calls(fragment('{"a"', index=0)),
            calls(fragment(":1}", index=0)),
            chunk("tool_calls"),
        ],
        [{"a": 1}],
        id="a call in pieces",
    ),
    pytest.param(
        [
            calls(fragment("", index=0, id="1", **READ)),
            chunk("tool_calls"),
            calls(fragment('{"a":1}', index=0)),
        ],
        [{"a": 1}],
        id="the arguments",
    ),
    pytest.param(
        [
            chunk("stop", tool_calls=[fragment(" ", index=0, id="1", **READ)]),
            chunk("stop", tool_calls=[fragment('{"a"', index=0)]),
            chunk("stop", tool_calls=[fragment(":1}", index=0)]),
        ],
        [{"a": 1}],
        id="the arguments, with a reason on every event",
    ),
    pytest.param(
        [
            calls(fragment('{"a":1}', index=0, id="1", **READ)),
            chunk("tool_calls"),
            calls(fragment('{"b":2}', index=1, id="2", **READ)),
            chunk("tool_calls"),
        ],
        [{"a": 1}, {"b": 2}],
        id="another call",
    ),
    pytest.param(
        [calls(fragment("", index=0, id="1", **READ)), chunk("tool_calls")],
        [{}],
        id="nothing, of a call without arguments",
    ),
]


@pytest.mark.parametrize(("events", "expected"), EARLY)
def test_what_comes_of_calls_after_an_early_reason_for_the_end_is_kept(
    events: list[Event], expected: list[dict[str, Any]]
) -> None:
    """OpenRouter sends several reasons, and content after the first of them."""
    reader = decoder()

    deltas = read(reader, events)
    deltas += reader.end()

    assert [d.input for d in deltas if isinstance(d, ToolCallEnded)] == expected
    assert [p.input for p in reader.parts if isinstance(p, ToolCall)] == expected


def test_a_call_with_arguments_is_closed_as_soon_as_the_reason_for_the_end_comes() -> None:
    reader = decoder()

    deltas = read(reader, [calls(fragment('{"a":1}', index=0, id="1", **READ)), chunk("stop")])

    assert deltas == [ToolCallStarted("1", "read"), ToolCallEnded("1", "read", {"a": 1})]
    assert reader.end() == []


@pytest.mark.parametrize("stop", ["length", "max_tokens", "model_length", "MAX_TOKENS"])
@pytest.mark.parametrize(
    "arguments", ["", " ", None, "\n"], ids=["empty", "blank", "none", "a new line"]
)
def test_a_call_that_is_cut_before_its_first_argument_is_left_out(
    arguments: str | None, stop: str
) -> None:
    reader = decoder()

    deltas = read(
        reader,
        [
            calls(fragment('{"a":1}', index=0, id="1", **READ)),
            calls(fragment(arguments, index=1, id="2", name="delete")),
            chunk(stop),
        ],
    )
    deltas += reader.end()

    assert [d.id for d in deltas if isinstance(d, ToolCallEnded)] == ["1"]
    assert reader.parts == [ToolCall("1", "read", {"a": 1})]


def test_a_call_without_arguments_may_lack_them_where_the_connection_broke() -> None:
    reader = decoder()
    read(reader, [calls(fragment("", index=0, id="1", **READ)), chunk("tool_calls")])

    with pytest.raises(ProviderError, match="truncated"):
        reader.end(is_clean=False)

    assert reader.parts == []


SIGNED = {"extra_content": {"google": {"thought_signature": "c2ln"}}}


@pytest.mark.parametrize(
    ("fragments", "signatures"),
    [
        pytest.param([fragment("{}", index=0, id="1", **READ, **SIGNED)], ["c2ln"], id="at once"),
        pytest.param(
            [fragment("", index=0, id="1", **READ), fragment("{}", index=0, **SIGNED)],
            ["c2ln"],
            id="in a later fragment",
        ),
        pytest.param(
            [fragment("", index=0, id="1", **READ, **SIGNED), fragment("{}", index=0)],
            ["c2ln"],
            id="in an earlier one",
        ),
        pytest.param(
            [
                fragment("{}", index=0, id="1", **READ),
                {"index": 0, "extra_content": SIGNED["extra_content"]},
            ],
            ["c2ln"],
            id="in a fragment of its own",
        ),
        pytest.param(
            [fragment("{}", id="1", **READ, **SIGNED), fragment("{}", id="2", **READ)],
            ["c2ln", None],
            id="on the first of two calls",
        ),
        *(
            pytest.param(
                [fragment("{}", index=0, id="1", **READ, extra_content=odd)],
                [None],
                id=f"odd {odd}",
            )
            for odd in (None, "c2ln", {"google": "c2ln"}, {"google": {"thought_signature": 1}})
        ),
    ],
)
def test_what_a_gemini_signs_of_a_call_is_kept(
    fragments: list[Event], signatures: list[str | None]
) -> None:
    reader = decoder()

    read(reader, [*(calls(f) for f in fragments), chunk("tool_calls")])

    assert [p.signature for p in reader.parts if isinstance(p, ToolCall)] == signatures


def test_a_second_call_without_a_name_is_malformed() -> None:
    reader = decoder()
    read(reader, [calls(fragment("{}", id="1", **READ), fragment("{}", id="2"))])
    read(reader, [chunk("tool_calls")])

    with pytest.raises(ProviderError) as caught:
        reader.end()

    assert caught.value.failure.kind is FailureKind.TOOL_CALL_MALFORMED


def test_a_call_without_an_id_gets_one() -> None:
    reader = decoder()

    read(reader, [calls(fragment("{}", index=0, **READ), fragment("{}", index=1, **READ))])
    read(reader, [chunk("tool_calls")])

    first, second = reader.parts
    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert first.id != second.id
    assert first.id.startswith("call_")


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
