"""Rules for the pairing of tool calls and their results."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ....json_value import listed, mapping
from ..anthropic_words import REPEATED_ID, second_result, without_call, without_result
from ..model_facts import FIRST_PARTY
from .request import AnthropicRequest, bad

if TYPE_CHECKING:
    from ..complaint import Complaint


def has_unique_ids(request: AnthropicRequest) -> Complaint | None:
    seen: set[str] = set()
    for index, place, block in request.blocks():
        if block["type"] != "tool_use":
            continue
        if block["id"] in seen:
            return bad(f"messages.{index}.content.{place}: {REPEATED_ID}")
        seen.add(block["id"])
    return None


def has_results_after_calls(request: AnthropicRequest) -> Complaint | None:
    """The results for the calls of a message come first in the next message."""
    for index in range(len(request.messages)):
        called = [block["id"] for block in request.of(index, "tool_use")]
        answered = _leading(request, index + 1)
        missing = [each for each in called if each not in answered]
        if missing:
            return bad(without_result(f"messages.{index}", missing))
    return None


def _leading(request: AnthropicRequest, index: int) -> set[str]:
    """Return the ids of the results at the beginning of message *index*."""
    ids: set[str] = set()
    if index >= len(request.messages):
        return ids
    for block in listed(request.messages[index]["content"]):
        if mapping(block).get("type") != "tool_result":
            break
        ids.add(block["tool_use_id"])
    return ids


def has_calls_before_results(request: AnthropicRequest) -> Complaint | None:
    for index, place, block in request.blocks():
        if block["type"] != "tool_result":
            continue
        called = {each["id"] for each in request.of(index - 1, "tool_use")}
        if block["tool_use_id"] not in called:
            where = f"messages.{index}.content.{place}"
            return bad(without_call(where, block["tool_use_id"]))
    return None


def has_one_result_for_a_call(request: AnthropicRequest) -> Complaint | None:
    for index in range(len(request.messages)):
        counts = Counter(block["tool_use_id"] for block in request.of(index, "tool_result"))
        for call_id, count in counts.items():
            if count > 1:
                return bad(second_result(f"messages.{index}", call_id))
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
