"""The name, description and parameters of a function that a model may call."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Function = Callable[..., object]

NOTHING = inspect.Parameter.empty
"""In place of a default: there is none."""

_UNNAMED = {
    inspect.Parameter.POSITIONAL_ONLY: "can be given by position only: take the `/` away",
    inspect.Parameter.VAR_POSITIONAL: "stands for any number of arguments: take a list instead",
    inspect.Parameter.VAR_KEYWORD: "stands for arguments of any name: name them, or take a dict",
}
"""Why a model cannot give an argument of these kinds: it gives each by its name."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function.

    Args:
        hint: Its type; `Any`: there is no hint.
        default: `NOTHING`: it is required.
    """

    name: str
    hint: Any
    default: Any


def name_of(function: Function) -> str:
    """Return the name under which *function* was defined."""
    inner = _inner(function)
    return str(getattr(inner, "__name__", type(inner).__name__))


def description_of(function: Function) -> str:
    """Return the docstring of *function*; empty: there is none."""
    inner = _inner(function)
    call = type(inner).__call__
    own = call.__doc__ if inspect.isfunction(call) else None
    return inspect.cleandoc(own or inner.__doc__ or "")


def is_async(function: Function) -> bool:
    """True if *function* is asynchronous: a call does nothing until it is awaited."""
    inner = _inner(function)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(type(inner).__call__)


def parameters_of(function: Function) -> list[Parameter]:
    """Return the parameters of *function*, without those that a `functools.partial` has bound.

    Raises:
        TypeError: A model cannot call it; the message says why, and is to follow its name.
    """
    _refuse(function)
    try:
        declared = dict(inspect.signature(function).parameters)
    except Exception as error:
        raise TypeError(f"its signature cannot be read: {error}; wrap it in a function") from error
    for name in function.keywords if isinstance(function, functools.partial) else ():
        declared.pop(name, None)
    for name, parameter in declared.items():
        if parameter.kind in _UNNAMED:
            raise TypeError(f"its argument {name!r} {_UNNAMED[parameter.kind]}")
    hints = _hints(function, {name: each.annotation for name, each in declared.items()})
    return [Parameter(name, hints[name], each.default) for name, each in declared.items()]


def _inner(function: Function) -> Function:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _refuse(function: Function) -> None:
    """Raise TypeError for what cannot be called as a tool is."""
    inner = _inner(function)
    if not callable(inner):
        raise TypeError("it is not a function")
    if inspect.isclass(inner):
        raise TypeError("it is a class: give a function that makes one, or a method of an instance")
    for call in (inner, type(inner).__call__):
        if inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call):
            raise TypeError("it is a generator: return a list, or one text")


def _hints(function: Function, annotations: Mapping[str, Any]) -> dict[str, Any]:
    """Return the types that *annotations* name."""

    def stand_in() -> None: ...

    source: Any = inspect.unwrap(_inner(function))
    if not hasattr(source, "__globals__"):
        source = type(source).__call__
    stand_in.__annotations__ = {
        name: Any if annotation is NOTHING else annotation
        for name, annotation in annotations.items()
    }
    try:
        names = getattr(source, "__globals__", {})
        return get_type_hints(stand_in, globalns=names, include_extras=True)
    except Exception as error:
        raise TypeError(
            f"its type hints cannot be resolved: {error}; import or define what they name at the "
            "top of the function's module, and not only under TYPE_CHECKING"
        ) from error
