"""What our writers write for a client, our own decoders read as the answer that was written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import ModelPart, Part, Reasoning, Text, ToolCall, Usage
from sidestep.provider.delta import (
    Delta,
    ReasoningDelta,
    TextDelta,
    ToolCallEnded,
    ToolCallStarted,
)
from sidestep.provider.wire.answer import Answer
from sidestep.provider.wire.protocol import Writer
from sidestep.provider.wire.reading import Reading
from sidestep.provider.wire.registry import writer_of
from sidestep.provider.wire_name import WIRES, Wire

from ...property import examples
from ..conversations import texts

TEXT = texts(surrogates=False).filter(bool)
VALUES = st.none() | st.booleans() | st.integers(-9, 9) | TEXT
CALLS = st.builds(ToolCall, TEXT, TEXT, st.dictionaries(TEXT, VALUES, max_size=2))
PARTS = st.lists(
    st.builds(Text, TEXT) | st.builds(Reasoning, TEXT) | CALLS,
    min_size=1,
    max_size=5,
    unique_by=lambda part: part.id if isinstance(part, ToolCall) else id(part),
).filter(lambda parts: any(not isinstance(part, Reasoning) for part in parts))
TOKENS = st.integers(0, 99)
USAGES = st.builds(Usage, st.integers(200, 999), TOKENS, TOKENS, TOKENS)
ANSWERS = st.builds(
    Answer,
    parts=PARTS,
    wire=st.sampled_from(WIRES),
    stop=st.sampled_from([None, "stop", "end_turn", "STOP", "completed", "tool_use"]),
    usage=USAGES,
)


def writer(wire: Wire, **more: Any) -> Writer:
    return writer_of(wire)(model="m", answer_id="id_1", created=1_764_400_000, **more)


def reading(wire: Wire) -> Reading:
    return Reading(Provider("somewhere", wire, "https://example.com", None))


def read(wire: Wire, *blocks: bytes) -> tuple[Reading, list[Delta]]:
    """Return what reads *blocks*, with the deltas in them."""
    reader = reading(wire)
    deltas = [delta for block in blocks for delta in reader.feed(block)]
    deltas += reader.end()
    return reader, deltas


def deltas_of(parts: Sequence[Part]) -> list[Delta]:
    """Return *parts* as deltas of two characters, and of whole calls."""
    deltas: list[Delta] = []
    for part in parts:
        if isinstance(part, ToolCall):
            deltas.append(ToolCallStarted(part.id, part.name))
            deltas.append(ToolCallEnded(part.id, part.name, part.input))
        elif isinstance(part, Text | Reasoning):
            kind = TextDelta if isinstance(part, Text) else ReasoningDelta
            starts = range(0, len(part.text), 2)
            deltas += [kind(part.text[start : start + 2]) for start in starts]
    return deltas


def content(parts: Sequence[Part]) -> dict[str, Any]:
    """Return what every wire carries of an answer."""
    return {
        "text": "".join(part.text for part in parts if isinstance(part, Text)),
        "thinking": "".join(part.text for part in parts if isinstance(part, Reasoning)),
        "calls": [(p.id, p.name, p.input) for p in parts if isinstance(p, ToolCall)],
    }


def without_separators(parts: Sequence[Part]) -> dict[str, Any]:
    """Return the content without what stands between two texts in one field of Chat."""
    found = content(parts)
    return found | {name: found[name].replace("\n", "") for name in ("text", "thinking")}


def check(reader: Reading, answer: Answer) -> None:
    """Check that *reader* has read *answer*."""
    assert reader.failed is None
    assert reader.is_whole
    assert content(reader.decoder.parts) == content(answer.parts)
    check_end(reader, answer)


def check_end(reader: Reading, answer: Answer) -> None:
    decoder = reader.decoder
    assert decoder.model == "m"
    got = Answer(parts=decoder.parts, wire=decoder.wire, stop=decoder.stop, usage=decoder.usage)
    assert got.end == answer.end
    assert (got.counts.prompt, got.counts.output) == (answer.counts.prompt, answer.counts.output)
    assert got.counts.cache_read == answer.counts.cache_read
    assert decoder.unread == 0


@pytest.mark.parametrize("wire", WIRES)
@examples(50)
@given(answer=ANSWERS)
def test_an_answer_that_was_held_back_is_read_as_it_was(wire: Wire, answer: Answer) -> None:
    made = writer(wire)

    reader, _ = read(wire, made.ping(), made.start(), made.ping(), made.end(answer))

    check(reader, answer)


@pytest.mark.parametrize("wire", WIRES)
@examples(50)
@given(answer=ANSWERS, size=st.integers(1, 5))
def test_an_answer_that_is_passed_on_delta_by_delta_is_read_as_it_was(
    wire: Wire, answer: Answer, size: int
) -> None:
    made = writer(wire)
    given_ = deltas_of(answer.parts)
    blocks = [made.feed(given_[start : start + size]) for start in range(0, len(given_), size)]

    reader, deltas = read(wire, made.start(), *blocks, made.ping(), made.end(answer))

    check(reader, answer)
    shown = [delta for delta in given_ if isinstance(delta, TextDelta | ReasoningDelta)]
    assert [delta for delta in deltas if isinstance(delta, TextDelta | ReasoningDelta)] == shown
    ended = [delta for delta in given_ if isinstance(delta, ToolCallEnded)]
    assert [delta for delta in deltas if isinstance(delta, ToolCallEnded)] == ended


@pytest.mark.parametrize("wire", WIRES)
@examples(50)
@given(answer=ANSWERS)
def test_an_answer_without_a_stream_is_read_as_it_was(wire: Wire, answer: Answer) -> None:
    reader = reading(wire)

    reader.whole(writer(wire).whole(answer))

    assert reader.is_whole
    assert without_separators(reader.decoder.parts) == without_separators(answer.parts)
    check_end(reader, answer)


OWN: dict[Wire, list[ModelPart]] = {
    "anthropic": [
        Reasoning("Hm", signature="c2ln"),
        Reasoning(redacted="ZGF0YQ=="),
        Reasoning(signature="omitted"),
        Text("Hello"),
        ToolCall("toolu_1", "read", {"path": "a.py"}),
    ],
    "openai-chat": [
        Reasoning(
            "Hm",
            details=({"type": "reasoning.text", "text": "Hm", "signature": "s", "index": 0},),
            field_name="reasoning",
        ),
        Text("Hello"),
        ToolCall("call_1", "read", {"path": "a.py"}, signature="c2ln"),
    ],
    "openai-responses": [
        Reasoning("Hm", encrypted="gAAA", item_id="rs_own"),
        Reasoning(encrypted="gAAB", item_id="rs_own2"),
        Text("Working", item_id="msg_own", phase="commentary"),
        ToolCall("call_1", "read", {"path": "a.py"}, item_id="fc_own"),
    ],
    "gemini": [
        Reasoning("Hm", signature="c2ln"),
        Text("Hello", signature="c2ln"),
        ToolCall("call_1", "read", {"path": "a.py"}, signature="c2ln"),
    ],
}
"""Answers of each wire with every proof that it has."""
PROOFS = (b"c2ln", b"ZGF0", b"gAAA", b"_own", b"reasoning.text")


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_of_the_same_wire_keeps_its_proofs(wire: Wire) -> None:
    made, answer = writer(wire), Answer(parts=OWN[wire], wire=wire, stop="stop")
    streamed, whole = read(wire, made.start(), made.end(answer))[0], reading(wire)

    whole.whole(writer(wire).whole(answer))

    assert streamed.decoder.parts == OWN[wire]
    assert whole.decoder.parts == OWN[wire]


@pytest.mark.parametrize("other", WIRES)
@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_of_another_wire_shows_none_of_its_proofs(wire: Wire, other: Wire) -> None:
    if wire == other:
        return
    made, answer = writer(wire), Answer(parts=OWN[other], wire=other, stop="stop")

    streamed, whole = made.start() + made.end(answer), writer(wire).whole(answer)

    assert not [proof for proof in PROOFS if proof in streamed + whole]
    assert content(read(wire, streamed)[0].decoder.parts)["text"] == content(OWN[other])["text"]


@pytest.mark.parametrize("wire", WIRES)
def test_a_cut_answer_stays_cut(wire: Wire) -> None:
    made = writer(wire)
    answer = Answer(parts=[Text("Half an")], wire="gemini", stop="MAX_TOKENS")

    written = made.end(answer)
    reader, _ = read(wire, made.start(), written)

    assert reader.is_whole
    check_end(reader, answer)
    assert wire != "openai-responses" or b"event: response.incomplete\n" in written


@pytest.mark.parametrize("wire", WIRES)
def test_a_call_that_never_ended_is_not_written(wire: Wire) -> None:
    made = writer(wire)
    answer = Answer(parts=[Text("Hello")], wire=wire, stop="max_tokens")
    block = made.feed([TextDelta("Hello"), ToolCallStarted("call_1", "read")])

    reader, deltas = read(wire, made.start(), block, made.end(answer))

    assert reader.is_whole
    assert deltas == [TextDelta("Hello")]


def test_a_stop_word_of_the_request_is_named_where_the_wire_can() -> None:
    answer = Answer(parts=[Text("Hello")], wire="anthropic", stop="stop_sequence")

    whole = json.loads(writer("anthropic").whole(answer))

    assert whole["stop_reason"] == "stop_sequence"
    assert json.loads(writer("openai-chat").whole(answer))["choices"][0]["finish_reason"] == "stop"


def test_chat_counts_tokens_only_for_a_client_that_asks() -> None:
    answer = Answer(parts=[Text("Hello")], wire="anthropic", usage=Usage(5, 7))
    made = writer("openai-chat", wants_usage=False)

    reader, _ = read("openai-chat", made.start(), made.end(answer))

    assert reader.is_whole
    assert reader.decoder.usage == Usage()


def test_gemini_without_events_is_one_json_array() -> None:
    answer = Answer(parts=[Text("Hello"), ToolCall("c", "read", {})], wire="gemini", stop="STOP")
    made = writer("gemini", is_array=True)
    written = made.ping() + made.start() + made.ping() + made.feed(deltas_of(answer.parts))
    written += made.ping() + made.end(answer)

    reader, _ = read("gemini", written)

    assert len(json.loads(written)) == 5
    check(reader, answer)


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_has_no_line_ends_but_its_own(wire: Wire) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\nh\ri"
    parts: list[Part] = [Reasoning(text), Text(text), ToolCall(text, text, {text: text})]
    answer = Answer(parts=parts, wire=wire, stop="stop")
    held, fed = writer(wire), writer(wire)
    streams = [
        held.start() + held.end(answer),
        fed.start() + fed.feed(deltas_of(parts)) + fed.end(answer),
    ]

    for stream in streams:
        assert len(stream.decode().splitlines()) == len(stream.splitlines())
        check(read(wire, stream)[0], answer)


@pytest.mark.parametrize("wire", WIRES)
def test_a_writer_makes_an_id_of_its_own(wire: Wire) -> None:
    answer = Answer(parts=[Text("Hello")], wire=wire, stop="stop")
    bodies = [json.loads(writer_of(wire)(model="m").whole(answer)) for _ in range(2)]

    ids = {body.get("id", body.get("responseId")) for body in bodies}

    assert len(ids - {None, ""}) == 2


def test_counts_are_in_the_sense_of_each_wire() -> None:
    answer = Answer(parts=[Text("Hello")], wire="gemini", usage=Usage(100, 7, 60, 10))

    of_anthropic = json.loads(writer("anthropic").whole(answer))["usage"]
    of_chat = json.loads(writer("openai-chat").whole(replace(answer, wire="anthropic")))["usage"]

    assert of_anthropic["input_tokens"] == 30
    assert of_anthropic["cache_read_input_tokens"] == 60
    assert of_anthropic["cache_creation_input_tokens"] == 10
    assert of_chat["prompt_tokens"] == 170
