"""The schema of a file of routing rules."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, ValidationInfo, field_validator, model_validator
from pydantic.alias_generators import to_camel, to_snake

from ...provider.catalog.provider import CAPABILITIES
from ...provider.route import Route
from ...provider.settings import SETTINGS
from .config import Count, Factor, Status

_SETTINGS = SETTINGS | {"alias_generator": to_snake}

Name = Annotated[str, Field(min_length=1)]
Tokens = Annotated[int, Field(gt=0)]


class Capabilities(BaseModel):
    """The capabilities of a candidate: a table of booleans, or a list of the true words.

    If any word is true, words that the table leaves out are false. If words are only false, those
    left out are true. An empty table says nothing.
    """

    model_config = _SETTINGS | {"extra": "allow"}
    __pydantic_extra__: dict[str, bool] = Field(init=False)

    tool_calling: bool | None = None
    streaming: bool | None = None
    structured_output: bool | None = None
    images: bool | None = None
    reasoning: bool | None = None
    context_window_tokens: Tokens | None = None

    @property
    def words(self) -> frozenset[str] | None:
        """The words that are true; None: nothing is known."""
        table = {word: getattr(self, word) for word in CAPABILITIES} | self.__pydantic_extra__
        has = frozenset(word for word, is_there in table.items() if is_there)
        lacks = frozenset(word for word, is_there in table.items() if is_there is False)
        if has or not lacks:
            return has or None
        return frozenset(CAPABILITIES) - lacks

    @property
    def unknown(self) -> list[str]:
        """The words that are no capability of ours."""
        return list(self.__pydantic_extra__)


class Candidate(BaseModel):
    """One route that may take the tasks of a rule.

    Args:
        boundary: Where data sent to it goes; None: the boundary of its provider.
    """

    model_config = _SETTINGS

    provider: str
    model: str
    capabilities: Capabilities = Field(default_factory=Capabilities)
    context_window_tokens: Tokens | None = None
    boundary: Name | None = None

    @property
    def route(self) -> Route:
        return Route(f"{self.provider}/{self.model}")

    @property
    def context_window(self) -> int | None:
        """Tokens that it can hold, from either place in the file; None: not set."""
        return self.context_window_tokens or self.capabilities.context_window_tokens

    @field_validator("provider", "model")
    @classmethod
    def _check_name(cls, value: str, info: ValidationInfo) -> str:
        is_provider = info.field_name == "provider"
        if value.split() != [value] or (is_provider and "/" in value):
            example = "anthropic" if is_provider else "claude-sonnet-5"
            without = "slashes and white space" if is_provider else "white space"
            raise ValueError(
                f'must be a name without {without}, not {value!r}; write it as "{example}"'
            )
        return value

    @field_validator("capabilities", mode="before")
    @classmethod
    def _table_from_list(cls, value: object) -> object:
        if not isinstance(value, list):
            return value
        if not all(isinstance(word, str) for word in value):
            raise ValueError(f"must be a list of words; write some of {', '.join(CAPABILITIES)}")
        return {word: word in value for word in CAPABILITIES} | dict.fromkeys(value, True)

    @model_validator(mode="after")
    def _check_window(self) -> Self:
        if self.context_window_tokens and self.capabilities.context_window_tokens:
            raise ValueError(
                "`context_window_tokens` is set beside `capabilities` and in it; write it once"
            )
        return self


class Rule(BaseModel):
    """The candidates for one class of tasks.

    Args:
        boundary: Where its data may go; None: the boundary of the file.
    """

    model_config = _SETTINGS

    task_class: Name
    boundary: Name | None = None
    candidates: list[Candidate] = Field(default_factory=list)

    @field_validator("task_class")
    @classmethod
    def _check_task_class(cls, value: str) -> str:
        if "/" in value or value.split() != [value]:
            raise ValueError(
                f"must be a word without slashes and white space, unlike {value!r}; "
                'write it as "coding"'
            )
        return value

    @field_validator("candidates", mode="before")
    @classmethod
    def _check_list(cls, value: object) -> object:
        return _not_a_table(value, "rules.candidates")


class LimitSettings(BaseModel):
    """The limits of `FallbackConfig`; None: the default of rules.

    Keys may be in snake_case or camelCase.
    """

    model_config = _SETTINGS

    fallback_on_errors: list[Status] | None = None
    max_fallback_attempts: Count | None = None
    max_upstream_retry_attempts: Count | None = None
    cooldown_seconds: Count | None = None
    max_cooldown_seconds: Count | None = None
    cooldown_backoff: Factor | None = None
    max_wait_seconds: Count | None = None
    max_step_wait_seconds: Count | None = None
    patience_seconds: Count | None = None
    on_partial: Literal["retract", "interrupt"] | None = None
    move_policy: Literal["rebuild", "first_call", "idempotent"] | None = None
    idempotent_tools: list[str] | None = None
    return_policy: Literal["step", "turn", "session"] | None = None

    @model_validator(mode="before")
    @classmethod
    def _in_snake_case(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        names = {to_camel(name): name for name in cls.model_fields}
        settings = {names.get(key, key): value for key, value in data.items()}
        if len(settings) < len(data):
            twice = next(name for camel, name in names.items() if camel in data and name in data)
            raise ValueError(f"`{twice}` is written in two spellings; write it once")
        return settings


class RulesFile(BaseModel):
    """All rules, and the settings common to them.

    Args:
        boundary: Where the data of every rule may go; None: anywhere.
        idempotent_tools: Tools after which a conversation may still move.
    """

    model_config = _SETTINGS

    rules: Annotated[list[Rule], Field(min_length=1)]
    boundary: Name | None = None
    idempotent_tools: list[str] = Field(default_factory=list)
    limits: LimitSettings = Field(default_factory=LimitSettings)

    @field_validator("rules", mode="before")
    @classmethod
    def _check_list(cls, value: object) -> object:
        return _not_a_table(value, "rules")


def _not_a_table(value: Any, name: str) -> Any:
    """Return *value*; raise if it is a single table, because [name] is easily written so."""
    if isinstance(value, dict):
        raise ValueError(f"must be a list of tables; write [[{name}]], with two brackets")  # noqa: TRY004
    return value
