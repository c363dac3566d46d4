"""A request in OpenAI Responses, as its rules read it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ....json_value import listed, mapping
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
    def is_reasoning(self) -> bool:
        return is_openai_reasoning(self.route.model)

    @property
    def is_continued(self) -> bool:
        """True if the conversation began before this request."""
        return any(self.body.get(key) for key in ("previous_response_id", "conversation", "prompt"))

    def kind(self, index: int) -> str:
        """Return the type of item *index*; an item with a role and no type is a message."""
        item = self.items[index]
        kind = item.get("type", "message" if "role" in item else None)
        return kind if isinstance(kind, str) else ""
