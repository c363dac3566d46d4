"""What Anthropic refuses of how calls of tools and their results stand to each other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ....json_value import listed, mapping
from ...signature.anthropic import FIRST_PARTY
from .request import Said, bad

if TYPE_CHECKING:
    from ..complaint import Complaint


def has_unique_ids(said: Said) -> Complaint | None:
    seen: set[str] = set()
    for index, place, block in said.blocks():
        if block["type"] != "tool_use":
            continue
        if block["id"] in seen:
            return bad(f"messages.{index}.content.{place}: `tool_use` ids must be unique")
        seen.add(block["id"])
    return None


def has_results_after_calls(said: Said) -> Complaint | None:
    """All results of a message stand at the beginning of the very next one."""
    for index in range(len(said.messages)):
        called = [block["id"] for block in said.of(index, "tool_use")]
        answered = _leading(said, index + 1)
        missing = [each for each in called if each not in answered]
        if missing:
            return bad(
                f"messages.{index}: `tool_use` ids were found without `tool_result` blocks "
                f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a "
                "corresponding `tool_result` block in the next message."
            )
    return None


def _leading(said: Said, index: int) -> set[str]:
    """The ids of the results at the beginning of message *index*."""
    ids: set[str] = set()
    if index >= len(said.messages):
        return ids
    for block in listed(said.messages[index]["content"]):
        if mapping(block).get("type") != "tool_result":
            break
        ids.add(block["tool_use_id"])
    return ids


def has_calls_before_results(said: Said) -> Complaint | None:
    for index, place, block in said.blocks():
        if block["type"] != "tool_result":
            continue
        called = {each["id"] for each in said.of(index - 1, "tool_use")}
        if block["tool_use_id"] not in called:
            return bad(
                f"messages.{index}.content.{place}: unexpected `tool_use_id` found in "
                f"`tool_result` blocks: {block['tool_use_id']}. Each `tool_result` block must have "
                "a corresponding `tool_use` block in the previous message."
            )
    return None


def has_one_result_for_a_call(said: Said) -> Complaint | None:
    for index in range(len(said.messages)):
        counts = Counter(block["tool_use_id"] for block in said.of(index, "tool_result"))
        for call_id, count in counts.items():
            if count > 1:
                return bad(
                    f"messages.{index}: each tool_use must have a single result. Found multiple "
                    f"`tool_result` blocks with id: {call_id}"
                )
    return None


def declares_tools(said: Said) -> Complaint | None:
    if said.vendor not in {*FIRST_PARTY, "openrouter"} or listed(said.body.get("tools")):
        return None
    if any(block["type"] in {"tool_use", "tool_result"} for _, _, block in said.blocks()):
        return bad("Requests which include `tool_use` or `tool_result` blocks must define tools")
    return None


PAIRING_RULES = (
    has_unique_ids,
    has_results_after_calls,
    has_calls_before_results,
    has_one_result_for_a_call,
    declares_tools,
)
