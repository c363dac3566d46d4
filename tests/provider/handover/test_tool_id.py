"""Ids of tool calls: kept if they have the form, else made from what they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.handover.tool_id import (
    ANTHROPIC_IDS,
    CHAT_IDS,
    FACADE_IDS,
    GATEWAY_IDS,
    KIMI_IDS,
    LONG_IDS,
    MISTRAL_IDS,
    OTHER_IDS,
    IdForm,
    ToolIds,
)

from ..conversations import IDS

FORMS = {
    "Anthropic": ANTHROPIC_IDS,
    "Chat": CHAT_IDS,
    "Responses": LONG_IDS,
    "Kimi": KIMI_IDS,
    "Mistral": MISTRAL_IDS,
}
forms = st.sampled_from([*FORMS.values()])

GIVEN = [
    pytest.param(ANTHROPIC_IDS, "toolu_01A", "toolu_01A", id="in form"),
    pytest.param(ANTHROPIC_IDS, "x" * 64, "x" * 64, id="as long as it may be"),
    pytest.param(ANTHROPIC_IDS, "x" * 65, None, id="too long"),
    pytest.param(ANTHROPIC_IDS, "", None, id="empty"),
    pytest.param(ANTHROPIC_IDS, "a\n", None, id="a line break"),
    pytest.param(ANTHROPIC_IDS, "a.b", None, id="a dot"),
    pytest.param(ANTHROPIC_IDS, "ид", None, id="letters of another script"),
    pytest.param(ANTHROPIC_IDS, "a٣", None, id="digits of another script"),
    pytest.param(ANTHROPIC_IDS, "\ud83d", None, id="half a character"),
    pytest.param(CHAT_IDS, "x" * 40, "x" * 40, id="Chat, as long as it may be"),
    pytest.param(CHAT_IDS, "x" * 60, None, id="Chat, too long"),
    pytest.param(LONG_IDS, "call_a|fc_b", "call_a", id="two ids in one"),
    pytest.param(LONG_IDS, "|fc_b", None, id="two ids in one, the first empty"),
    pytest.param(MISTRAL_IDS, "abcDEF123", "abcDEF123", id="Mistral, in form"),
    pytest.param(MISTRAL_IDS, "abcDEF12", None, id="Mistral, too short"),
    pytest.param(MISTRAL_IDS, "abcDEF_12", None, id="Mistral, an underscore"),
    pytest.param(MISTRAL_IDS, "abcDEF123|x", "abcDEF123", id="Mistral, two ids in one"),
    pytest.param(KIMI_IDS, "functions.ls:0", "functions.ls:0", id="Kimi"),
    pytest.param(CHAT_IDS, "functions.ls:0", None, id="a Kimi's, elsewhere"),
]


@pytest.mark.parametrize(("form", "id_", "kept"), GIVEN)
def test_an_id_in_form_stays(form: IdForm, id_: str, kept: str | None) -> None:
    given = ToolIds(form).next_id(id_)

    assert form.pattern.fullmatch(given)
    assert given == (kept or given)
    assert (given == id_) is (kept == id_)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_made_id_looks_like_one_that_the_route_makes(form: IdForm) -> None:
    made = ToolIds(form).next_id("?")

    assert made.startswith(form.prefix)
    assert len(made) == form.length


OWN = [
    pytest.param(OTHER_IDS, "functions.ls:0", "functions.ls:0", id="a Kimi's"),
    pytest.param(GATEWAY_IDS, "functions.ls:0", "functions.ls:0", id="a Kimi's, behind a gateway"),
    pytest.param(FACADE_IDS, "functions.ls:0", "functions.ls:0", id="a Kimi's, from a facade"),
    pytest.param(OTHER_IDS, "x" * 200, "x" * 200, id="long, as some proxies make them"),
    pytest.param(OTHER_IDS, "ls 1/ü", "ls 1/ü", id="strange"),
    pytest.param(OTHER_IDS, "call_a|fc_b", "call_a", id="joined by an agent"),
    pytest.param(OTHER_IDS, "", None, id="empty"),
    pytest.param(MISTRAL_IDS, "functions.ls:0", None, id="a Mistral makes no such ids"),
]


@pytest.mark.parametrize(("form", "id_", "kept"), OWN)
def test_an_id_of_the_route_itself_stays_as_it_came(
    form: IdForm, id_: str, kept: str | None
) -> None:
    given = ToolIds(form).next_id(id_, is_own=True)

    assert given == (kept or given)
    assert (given == id_) is (kept == id_)


def test_an_own_id_that_comes_twice_is_two_calls() -> None:
    ids = ToolIds(OTHER_IDS)

    given = [ids.next_id("functions.ls:0", is_own=True) for _ in range(2)]

    assert given[0] == "functions.ls:0"
    assert given[1] != given[0]


def test_the_same_id_twice_is_two_calls() -> None:
    ids = ToolIds(ANTHROPIC_IDS)

    given = [ids.next_id("call_a") for _ in range(3)] + [ids.next_id("call_a|fc_b")]

    assert given[0] == "call_a"
    assert len(set(given)) == 4


def test_an_id_that_was_made_before_is_not_given_again() -> None:
    made = ToolIds(MISTRAL_IDS).next_id("?")
    ids = ToolIds(MISTRAL_IDS)

    assert [ids.next_id(made), ids.next_id("?") == made, ids.next_id(made) == made] == [
        made,
        False,
        False,
    ]


@given(st.lists(st.sampled_from(IDS) | st.text(max_size=12)), forms)
def test_ids_differ_and_follow_from_those_before(stored: list[str], form: IdForm) -> None:
    ids = ToolIds(form)
    given = [ids.next_id(id_) for id_ in stored]

    again = ToolIds(form)
    assert [again.next_id(id_) for id_ in stored] == given
    assert len(set(given)) == len(given)
    assert all(form.pattern.fullmatch(id_) for id_ in given)
