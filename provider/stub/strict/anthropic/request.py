"""A request in Anthropic Messages, as its rules read it."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from ....json_value import mapping, string
from ...signature.anthropic import blocks_of
from ..complaint import Complaint, Rule
from ..model_facts import FIRST_PARTY, ClaudeFacts, claude_facts
from ..request import StrictRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Turn(NamedTuple):
    """Messages of one role in a row, which the API reads as one.

    Args:
        blocks: All blocks, each with the index of its message.
    """

    role: str
    blocks: list[tuple[int, Mapping[str, Any]]]

    def of(self, kind: str) -> list[tuple[int, Mapping[str, Any]]]:
        """Return the blocks of type *kind*, each with the index of its message."""
        return [(index, block) for index, block in self.blocks if block.get("type") == kind]

    def leading(self, kind: str) -> list[tuple[int, Mapping[str, Any]]]:
        """Return the blocks of type *kind* that stand before all others."""
        return list(itertools.takewhile(lambda each: each[1].get("type") == kind, self.blocks))


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

    @cached_property
    def turns(self) -> list[Turn]:
        """All messages, those of one role in a row as one; without those that hold nothing."""
        by_role = itertools.groupby(
            enumerate(self.messages), key=lambda each: string(each[1].get("role"))
        )
        turns = [
            Turn(
                role, [(index, mapping(block)) for index, each in group for block in _blocks(each)]
            )
            for role, group in by_role
        ]
        return [turn for turn in turns if turn.blocks]


def _blocks(message: Mapping[str, Any]) -> list[Any]:
    return blocks_of(message.get("content"))


def bad(message: str) -> Complaint:
    """Return a refusal as Anthropic's invalid_request_error."""
    return Complaint(message=message, type="invalid_request_error")


def first_party(rule: Rule[AnthropicRequest]) -> Rule[AnthropicRequest]:
    """Return *rule* for Anthropic's own API only; the facades pass it."""

    def only(request: AnthropicRequest) -> Complaint | None:
        return None if request.is_facade else rule(request)

    only.__name__ = rule.__name__
    return only
