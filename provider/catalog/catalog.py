"""The providers we know, and how one is added or changed."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, field_validator

from ..env_value import named_path, read_variable
from ..error import ConfigError
from ..json_value import read_json
from ..settings import SETTINGS
from ..wire_name import WIRES, Wire
from .failure_settings import FailureSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..fact import Fact

VARIABLE = "SIDESTEP_PROVIDERS"

Capability = Literal["tool_calling", "streaming", "structured_output", "images", "reasoning"]
CAPABILITIES: tuple[Capability, ...] = get_args(Capability)
"""What a route may be said to have."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a provider may be silent, in seconds.

    Args:
        connect: To open a connection.
        first_event: From the start of the request to the first output.
        gap: From one piece of output to the next.
    """

    connect: float = 10.0
    first_event: float = 120.0
    gap: float = 60.0


@dataclass(frozen=True, slots=True)
class Provider:
    """Where the routes of one provider are served, and how one speaks to it.

    Args:
        wire: How its API spells things.
        base_url: What the wire's path is appended to.
        api_key_env: The environment variable that holds the key; None where none is needed.
        boundary: Where its data may go, in the operator's own word; None says nothing.
        context_window: Tokens that a request and its answer may take; None is unknown.
        capabilities: What its models have, of `CAPABILITIES`; None says nothing.
        failures: What its failures mean beyond what we know, or in spite of it; read first.
    """

    name: str
    wire: Wire
    base_url: str
    api_key_env: str | None
    timeouts: Timeouts = Timeouts()
    boundary: str | None = None
    context_window: int | None = None
    capabilities: frozenset[str] | None = None
    failures: tuple[Fact, ...] = field(default=(), hash=False)  # mappings in them have no hash

    @property
    def says_what_it_takes(self) -> bool:
        """Something is said of it that may keep a step away."""
        told = (self.boundary, self.context_window, self.capabilities)
        return any(each is not None for each in told)


_GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta"

# Source: each provider's API reference, read on 2026-11-29. The names that end in ``-anthropic``
# are the facades under which other providers speak Anthropic's wire.
_KNOWN = (
    Provider("anthropic", "anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    Provider("openai", "openai-responses", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    Provider("gemini", "gemini", _GEMINI_URL, "GEMINI_API_KEY"),
    Provider("openai-chat", "openai-chat", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    Provider("openrouter", "openai-chat", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    Provider("groq", "openai-chat", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    Provider("cerebras", "openai-chat", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    Provider("mistral", "openai-chat", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    Provider("deepseek", "openai-chat", "https://api.deepseek.com", "DEEPSEEK_API_KEY"),
    Provider("zai", "openai-chat", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
    Provider("moonshot", "openai-chat", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    Provider("minimax", "openai-chat", "https://api.minimax.io/v1", "MINIMAX_API_KEY"),
    *(
        Provider(f"{vendor}-anthropic", "anthropic", base_url, f"{vendor.upper()}_API_KEY")
        for vendor, base_url in (
            ("openrouter", "https://openrouter.ai/api"),
            ("deepseek", "https://api.deepseek.com/anthropic"),
            ("zai", "https://api.z.ai/api/anthropic"),
            ("moonshot", "https://api.moonshot.ai/anthropic"),
            ("minimax", "https://api.minimax.io/anthropic"),
        )
    ),
)

_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class TimeoutSettings(BaseModel):
    """The deadlines to change, in seconds; None keeps what is there."""

    model_config = SETTINGS

    connect: _Seconds | None = None
    first_event: _Seconds | None = None
    gap: _Seconds | None = None


class ProviderSettings(BaseModel):
    """What a configuration says about one provider, in camelCase or snake_case.

    What it leaves out stays as it is for a provider that we know. Only ``apiKeyEnv`` may be
    null: it means that no key is needed.
    """

    model_config = SETTINGS

    wire: Wire | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    timeouts: TimeoutSettings | None = None
    boundary: Annotated[str, Field(min_length=1)] | None = None
    context_window: Annotated[int, Field(gt=0)] | None = None
    capabilities: list[Capability] | None = None
    failures: list[FailureSettings] = Field(default_factory=list)

    @field_validator("base_url")
    @classmethod
    def _is_a_url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            url = urlsplit(value)
            is_good = url.scheme in {"http", "https"} and url.hostname and url.port != 0
        except ValueError:
            is_good = False
        if not is_good or url.query or url.fragment or any(c.isspace() for c in value):
            raise ValueError(
                "must be an http:// or https:// address with a host and no query; "
                'write it as "https://host/path"'
            )
        return value.rstrip("/")

    @field_validator("api_key_env")
    @classmethod
    def _is_a_variable(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
            raise ValueError(
                'must be the name of an environment variable, as "OPENROUTER_API_KEY"; '
                "a key itself does not belong here, and null means that none is needed"
            )
        return value


def catalog(*overrides: Mapping[str, ProviderSettings]) -> dict[str, Provider]:
    """Return the providers that we know, changed and added to by *overrides*, one after another.

    Raises:
        ConfigError: A provider that we do not know has no wire or no base URL, or its name
            cannot stand in a route.
    """
    providers = {provider.name: provider for provider in _KNOWN}
    for name, settings in (item for each in overrides for item in each.items()):
        known = providers.get(name)
        providers[name] = _changed(known or _added(name, settings), settings)
    return providers


def providers_from_env(environ: Mapping[str, str] | None = None) -> dict[str, ProviderSettings]:
    """Read what ``SIDESTEP_PROVIDERS`` says: JSON, or ``@path`` of a file that holds it.

    Args:
        environ: None: `os.environ`.

    Raises:
        ConfigError: It cannot be read, or says something that cannot be.
    """
    environ = os.environ if environ is None else environ
    text = environ.get(VARIABLE, "").strip()
    if not text:
        return {}
    try:
        value = read_json(read_variable(text))
    except ConfigError as error:
        raise ConfigError(f"{VARIABLE} ({named_path(text)}): {error}") from None
    except ValueError:
        # Its message could quote what stands there, and so could the parser's.
        raise ConfigError(f'{VARIABLE} is not JSON: write an object, or "@path" of one') from None
    return provider_settings(value, where=VARIABLE)


def provider_settings(value: object, *, where: str) -> dict[str, ProviderSettings]:
    """Check what a configuration says about providers.

    Raises:
        ConfigError: Something in it cannot be; the message begins with *where*.
    """
    try:
        return TypeAdapter(dict[str, ProviderSettings]).validate_python(value)
    except ValidationError as error:
        raise config_error(error, where=where, model=ProviderSettings) from None


def config_error(error: ValidationError, *, where: str, model: type[BaseModel]) -> ConfigError:
    """Say in one line where a setting is wrong, its value, and what to write instead.

    Strings are not repeated, for one of them may be a key.

    Args:
        model: What the settings were checked against; a part of a path that none of its fields
            has is taken as the key of a mapping.
    """
    first = error.errors(include_url=False)[0]
    path, owner = _path(where, first["loc"], model)
    if first["type"] == "extra_forbidden":
        if known := owner.model_fields.get(str(first["loc"][-1])):
            other = f"`{known.alias}` is there as well"
            return ConfigError(f"{path} is written in two spellings, {other}: keep one of them")
        names = ", ".join(str(field.alias) for field in owner.model_fields.values())
        return ConfigError(f"{path} is not a setting: use one of {names}")
    if first["type"] == "missing":
        return ConfigError(f"{path} is missing: write it")
    if first["type"] == "model_type":
        return ConfigError(f"{path} must be a table of settings, got {_shown(first['input'])}")
    problem = first["msg"].removeprefix("Value error, ")
    problem = problem[:1].lower() + problem[1:]
    return ConfigError(f"{path} is wrong, got {_shown(first['input'])}: {problem}")


def _path(
    where: str, loc: tuple[int | str, ...], model: type[BaseModel]
) -> tuple[str, type[BaseModel]]:
    """Write *loc* as one would index it, and find the model that its last step is in."""
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


def _shown(value: object) -> str:
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    return "a string" if isinstance(value, str) else f"a {type(value).__name__}"


def _added(name: str, settings: ProviderSettings) -> Provider:
    if not name or "/" in name or any(c.isspace() for c in name):
        raise ConfigError(
            f"providers[{name!r}] cannot stand before the slash of a route: "
            "take a name without slashes and white space"
        )
    if settings.wire is None or settings.base_url is None:
        missing = "wire" if settings.wire is None else "baseUrl"
        raise ConfigError(
            f"providers[{name!r}] has no {missing}: a provider that sidestep does not know needs "
            f"`wire` (one of {', '.join(WIRES)}) and `baseUrl`"
        )
    return Provider(name, settings.wire, settings.base_url, None)


def _changed(provider: Provider, settings: ProviderSettings) -> Provider:
    changes: dict[str, Any] = {
        name: getattr(settings, name)
        for name in ("wire", "base_url", "boundary", "context_window")
        if getattr(settings, name) is not None
    }
    if settings.capabilities is not None:
        changes["capabilities"] = frozenset(settings.capabilities)
    if settings.failures:
        changes["failures"] = tuple(failure.fact() for failure in settings.failures)
    if "api_key_env" in settings.model_fields_set:
        changes["api_key_env"] = settings.api_key_env
    if settings.timeouts is not None:
        seconds = settings.timeouts.model_dump(exclude_none=True)
        changes["timeouts"] = replace(provider.timeouts, **seconds)
    return replace(provider, **changes)
