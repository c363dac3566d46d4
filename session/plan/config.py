"""The configuration that a coordinator sets as JSON."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel, to_snake
from pydantic_core import from_json

from ...provider.catalog.settings import ProviderSettings, provider_settings
from ...provider.error import ConfigError
from ...provider.route import Route
from ...provider.secret import redact_shapes
from ...provider.settings import misspelt
from .config_warning import ConfigWarning
from .duplicate_key import duplicate_keys

Count = Annotated[int, Field(strict=True, ge=0, le=10**9)]
Status = Annotated[int, Field(strict=True, ge=0, le=999)]
Factor = Annotated[float, Field(strict=True, ge=1, allow_inf_nan=False)]


class FallbackConfig(BaseModel):
    """Where a step may go when its route fails, and how hard to try first.

    Keys may be in camelCase or snake_case. An entry of the map that cannot be used is left out,
    with a warning in `warnings`.

    Raises:
        pydantic.ValidationError: A value has the wrong type, or is out of range.
        ConfigError: A provider's settings are wrong.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        arbitrary_types_allowed=True,
        defer_build=True,
        extra="forbid",
        frozen=True,
        populate_by_name=True,
    )

    fallback_models_by_model: Mapping[Route, tuple[Route, ...]]
    fallback_on_errors: tuple[Status, ...] = (
        402, 408, 429, 500, 502, 503, 504, 520, 522, 524, 529,
    )  # fmt: skip
    max_fallback_attempts: Count = 2
    max_upstream_retry_attempts: Count | None = None
    cooldown_seconds: Count = 60
    max_cooldown_seconds: Count = 3600
    cooldown_backoff: Factor = 1.0
    max_wait_seconds: Count | None = None
    max_step_wait_seconds: Count = 30
    patience_seconds: Count = 0
    on_partial: Literal["retract", "interrupt"] = "retract"
    move_policy: Literal["rebuild", "first_call", "idempotent"] = "rebuild"
    idempotent_tools: tuple[str, ...] = ()
    return_policy: Literal["step", "turn", "session"] = "step"
    providers: dict[str, ProviderSettings] = Field(default_factory=dict)
    warnings: tuple[ConfigWarning, ...] = Field(default=(), exclude=True, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _keep_usable(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        warnings: list[ConfigWarning] = []
        settings = _known_keys(data, warnings)
        siblings = settings.get("fallback_models_by_model")
        if isinstance(siblings, dict):
            settings["fallback_models_by_model"] = _usable_siblings(siblings, warnings)
        if "providers" in settings:
            settings["providers"] = provider_settings(settings["providers"], where="providers")
        warnings += _without_effect(settings)
        return settings | {"warnings": tuple(warnings)}


_NO_LIMITS = {
    "fallback_models_by_model": "name the routes in the hint, or in the numbered variables",
    "providers": "set SIDESTEP_PROVIDERS",
}
"""The keys of a map that are no limits, each with what to do instead."""

LIMITS = FallbackConfig.model_fields.keys() - {"warnings", *_NO_LIMITS}
"""The keys of a map that every other form takes as well."""


def parse_config(text: str | bytes) -> FallbackConfig:
    """Return the configuration that *text* holds as JSON.

    Raises:
        ConfigError: It is not JSON, or a setting is wrong; the message says which, and what to
            change. The text itself is never quoted, because it may hold secrets.
    """
    config = _validated(_json_object(text))
    if duplicates := tuple(_duplicate_warnings(text)):
        return config.model_copy(update={"warnings": duplicates + config.warnings})
    return config


def parse_limits(text: str | bytes) -> FallbackConfig:
    """Return the limits that *text* holds as JSON, with an empty map.

    Raises:
        ConfigError: As in `parse_config`.
    """
    warnings = [*_duplicate_warnings(text)]
    settings = _known_keys(_json_object(text), warnings)
    for name in sorted(settings.keys() - LIMITS):
        message = f"`{to_camel(name)}` is no limit, and has no effect there"
        warnings.append(ConfigWarning("C001", message, _NO_LIMITS[name]))
        del settings[name]
    config = _validated({"fallback_models_by_model": {}, **settings})
    warnings += (each for each in config.warnings if each.code != "C009")
    return config.model_copy(update={"warnings": tuple(warnings)})


_OR_A_FILE = ', or "@path" of a file with one'


def _json_object(text: str | bytes) -> dict[Any, Any]:
    try:
        # Python reads a variable's bytes that are not UTF-8 as surrogates. The parser refuses them
        # with their place, but only in bytes.
        encoded = text.encode(errors="surrogatepass") if isinstance(text, str) else text
        data = from_json(encoded, allow_inf_nan=False)
    except ValueError as error:
        how = "write one JSON object" + (_OR_A_FILE if isinstance(text, str) else "")
        raise ConfigError(f"not JSON ({error}): {how}") from None
    if not isinstance(data, dict):
        raise ConfigError(f"expected one JSON object, got {_json_type(data)}")
    return data


def _validated(data: dict[Any, Any]) -> FallbackConfig:
    try:
        return FallbackConfig.model_validate(data)
    except ValidationError as error:
        raise ConfigError(
            "; ".join(_explain(problem, data) for problem in error.errors())
        ) from None


def chain_config(limits: Mapping[str, Any], *, siblings: int) -> FallbackConfig:
    """Return *limits* for a plan with chains, and do not warn that the map is empty.

    Args:
        siblings: The siblings of the longest chain; a step makes at most as many swaps.
    """
    swaps = min(siblings, limits.get("max_fallback_attempts", siblings))
    settings = {**limits, "fallback_models_by_model": {}, "max_fallback_attempts": swaps}
    return FallbackConfig.model_validate(settings).model_copy(update={"warnings": ()})


def _duplicate_warnings(text: str | bytes) -> Iterator[ConfigWarning]:
    for (outer, *inner), times in duplicate_keys(text):
        name = outer if outer.isidentifier() else repr(outer)
        where = name + "".join(f"[{key!r}]" for key in inner)
        often = "twice" if times == 2 else f"{times} times"
        message = f"`{where}` is written {often}, and the last value counts"
        yield ConfigWarning("C020", message, "write it once")


def _known_keys(data: dict[Any, Any], warnings: list[ConfigWarning]) -> dict[str, Any]:
    """Return *data* with its keys in snake_case; an unknown key is left out with a warning."""
    fields = FallbackConfig.model_fields.keys() - {"warnings"}
    names = {to_camel(field): field for field in fields} | {field: field for field in fields}
    settings: dict[str, Any] = {}
    for key, value in data.items():
        name = names.get(key)
        if name is None:
            close = difflib.get_close_matches(to_camel(str(key)), names, n=1)
            fix = f"write `{to_camel(close[0])}`" if close else "remove it"
            warnings.append(ConfigWarning("C001", f"unknown key {key!r}", fix))
        elif name in settings:
            message = f"{key!r} is set in two spellings, and the first counts"
            warnings.append(ConfigWarning("C007", message, "remove one of the two"))
        else:
            settings[name] = value
    return settings


def _usable_siblings(
    siblings: dict[Any, Any], warnings: list[ConfigWarning]
) -> dict[Route, tuple[Route, ...]]:
    usable: dict[Route, tuple[Route, ...]] = {}
    for key, value in siblings.items():
        try:
            route = Route(key)
        except ValueError:
            message = f"fallbackModelsByModel has the key {key!r}, which is no route"
            warnings.append(ConfigWarning("C002", message, 'write it as "provider/model"'))
            continue
        values = value if isinstance(value, list | tuple) else [value]
        routes = tuple(_usable_routes(route, values, warnings))
        if routes:
            usable[route] = routes
        elif not values:
            message = f"fallbackModelsByModel[{key!r}] has no sibling"
            warnings.append(ConfigWarning("C006", message, "name one, or remove the entry"))
    if not usable:
        message = "fallbackModelsByModel has no usable entry, so no step can swap"
        warnings.append(ConfigWarning("C009", message, "map a route to its sibling"))
    return usable


def _usable_routes(
    route: Route, values: list[Any] | tuple[Any, ...], warnings: list[ConfigWarning]
) -> dict[Route, None]:
    where = f"fallbackModelsByModel[{str(route)!r}]"
    usable: dict[Route, None] = {}
    for value in values:
        try:
            sibling = Route(value)
        except ValueError:
            message = f"{where} names {_short(value)}, which is no route"
            warnings.append(ConfigWarning("C003", message, 'write it as "provider/model"'))
            continue
        if sibling == route:
            message = f"{where} names itself"
            warnings.append(ConfigWarning("C004", message, "name another route"))
        elif sibling in usable:
            message = f"{where} names {str(sibling)!r} twice"
            warnings.append(ConfigWarning("C005", message, "remove one of the two"))
        else:
            usable[sibling] = None
    return usable


def _without_effect(settings: dict[str, Any]) -> list[ConfigWarning]:
    """Return warnings of settings that have no effect beside the others."""
    if settings.get("idempotent_tools") and settings.get("move_policy") != "idempotent":
        message = "`idempotentTools` is set, but `movePolicy` is not 'idempotent'"
        return [ConfigWarning("C008", message, "set `movePolicy` to 'idempotent', or remove it")]
    return []


_COUNT = "a whole number of 0 or more, without quotes"
_EXPECTED = {
    "fallback_models_by_model": 'an object such as {"provider/model": "provider/model"}',
    "fallback_on_errors": "a list of HTTP statuses such as [429, 503]",
    "max_fallback_attempts": _COUNT,
    "max_upstream_retry_attempts": _COUNT,
    "cooldown_seconds": _COUNT,
    "max_cooldown_seconds": _COUNT,
    "max_wait_seconds": _COUNT,
    "max_step_wait_seconds": _COUNT,
    "patience_seconds": _COUNT,
    "cooldown_backoff": "a number of 1 or more",
    "on_partial": '"retract" or "interrupt"',
    "move_policy": '"rebuild", "first_call" or "idempotent"',
    "idempotent_tools": "a list of tool names",
    "return_policy": '"step", "turn" or "session"',
}
"""What the value of each key must be, for messages; `providers` has messages of its own."""


_EXPECTED_ITEM = {
    "fallback_on_errors": "an HTTP status such as 503, without quotes",
    "idempotent_tools": "the name of a tool",
}
"""What each value in a list must be."""


def _explain(problem: Any, data: Mapping[Any, Any]) -> str:
    """Return one line that says what is wrong in *problem*, and what to write instead.

    Args:
        data: The configuration, with the keys that are not known.
    """
    where = [part for part in problem["loc"] if not str(part).startswith("function-")]
    name = to_snake(str(where[0])) if where else ""
    at = to_camel(name) + "".join(f"[{part!r}]" for part in where[1:])
    if problem["type"] == "missing" and len(where) == 1:
        if (close := misspelt(at, data, FallbackConfig.model_fields)) is not None:
            return f"`{at}` is missing: write it in place of {redact_shapes(close)!r}"
        return f"`{at}` is missing: write {_EXPECTED.get(name, 'it')}"
    expected = (_EXPECTED_ITEM if len(where) > 1 else _EXPECTED).get(name)
    wrong = f"is wrong ({problem['msg']})" if expected is None else f"must be {expected}"
    return f"`{at}` {wrong}, got {_short(problem['input'])}"


def _short(value: object) -> str:
    text = redact_shapes(repr(value))
    return text if len(text) <= 60 else f"{text[:57]}..."


def _json_type(value: object) -> str:
    names = {str: "a string", list: "a list", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
