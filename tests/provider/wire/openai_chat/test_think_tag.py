from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import ReasoningDelta
from sidestep.provider.wire.openai_chat.think_tag import ThinkTag, with_tag


def read(*pieces: str) -> tuple[str, str]:
    """Return the thinking and the text of an answer that comes in *pieces*."""
    tag = ThinkTag()
    deltas = [delta for piece in pieces for delta in tag.read(piece)]
    deltas += tag.end()
    assert all(delta.text for delta in deltas)
    thinking = "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))
    return thinking, "".join(d.text for d in deltas if not isinstance(d, ReasoningDelta))


ANSWERS = [
    pytest.param("<think>\nHm\n</think>\n\nYes\n", ("Hm", "Yes\n"), id="as it comes"),
    pytest.param("<think>Hm</think>Yes", ("Hm", "Yes"), id="without line breaks"),
    pytest.param(" \n<think>Hm</think>Yes", ("Hm", "Yes"), id="after white space"),
    pytest.param("<think>a\n\n<b></thin>\n</think>c", ("a\n\n<b></thin>", "c"), id="much alike"),
    pytest.param("<think></think>Yes", ("", "Yes"), id="empty"),
    pytest.param("<think>\n\n</think>\n\n", ("", ""), id="nothing at all"),
    pytest.param("<think>Hm</think>\n\n", ("Hm", ""), id="no text"),
    pytest.param("<think>Hm\n</thi", ("Hm\n</thi", ""), id="cut"),
    pytest.param("<think>a</think>b<think>c</think>", ("a", "b<think>c</think>"), id="only once"),
    pytest.param("Yes <think>a</think>", ("", "Yes <think>a</think>"), id="not at the beginning"),
    pytest.param(" \nYes", ("", " \nYes"), id="no tag"),
    pytest.param("<thin", ("", "<thin"), id="the beginning of a tag"),
    pytest.param("<thinking>", ("", "<thinking>"), id="another tag"),
    pytest.param("", ("", ""), id="nothing"),
]


@pytest.mark.parametrize(("content", "expected"), ANSWERS)
def test_thinking_is_told_from_text(content: str, expected: tuple[str, str]) -> None:
    assert read(content) == expected
    assert read(*content) == expected


def test_what_can_be_told_is_told_at_once() -> None:
    tag = ThinkTag()

    told = [
        [delta.text for delta in tag.read(piece)]
        for piece in ("<think>", "a", "b<", "c", "d\n", "</think>", "\n", "e")
    ]

    assert told == [[], ["a"], ["b"], ["<c"], ["d"], [], [], ["e"]]
    assert tag.is_over


@pytest.mark.parametrize("text", ["Yes", "<b>"], ids=["a word", "another tag"])
def test_without_a_tag_it_is_over_at_once(text: str) -> None:
    tag = ThinkTag()

    assert [delta.text for delta in tag.read(text)] == [text]
    assert tag.is_over


@given(
    st.text("<>/think\n ", max_size=30),
    st.lists(st.integers(0, 60), max_size=5),
    st.sampled_from(["", "<think>", "<think>\n"]),
)
def test_how_it_is_cut_makes_no_difference(rest: str, cuts: list[int], start: str) -> None:
    content = start + rest
    places = [0, *sorted(cuts), len(content)]
    pieces = [content[begin:end] for begin, end in pairwise(places)]

    assert read(*pieces) == read(content)


@given(st.text("ab\n", min_size=1), st.text("ab\n", min_size=1))
def test_what_is_written_is_read_again(thinking: str, text: str) -> None:
    expected = thinking.strip("\n"), text.lstrip("\n")

    assert read(with_tag(thinking, text)) == expected
