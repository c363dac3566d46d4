"""The settings of a provider as a configuration writes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from ..fact import Fact
from ..failure import FailureKind, Scope
from ..secret import redact_shapes
from ..settings import SETTINGS, config_error, display_value
from ..wire_name import Wire
from .provider import Capability

if TYPE_CHECKING:
    from collections.abc import Sequence

_Word = Annotated[str, Field(min_length=1, max_length=200)]
_VARIABLE = 'must be the name of an environment variable, as "OPENROUTER_API_KEY"'
_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class FailureSettings(BaseModel):
    """One failure of a provider: how to recognise it, its kind, and its scope.

    Every condition that is set must hold. ``type`` and ``code`` are compared whole, ``code`` with
    every code, type and reason of an error. The message must begin with the regular expression
    ``text``, in any case. ``scope`` is a `Scope`; without one the kind decides.
    """

    model_config = SETTINGS

    kind: str
    status: Annotated[int, Field(ge=300, le=599)] | None = None
    type: _Word | None = None
    code: _Word | None = None
    text: _Word | None = None
    scope: Literal["route", "key", "key_on_route"] | None = None

    @field_validator("kind")
    @classmethod
    def _is_a_kind(cls, value: str) -> str:
        kinds = [str(kind) for kind in FailureKind]
        if value not in kinds:
            raise ValueError(f"must be one of {', '.join(kinds)}")
        return value

    @field_validator("text")
    @classmethod
    def _is_a_pattern(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            fits_all = re.match(value, "") is not None
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"must be a regular expression: {error}") from None
        if fits_all:
            raise ValueError("must not fit an empty message, because it then fits every message")
        return value

    @model_validator(mode="after")
    def _says_when(self) -> Self:
        if self.status is None and not (self.type or self.code or self.text):
            raise ValueError("must say by what it is recognised: give status, type, code or text")
        return self

    def fact(self) -> Fact:
        """Return these settings as a fact like those in our own tables."""
        exact = {
            name: frozenset({str(value)})
            for name, value in (("status", self.status), ("type", self.type), ("any", self.code))
            if value is not None
        }
        scope = None if self.scope is None else Scope(self.scope)
        return Fact(FailureKind(self.kind), exact, text=self.text, is_own=True, scope=scope)


class TimeoutSettings(BaseModel):
    """Changes of `Timeouts`, in seconds; None: no change."""

    model_config = SETTINGS

    connect: _Seconds | None = None
    first_event: _Seconds | None = None
    gap: _Seconds | None = None


class ProviderSettings(BaseModel):
    """The settings of one provider, in camelCase or snake_case.

    A setting that is left out keeps the value of a known provider. Only ``apiKeyEnv`` can be null,
    which means that no key is needed. It can also be a list of names: then each variable holds a
    key of its own.
    """

    model_config = SETTINGS

    wire: Wire | None = None
    base_url: str | None = None
    api_key_env: str | tuple[str, ...] | None = None
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

    @field_validator("api_key_env", mode="before")
    @classmethod
    def _are_variables(cls, value: object) -> str | tuple[str, ...] | None:
        if value is None:
            return None
        return _variables(value) if isinstance(value, list | tuple) else _variable(value)


def _variables(values: Sequence[object]) -> tuple[str, ...]:
    """Return the names in *values*, if they can be the variables of several keys."""
    if not values:
        raise ValueError("the list is empty: name a variable, or write null if no key is needed")
    names = tuple(_variable(each, f"element {n}: ") for n, each in enumerate(values, start=1))
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(
            f"{redact_shapes(doubled)!r} is in the list twice: name each variable once"
        )
    return names


def _variable(value: object, place: str = "") -> str:
    """Return *value* if it can be the name of an environment variable."""
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
        return value
    got = f", got {display_value(value)}" if place else ""
    raise ValueError(
        f"{place}{_VARIABLE}{got}; "
        "a key itself does not belong here, and null means that none is needed"
    )


def provider_settings(value: object, *, where: str) -> dict[str, ProviderSettings]:
    """Return the settings of providers in *value*, checked.

    Raises:
        ConfigError: A setting is wrong; the message begins with *where*.
    """
    try:
        return TypeAdapter(dict[str, ProviderSettings]).validate_python(value)
    except ValidationError as error:
        raise config_error(error, where=where, model=ProviderSettings) from None
