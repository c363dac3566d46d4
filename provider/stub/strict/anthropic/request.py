"""A request in Anthropic Messages, as its rules read it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ....json_value import mapping, string
from ...signature.anthropic import blocks_of
from ..complaint import Complaint, Rule
from ..model_facts import FIRST_PARTY, ClaudeFacts, claude_facts
from ..request import StrictRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class AnthropicRequest(StrictRequest):
    """A request to judge."""

    @cached_property
    def is_facade(self) -> bool:
        return self.vendor not in FIRST_PARTY

    @cached_property
    def facts(self) -> ClaudeFacts:
        """What the model takes."""
        return claude_facts(self.route.model)

    @cached_property
    def thinking(self) -> str:
        """The value of ``thinking.type``; empty: there is none."""
        return string(mapping(self.body.get("thinking")).get("type"))

    @property
    def is_thinking(self) -> bool:
        return self.thinking in {"enabled", "adaptive"}

    def blocks(self) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
        """Yield all blocks of all messages, with the indices of message and block."""
        for index, message in enumerate(self.messages):
            for place, block in enumerate(blocks_of(message.get("content"))):
                yield index, place, mapping(block)

    def of(self, index: int, kind: str) -> list[Mapping[str, Any]]:
        """Return the blocks of type *kind* in message *index*; none if there is no such message."""
        if not 0 <= index < len(self.messages):
            return []
        found = [mapping(each) for each in blocks_of(self.messages[index].get("content"))]
        return [block for block in found if block.get("type") == kind]


def bad(message: str) -> Complaint:
    """Return a refusal as Anthropic's invalid_request_error."""
    return Complaint(message=message, type="invalid_request_error")


def first_party(rule: Rule[AnthropicRequest]) -> Rule[AnthropicRequest]:
    """Return *rule* for Anthropic's own API only; the facades pass it."""

    def only(request: AnthropicRequest) -> Complaint | None:
        return None if request.is_facade else rule(request)

    only.__name__ = rule.__name__
    return only
