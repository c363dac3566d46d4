"""What a configuration says of a provider's failures, as facts that are read before ours."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from ..fact import Fact
from ..failure import FailureKind
from ..settings import SETTINGS

_Word = Annotated[str, Field(min_length=1, max_length=200)]


class FailureSettings(BaseModel):
    """One failure of a provider: how it is recognised, and what kind it is.

    All that is given must hold. ``type`` and ``code`` are compared as a whole, ``code`` with
    every code, type and reason that an error has; ``text`` is a regular expression that the
    message must begin with, in any case.
    """

    model_config = SETTINGS

    kind: str
    status: Annotated[int, Field(ge=300, le=599)] | None = None
    type: _Word | None = None
    code: _Word | None = None
    text: _Word | None = None

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
            raise ValueError("must not fit an empty message, for then it fits every one")
        return value

    @model_validator(mode="after")
    def _says_when(self) -> Self:
        if self.status is None and not (self.type or self.code or self.text):
            raise ValueError("must say by what it is recognised: give status, type, code or text")
        return self

    def fact(self) -> Fact:
        """Return what it says, in the form in which our own tables say it."""
        given = {
            name: frozenset({str(value)})
            for name, value in (("status", self.status), ("type", self.type), ("any", self.code))
            if value is not None
        }
        return Fact(FailureKind(self.kind), given, text=self.text, is_own=True)
