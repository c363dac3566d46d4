"""A request in OpenAI Responses, as its rules read it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ....json_value import listed, mapping
from ..complaint import Complaint, Rule
from ..model_facts import is_openai_reasoning
from ..request import StrictRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class ResponsesRequest(StrictRequest):
    """A request to judge."""

    @cached_property
    def items(self) -> list[Mapping[str, Any]]:
        """All items of the input; none if the input is a string."""
        return [mapping(each) for each in listed(self.body.get("input"))]

    @property
    def is_openai(self) -> bool:
        """True if OpenAI itself is asked; another vendor's own rules are mostly unknown."""
        return self.vendor == "openai"

    @property
    def is_reasoning(self) -> bool:
        return is_openai_reasoning(self.route.model)

    @cached_property
    def effort(self) -> object:
        """The level of effort; None: its default."""
        return mapping(self.body.get("reasoning")).get("effort")

    @property
    def is_continued(self) -> bool:
        """True if the conversation began before this request."""
        return any(self.body.get(key) for key in ("previous_response_id", "conversation", "prompt"))

    def kind(self, index: int) -> str:
        """Return the type of item *index*; an item with a role and no type is a message."""
        item = self.items[index]
        kind = item.get("type") or ("message" if "role" in item else None)
        return kind if isinstance(kind, str) else ""


def openai_only(rule: Rule[ResponsesRequest]) -> Rule[ResponsesRequest]:
    """Return *rule* for OpenAI's own API only; other vendors pass it.

    xAI, Bedrock and DeepSeek take what OpenAI refuses, as recorded requests show.
    """

    def only(request: ResponsesRequest) -> Complaint | None:
        return rule(request) if request.is_openai else None

    only.__name__ = rule.__name__
    return only
