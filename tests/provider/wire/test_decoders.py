"""Whole recorded bodies of the wires that we only read, from bytes to parts."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep import ProviderError, Route, TextDelta, ToolCallStarted
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.client.client import Client
from sidestep.provider.conversation import Part, Reasoning, Text, ToolCall
from sidestep.provider.wire.registry import decoder_of, encoder_of, parser_of
from sidestep.provider.wire_name import WIRES, Wire

if TYPE_CHECKING:
    from sidestep.provider.delta import Delta
    from sidestep.provider.failure import Failure
    from sidestep.provider.wire.protocol import Decoder

HERE: tuple[Wire, ...] = ("openai-responses", "gemini")
CAPTURES = [
    json.loads(file.read_text("utf-8"))
    for file in sorted(files("sidestep").joinpath("fixtures/captures").iterdir(), key=str)
]
STREAMS = [c for c in CAPTURES if c["kind"] == "sse" and c["provider"] in HERE]
BODIES = st.sampled_from(STREAMS)


def read(capture: dict[str, Any], cuts: list[int]) -> tuple[Decoder, list[Delta], Failure | None]:
    """Read a capture; its body comes in the blocks that *cuts* leave."""
    wire: Wire = capture["provider"]
    decoder, parser = decoder_of(Provider(wire, wire, "http://h", None)), parser_of(wire)
    body = capture["body"].encode()
    ends = [*sorted(cuts), len(body)]
    deltas: list[Delta] = []
    try:
        for start, end in zip([0, *ends], ends, strict=False):
            for name, data in parser.feed(body[start:end]):
                deltas += decoder.decode(data, name)
        for name, data in parser.flush():
            deltas += decoder.decode(data, name)
        deltas += decoder.end(is_clean=capture["eof"] == "clean")
    except ProviderError as error:
        return decoder, deltas, error.failure
    return decoder, deltas, None


def told(decoder: Decoder) -> dict[str, Any]:
    """Say of an answer what a capture expects of one."""
    parts = decoder.parts
    thoughts = [part for part in parts if isinstance(part, Reasoning)]
    usage = decoder.usage
    return {
        "kind": "max_tokens" if decoder.stop == "max_output_tokens" else "ok",
        "complete": decoder.stop is not None,
        "text": "".join(part.text for part in parts if isinstance(part, Text)),
        "thinking": "".join(part.text for part in thoughts),
        "encrypted_content": next((part.encrypted for part in thoughts), None),
        "stop": decoder.stop,
        "usage": {"input": usage.input, "cache_read": usage.cache_read, "output": usage.output},
    }


def call(part: ToolCall) -> dict[str, Any]:
    return {
        "id": part.id,
        "name": part.name,
        "input": part.input,
        "item_id": part.item_id,
        "thoughtSignature": part.signature,
    }


@pytest.mark.parametrize("capture", STREAMS, ids=lambda capture: capture["name"])
def test_captured_streams(capture: dict[str, Any]) -> None:
    expect = capture["expect"]

    decoder, deltas, failure = read(capture, [])

    if expect["kind"] not in {"ok", "max_tokens"}:
        assert failure is not None
        assert failure.kind == expect["kind"]
        assert failure.stage == {"in_stream": "stream", "end": "end"}[expect["stage"]]
        assert failure.retry_after == expect["retry_after"]
        is_delivered = any(isinstance(delta, TextDelta | ToolCallStarted) for delta in deltas)
        assert is_delivered is expect["delivered"]
        return
    assert failure is None
    answer = told(decoder)
    assert expect.get("usage", {}).items() <= answer.pop("usage").items()
    assert {name: answer[name] for name in answer if name in expect}.items() <= expect.items()
    calls = [call(part) for part in decoder.parts if isinstance(part, ToolCall)]
    assert len(calls) == len(expect.get("tool_calls", ()))
    for made, expected in zip(calls, expect.get("tool_calls", ()), strict=True):
        assert expected.items() <= made.items()
        assert made["id"]


def known(parts: list[Part]) -> list[Part]:
    """Return *parts* without the ids that were made for them."""
    for part in parts:
        if isinstance(part, ToolCall) and len(part.id) > 20:
            part.id = ""
    return parts


@settings(deadline=None)
@given(BODIES, st.lists(st.integers(0, 5_000), max_size=8))
def test_a_stream_cut_anywhere_gives_the_same_answer(
    capture: dict[str, Any], cuts: list[int]
) -> None:
    whole, _, failure = read(capture, [])

    pieces, _, found = read(capture, cuts)

    assert known(pieces.parts) == known(whole.parts)
    assert (pieces.stop, pieces.usage, found) == (whole.stop, whole.usage, failure)


@settings(deadline=None)
@given(BODIES, st.integers(0, 5_000))
def test_half_a_stream_gives_no_call_that_the_whole_does_not(
    capture: dict[str, Any], size: int
) -> None:
    """A body may end anywhere; what came by then is a beginning of the answer, or a failure."""
    whole, _, _ = read(capture, [])

    half, _, failure = read({**capture, "body": capture["body"][:size], "eof": "reset"}, [])

    calls = [part for part in known(half.parts) if isinstance(part, ToolCall)]
    assert (
        calls == [part for part in known(whole.parts) if isinstance(part, ToolCall)][: len(calls)]
    )
    assert half.stop is not None or failure is not None


def client(wire: Wire) -> Client:
    return Client(providers={"x": Provider("x", wire, "http://h", None)}, environ={})


@pytest.mark.parametrize("wire", WIRES)
def test_every_wire_is_read_and_asked_in(wire: Wire) -> None:
    assert decoder_of(Provider(wire, wire, "http://h", None)).parts == []
    assert callable(encoder_of(wire).encode)
    assert client(wire).serves(Route("x/m"))
