"""What all pydantic models of settings share: how they are read, and the error for a bad value."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from .error import ConfigError
from .secret import redact_shapes

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

SETTINGS = ConfigDict(
    strict=True,
    frozen=True,
    extra="forbid",
    alias_generator=to_camel,
    populate_by_name=True,
    hide_input_in_errors=True,
    defer_build=True,  # most programs import us without ever configuring a provider
)
"""Settings are written in camelCase or snake_case; unknown names are refused."""


def config_error(error: ValidationError, *, where: str, model: type[BaseModel]) -> ConfigError:
    """Return an error that says where a setting is wrong, its value, and what to write instead.

    Strings are not repeated, because one of them may be a key.

    Args:
        where: What stands before the path of the setting; empty: nothing does.
        model: The model that the settings were checked against. A part of the path that is none
            of its fields counts as the key of a mapping.
    """
    first = error.errors(include_url=False)[0]
    path, owner = _path(where, first["loc"], model)
    path = path.removeprefix(".") or "it"
    if first["type"] == "extra_forbidden":
        if twin := owner.model_fields.get(str(first["loc"][-1])):
            other = f"`{twin.alias}` is there as well"
            return ConfigError(f"{path} is written in two spellings, {other}: keep one of them")
        names = ", ".join(str(field.alias) for field in owner.model_fields.values())
        return ConfigError(f"{path} is not a setting: use one of {names}")
    if first["type"] == "missing":
        return ConfigError(f"{path} is missing: write it{_in_place_of(first, owner)}")
    if first["type"] in {"model_type", "dict_type"}:
        return ConfigError(
            f"{path} must be a table of settings, got {display_value(first['input'])}"
        )
    problem = first["msg"].removeprefix("Value error, ")
    problem = problem[:1].lower() + problem[1:]
    return ConfigError(f"{path} is wrong, got {display_value(first['input'])}: {problem}")


def misspelt(name: str, keys: Iterable[object], known: Container[object]) -> str | None:
    """Return the unknown one of *keys* that is spelled most like *name*; None: none is near."""
    unknown = (str(key) for key in keys if key not in known)
    return next(iter(difflib.get_close_matches(name, unknown, n=1)), None)


def _in_place_of(missing: ErrorDetails, owner: type[BaseModel]) -> str:
    """Return the end of a message that names the key which seems to mean the *missing* one."""
    if not isinstance(missing["input"], dict):
        return ""
    known = {name for each in owner.model_fields.items() for name in (each[0], each[1].alias)}
    close = misspelt(str(missing["loc"][-1]), missing["input"], known)
    return "" if close is None else f" in place of {redact_shapes(close)!r}"


def _path(
    where: str, loc: tuple[int | str, ...], model: type[BaseModel]
) -> tuple[str, type[BaseModel]]:
    """Return *loc* written as an index, and the model that its last step belongs to."""
    owner = model
    for step in loc:
        fields = {field.alias: field for field in model.model_fields.values()}
        owner = model
        if isinstance(step, str) and step in fields:
            where += f".{step}"
            model = _model_in(fields[step].annotation) or model
        elif isinstance(step, str) and step is loc[-1] and len(loc) > 1:
            where += f".{step}"
        else:
            where += f"[{step!r}]"
    return where, owner


def _model_in(annotation: Any) -> type[BaseModel] | None:
    for inner in (annotation, *get_args(annotation)):
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            return inner
    return None


def display_value(value: object) -> str:
    """Return *value* for a message; a string is only called one, because it may be a key."""
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    return "a string" if isinstance(value, str) else f"a {type(value).__name__}"
