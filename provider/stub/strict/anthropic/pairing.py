"""Rules for the pairing of tool calls and their results."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ....json_value import listed
from ...signature.anthropic import blocks_of
from ..anthropic_words import REPEATED_ID, second_result, without_call, without_result
from ..model_facts import FIRST_PARTY
from .request import AnthropicRequest, bad

if TYPE_CHECKING:
    from ..complaint import Complaint


def has_unique_ids(request: AnthropicRequest) -> Complaint | None:
    """An id may come again in a later turn, with a result of its own."""
    for turn in request.turns:
        seen: set[str] = set()
        for index, block in turn.of("tool_use"):
            if block["id"] in seen:
                place = list(blocks_of(request.messages[index]["content"])).index(block)
                return bad(f"messages.{index}.content.{place}: {REPEATED_ID}")
            seen.add(block["id"])
    return None


def has_results_after_calls(request: AnthropicRequest) -> Complaint | None:
    """The results for the calls of a turn come first in the next turn."""
    for turn, after in itertools.zip_longest(request.turns, request.turns[1:]):
        results = after.leading("tool_result") if after is not None else []
        answered = {block["tool_use_id"] for _, block in results}
        missing = [each for each in turn.of("tool_use") if each[1]["id"] not in answered]
        if missing:
            where = f"messages.{missing[0][0]}"
            return bad(without_result(where, [block["id"] for _, block in missing]))
    return None


def has_calls_before_results(request: AnthropicRequest) -> Complaint | None:
    called: set[str] = set()
    for turn in request.turns:
        for index, block in turn.of("tool_result"):
            if block["tool_use_id"] not in called:
                place = list(blocks_of(request.messages[index]["content"])).index(block)
                where = f"messages.{index}.content.{place}"
                return bad(without_call(where, block["tool_use_id"]))
        called = {block["id"] for _, block in turn.of("tool_use")}
    return None


def has_one_result_for_a_call(request: AnthropicRequest) -> Complaint | None:
    for turn in request.turns:
        seen: set[str] = set()
        for index, block in turn.of("tool_result"):
            if block["tool_use_id"] in seen:
                return bad(second_result(f"messages.{index}", block["tool_use_id"]))
            seen.add(block["tool_use_id"])
    return None


def declares_tools(request: AnthropicRequest) -> Complaint | None:
    if request.vendor not in {*FIRST_PARTY, "openrouter"} or listed(request.body.get("tools")):
        return None
    if any(block["type"] in {"tool_use", "tool_result"} for _, _, block in request.blocks()):
        return bad("Requests which include `tool_use` or `tool_result` blocks must define tools")
    return None


PAIRING_RULES = (
    has_unique_ids,
    has_results_after_calls,
    has_calls_before_results,
    has_one_result_for_a_call,
    declares_tools,
)
