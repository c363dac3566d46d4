"""A request to Gemini, as its rules read it."""

from __future__ import annotations

import itertools
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from ....json_value import listed, mapping
from ..complaint import Complaint
from ..model_facts import is_gemini_3, needs_call_signatures
from ..request import StrictRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_SNAKE = re.compile(r"_([a-z])")
_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")
FREE = frozenset({"args", "response", "parametersJsonSchema", "responseJsonSchema", "labels"})
"""Objects that hold the agent's own keys at every depth."""
NAMED = frozenset({"properties"})
"""Objects that hold the agent's own keys at the first level only."""
REPEATED = frozenset({"contents", "parts", "tools", "functionDeclarations", "safetySettings"})
"""Fields that are lists. The API takes one object in place of a list of one."""


class Turn(NamedTuple):
    """Contents of one role in a row, which the API reads as one.

    Args:
        at: The index of the first content.
    """

    role: str
    at: int
    parts: list[Mapping[str, Any]]

    def having(self, key: str) -> list[Mapping[str, Any]]:
        """Return the values of *key* in its parts."""
        return [mapping(part[key]) for part in self.parts if key in part]


class GeminiRequest(StrictRequest):
    """A request to judge, with its keys in camel case or in snake case."""

    @cached_property
    def read(self) -> Mapping[str, Any]:
        """The body as the API reads it; the agent's own keys are kept.

        Keys are in camel case, a null counts as absent, and one object as a list of it.
        Source: protobuf.dev/programming-guides/json, read on 2026-11-30, and recorded requests.
        """
        return mapping(_camel(self.body))

    @cached_property
    def contents(self) -> list[Mapping[str, Any]]:
        return [mapping(each) for each in listed(self.read.get("contents"))]

    @property
    def takes_thinking_level(self) -> bool:
        return is_gemini_3(self.route.model)

    @property
    def needs_call_signatures(self) -> bool:
        """True if the model refuses its own calls when they come back without a signature."""
        return needs_call_signatures(self.route.model)

    def parts(self, index: int) -> list[Mapping[str, Any]]:
        """Return the parts of content *index*; none if there is no such content."""
        if not 0 <= index < len(self.contents):
            return []
        return [mapping(each) for each in listed(self.contents[index].get("parts"))]

    def role(self, index: int) -> str:
        """Return the role of content *index*; without one it is the user's."""
        return "model" if self.contents[index].get("role") == "model" else "user"

    @cached_property
    def turns(self) -> list[Turn]:
        """All contents, those of one role in a row as one."""
        return [
            Turn(role, at[0], [part for index in at for part in self.parts(index)])
            for role, group in itertools.groupby(range(len(self.contents)), key=self.role)
            if (at := list(group))
        ]

    def functions(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield all declared functions, with their paths."""
        for at, tool in enumerate(listed(self.read.get("tools"))):
            for place, each in enumerate(listed(mapping(tool).get("functionDeclarations"))):
                yield f"tools[{at}].function_declarations[{place}]", mapping(each)


def _camel(value: object, *, is_named: bool = False) -> object:
    if isinstance(value, list):
        return [_camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, object] = {}
    for key, each in value.items():
        name = key if is_named else _SNAKE.sub(lambda match: match[1].upper(), key)
        if each is None and not is_named:
            continue
        is_free = name in FREE and not is_named
        read = each if is_free else _camel(each, is_named=name in NAMED and not is_named)
        is_single = name in REPEATED and not is_named and isinstance(read, dict)
        found[name] = [read] if is_single else read
    return found


def snake(name: str) -> str:
    """Return *name* in snake case, as Gemini's messages have it."""
    return _CAMEL.sub(lambda match: "_" + match[1].lower(), name)


def unknown(name: str, where: str = "") -> Complaint:
    """Return the refusal of an unknown field."""
    place = f" at '{where}'" if where else ""
    message = f'Invalid JSON payload received. Unknown name "{name}"{place}: Cannot find field.'
    return Complaint(message=message)


def unreadable(where: str, kind: str, value: object) -> Complaint:
    """Return the refusal of a value that has the wrong type."""
    shown = f'"{value}"' if isinstance(value, str) else value
    return Complaint(message=f"Invalid value at '{where}' ({kind}), {shown}")


def lacking(where: str, why: str) -> Complaint:
    """Return the refusal of a value that has the right type but is not valid."""
    return Complaint(message=f"* GenerateContentRequest.{where}: {why}\n")
