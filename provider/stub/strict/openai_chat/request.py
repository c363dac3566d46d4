"""A request in Chat Completions, as its rules read it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ....json_value import listed, mapping
from ..complaint import Complaint
from ..model_facts import is_openai_reasoning
from ..model_name import plain_name
from ..request import StrictRequest
from .dialects import Dialect, dialect_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class ChatRequest(StrictRequest):
    """A request to judge."""

    @property
    def dialect(self) -> Dialect:
        return dialect_of(self.vendor)

    @cached_property
    def is_reasoning(self) -> bool:
        """True if it goes to one of OpenAI's reasoning models."""
        return self.vendor == "openai" and is_openai_reasoning(self.route.model)

    @cached_property
    def upstream(self) -> str | None:
        """Who refuses what OpenRouter forwards; None for other vendors."""
        if self.vendor != "openrouter":
            return None
        return "Anthropic" if self.is_claude else "OpenAI"

    @cached_property
    def is_claude(self) -> bool:
        """True if OpenRouter forwards it to Anthropic."""
        is_named = self.route.model.startswith("anthropic/")
        return is_named and plain_name(self.route.model).startswith("claude")

    @cached_property
    def is_openai(self) -> bool:
        """True if it goes to OpenAI, directly or through OpenRouter."""
        is_behind = self.vendor == "openrouter" and self.route.model.startswith("openai/")
        return is_behind or self.vendor == "openai"

    def calls(self) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
        """Yield all tool calls, with the indices of message and call."""
        for index, message in enumerate(self.messages):
            for place, call in enumerate(listed(message.get("tool_calls"))):
                yield index, place, mapping(call)

    def parts(self) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
        """Yield the parts of all contents that are lists, with the indices of message and part."""
        for index, message in enumerate(self.messages):
            for place, part in enumerate(listed(message.get("content"))):
                yield index, place, mapping(part)

    def from_upstream(self, complaint: Complaint) -> Complaint:
        """Return *complaint* with the upstream that makes it, if OpenRouter forwards it."""
        return replace(complaint, upstream=self.upstream)
