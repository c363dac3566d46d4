"""Where an answer ends that has no stop reason, and whose answer it is among several choices."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sidestep import ProviderError
from sidestep.provider.conversation import Reasoning, Text, ToolCall, Usage
from sidestep.provider.recording.recorded_answer import Recorded
from sidestep.session.command.explain import explain_answer

from .streams import READ, Event, calls, chunk, decoder, fragment, read

USAGE = {"prompt_tokens": 9, "completion_tokens": 7}
COUNTED: Event = {"choices": [], "usage": USAGE}
HI = [chunk(content="H"), chunk(content="i")]

WHOLE = [
    pytest.param([*HI, COUNTED], [Text("Hi")], id="a chunk of its own"),
    pytest.param([*HI, {**chunk(content=""), "usage": USAGE}], [Text("Hi")], id="an empty delta"),
    pytest.param([HI[0], {**HI[1], "usage": USAGE}], [Text("Hi")], id="on the last chunk"),
    pytest.param(
        [{**HI[0], "usage": {"prompt_tokens": 9}}, {**HI[1], "usage": USAGE}],
        [Text("Hi")],
        id="on every chunk",
    ),
    pytest.param(
        [*HI, COUNTED, {"choices": [], "id": "x"}], [Text("Hi")], id="and then a chunk of nothing"
    ),
    pytest.param(
        [calls(fragment('{"a":1}', index=0, id="1", **READ)), COUNTED],
        [ToolCall("1", "read", {"a": 1})],
        id="a call",
    ),
    pytest.param(
        [chunk(reasoning="Hm"), *HI, COUNTED], [Reasoning("Hm"), Text("Hi")], id="after thinking"
    ),
]


@pytest.mark.parametrize(("events", "parts"), WHOLE)
def test_done_after_the_usage_ends_an_answer_without_a_stop_reason(
    events: list[Event], parts: list[object]
) -> None:
    """As Snowflake Cortex ends each answer, and Novita's kimi-k2."""
    reader = decoder()
    read(reader, events)
    reader.decode(b"[DONE]")

    reader.end()

    assert reader.parts == parts
    assert reader.usage == Usage(input=9, output=7)
    assert len(reader.assumed) == 1
    assert "no finish_reason" in reader.assumed[0]


CUT = [
    pytest.param([*HI], True, id="no usage"),
    pytest.param([{**HI[0], "usage": USAGE}, HI[1]], True, id="text after the usage"),
    pytest.param([COUNTED, *HI], True, id="a usage at the start"),
    pytest.param([{**HI[0], "usage": USAGE}, chunk(reasoning="x")], True, id="thinking after it"),
    pytest.param(
        [COUNTED, calls(fragment('{"a":1}', index=0, id="1", **READ))], True, id="a call after it"
    ),
    pytest.param([*HI, {"choices": [], "usage": {}}], True, id="an empty usage"),
    pytest.param([*HI, {"choices": [], "usage": None}], True, id="no usage, spelled out"),
    pytest.param([*HI, COUNTED], False, id="no [DONE]"),
    pytest.param(
        [calls(fragment("", index=0, id="1", **READ)), COUNTED],
        True,
        id="a call that may lack its arguments",
    ),
]


@pytest.mark.parametrize(("events", "is_done"), CUT)
def test_anything_less_is_cut(events: list[Event], is_done: bool) -> None:
    reader = decoder()
    read(reader, events)
    if is_done:
        reader.decode(b"[DONE]")

    with pytest.raises(ProviderError, match="truncated"):
        reader.end()


def test_explain_says_what_was_assumed() -> None:
    events = [json.dumps(event).encode() for event in (*HI, COUNTED)]
    body = b"".join(b"data: %s\n\n" % event for event in (*events, b"[DONE]"))
    recorded = Recorded(provider="openrouter", status=200, blocks=(body,))

    found = explain_answer(recorded, {})

    assert (found["kind"], found["text"]) == ("ok", "Hi")
    assert "no finish_reason" in found["assumed"][0]


def choice(index: int | None, finish: str | None = None, **delta: Any) -> Event:
    return {"index": index, "delta": delta, "finish_reason": finish}


def choosing(*choices: Event) -> Event:
    return {"id": "gen-1", "model": "m", "choices": list(choices)}


SEVERAL = [
    pytest.param(
        [choosing(choice(0, content="a")), choosing(choice(1, content="x"))] * 2
        + [choosing(choice(1, "length")), choosing(choice(0, "stop"))],
        id="in turn",
    ),
    pytest.param(
        [choosing(choice(0, content="a"), choice(1, content="x"))] * 2
        + [choosing(choice(0, "stop"), choice(1, "stop"))],
        id="together",
    ),
    pytest.param(
        [
            choosing(choice(0, content="a")),
            choosing(choice(1, content="x"), choice(0, content="a")),
            choosing(choice(1, "content_filter"), choice(0, "stop")),
        ],
        id="together, in another order",
    ),
    pytest.param(
        [*[choosing(choice(1, content="a"))] * 2, choosing(choice(1, "stop"))],
        id="one, with the number 1",
    ),
    pytest.param(
        [
            choosing(choice(0, content="a")),
            choosing(choice(None, content="a")),
            choosing({"delta": {}, "finish_reason": "stop"}),
        ],
        id="one, with a number at first",
    ),
]


@pytest.mark.parametrize("events", SEVERAL)
def test_of_several_choices_the_first_is_read(events: list[Event]) -> None:
    reader = decoder()

    read(reader, [*events, COUNTED])
    reader.end()

    assert reader.parts == [Text("aa")]
    assert reader.stop == "stop"
    assert reader.usage == Usage(input=9, output=7)


def test_the_calls_of_another_choice_are_not_made() -> None:
    reader = decoder()
    made, other = (
        fragment(arguments, index=0, id=id_, **READ)
        for arguments, id_ in (('{"a"', "1"), ('{"b"', "2"))
    )

    read(reader, [choosing(choice(0, tool_calls=[made])), choosing(choice(1, tool_calls=[other]))])
    read(reader, [choosing(choice(0, tool_calls=[fragment(":1}", index=0)]))])
    read(reader, [choosing(choice(1, "tool_calls")), choosing(choice(0, "tool_calls"))])
    reader.end()

    assert reader.parts == [ToolCall("1", "read", {"a": 1})]


def test_the_end_of_another_choice_is_none_of_ours() -> None:
    reader = decoder()
    read(reader, [choosing(choice(0, content="a")), choosing(choice(1, "stop"))])

    with pytest.raises(ProviderError, match="truncated"):
        reader.end()
