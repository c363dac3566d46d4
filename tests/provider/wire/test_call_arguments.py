"""The arguments of a call, in the dialects that servers write."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import FailureKind, ProviderError
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import ToolCall
from sidestep.provider.wire.call_arguments import read_arguments, read_objects
from sidestep.provider.wire.registry import decoder_of

from .anthropic.streams import STOP, began, closed, ended, piece
from .openai_chat.streams import READ, calls, chunk, decoder, fragment, read
from .openai_responses import streams as responses

A, B = '{"path": "a.py"}', '{"path": "b.py"}'
AS_A = {"path": "a.py"}

READABLE: list[Any] = [
    pytest.param("", {}, id="nothing"),
    pytest.param(" \n", {}, id="white space"),
    pytest.param("null", {}, id="null"),
    pytest.param(A, AS_A, id="plain"),
    pytest.param("{}" + A, AS_A, id="an empty object first"),
    pytest.param("{}\n" + A, AS_A, id="an empty object on a line of its own"),
    pytest.param(A + "{}", AS_A, id="an empty object last"),
    pytest.param("{}{}", {}, id="only empty objects"),
    pytest.param(A + A, AS_A, id="the whole object again"),
    pytest.param(A + '{"path":"a.py"}\n' + A, AS_A, id="the whole object again, spelled otherwise"),
    pytest.param(json.dumps(A), AS_A, id="encoded twice"),
    pytest.param(json.dumps(json.dumps(A)), AS_A, id="encoded three times"),
    pytest.param(json.dumps(""), {}, id="nothing, encoded"),
    pytest.param("{}" + json.dumps(A), AS_A, id="an empty object, then encoded twice"),
    pytest.param('{"text": "one\ntwo"}', {"text": "one\ntwo"}, id="a raw line break"),
    pytest.param('{"text": "one\r\n\ttwo"}', {"text": "one\r\n\ttwo"}, id="a raw tab"),
    pytest.param('{"text": "a}{b"}', {"text": "a}{b"}, id="braces inside a string"),
    pytest.param('{}{"text": "a}{b\n"}', {"text": "a}{b\n"}, id="several dialects at once"),
    pytest.param('{}{"text": "\\ud83d"}', {"text": "?"}, id="half an emoji"),
    pytest.param(f"```json\n{A}\n```", AS_A, id="a fence"),
    pytest.param('{"text": "```"}', {"text": "```"}, id="a fence inside a string"),
    pytest.param(f"[{A}]", AS_A, id="one object in a list"),
    pytest.param("\ufeff" + A + "\0", AS_A, id="marks of the order of bytes and of the end"),
]


@pytest.mark.parametrize(("text", "expected"), READABLE)
def test_what_can_be_read_in_one_way_is_taken(text: str, expected: dict[str, Any]) -> None:
    assert read_arguments(text) == expected


UNREADABLE = [
    pytest.param('{"path": "a', id="cut"),
    pytest.param("{}" + '{"path": "a', id="cut after an empty object"),
    pytest.param(A + '{"pa', id="cut after a whole object"),
    pytest.param(A[:-1] + A, id="half an object, then the whole"),
    pytest.param("[1]", id="a list"),
    pytest.param(f"[{A},{A}]", id="two objects in a list"),
    pytest.param("[]", id="an empty list"),
    pytest.param(f"```json\n{A}", id="half a fence"),
    pytest.param("12", id="a number"),
    pytest.param('"a.py"', id="a string of text"),
    pytest.param(A + "12", id="a number after it"),
    pytest.param(A + "null", id="null after it"),
    pytest.param("path=a.py", id="no JSON"),
    pytest.param(A + "</tool_call>", id="a tag after it"),
    pytest.param('{"path": "a.py",}', id="a comma too many"),
    pytest.param("{'path': 'a.py'}", id="of Python"),
    pytest.param(A + '{"path": "a.py", "line": 2}', id="a draft, then more of it"),
    pytest.param('{"path": "a.py", "line": 2}' + A, id="less of it"),
    pytest.param("[" * 100_000, id="nested too deeply"),
    pytest.param("{}" * 100_000, id="more objects than anybody means"),
    pytest.param('{"a":' * 100_000, id="objects nested too deeply"),
]


@pytest.mark.parametrize("text", UNREADABLE)
def test_anything_else_is_malformed(text: str) -> None:
    assert read_arguments(text) is None
    assert read_objects(text) is None


def test_different_objects_are_several_calls_and_no_one_call() -> None:
    assert read_arguments(A + B) is None
    assert read_objects("{}" + A + B + A + B) == [AS_A, {"path": "b.py"}]


@given(st.dictionaries(st.text(), st.integers() | st.text(), min_size=1))
def test_an_object_means_the_same_in_every_dialect(arguments: dict[str, Any]) -> None:
    text = json.dumps(arguments)

    for dialect in (text, "{}" + text, text + text, json.dumps(text)):
        assert read_arguments(dialect) == arguments


@pytest.mark.parametrize(
    "fragments",
    [
        pytest.param(["{}", '{"path": ', '"a.py"}'], id="an empty object first"),
        pytest.param(['{"path": ', '"a.py"}', A], id="the whole object again"),
        pytest.param(list(json.dumps(A)), id="encoded twice, by the character"),
    ],
)
def test_chat_reads_the_fragments_of_a_dialect(fragments: list[str]) -> None:
    reader = decoder()
    first = calls(fragment(fragments[0], index=0, id="1", **READ))

    read(reader, [first, *(calls(fragment(each, index=0)) for each in fragments[1:])])
    read(reader, [chunk("tool_calls")])
    reader.end()

    assert reader.parts == [ToolCall("1", "read", AS_A)]


def test_chat_takes_two_objects_in_one_slot_as_two_calls_of_one_tool() -> None:
    """Gemini's facade does not number parallel calls."""
    reader = decoder()

    read(reader, [calls(fragment(each, index=0, id="1", **READ)) for each in (A, B)])
    deltas = read(reader, [chunk("tool_calls")])
    deltas += reader.end()

    made = [part for part in reader.parts if isinstance(part, ToolCall)]
    assert [(part.name, part.input["path"]) for part in made] == [
        ("read", "a.py"),
        ("read", "b.py"),
    ]
    assert made[0].id == "1" != made[1].id
    assert len(deltas) == 3  # the end of the first, and both of the second


