"""Limits and messages of Anthropic, for its own wire and for a Claude behind OpenRouter."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

NO_OBJECT = "Input should be a valid dictionary or object to extract fields from"
EXTRA = "Extra inputs are not permitted"
MISSING = "Field required"
TOOL_ID = r"^[a-zA-Z0-9_-]+$"
LONGEST_ID = 64
MOST_MARKERS = 4
REPEATED_ID = "`tool_use` ids must be unique"
REPEATED_NAME = "tools: Tool names must be unique."
EMPTY_MARKED = "cache_control cannot be set for empty text blocks"


def too_many_markers(count: int) -> str:
    """Return the message for *count* cache markers in one request."""
    return f"A maximum of {MOST_MARKERS} blocks with cache_control may be provided. Found {count}."


def without_result(where: str, call_ids: Iterable[str]) -> str:
    """Return the message for the calls of the message at *where* that have no result."""
    return (
        f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(call_ids)}. Each `tool_use` block must have a corresponding `tool_result` "
        "block in the next message."
    )


def without_call(where: str, call_id: str) -> str:
    """Return the message for the result at *where* that answers no call."""
    return (
        f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each "
        "`tool_result` block must have a corresponding `tool_use` block in the previous message."
    )


def second_result(where: str, call_id: str) -> str:
    """Return the message for two results of one call in the message at *where*."""
    return (
        f"{where}: each tool_use must have a single result. Found multiple `tool_result` blocks "
        f"with id: {call_id}"
    )
