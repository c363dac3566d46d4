"""What all pydantic models of settings share: how they are read, and the error for a bad value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from .error import ConfigError

if TYPE_CHECKING:
    from pydantic import ValidationError

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
        model: The model that the settings were checked against. A part of the path that is none
            of its fields counts as the key of a mapping.
    """
    first = error.errors(include_url=False)[0]
    path, owner = _path(where, first["loc"], model)
    if first["type"] == "extra_forbidden":
        if twin := owner.model_fields.get(str(first["loc"][-1])):
            other = f"`{twin.alias}` is there as well"
            return ConfigError(f"{path} is written in two spellings, {other}: keep one of them")
        names = ", ".join(str(field.alias) for field in owner.model_fields.values())
        return ConfigError(f"{path} is not a setting: use one of {names}")
    if first["type"] == "missing":
        return ConfigError(f"{path} is missing: write it")
    if first["type"] == "model_type":
        return ConfigError(
            f"{path} must be a table of settings, got {display_value(first['input'])}"
        )
    problem = first["msg"].removeprefix("Value error, ")
    problem = problem[:1].lower() + problem[1:]
    return ConfigError(f"{path} is wrong, got {display_value(first['input'])}: {problem}")


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
