"""What Chat Completions refuses of calls of tools and of their results."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from ....json_value import listed, mapping, string
from ..anthropic.blocks import LONGEST_ID, TOOL_ID
from ..complaint import Complaint
from .dialects import spelled
from .request import Said, invalid, missing, too_long, wrong_kind
from .settings import EMPTY, wrong_name

if TYPE_CHECKING:
    from collections.abc import Iterator

MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")
ORDER = "invalid_request_message_order"


class Exchange(NamedTuple):
    """The calls of one message, and the results that follow it.

    Args:
        at: Where the calls stand; the message before the results, where nothing called.
        end: Where the message after the results stands.
    """

    at: int
    called: tuple[str, ...]
    answered: tuple[str, ...]
    end: int


def has_calls_in_form(said: Said) -> Complaint | None:
    for index, message in enumerate(said.messages):
        calls = message.get("tool_calls")
        where = f"messages[{index}].tool_calls"
        if calls is None:
            continue
        if not isinstance(calls, list):
            return wrong_kind(where, "an array of objects", calls)
        if not calls and said.vendor == "openai":
            return invalid(where, EMPTY, code="empty_array")
        for place, call in enumerate(calls):
            found = _misformed(call, f"{where}[{place}]")
            if found is not None:
                return said.passed_on(found)
    return None


def _misformed(call: object, where: str) -> Complaint | None:
    if not isinstance(call, dict):
        return wrong_kind(where, "an object", call)
    if call.get("id") is None:
        return missing(f"{where}.id")
    if not isinstance(call["id"], str):
        return wrong_kind(f"{where}.id", "a string", call["id"])
    function = call.get("function")
    if not isinstance(function, dict):
        return missing(f"{where}.function")
    found = wrong_name(function.get("name"), f"{where}.function.name")
    if found is not None:
        return found
    if "arguments" not in function:
        return missing(f"{where}.function.arguments")
    if not isinstance(function["arguments"], str):
        return wrong_kind(f"{where}.function.arguments", "a string", function["arguments"])
    return None


def has_results_in_form(said: Said) -> Complaint | None:
    for index, message in enumerate(said.messages):
        call_id = message.get("tool_call_id")
        where = f"messages[{index}].tool_call_id"
        if message["role"] == "tool" and call_id is None:
            return missing(where)
        if message["role"] == "tool" and not isinstance(call_id, str):
            return wrong_kind(where, "a string", call_id)
    return None


def has_ids_in_form(said: Said) -> Complaint | None:
    for index, place, call in said.calls():
        found = _wrong_id(said, call["id"], f"messages.{index}.tool_calls.{place}.id")
        if found is not None:
            return said.passed_on(found)
    for index, message in enumerate(said.messages):
        if message["role"] == "tool":
            found = _wrong_id(said, message["tool_call_id"], f"messages.{index}.tool_call_id")
            if found is not None:
                return said.passed_on(found)
    return None


def _wrong_id(said: Said, call_id: str, path: str) -> Complaint | None:
    longest = said.dialect.longest_id
    if longest is not None and len(call_id) > longest:
        return too_long(spelled(path), longest, len(call_id))
    if said.vendor == "mistral" and not MISTRAL_ID.fullmatch(call_id):
        why = f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9."
        return Complaint(message=why, type="invalid_function_call", code="3280")
    if said.is_claude:
        is_good = re.fullmatch(TOOL_ID[1:-1], call_id) and len(call_id) <= LONGEST_ID
        why = f"{path}: String should match pattern '{TOOL_ID}'"
        return None if is_good else Complaint(message=why)
    return None


def has_unique_ids(said: Said) -> Complaint | None:
    seen: set[str] = set()
    for index, place, call in said.calls():
        if call["id"] in seen:
            why = f"messages.{index}.content.{place}: `tool_use` ids must be unique"
            if not said.is_claude:  # made up
                where = f"messages[{index}].tool_calls[{place}].id"
                why = f"Duplicate value for '{where}': '{call['id']}'."
            return said.passed_on(Complaint(message=why))
        seen.add(call["id"])
    return None


def exchanges(said: Said) -> Iterator[Exchange]:
    """Go through the calls with the results that follow at once, and results without calls."""
    index = 0
    while index < len(said.messages):
        calls = [
            string(mapping(each).get("id"))
            for each in listed(said.messages[index].get("tool_calls"))
        ]
        is_orphan = said.messages[index]["role"] == "tool"
        end = index if is_orphan else index + 1
        answered: list[str] = []
        while (calls or is_orphan) and end < len(said.messages):
            if said.messages[end]["role"] != "tool":
                break
            answered.append(said.messages[end]["tool_call_id"])
            end += 1
        if calls or is_orphan:
            yield Exchange(end - len(answered) - 1, tuple(calls), tuple(answered), end)
        index = end


def has_results_for_calls(said: Said) -> Complaint | None:
    for each in exchanges(said):
        found = _unpaired(said, each)
        if found is not None:
            return said.passed_on(found)
    return None


def _unpaired(said: Said, each: Exchange) -> Complaint | None:
    if said.vendor == "mistral":
        return _mistral(each)
    if said.vendor == "minimax":
        is_paired = sorted(each.called) == sorted(each.answered)
        return (
            None if is_paired else Complaint(message="tool call result does not follow tool call")
        )
    if said.is_claude:
        return _anthropic(each)
    return _unanswered(each) or _uncalled(each)


def _unanswered(each: Exchange) -> Complaint | None:
    open_ = [call_id for call_id in each.called if call_id not in each.answered]
    if not open_:
        return None
    why = (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: "
        f"{', '.join(open_)}"
    )
    return Complaint(message=why, param=f"messages.[{each.end}].role")


def _uncalled(each: Exchange) -> Complaint | None:
    if not each.called:
        why = (
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
            "message with 'tool_calls'."
        )
        return Complaint(message=why, param=f"messages.[{each.at + 1}].role")
    left = list(each.called)
    for place, call_id in enumerate(each.answered, start=each.at + 1):
        if call_id not in left:
            why = (
                f"Invalid parameter: 'tool_call_id' of '{call_id}' not found in 'tool_calls' of "
                "previous message."
            )
            return Complaint(message=why, param=f"messages.[{place}].tool_call_id")
        left.remove(call_id)
    return None


def _mistral(each: Exchange) -> Complaint | None:
    why = None
    if not each.called:
        why = "Unexpected role 'tool' after role 'user'"
    elif len(each.called) != len(each.answered):
        why = "Not the same number of function calls and responses"
    else:
        strange = [call_id for call_id in each.answered if call_id not in each.called]
        why = f"Unexpected tool call id {strange[0]} in tool results" if strange else None
    return None if why is None else Complaint(message=why, type=ORDER, code="3230")


def _anthropic(each: Exchange) -> Complaint | None:
    open_ = [call_id for call_id in each.called if call_id not in each.answered]
    if open_:
        why = (
            f"messages.{each.at}: `tool_use` ids were found without `tool_result` blocks "
            f"immediately after: {', '.join(open_)}. Each `tool_use` block must have a "
            "corresponding `tool_result` block in the next message."
        )
        return Complaint(message=why)
    if sorted(each.called) == sorted(each.answered):
        return None
    extra = [call_id for call_id in each.answered if call_id not in each.called]
    if not extra:
        why = (
            "each tool_use must have a single result. Found multiple `tool_result` blocks with id: "
        )
        return Complaint(message=f"messages.{each.at + 1}: {why}{each.answered[-1]}")
    why = (
        f"messages.{each.at + 1}.content.0: unexpected `tool_use_id` found in `tool_result` "
        f"blocks: {extra[0]}. Each `tool_result` block must have a corresponding `tool_use` block "
        "in the previous message."
    )
    return Complaint(message=why)


def answers_results_before_the_user_speaks(said: Said) -> Complaint | None:
    """Source: github.com/zed-industries/zed/pull/31736."""
    if said.vendor != "mistral":
        return None
    roles = [message["role"] for message in said.messages]
    if ("tool", "user") not in itertools.pairwise(roles):
        return None
    why = "Unexpected role 'user' after role 'tool'"
    return Complaint(message=why, type=ORDER, code="3230")


CALL_RULES = (
    has_calls_in_form,
    has_results_in_form,
    has_ids_in_form,
    has_unique_ids,
    has_results_for_calls,
    answers_results_before_the_user_speaks,
)