@pytest.mark.parametrize("second", [A[:-2], '{"path": "a.py", "line": 2}'], ids=["cut", "a draft"])
def test_chat_refuses_what_can_be_read_in_two_ways(second: str) -> None:
    reader = decoder()
    read(reader, [calls(fragment(A + second, index=0, id="1", **READ)), chunk("tool_calls")])

    with pytest.raises(ProviderError) as caught:
        reader.end()

    assert caught.value.failure.kind is FailureKind.TOOL_CALL_MALFORMED


@pytest.mark.parametrize(
    ("begun", "pieces"),
    [
        pytest.param({}, ["{}", A], id="an empty object first"),
        pytest.param({}, [A, A], id="the whole object again"),
        pytest.param({}, [json.dumps(A)], id="encoded twice"),
        pytest.param(AS_A, ["{}"], id="at the start, then an empty object"),
        pytest.param(AS_A, [A], id="at the start, and again"),
    ],
)
def test_a_facade_of_anthropic_may_write_a_dialect(
    begun: dict[str, Any], pieces: list[str]
) -> None:
    reader = decoder_of(Provider("somebody", "anthropic", "http://h", None))
    start = began(0, type="tool_use", id="1", name="read", input=begun)

    for event in (start, *(piece(0, "input_json", each) for each in pieces), closed(0)):
        reader.decode(json.dumps(event).encode())
    for event in (ended("tool_use"), STOP):
        reader.decode(json.dumps(event).encode())
    reader.end()

    assert reader.parts == [ToolCall("1", "read", AS_A)]


@pytest.mark.parametrize(
    "arguments",
    ["{}" + A, A + A, json.dumps(A)],
    ids=["an empty object first", "again", "encoded twice"],
)
def test_a_facade_of_responses_may_write_a_dialect(arguments: str) -> None:
    reader = responses.decoder()
    call = {"type": "function_call", "call_id": "1", "name": "read"}

    responses.read(reader, [responses.done(0, **call, arguments=arguments), responses.ended()])
    reader.end()

    assert [part.input for part in reader.parts if isinstance(part, ToolCall)] == [AS_A]
