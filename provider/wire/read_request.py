"""A client's request as the readers of all wires return it, and the error for a bad one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..error import SidestepError
from ..json_value import read_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..conversation import Conversation

_MOST = 32
"""How many different reasons are kept of each kind."""

_KINDS = {
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


class RequestError(SidestepError):
    """The body of a client's request is wrong; the message says where, and what to write.

    Values of the body are not repeated, because they may be prompts.

    Args:
        where: The path of the wrong value, such as ``messages[2].content``; empty: the body itself.
        problem: What is wrong with it.
    """

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where or 'the body'} {problem}")
        self.where = where
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.where, self.problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """The request of a client, as a conversation that any route can continue.

    Args:
        conversation: No message in it has a route, because a body does not say who answered.
        model: The name of the model as the client wrote it.
        is_streamed: The client wants a stream.
        wants_usage: The client wants the tokens at the end of a stream; only Chat Completions asks.
        is_array: The client wants a stream as one JSON array, without events; only Gemini has this.
        unreadable: Why only the provider that was asked can answer, each in half a sentence: what
            the body holds and a conversation cannot. Empty: the request can go to any route.
        left_out: What a request to another route goes without, such as ``metadata``: parameters
            without which the answer is still an answer to the same question.
    """

    conversation: Conversation
    model: str
    is_streamed: bool = False
    wants_usage: bool = True
    is_array: bool = False
    unreadable: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def can_move(self) -> bool:
        """True if the request can go to another route than the one that was asked."""
        return not self.unreadable


@dataclass(slots=True)
class Report:
    """Collects what one body holds and a conversation cannot, each kind once."""

    _unreadable: dict[str, str] = field(default_factory=dict)
    _left_out: dict[str, None] = field(default_factory=dict)

    def cannot_move(self, what: str, where: str = "") -> None:
        """Note that the body holds *what*, first at *where*, which no other route can read."""
        if len(self._unreadable) < _MOST:
            self._unreadable.setdefault(what, f"{what} ({where})" if where else what)

    def leave_out(self, what: str) -> None:
        """Note that another route goes without *what*."""
        if len(self._left_out) < _MOST:
            self._left_out.setdefault(what)

    @property
    def unreadable(self) -> tuple[str, ...]:
        return tuple(self._unreadable.values())

    @property
    def left_out(self) -> tuple[str, ...]:
        return tuple(self._left_out)


class Fields:
    """One object of a body, which checks the types of its values and knows where it stands.

    Args:
        has_snake_case: A name may also be written in snake_case, as Gemini takes it.
    """

    __slots__ = ("_has_snake_case", "_values", "report", "where")

    def __init__(
        self,
        values: Mapping[str, Any],
        where: str,
        report: Report,
        *,
        has_snake_case: bool = False,
    ) -> None:
        self._values = values
        self._has_snake_case = has_snake_case
        self.where = where
        self.report = report

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def names(self) -> Iterable[str]:
        """Return the names of all values that are not null."""
        return [name for name, value in self._values.items() if value is not None]

    def get(self, name: str) -> Any:
        """Return a value as it is; None: it is missing, or null."""
        value = self._values.get(name)
        if value is None and self._has_snake_case:
            return self._values.get(snake_case(name))
        return value

    def place(self, name: str) -> str:
        """Return the path of a value."""
        return f"{self.where}.{name}" if self.where else name

    def string(self, name: str) -> str | None:
        """Return a string; None: it is missing, or null."""
        value = self.get(name)
        if value is None or isinstance(value, str):
            return value
        raise self.error(name, "a string")

    def needed(self, name: str) -> str:
        """Return a string that must not be missing or empty."""
        value = self.string(name)
        if not value:
            raise RequestError(self.place(name), "is missing: write a string")
        return value

    def number(self, name: str) -> float | None:
        """Return a number; None: it is missing, or null."""
        value = self.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(name, "a number")
        if not math.isfinite(value):
            raise RequestError(self.place(name), "must be a finite number")
        return value

    def limit(self, name: str) -> int | None:
        """Return a whole number above 0; None: it is missing, or null."""
        value = self.number(name)
        if value is None:
            return None
        if value != int(value) or value < 1:
            raise RequestError(self.place(name), "must be a whole number above 0")
        return int(value)

    def flag(self, name: str) -> bool | None:
        """Return a boolean; None: it is missing, or null."""
        value = self.get(name)
        if value is None or isinstance(value, bool):
            return value
        raise self.error(name, "true or false")

    def mapping(self, name: str) -> dict[str, Any] | None:
        """Return an object as it is; None: it is missing, or null."""
        value = self.get(name)
        if value is None or isinstance(value, dict):
            return value
        raise self.error(name, "an object")

    def object(self, name: str) -> Fields:
        """Return an object; an empty one if it is missing, or null."""
        return self._inner(self.mapping(name) or {}, self.place(name))

    def objects(self, name: str) -> list[Fields]:
        """Return the objects of a list; none if it is missing, or null."""
        value = self.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.error(name, "a list")
        made = []
        for index, each in enumerate(value):
            place = f"{self.place(name)}[{index}]"
            if not isinstance(each, dict):
                raise RequestError(place, f"must be an object, got {kind_of(each)}")
            made.append(self._inner(each, place))
        return made

    def content(self, name: str) -> list[Fields]:
        """Return the blocks of a content, which may also be a string; none if it is null."""
        value = self.get(name)
        if isinstance(value, str):
            return [self._inner({"type": "text", "text": value}, self.place(name))]
        if value is None or isinstance(value, list):
            return self.objects(name)
        raise self.error(name, "a string or a list")

    def leave_out(self, *names: str) -> None:
        """Note the values of *names* that are there: another route goes without them."""
        for name in names:
            if self.get(name) not in (None, [], {}, ""):
                self.report.leave_out(self.place(name))

    def cannot_move(self, what: str) -> None:
        """Note that this object is or holds *what*, which no other route can read."""
        self.report.cannot_move(what, self.where)

    def error(self, name: str, wanted: str) -> RequestError:
        """Return the error for a value that is not *wanted*."""
        return RequestError(self.place(name), f"must be {wanted}, got {kind_of(self.get(name))}")

    def _inner(self, values: Mapping[str, Any], where: str) -> Fields:
        return Fields(values, where, self.report, has_snake_case=self._has_snake_case)


def body_fields(
    body: bytes | Mapping[str, Any], report: Report, *, has_snake_case: bool = False
) -> Fields:
    """Return the object in *body*, which is JSON or was read already.

    Raises:
        RequestError: It is not a JSON object.
    """
    value: Any = body
    if isinstance(body, bytes | bytearray | memoryview):
        try:
            value = read_json(bytes(body))
        except ValueError as error:
            raise RequestError("", f"is not JSON ({error}): send an object") from None
    if not isinstance(value, dict):
        raise RequestError("", f"must be a JSON object, got {kind_of(value)}")
    return Fields(value, "", report, has_snake_case=has_snake_case)


def kind_of(value: object) -> str:
    """Return what a value of JSON is, in words."""
    return _KINDS.get(type(value), f"a {type(value).__name__}")


@lru_cache(maxsize=256)
def snake_case(name: str) -> str:
    """Return *name*, which is in camelCase, in snake_case."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
