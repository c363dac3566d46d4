"""What a tool returns, as the model reads it."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from sidestep.provider.conversation import Image, Output, Text
from sidestep.session.tool.output import bounded, clean, output_of

PICTURE = Image("image/png", "AAAA")
LARGEST = 5 * 1024 * 1024


class Found(BaseModel):
    path: Path
    line: int


@dataclasses.dataclass
class Span:
    first: int


class Level(enum.StrEnum):
    LOW = "low"


class Odd:
    def __str__(self) -> str:
        return "odd\0"


Pair = namedtuple("Pair", "a b")
RING: list[Any] = []
RING.append(RING)


@pytest.mark.parametrize(
    ("value", "output"),
    [
        pytest.param("done", "done", id="a text"),
        pytest.param(None, "", id="nothing"),
        pytest.param(b"caf\xc3\xa9 \xff", "café �", id="bytes"),
        pytest.param(bytearray(b"ab"), "ab", id="a bytearray"),
        pytest.param({"a": [1, None]}, '{"a":[1,null]}', id="a dict"),
        pytest.param([1, "a"], '[1,"a"]', id="a mixed list"),
        pytest.param([], "[]", id="an empty list"),
        pytest.param(True, "true", id="a boolean"),
        pytest.param(1.5, "1.5", id="a number"),
        pytest.param(float("nan"), '"NaN"', id="no number"),
        pytest.param(Found(path=Path("a"), line=1), '{"path":"a","line":1}', id="a model"),
        pytest.param([Found(path=Path("a"), line=1)], '[{"path":"a","line":1}]', id="models"),
        pytest.param(Span(1), '{"first":1}', id="a dataclass"),
        pytest.param(Pair("a", "b"), '["a","b"]', id="a named tuple"),
        pytest.param({"at": datetime.date(2026, 1, 2)}, '{"at":"2026-01-02"}', id="a date in it"),
        pytest.param({"odd": Odd()}, '{"odd":"odd\\u0000"}', id="an odd object in it"),
        pytest.param({"a": "\ud800é"}, '{"a":"�é"}', id="half a pair in it"),
        pytest.param({"a": b"\xff"}, '{"a":"_w=="}', id="bytes in it"),
        pytest.param(RING, "[[...]]", id="a ring"),
        pytest.param(Path("a/b"), "a/b", id="a path"),
        pytest.param(Level.LOW, "low", id="an enum of texts"),
        pytest.param(Odd(), "odd�", id="an odd object"),
        pytest.param(Span, str(Span), id="a class"),
        pytest.param(["a", Text("b")], "a\nb", id="texts"),
        pytest.param(("a", "b"), "a\nb", id="a tuple of texts"),
        pytest.param(Text("a", signature="s"), "a", id="a text part"),
        pytest.param(PICTURE, [PICTURE], id="a picture"),
        pytest.param(["a", PICTURE, ""], [Text("a"), PICTURE], id="a picture among texts"),
        pytest.param(
            Image("image/png", "A" * (LARGEST + 400_000)),
            "[An image was left out: 5.4 MB in base64, at most 5 can be.]",
            id="a picture too large",
        ),
        pytest.param(
            [PICTURE, Image("image/png", "\ud800")],
            [PICTURE, Text("[An image was left out: it is not in base64.]")],
            id="no base64",
        ),
    ],
)
def test_what_is_returned_is_said(value: object, output: Output) -> None:
    assert output_of(value) == output


def test_the_largest_picture_is_kept() -> None:
    picture = Image("image/png", "A" * LARGEST)

    assert output_of(picture) == [picture]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        pytest.param("a\0b", "a�b", id="NUL"),
        pytest.param("a\ud83db", "a�b", id="first half"),
        pytest.param("\ude00", "�", id="second half"),
        pytest.param("\ud83d\ude00", "😀", id="both halves"),
        pytest.param("\ude00\ud83d", "��", id="halves the wrong way round"),
        pytest.param("é😀\r\n\x1b[0m", "é😀\r\n\x1b[0m", id="all else"),
    ],
)
def test_what_cannot_be_sent_is_replaced(text: str, plain: str) -> None:
    assert clean(text) == plain


def test_the_middle_of_a_long_text_is_left_out() -> None:
    text = "first " + "x" * 400 + " last"

    assert bounded(text, 64) == (
        "first xxxx\n[... 392 characters were left out here ...]\nxxxx last"
    )


def test_texts_and_pictures_share_one_gap() -> None:
    output: Output = [Text("a" * 60), PICTURE, Text("b" * 60), PICTURE, Text("c" * 60)]

    assert bounded(output, 100) == [
        Text("a" * 28 + "\n[... 125 characters were left out here ...]\n"),
        PICTURE,
        PICTURE,
        Text("c" * 27),
    ]


def test_what_is_short_enough_stays_as_it_is() -> None:
    output: Output = [Text("a" * 50), PICTURE, Text("b" * 50)]

    assert bounded(output, 100) == output


_PARTS = st.lists(st.text(max_size=60).map(Text) | st.just(PICTURE), max_size=6)


@given(st.text(max_size=300) | _PARTS, st.integers(1, 200))
def test_no_output_is_longer_than_the_longest(output: Output, longest: int) -> None:
    cut = bounded(output, longest)

    parts: list[Text | Image] = [Text(cut)] if isinstance(cut, str) else cut
    texts = [part.text for part in parts if isinstance(part, Text)]
    assert sum(map(len, texts)) <= longest
    assert parts.count(PICTURE) == (0 if isinstance(output, str) else output.count(PICTURE))


@given(st.text(st.characters(), max_size=20))
def test_whatever_is_cleaned_can_be_sent_and_is_then_left_alone(text: str) -> None:
    plain = clean(text)

    json.dumps(plain, ensure_ascii=False).encode()
    assert "\0" not in plain
    assert clean(plain) == plain
