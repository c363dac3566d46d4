"""JSON as it is written for a request."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.json_value import read_json, write_body, write_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=6), JSON, max_size=4))
def test_a_body_is_written_in_pieces_as_it_would_be_at_once(body: dict[str, object]) -> None:
    assert write_body(body) == write_json(body)
    assert read_json(write_body(body)) == body


def test_half_a_surrogate_pair_in_a_body_becomes_a_question_mark() -> None:
    body = {"model": "m", "messages": [{"content": "a\ud83d"}, {"content": "b"}]}

    assert write_body(body) == b'{"model":"m","messages":[{"content":"a?"},{"content":"b"}]}'


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(rb'{"a": "\ud83d"}', {"a": "?"}, id="half a surrogate pair"),
        pytest.param('{"a": "\udcff"}', {"a": "?"}, id="a byte of a variable that is no text"),
        pytest.param(rb'{"a": "\ud83d\ude00"}', {"a": "\U0001f600"}, id="a whole pair"),
    ],
)
def test_what_is_no_text_is_read_as_a_question_mark(text: str | bytes, value: object) -> None:
    assert read_json(text) == value
