"""What a model sends a tool: what fits, what is forgiven, and what the model reads if it fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, BeforeValidator, Field

from sidestep import Tool
from sidestep.session.tool.tool import ToolResult

from ...other_words import pydantic_says


class Edit(BaseModel):
    old: str
    count: int = 1


@dataclass
class Span:
    first: int
    last: int = 0


def call(function: Callable[..., object], given: Mapping[str, Any]) -> ToolResult:
    """Call *function* as a tool, in a loop of its own."""
    return anyio.run(Tool(function, name="tool").run, given)


async def number(n: int) -> str:
    return repr(n)


async def optional(n: int = 7) -> str:
    return repr(n)


async def flag(is_deep: bool) -> str:
    return repr(is_deep)


async def texts(paths: list[str]) -> str:
    return repr(paths)


async def either(n: int | str) -> str:
    return repr(n)


async def edit(edits: list[Edit]) -> str:
    return repr([each.old for each in edits])


async def nullable(n: int | None = 7) -> str:
    return repr(n)


async def text(word: str) -> str:
    return repr(word)


async def anything(value: Any) -> str:
    return repr(value)


async def span(span: Span) -> str:
    return repr(span.first)


async def counts(counts: dict[str, int]) -> str:
    return repr(counts)


async def renamed(from_: Annotated[int, Field(alias="from")]) -> str:
    return repr(from_)


async def field(n: int = Field(3, ge=1)) -> str:
    return repr(n)


async def hinted(n: Annotated[int, Field(default=3)]) -> str:
    return repr(n)


@pytest.mark.parametrize(
    ("function", "given", "said"),
    [
        pytest.param(number, {"n": 3}, "3", id="a number"),
        pytest.param(number, {"n": "3"}, "3", id="a number in quotes"),
        pytest.param(number, {"n": 3.0}, "3", id="a whole number with a point"),
        pytest.param(flag, {"is_deep": "true"}, "True", id="a boolean in quotes"),
        pytest.param(optional, {}, "7", id="left out"),
        pytest.param(optional, {"n": None}, "7", id="null for what may be left out"),
        pytest.param(nullable, {"n": None}, "None", id="null, if it is a value"),
        pytest.param(texts, {"paths": '["a"]'}, "['a']", id="a list in quotes"),
        pytest.param(edit, {"edits": '[{"old": "a"}]'}, "['a']", id="objects in quotes"),
        pytest.param(text, {"word": "[1]"}, "'[1]'", id="a text that looks like a list"),
        pytest.param(either, {"n": "3"}, "'3'", id="a text, if one may be"),
        pytest.param(anything, {"value": True}, "True", id="anything"),
        pytest.param(span, {"span": {"first": 1}}, "1", id="a dataclass"),
        pytest.param(renamed, {"from": 1}, "1", id="another name"),
        pytest.param(field, {}, "3", id="a default of pydantic's"),
        pytest.param(hinted, {}, "3", id="a default in the hint"),
    ],
)
def test_what_fits_reaches_the_function(
    function: Callable[..., object], given: dict[str, Any], said: str
) -> None:
    result = call(function, given)

    assert (result.output, result.is_error) == (said, False)


says = partial(pydantic_says, strict=False)
MISSING = says(Edit, {})


@pytest.mark.parametrize(
    ("function", "given", "told"),
    [
        pytest.param(number, {}, f"n: {MISSING}", id="missing"),
        pytest.param(number, {"n": None}, f"n: {says(int, None)}", id="null"),
        pytest.param(number, {"n": "many"}, f"n: {says(int, 'many')}", id="a word"),
        pytest.param(number, {"n": 3.5}, f"n: {says(int, 3.5)}", id="a fraction"),
        pytest.param(number, {"n": True}, "n: Input should be a number, not true or false",
                     id="a boolean for a number"),
        pytest.param(counts, {"counts": {"a": False}},
                     "counts: Input should be a number, not true or false", id="one in an object"),
        pytest.param(edit, {"edits": [{"old": "a", "count": True}]},
                     "edits: Input should be a number, not true or false", id="one in a model"),
        pytest.param(text, {"word": 3}, f"word: {says(str, 3)}", id="no text"),
        pytest.param(texts, {"paths": "a"}, f"paths: {says(list, 'a')}", id="no list"),
        pytest.param(texts, {"paths": "[a"}, f"paths: {says(list, 'a')}", id="no JSON"),
        pytest.param(edit, {"edits": '[{"new": 1}]'}, f"edits[0].old: {MISSING}",
                     id="missing in what was in quotes"),
        pytest.param(number, {"n": 1, "m": 2},
                     "m: There is no such argument; leave it out. The arguments are n",
                     id="unknown"),
        pytest.param(renamed, {"from_": 1, "from": 1},
                     "from_: There is no such argument; leave it out. The arguments are from",
                     id="the name in Python"),
        pytest.param(number, {"n": 1, "argument_0_": 2},
                     "argument_0_: There is no such argument; leave it out. The arguments are n",
                     id="a name of our own"),
        pytest.param(field, {"n": 0}, f"n: {says(Annotated[int, Field(ge=1)], 0)}", id="range"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_in_a_line(
    function: Callable[..., object], given: dict[str, Any], told: str
) -> None:
    result = call(function, given)

    assert result.is_error
    assert result.output == (
        f"The arguments do not fit. Change these, and call the tool again:\n- {told}"
    )


def test_each_mistake_has_a_line() -> None:
    async def read(path: str, limit: int, mode: Literal["a", "b"] = "a") -> None: ...

    result = call(read, {"limit": "x", "mode": "c", "colour": 1})

    assert isinstance(result.output, str)
    assert [line.partition(":")[0] for line in result.output.splitlines()[1:]] == [
        *("- path", "- limit", "- mode", "- colour"),
    ]
    assert "http" not in result.output


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"n": "x" * 100_000}, id="a long value"),
        pytest.param({"n": 1, "x" * 100_000: 1}, id="a long name"),
        pytest.param({"n": 1} | {f"n{n}": 1 for n in range(10_000)}, id="many names"),
        pytest.param({"n": "9" * 100_000}, id="a long number"),
    ],
)
def test_what_was_given_is_not_said_again_at_length(given: dict[str, Any]) -> None:
    result = call(number, given)

    assert result.is_error
    assert len(result.output) < 5_000


def test_a_call_with_bad_arguments_does_not_run() -> None:
    ran: list[int] = []

    def tool(n: int) -> None:
        ran.append(n)

    call(tool, {"m": 1})

    assert ran == []


def test_the_function_cannot_change_the_call() -> None:
    given = {"value": {"a": [1]}}

    async def change(value: Any) -> None:
        value["a"].append(2)

    assert not call(change, given).is_error
    assert given == {"value": {"a": [1]}}


def test_the_functions_own_default_is_the_very_object() -> None:
    missing = object()

    async def tool(value: Any = missing) -> str:
        return str(value is missing)

    assert call(tool, {}).output == "True"


def refuse(_value: object) -> None:
    raise KeyError("no such thing")


def test_what_a_validator_raises_is_told() -> None:
    async def tool(value: Annotated[int, BeforeValidator(refuse)]) -> None: ...

    result = call(tool, {"value": 1})

    assert (result.output, result.is_error) == ("KeyError: 'no such thing'", True)


class Tree(BaseModel):
    kids: list[Tree] = []


def everything(
    n: int,
    word: str,
    edits: list[Edit] = [],  # noqa: B006 - never changed
    span: Span | None = None,
    either: int | str | float = 0,
    where: Path = Path(),
    mode: Literal["a", 1] = "a",
    extra: dict[str, Any] | None = None,
    tree: Tree | None = None,
) -> list[object]:
    return [n, word, edits, span, either, where, mode, extra, tree]


_TEXT = st.text(st.characters(), max_size=8)  # with NUL and halves of surrogate pairs
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXT | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)
_NAMES = st.sampled_from(
    [
        "n",
        "word",
        "edits",
        "span",
        "either",
        "where",
        "mode",
        "extra",
        "tree",
        "old",
        "first",
        "kids",
    ]
)
_FITTING = st.fixed_dictionaries({"n": st.integers(), "word": _TEXT, "extra": _JSON})


@given(st.dictionaries(_NAMES | _TEXT, _JSON, max_size=5) | _FITTING)
def test_any_object_gives_a_result_that_can_be_sent(given: dict[str, Any]) -> None:
    result = anyio.run(Tool(everything, longest=500).run, given)

    assert isinstance(result.output, str)
    assert len(result.output) <= 500
    assert "\0" not in result.output
    json.dumps(result.output, ensure_ascii=False).encode()
