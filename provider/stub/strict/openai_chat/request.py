"""A request in Chat Completions, as the rules about it read it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ....catalog.model import plain_name, reasons_as_openai
from ....json_value import listed, mapping
from ..complaint import Complaint
from ..request import StrictRequest
from .dialects import Dialect, dialect_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


JSON_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),
    (str, "a string"),
    (int, "an integer"),
    (float, "a decimal"),
    (list, "an array"),
    (dict, "an object"),
)


class Said(StrictRequest):
    """A request to judge."""

    @property
    def dialect(self) -> Dialect:
        return dialect_of(self.vendor)

    @cached_property
    def is_reasoning(self) -> bool:
        """It goes to a model of OpenAI's that reasons."""
        return self.vendor == "openai" and reasons_as_openai(self.route.model)

    @cached_property
    def upstream(self) -> str | None:
        """Who refuses what OpenRouter passes on; None elsewhere."""
        if self.vendor != "openrouter":
            return None
        return "Anthropic" if self.is_claude else "OpenAI"

    @cached_property
    def is_claude(self) -> bool:
        """OpenRouter passes it on to Anthropic."""
        is_named = self.route.model.startswith("anthropic/")
        return is_named and plain_name(self.route.model).startswith("claude")

    @cached_property
    def is_openai(self) -> bool:
        """OpenAI itself judges it, or OpenRouter passes it on to OpenAI."""
        is_behind = self.vendor == "openrouter" and self.route.model.startswith("openai/")
        return is_behind or self.vendor == "openai"

    def calls(self) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
        """Go through all calls of tools."""
        for index, message in enumerate(self.messages):
            for place, call in enumerate(listed(message.get("tool_calls"))):
                yield index, place, mapping(call)

    def parts(self) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
        """Go through all parts of contents that are lists."""
        for index, message in enumerate(self.messages):
            for place, part in enumerate(listed(message.get("content"))):
                yield index, place, mapping(part)

    def passed_on(self, complaint: Complaint) -> Complaint:
        """Say who complains, where that is not the vendor itself."""
        return replace(complaint, upstream=self.upstream)


def kind_of(value: object) -> str:
    """Name the kind of *value* as OpenAI does."""
    return next((name for kind, name in JSON_KINDS if isinstance(value, kind)), "null")


def wrong_kind(where: str, expected: str, value: object) -> Complaint:
    """Complain that *value* is not of the kind that is expected."""
    got = kind_of(value)
    shown = got if got == "null" else f"{got} instead"
    message = f"Invalid type for '{where}': expected {expected}, but got {shown}."
    return Complaint(message=message, param=where, code="invalid_type")


def invalid(where: str, why: str, *, code: str = "invalid_value") -> Complaint:
    """Complain of the value at *where*."""
    return Complaint(message=f"Invalid '{where}': {why}", param=where, code=code)


def too_long(where: str, longest: int, length: int) -> Complaint:
    """Complain of a string, as capture openai_400_tool_id_too_long."""
    why = (
        f"string too long. Expected a string with maximum length {longest}, "
        f"but got a string with length {length} instead."
    )
    return invalid(where, why, code="string_above_max_length")


def missing(where: str) -> Complaint:
    """Complain that nothing stands at *where*."""
    message = f"Missing required parameter: '{where}'."
    return Complaint(message=message, param=where, code="missing_required_parameter")


def unsupported(name: str, more: str = "") -> Complaint:
    """Complain of a parameter that the model does not take."""
    message = f"Unsupported parameter: '{name}' is not supported with this model.{more}"
    return Complaint(message=message, param=name, code="unsupported_parameter")
