"""The arguments of a tool: their schema for the model, and the check of what a model gave."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import from_json, to_json

from ...provider.wire.schema.schema import MAPS, SCHEMAS
from .signature import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydantic.json_schema import JsonSchemaWarningKind
    from pydantic_core import ErrorDetails

    from .signature import Parameter

_MOST_PROBLEMS = 20
_LONGEST_LINE = 300
_LONGEST_PLACE = 100


class BadArguments(ValueError):
    """What a model sent does not fit the schema; the message says what to change."""


class Arguments:
    """The parameters of a tool.

    Attributes:
        schema: JSON Schema, an object at its root.

    Raises:
        TypeError: pydantic can make no schema of a hint; the message is to follow the tool's name.
    """

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        # Fields get names of our own: an argument may be named `json` or `_x`, a field may not.
        self._parameters = {f"argument_{n}_": each for n, each in enumerate(parameters)}
        try:
            self._model = _model(self._parameters)
            self.schema = _schema(self._model, parameters)
        except Exception as error:
            why = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
            raise TypeError(
                f"no JSON Schema can be made of its type hints: {why}; use types that JSON can "
                "spell, or bind the argument with functools.partial"
            ) from error
        self._names = tuple(self.schema["properties"])

    def check(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments for a call of the function; *raw* is neither changed nor shared.

        Some mistakes that models make are corrected: a number or a boolean in quotes, null for an
        optional argument, and a list or an object spelled as a string of JSON.

        Raises:
            BadArguments: Something is missing, unknown or of the wrong type.
        """
        arguments = copy.deepcopy(dict(raw))
        try:
            found = self._model.model_validate(arguments)
        except ValidationError as error:
            arguments = self._corrected(
                arguments, {each["loc"][0] for each in _problems(error) if each["loc"]}
            )
            found = self._check_again(arguments)
        self._refuse_booleans(arguments, found)
        return {
            parameter.name: getattr(found, field)
            for field, parameter in self._parameters.items()
            if field in found.model_fields_set or not _has_own_default(parameter)
        }

    def _check_again(self, corrected: dict[str, Any]) -> BaseModel:
        try:
            return self._model.model_validate(corrected)
        except ValidationError as error:
            lines = [self._explain(problem) for problem in _problems(error)]
            raise BadArguments(_listed(lines)) from None

    def _corrected(self, raw: dict[str, Any], wrong: Iterable[object]) -> dict[str, Any]:
        """Return *raw* with the usual mistakes of models corrected, in the arguments *wrong*."""
        corrected = dict(raw)
        for name in corrected.keys() & wrong:
            value = corrected[name]
            if value is None and name not in self.schema.get("required", ()):
                del corrected[name]
            elif isinstance(value, str) and value.lstrip().startswith(("[", "{")):
                try:
                    corrected[name] = from_json(value)
                except ValueError:
                    continue
        return corrected

    def _refuse_booleans(self, raw: Mapping[str, Any], found: BaseModel) -> None:
        """Refuse true and false for a number, because pydantic would take them as 1 and 0."""
        lines = [
            f"- {name}: Input should be a number, not true or false"
            for name, field in zip(self._names, self._parameters, strict=True)
            if _is_boolean_read_as_number(raw.get(name), getattr(found, field))
        ]
        if lines:
            raise BadArguments(_listed(lines))

    def _explain(self, problem: ErrorDetails) -> str:
        where, message = problem["loc"], problem["msg"]
        if problem["type"] == "extra_forbidden":
            message = "There is no such argument; leave it out"
            if len(where) == 1:
                names = ", ".join(self._names)
                message += f". The arguments are {names}" if names else ". The tool takes none"
        return _shortened(f"- {_place(where)}: {message}", _LONGEST_LINE)


class _QuietSchema(GenerateJsonSchema):
    """Leaves out a default that JSON cannot spell, without a warning."""

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Warn of nothing."""


def _model(parameters: Mapping[str, Parameter]) -> type[BaseModel]:
    def alias(field: str) -> str:
        # Dataclasses in the hints inherit this, with fields of their own.
        return parameters[field].name if field in parameters else field

    config = ConfigDict(extra="forbid", alias_generator=alias, allow_inf_nan=False)
    fields = {field: _field(each) for field, each in parameters.items()}
    return create_model("Arguments", __config__=config, **fields)


def _schema(model: type[BaseModel], parameters: Sequence[Parameter]) -> dict[str, Any]:
    schema = _untitled(model.model_json_schema(schema_generator=_QuietSchema))
    schema.setdefault("properties", {})
    for described, parameter in zip(schema["properties"].values(), parameters, strict=True):
        if _has_own_default(parameter):
            described.pop("default", None)
            if (default := _spelled(parameter.default)) is not None:
                described["default"] = default
    return schema


def _field(parameter: Parameter) -> Any:
    if parameter.default is NOTHING:
        return parameter.hint
    return (parameter.hint, None if _has_own_default(parameter) else parameter.default)


def _has_own_default(parameter: Parameter) -> bool:
    """True if the function has the default itself, so that pydantic needs none."""
    return parameter.default is not NOTHING and not isinstance(parameter.default, FieldInfo)


def _spelled(default: object) -> Any:
    """Return *default* as JSON spells it; None: JSON cannot, or it is None."""
    try:
        return from_json(to_json(default, inf_nan_mode="null"))
    except ValueError:
        return None


def _untitled(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return *schema* without titles, which only repeat the names."""
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key in MAPS:
            made[key] = {name: _untitled(each) for name, each in value.items()}
        elif key in SCHEMAS and isinstance(value, list):
            made[key] = [_untitled(each) for each in value]
        elif key in SCHEMAS and isinstance(value, dict):
            made[key] = _untitled(value)
        elif key != "title":
            made[key] = value
    return made


def _is_boolean_read_as_number(raw: object, read: object) -> bool:
    if isinstance(raw, list) and isinstance(read, list):
        return any(map(_is_boolean_read_as_number, raw, read))
    if isinstance(raw, dict):
        held = read if isinstance(read, dict) else getattr(read, "__dict__", {})
        return any(_is_boolean_read_as_number(each, held.get(key)) for key, each in raw.items())
    is_number = isinstance(read, int | float) and not isinstance(read, bool)
    return isinstance(raw, bool) and is_number


def _problems(error: ValidationError) -> list[ErrorDetails]:
    return error.errors(include_url=False, include_context=False, include_input=False)


def _listed(lines: Sequence[str]) -> str:
    shown = list(lines[:_MOST_PROBLEMS])
    if len(lines) > _MOST_PROBLEMS:
        shown.append(f"- and {len(lines) - _MOST_PROBLEMS} more")
    return "\n".join(["The arguments do not fit. Change these, and call the tool again:", *shown])


def _place(path: Sequence[int | str]) -> str:
    """Spell a path as ``edits[0].old``."""
    steps = [f"[{each}]" if isinstance(each, int) else f".{each}" for each in path]
    return _shortened("".join(steps).removeprefix(".") or "arguments", _LONGEST_PLACE)


def _shortened(text: str, longest: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
