from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.wire.event_template import EventTemplate


def text_in(value: Any) -> object:
    return value["delta"]["text"]


def event(text: str, **fields: object) -> bytes:
    return json.dumps({"id": "a", "delta": {"text": text}, **fields}).encode()


def learned(data: bytes, text: str) -> EventTemplate:
    template = EventTemplate(text_in)
    template.learn(data, text)
    return template


@dataclass(frozen=True)
class Case:
    id: str
    data: bytes
    text: str | None


LIKE = event("one")
OTHERS = [
    Case("another text", event("two"), "two"),
    Case("no text", event(""), ""),
    Case("escapes", event('"\\\n\u2028é😀'), '"\\\n\u2028é😀'),
    Case("raw UTF-8", event("X").replace(b"X", "é😀".encode()), "é😀"),
    Case("another id", event("two").replace(b'"a"', b'"b"'), None),
    Case("a further field", event("two", usage=1), None),
    Case("the text twice", event("X").replace(b'"X"', b'"x", "text": "y"'), None),
    Case("no string", event("X").replace(b'"X"', b"7"), None),
    Case("an object", event("X").replace(b'"X"', b'{"text": "x"}'), None),
    Case("no value", event("X").replace(b'"X"', b""), None),
    Case("half a surrogate pair", event("X").replace(b"X", b"\\ud83d"), None),
    Case("a line end inside", event("X").replace(b"X", b"\n"), None),
    Case("cut", event("two")[:-3], None),
    Case("shorter than what is common", LIKE[:18] + LIKE[-3:], None),
    Case("nothing", b"", None),
]


@pytest.mark.parametrize("case", OTHERS, ids=lambda case: case.id)
def test_only_what_differs_in_its_text_alone_is_known_by_it(case: Case) -> None:
    assert learned(LIKE, "one").text_of(case.data) == case.text


def test_nothing_is_known_before_an_event_was_read() -> None:
    assert EventTemplate(text_in).text_of(LIKE) is None


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(event("a", note="a"), "a", id="the same word later"),
        pytest.param(event("é"), "é", id="spelled otherwise"),
        pytest.param(event("one"), "two", id="not in it"),
        pytest.param(b'"one"', "one", id="no object"),
    ],
)
def test_an_event_whose_text_cannot_be_told_from_the_rest_teaches_nothing(
    data: bytes, text: str
) -> None:
    assert learned(data, text).text_of(data) is None


def test_a_stream_whose_events_differ_in_more_is_given_up() -> None:
    template = EventTemplate(text_in)
    for number in range(100):
        template.learn(event("one", number=number), "one")

    assert template.text_of(event("two", number=99)) is None


@given(st.text(), st.text(), st.sampled_from([True, False]))
def test_a_known_event_has_the_text_that_reading_it_whole_gives(
    first: str, second: str, is_ascii: bool
) -> None:
    def spelled(text: str) -> bytes:
        value = {"id": first, "delta": {"text": text, "role": second}}
        return json.dumps(value, ensure_ascii=is_ascii).encode("utf-8", "replace")

    template = learned(spelled(first), first)

    assert template.text_of(spelled(second)) in (None, json.loads(spelled(second))["delta"]["text"])
