"""Names of tools: kept if a target can spell them, else changed and kept distinct."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.handover.tool_name import (
    ANTHROPIC_NAMES,
    GEMINI_NAMES,
    OPENAI_NAMES,
    NameForm,
    ToolNames,
    api_name_of,
)

from ..conversations import NAMES

GIVEN = [
    pytest.param(OPENAI_NAMES, "read_file", "read_file", id="in form"),
    pytest.param(OPENAI_NAMES, "read.file", "read_file", id="a dot"),
    pytest.param(GEMINI_NAMES, "read.file", "read.file", id="a dot, allowed"),
    pytest.param(OPENAI_NAMES, "mcp__srv__do it!", "mcp__srv__do_it_", id="a space"),
    pytest.param(OPENAI_NAMES, "1st", "1st", id="a digit first"),
    pytest.param(GEMINI_NAMES, "1st", "_1st", id="a digit first, refused"),
    pytest.param(GEMINI_NAMES, "-x", "_-x", id="a hyphen first, refused"),
    pytest.param(OPENAI_NAMES, "", "_", id="empty"),
    pytest.param(OPENAI_NAMES, "читай", "_____", id="another script"),
    pytest.param(OPENAI_NAMES, "\ud83d", "_", id="half a character"),
    pytest.param(OPENAI_NAMES, "x\n", "x_", id="a line break"),
    pytest.param(OPENAI_NAMES, "x" * 65, "x" * 64, id="too long"),
    pytest.param(ANTHROPIC_NAMES, "x" * 65, "x" * 65, id="long, allowed"),
    pytest.param(ANTHROPIC_NAMES, "x" * 129, "x" * 128, id="too long everywhere"),
]


@pytest.mark.parametrize(("form", "name", "there"), GIVEN)
def test_a_name_is_spelled_as_the_target_can(form: NameForm, name: str, there: str) -> None:
    names = ToolNames(form, [name])

    assert names.name_of(name) == there
    assert names.renamed == ({} if name == there else {there: name})
    assert api_name_of(name, names.renamed) == there


def test_names_that_become_alike_are_told_apart() -> None:
    names = ToolNames(OPENAI_NAMES, ["read.file", "read file"])

    first, second = names.name_of("read.file"), names.name_of("read file")

    assert first == "read_file"
    assert re.fullmatch("read_file_[0-9a-f]{8}", second)
    assert names.renamed == {first: "read.file", second: "read file"}


def test_a_name_that_may_stay_does_wherever_it_is_declared() -> None:
    names = ToolNames(OPENAI_NAMES, ["read.file", "read_file"])

    assert names.name_of("read_file") == "read_file"
    assert names.name_of("read.file").startswith("read_file_")


def test_a_name_that_was_only_called_gives_way_to_one_that_is_declared() -> None:
    names = ToolNames(OPENAI_NAMES, ["read.file"])

    assert names.name_of("read_file") != names.name_of("read.file") == "read_file"


def test_a_name_that_looks_made_up_is_not_given_twice() -> None:
    made = ToolNames(OPENAI_NAMES, ["a.b", "a b"]).name_of("a b")
    names = ToolNames(OPENAI_NAMES, ["a.b", made, "a b"])

    assert len({names.name_of(name) for name in ("a.b", made, "a b")}) == 3


@given(
    st.sampled_from([OPENAI_NAMES, ANTHROPIC_NAMES, GEMINI_NAMES]),
    st.lists(st.sampled_from(NAMES) | st.text(max_size=5)),
    st.lists(st.sampled_from(NAMES) | st.text(max_size=5)),
)
def test_names_differ_and_can_be_told_back(
    form: NameForm, declared: list[str], called: list[str]
) -> None:
    names = ToolNames(form, declared)
    given = {name: names.name_of(name) for name in [*declared, *called]}

    assert len(set(given.values())) == len(given)
    assert all(re.fullmatch(f"[{form.start}][{form.inside}]*", name) for name in given.values())
    assert all(len(name) <= form.longest for name in given.values())
    assert {name: names.renamed.get(there, there) for name, there in given.items()} == {
        name: name for name in given
    }
