"""What can be a tool, and what a model sees of it."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from sidestep import Tool

if TYPE_CHECKING:
    from nowhere import Nothing  # type: ignore[import-not-found]


class Edit(BaseModel):
    title: str
    new: str = ""


@dataclasses.dataclass
class Span:
    first: int
    last: int = 0


def read(
    path: Annotated[str, Field(description="Which file.")],
    limit: int = 2000,
    mode: Literal["text", "hex"] = "text",
) -> str:
    """Read a file.

    Of a long one, only some lines.
    """
    return f"{path} {limit} {mode}"


class Shell:
    """Runs commands."""

    def __call__(self, command: str) -> str:
        """Run one command."""
        return command

    async def run(self, command: str) -> str:
        """Run it here."""
        return command


def schema(function: Callable[..., object]) -> dict[str, Any]:
    return dict(Tool(function, name="tool").spec.input_schema)


def test_the_hints_defaults_and_docstring_tell_the_model_all() -> None:
    spec = Tool(read).spec

    assert spec.name == "read"
    assert spec.description == "Read a file.\n\nOf a long one, only some lines."
    assert spec.input_schema == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Which file."},
            "limit": {"type": "integer", "default": 2000},
            "mode": {"type": "string", "enum": ["text", "hex"], "default": "text"},
        },
        "required": ["path"],
        "additionalProperties": False,
    }


def test_name_and_description_can_be_given() -> None:
    tool = Tool(read, name="cat-2", description="Show it.\udc00")

    assert (tool.name, tool.spec.name) == ("cat-2", "cat-2")
    assert tool.spec.description == "Show it.�"
    assert repr(tool) == "Tool('cat-2')"


@pytest.mark.parametrize(
    ("function", "name", "description"),
    [
        pytest.param(Shell(), "Shell", "Run one command.", id="an object"),
        pytest.param(Shell().run, "run", "Run it here.", id="a method"),
        pytest.param(functools.partial(Shell().run), "run", "Run it here.", id="a partial"),
        pytest.param(functools.cache(Shell().run), "run", "Run it here.", id="a cached one"),
    ],
)
def test_whatever_can_be_called_can_be_a_tool(
    function: Callable[..., object], name: str, description: str
) -> None:
    spec = Tool(function).spec

    assert (spec.name, spec.description) == (name, description)
    assert spec.input_schema["required"] == ["command"]


def test_what_a_partial_has_bound_is_not_shown() -> None:
    def find(
        client: object, word: str, *, root: Callable[[], Path], deep: bool = False
    ) -> None: ...

    bound = schema(functools.partial(find, object(), root=Path))

    assert list(bound["properties"]) == ["word", "deep"]


def test_a_tool_may_take_nothing() -> None:
    assert schema(lambda: None) == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


def test_nested_types_are_described_without_titles_but_a_title_may_be_a_property() -> None:
    def edit(edits: list[Edit], span: Span, title: str = "title") -> None: ...

    made = schema(edit)

    assert made["properties"]["title"] == {"type": "string", "default": "title"}
    assert made["$defs"]["Edit"]["properties"] == {
        "title": {"type": "string"},
        "new": {"type": "string", "default": ""},
    }
    assert list(made["$defs"]["Span"]["properties"]) == ["first", "last"]


def test_arguments_may_have_names_that_pydantic_keeps_for_itself() -> None:
    def tool(
        json: str, copy: int, schema: str, model_config: str, _hidden: bool, self: int
    ) -> None:
        pass

    assert list(schema(tool)["properties"]) == [
        *("json", "copy", "schema", "model_config", "_hidden", "self"),
    ]


def test_a_default_that_json_cannot_spell_is_left_out() -> None:
    def tool(
        marker: Any = object(),  # noqa: B008 - as agents mark what was not given
        nothing: int | None = None,
        endless: float = float("inf"),
        where: Path = Path("src"),
    ) -> None: ...

    properties = schema(tool)["properties"]

    assert [each.get("default") for each in properties.values()] == [None, None, None, "src"]
    json.dumps(properties, allow_nan=False)


def test_a_default_may_be_a_field_of_pydantics() -> None:
    def tool(limit: int = Field(3, description="Lines.", ge=1)) -> None: ...

    assert schema(tool)["properties"] == {
        "limit": {"type": "integer", "default": 3, "description": "Lines.", "minimum": 1}
    }


def takes_any_number(*paths: str) -> None: ...
def takes_any_name(**options: str) -> None: ...
def takes_by_position(path: str, /) -> None: ...
def takes_what_is_not_defined(path: Nothing) -> None: ...
def takes_a_function(path: Callable[[], int]) -> None: ...
def takes_a_shell(shell: Shell) -> None: ...
def yields() -> Any:
    yield 1


async def yields_later() -> Any:
    yield 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        pytest.param(takes_any_number, "'paths' stands for any number", id="any number"),
        pytest.param(takes_any_name, "'options' stands for arguments of any name", id="any name"),
        pytest.param(takes_by_position, "'path' can be given by position only", id="by position"),
        pytest.param(len, "'obj' can be given by position only", id="a builtin"),
        pytest.param(
            takes_what_is_not_defined, "'Nothing' is not defined; import", id="unresolved"
        ),
        pytest.param(takes_a_function, "no JSON Schema can be made", id="no schema"),
        pytest.param(
            takes_a_shell, "Unable to generate .*Shell'>; use types", id="no type of data"
        ),
        pytest.param(yields, "it is a generator", id="a generator"),
        pytest.param(yields_later, "it is a generator", id="an asynchronous generator"),
        pytest.param(Shell, "it is a class", id="a class"),
        pytest.param("read", "it is not a function", id="no function"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_at_once(
    function: Callable[..., object], message: str
) -> None:
    with pytest.raises(TypeError, match=rf"cannot be a tool: .*{message}"):
        Tool(function)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="empty"),
        pytest.param("read file", id="a space"),
        pytest.param("läs", id="an accent"),
        pytest.param("read\n", id="a line end"),
        pytest.param("x" * 65, id="too long"),
        pytest.param("fs.read", id="a dot"),
    ],
)
def test_a_name_that_some_provider_refuses_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match="cannot name a tool: give it a `name`"):
        Tool(read, name=name)


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(TypeError, match="'<lambda>' cannot name a tool"):
        Tool(lambda: None)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_a_timeout_is_above_0(seconds: float) -> None:
    with pytest.raises(TypeError, match="`timeout` of tool 'read' must be a number of seconds"):
        Tool(read, timeout=seconds)


@pytest.mark.parametrize("characters", [0, -1])
def test_the_longest_output_is_above_0(characters: int) -> None:
    with pytest.raises(TypeError, match="`longest` of tool 'read' must be a number of characters"):
        Tool(read, longest=characters)


def test_a_return_hint_need_not_be_resolved() -> None:
    def tool(word: str) -> Nothing: ...

    assert list(schema(tool)["properties"]) == ["word"]
