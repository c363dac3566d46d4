"""Where a request goes: a model at a provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pydantic_core import CoreSchema


class Route(str):
    """A model at a provider, written ``provider/model``: the unit of health.

    The provider is the part before the first slash:
    ``openrouter/anthropic/claude-sonnet-5`` is the model ``anthropic/claude-sonnet-5``
    at ``openrouter``. A route is a string, so it prints, sorts, serialises and compares like
    one.

    Raises:
        ValueError: There is no provider, no model, or white space in either.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if isinstance(text, cls):
            return text
        if not isinstance(text, str):
            raise ValueError(f'a route is written "provider/model", got {text!r}')  # noqa: TRY004
        provider, slash, model = text.partition("/")
        if not (provider and slash and model) or text.split() != [text]:
            raise ValueError(f'a route is written "provider/model", got {text!r}')
        return super().__new__(cls, text)

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(cls, core_schema.str_schema())

    @property
    def provider(self) -> str:
        """The part before the first slash."""
        return self.partition("/")[0]

    @property
    def model(self) -> str:
        """The part after the first slash, as the provider spells it."""
        return self.partition("/")[2]
