from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.wire.sse import Event, SseParser


@dataclass(frozen=True)
class Case:
    id: str
    body: bytes
    events: list[Event]
    comments: int = 0


BODIES = [
    Case("LF", b'data: {"a":1}\n\n', [(b"", b'{"a":1}')]),
    Case("CRLF", b'data: {"a":1}\r\n\r\n', [(b"", b'{"a":1}')]),
    Case("CR", b"data: 1\r\rdata: 2\r\r", [(b"", b"1"), (b"", b"2")]),
    Case("mixed line ends", b"data: 1\r\n\ndata: 2\n\r\n", [(b"", b"1"), (b"", b"2")]),
    Case("named", b'event: ping\ndata: {"a":1}\n\n', [(b"ping", b'{"a":1}')]),
    Case("name after the data", b"data: 1\nevent: ping\n\n", [(b"ping", b"1")]),
    Case("name alone", b"event: ping\n\n", []),
    Case("byte order mark", b"\xef\xbb\xbfdata: 1\n\n", [(b"", b"1")]),
    Case("byte order mark inside", b"data: 1\n\n\xef\xbb\xbfdata: 2\n\n", [(b"", b"1")]),
    Case("no space", b"data:1\n\n", [(b"", b"1")]),
    Case("one space of two is taken", b"data:  1\n\n", [(b"", b" 1")]),
    Case("several data lines", b'data: {"a":\ndata: 1}\n\n', [(b"", b'{"a":\n1}')]),
    Case("a name and several data lines", b"event: e\ndata: {\ndata: }\n\n", [(b"e", b"{\n}")]),
    Case("comments", b":\n\n: a\ndata: 1\n\n:b\n\n", [(b"", b"1")], comments=3),
    Case("empty data", b"data:\n\ndata: \n\ndata\n\n", []),
    Case("blank data", b"data:  \n\n", []),
    Case("unknown fields", b"id: 7\nretry: 1\nfoo\ndata: 1\n\n", [(b"", b"1")]),
    Case("an id alone", b"id: 7\n\n", []),
    Case("a name and empty data", b"event: ping\ndata:\n\n", []),
    Case(
        "an error in a field of its own",
        b'error: {"code":400,"message":"too long"}\n\ndata: [DONE]\n\n',
        [(b"error", b'{"error":{"code":400,"message":"too long"}}'), (b"", b"[DONE]")],
    ),
    Case(
        "an error object in any field",
        b'failure: {"error":{"message":"x"}}\r\n\r\n',
        [(b"error", b'{"error":{"message":"x"}}')],
    ),
    Case(
        "an error's text in a field of its own",
        b'error: "no memory"\n\n',
        [(b"error", b'{"error":"no memory"}')],
    ),
    Case(
        "an error beside data",
        b'data: {"a":1}\nerror: {"code":500}\n\n',
        [(b"", b'{"a":1}'), (b"error", b'{"error":{"code":500}}')],
    ),
    Case("other JSON in a field", b'meta: {"error_rate":0,"code":400}\n\n', []),
    Case("nothing in a field of errors", b"error: null\n\nerror: {}\n\nerror\n\n", []),
    Case("no JSON in a field of errors", b"error: {\n\n", []),
    Case("JSON in an id", b'id: {"error":1}\nretry: {"error":1}\n\n', []),
    Case("JSON in place of events", b'{"error":1}', [(b"", b'{"error":1}')]),
    Case("an array in place of events", b'\xef\xbb\xbf[{"a":1}]\n', [(b"", b'[{"a":1}]')]),
    Case("JSON of several lines", b'{\r\n "a": 1\r\n}\r\n', [(b"", b'{\n "a": 1\n}')]),
    Case("JSON after an event", b'data: 1\n\n{"a":1}\n', [(b"", b"1"), (b"", b'{"a":1}')]),
    Case("JSON in the lines of an event", b'data: 1\n{"a":1}\n\n', [(b"", b"1")]),
    Case("many blank lines", b"\n\n\ndata: 1\n\n\n\n\ndata: 2\n\n\n", [(b"", b"1"), (b"", b"2")]),
    Case("end without blank line", b"data: 1\n\ndata: 2\n", [(b"", b"1"), (b"", b"2")]),
    Case("end inside a line", b"data: 1\n\nevent: e\ndata: 2", [(b"", b"1"), (b"e", b"2")]),
    Case("nothing", b"", []),
    Case(
        "no other character ends a line",
        "data: a\u2028b\u2029c\u0085d\x0c\x0b\x1ce\n\n".encode(),
        [(b"", "a\u2028b\u2029c\u0085d\x0c\x0b\x1ce".encode())],
    ),
    Case("colons in a value", b"data: a: b\n\n", [(b"", b"a: b")]),
]


@pytest.mark.parametrize("case", BODIES, ids=lambda case: case.id)
def test_a_body_is_cut_into_its_events(case: Case) -> None:
    parser = SseParser()

    events = parser.feed(case.body) + parser.flush()

    assert events == case.events
    assert parser.comments == case.comments


@pytest.mark.parametrize("case", BODIES, ids=lambda case: case.id)
def test_one_byte_at_a_time_gives_the_same_events(case: Case) -> None:
    parser = SseParser()

    events = [e for byte in case.body for e in parser.feed(bytes([byte]))] + parser.flush()

    assert events == case.events
    assert parser.comments == case.comments


LINES = st.sampled_from(
    [
        b'data: {"type":"x"}',
        b"data: a",
        b"data:",
        b"event: ping",
        b": comment",
        b"id: 1",
        b"",
        b"",
        "data: \u2028é😀".encode(),
    ]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
STREAMS = st.lists(st.tuples(LINES, ENDS), max_size=30).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


@given(STREAMS, st.lists(st.integers(0, 600), max_size=8))
def test_a_stream_cut_anywhere_gives_the_same_events(body: bytes, cuts: list[int]) -> None:
    whole, cut = SseParser(), SseParser()
    ends = [*sorted(cuts), len(body)]
    blocks = [body[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    expected = whole.feed(body) + whole.flush()

    assert [e for block in blocks for e in cut.feed(block)] + cut.flush() == expected
    assert cut.comments == whole.comments


@pytest.mark.parametrize(
    ("before", "last"),
    [
        pytest.param(b"data: 1\n", b"\n", id="LF"),
        pytest.param(b"data: 1\r", b"\r", id="CR"),
        pytest.param(b"data: 1\r\n", b"\r", id="CRLF, before its LF"),
    ],
)
def test_an_event_is_given_as_soon_as_its_blank_line_came(before: bytes, last: bytes) -> None:
    parser = SseParser()

    assert parser.feed(before) == []
    assert parser.feed(last) == [(b"", b"1")]
    assert parser.feed(b"\n") == []
