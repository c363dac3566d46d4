"""JSON as it is written for a request."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.wire import read_json, write_body, write_json

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
