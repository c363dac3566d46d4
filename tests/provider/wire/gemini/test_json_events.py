from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.wire.gemini.json_events import RawJsonParser
from sidestep.provider.wire.sse import Event, SseParser

ERROR = {"error": {"code": 503, "message": 'a "}" and a {\\', "status": "UNAVAILABLE"}}


def pretty(value: object, end: str = "\r\n") -> bytes:
    return json.dumps(value, indent=2).replace("\n", end).encode() + end.encode()


def data(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\r\n\r\n"


@dataclass(frozen=True)
class Case:
    id: str
    body: bytes
    values: list[object]


BODIES = [
    Case("events only", data({"a": 1}) + data({"b": 2}), [{"a": 1}, {"b": 2}]),
    Case("an error after an event", data({"a": 1}) + pretty(ERROR), [{"a": 1}, ERROR]),
    Case("an error first", pretty(ERROR), [ERROR]),
    Case("an error on one line", json.dumps(ERROR).encode(), [ERROR]),
    Case("after a byte order mark", b"\xef\xbb\xbf" + pretty(ERROR), [ERROR]),
    Case("an event after it", pretty(ERROR) + b"\r\n" + data({"a": 1}), [ERROR, {"a": 1}]),
    Case("LF", data({"a": 1}) + pretty(ERROR, "\n"), [{"a": 1}, ERROR]),
    Case("CR", pretty(ERROR, "\r"), [ERROR]),
    Case("no blank line before it", b'data: {"a":1}\n' + pretty(ERROR), [{"a": 1}, ERROR]),
    Case("blank lines inside", pretty(ERROR, "\n\n"), [ERROR]),
    Case("no line end after it", pretty(ERROR).rstrip(), [ERROR]),
    Case("an array of one error", pretty([ERROR]), [ERROR]),
    Case("an array of answers", pretty([{"a": {}}, {"b": 2}, ERROR]), [{"a": {}}, {"b": 2}, ERROR]),
    Case(
        "an array in Gemini's layout",
        b'[{\n  "a": 1\n}\n,\r\n{\n  "b": [{}]\n}\n]',
        [{"a": 1}, {"b": [{}]}],
    ),
    Case("two on one line", b'{"a":1}{"b":2},{"c":\n3}', [{"a": 1}, {"b": 2}, {"c": 3}]),
    Case("half an error", pretty(ERROR)[:-5], []),
    Case("an event cuts an error off", pretty(ERROR)[:-5] + b"\n" + data({"a": 1}), [{"a": 1}]),
    Case("a comment and a field", b": {\n\nid: {\n\n" + data({"a": 1}), [{"a": 1}]),
    Case("an empty array", b"[]\n", []),
    Case("nothing", b"", []),
]


def cut(parser: SseParser | RawJsonParser, body: bytes, at: list[int]) -> list[Event]:
    ends = [*sorted(at), len(body)]
    blocks = [body[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return [event for block in blocks for event in parser.feed(block)] + parser.flush()


@pytest.mark.parametrize("case", BODIES, ids=lambda case: case.id)
def test_every_object_is_an_event(case: Case) -> None:
    events = cut(RawJsonParser(), case.body, [])

    assert [json.loads(text) for _, text in events] == case.values


@pytest.mark.parametrize("case", BODIES, ids=lambda case: case.id)
def test_one_byte_at_a_time_gives_the_same_events(case: Case) -> None:
    events = cut(RawJsonParser(), case.body, list(range(len(case.body))))

    assert [json.loads(text) for _, text in events] == case.values


JSON = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
OBJECT = st.dictionaries(st.text(), JSON)
CUTS = st.lists(st.integers(0, 2_000), max_size=8)


@given(st.lists(OBJECT), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans(), CUTS)
def test_an_array_cut_anywhere_gives_its_objects(
    values: list[object], end: str, is_pretty: bool, at: list[int]
) -> None:
    body = pretty(values, end) if is_pretty else json.dumps(values, ensure_ascii=False).encode()

    events = cut(RawJsonParser(), body, at)

    assert [json.loads(text) for _, text in events] == values


LINES = st.sampled_from(
    [b'data: {"type":"x"}', b"data: a", b"data:", b"event: ping", b": {", b"id: 1", b"foo", b""]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
STREAMS = st.lists(st.tuples(LINES, ENDS), max_size=30).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


@given(STREAMS, CUTS)
def test_server_sent_events_are_read_as_elsewhere(body: bytes, at: list[int]) -> None:
    ours, theirs = RawJsonParser(), SseParser()

    assert cut(ours, body, at) == cut(theirs, body, [])
    assert ours.comments == theirs.comments


def test_an_error_is_given_as_soon_as_its_last_line_came() -> None:
    parser = RawJsonParser()
    *lines, last = pretty(ERROR).splitlines(keepends=True)

    assert [event for line in lines for event in parser.feed(line)] == []
    assert len(parser.feed(last)) == 1
