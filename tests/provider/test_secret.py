from __future__ import annotations

import pytest

from sidestep.provider.secret import Secret

KEY = "sk-very-secret-0123456789"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        pytest.param(f"bad key {KEY}.", "bad key [key].", id="inside"),
        pytest.param(f"{KEY}{KEY}", "[key][key]", id="twice"),
        pytest.param(f"bad key {KEY[:20]}…", "bad key [key]", id="cut"),
        pytest.param(f"bad key {KEY[:8]}", "bad key [key]", id="little of it"),
        pytest.param(f"bad key {KEY[:7]}", f"bad key {KEY[:7]}", id="too little to tell"),
        pytest.param("bad key", "bad key", id="nothing of it"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_a_key_is_hidden(said: str, shown: str) -> None:
    assert Secret(KEY).hidden_in(said) == shown


def test_without_a_key_there_is_nothing_to_hide() -> None:
    assert Secret(None).hidden_in("all") == "all"
    assert KEY not in repr(Secret(KEY))


def chained(*messages: str) -> Exception:
    first, *others = [ValueError(message) for message in messages]
    link = first
    for other in others:
        link.__cause__ = other
        link = other
    return first


@pytest.mark.parametrize(
    ("error", "is_quotable"),
    [
        pytest.param(chained("a", "b"), True, id="clean"),
        pytest.param(chained(KEY), False, id="itself"),
        pytest.param(chained("a", "b", f"c {KEY}"), False, id="a cause"),
        pytest.param(chained(*"abcdefghijklmnopqrstuvwxyz"), False, id="too long to tell"),
    ],
)
def test_an_exception_is_quotable_where_no_link_names_the_key(
    error: Exception, is_quotable: bool
) -> None:
    assert Secret(KEY).quotable(error) is (error if is_quotable else None)
