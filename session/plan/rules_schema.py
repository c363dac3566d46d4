"""What may stand in a file of routing rules."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, ValidationInfo, field_validator, model_validator
from pydantic.alias_generators import to_snake

from ...provider.catalog.provider import CAPABILITIES
from ...provider.route import Route
from ...provider.settings import SETTINGS
from .config import Count, Factor

_SETTINGS = SETTINGS | {"alias_generator": to_snake}

Name = Annotated[str, Field(min_length=1)]
Tokens = Annotated[int, Field(gt=0)]


class Capabilities(BaseModel):
    """What a candidate has: a table of booleans, or a list of the words that are true.

    A word that the table leaves out is lacking once it says true of another. Where it says only
    false, the candidate has the rest; where it says nothing, everything.
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
        """What it has; None where nothing is said."""
        said = {word: getattr(self, word) for word in CAPABILITIES} | self.__pydantic_extra__
        has = frozenset(word for word, is_there in said.items() if is_there)
        lacks = frozenset(word for word, is_there in said.items() if is_there is False)
        if has or not lacks:
            return has or None
        return frozenset(CAPABILITIES) - lacks

    @property
    def unknown(self) -> list[str]:
        """The words that mean nothing to us."""
        return list(self.__pydantic_extra__)


class Candidate(BaseModel):
    """One route that may take the tasks of a rule.

    Args:
        boundary: Where data that is sent there goes; None: where its provider says.
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
        """Tokens that it can hold, wherever that stands; None where it does not."""
        return self.context_window_tokens or self.capabilities.context_window_tokens

    @field_validator("provider", "model")
    @classmethod
    def _fits_into_a_route(cls, value: str, info: ValidationInfo) -> str:
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
    def _table_of_a_list(cls, value: object) -> object:
        if not isinstance(value, list):
            return value
        if not all(isinstance(word, str) for word in value):
            raise ValueError(f"must be a list of words; write some of {', '.join(CAPABILITIES)}")
        return {word: word in value for word in CAPABILITIES} | dict.fromkeys(value, True)

    @model_validator(mode="after")
    def _says_its_window_once(self) -> Self:
        if self.context_window_tokens and self.capabilities.context_window_tokens:
            raise ValueError(
                "`context_window_tokens` stands beside `capabilities` and in it; write it once"
            )
        return self


class Rule(BaseModel):
    """What one class of tasks may be taken on.

    Args:
        boundary: Where its data may go; None: where the file says.
    """

    model_config = _SETTINGS

    task_class: Name
    boundary: Name | None = None
    candidates: list[Candidate] = Field(default_factory=list)

    @field_validator("task_class")
    @classmethod
    def _is_no_route(cls, value: str) -> str:
        if "/" in value or value.split() != [value]:
            raise ValueError(
                f"must be a word without slashes and white space, unlike {value!r}; "
                'write it as "coding"'
            )
        return value

    @field_validator("candidates", mode="before")
    @classmethod
    def _is_a_list(cls, value: object) -> object:
        return _listed(value, "rules.candidates")


class LimitSettings(BaseModel):
    """The limits of `FallbackConfig` that the rules leave open; None keeps its own."""

    model_config = _SETTINGS

    max_upstream_retry_attempts: Count | None = None
    cooldown_seconds: Count | None = None
    max_cooldown_seconds: Count | None = None
    cooldown_backoff: Factor | None = None
    max_wait_seconds: Count | None = None
    on_partial: Literal["retract", "interrupt"] | None = None


class RulesFile(BaseModel):
    """Every rule, and what holds for all of them.

    Args:
        boundary: Where data may go, whatever its rule; None: anywhere.
        idempotent_tools: Tools after which a conversation may still move.
    """

    model_config = _SETTINGS

    rules: Annotated[list[Rule], Field(min_length=1)]
    boundary: Name | None = None
    idempotent_tools: list[str] = Field(default_factory=list)
    limits: LimitSettings = Field(default_factory=LimitSettings)

    @field_validator("rules", mode="before")
    @classmethod
    def _is_a_list(cls, value: object) -> object:
        return _listed(value, "rules")


def _listed(value: Any, name: str) -> Any:
    """Return *value* unless it is a single table, an easy slip of the pen."""
    if isinstance(value, dict):
        raise ValueError(f"must be a list of tables; write [[{name}]], with two brackets")  # noqa: TRY004
    return value
