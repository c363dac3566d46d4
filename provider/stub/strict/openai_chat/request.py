"""A request in Chat Completions, as its rules read it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ....json_value import listed, mapping
from ..complaint import Complaint
from ..model_facts import is_deepseek_thinking, is_openai_reasoning, thinks_as_asked
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
    def is_thinking(self) -> bool:
        """True if one of OpenAI's reasoning models is to think."""
        effort = self.body.get("reasoning_effort")
        return self.is_reasoning and thinks_as_asked(self.route.model, effort)

    def is_asked_to_think(self, default: bool) -> bool:
        """True if the request asks for thinking; *default* if it does not say."""
        kind = mapping(self.body.get("thinking")).get("type")
        return kind != "disabled" if isinstance(kind, str) else default

    @cached_property
    def is_thinking_at_deepseek(self) -> bool:
        is_default = is_deepseek_thinking(self.route.model)
        return self.vendor == "deepseek" and self.is_asked_to_think(is_default)

    @cached_property
    def messages(self) -> list[Mapping[str, Any]]:
        """All messages without the keys that hold null, except for the content.

        An SDK that writes its own answer into a request writes a null for all that is not there.
        Groq refuses one of them, ``refusal``, as public programs that delete it say (see
        `_groq_unknown` for the message). It is taken here all the same, because the stub takes back
        each of its answers in every form in which an SDK writes it.
        """
        return [_without_nulls(mapping(each)) for each in listed(self.body.get("messages"))]

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


def _without_nulls(message: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: each for key, each in message.items() if each is not None or key == "content"}
