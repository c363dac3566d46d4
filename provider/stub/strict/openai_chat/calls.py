"""Rules for tool calls and their results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ....json_value import listed, mapping, string
from ..anthropic_words import (
    LONGEST_ID,
    REPEATED_ID,
    TOOL_ID,
    second_result,
    without_call,
    without_result,
)
from ..complaint import Complaint
from ..openai_words import invalid, missing, too_long, wrong_kind, wrong_name
from .dialects import Dialect, openai_path
from .request import ChatRequest
from .settings import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterator

MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")
ORDER = "invalid_request_message_order"


class Exchange(NamedTuple):
    """The calls of one message, and the results that follow it.

    Args:
        at: The index of the message before the results; it is the one with the calls, if any.
        end: The index of the message after the results.
    """

    at: int
    called: tuple[str, ...]
    answered: tuple[str, ...]
    end: int


def has_calls_in_form(request: ChatRequest) -> Complaint | None:
    for index, message in enumerate(request.messages):
        calls = message.get("tool_calls")
        where = f"messages[{index}].tool_calls"
        if calls is None:
            continue
        if not isinstance(calls, list):
            return wrong_kind(where, "an array of objects", calls)
        if not calls and request.vendor == "openai":
            return invalid(where, EMPTY, code="empty_array")
        for place, call in enumerate(calls):
            found = _misformed(call, f"{where}[{place}]", request.dialect)
            if found is not None:
                return request.from_upstream(found)
    return None


def _misformed(call: object, where: str, dialect: Dialect) -> Complaint | None:
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
    if found is not None and dialect.checks_functions:
        return found
    if "arguments" not in function:
        return missing(f"{where}.function.arguments")
    if not isinstance(function["arguments"], str):
        return wrong_kind(f"{where}.function.arguments", "a string", function["arguments"])
    return None


def has_results_in_form(request: ChatRequest) -> Complaint | None:
    for index, message in enumerate(request.messages):
        call_id = message.get("tool_call_id")
        where = f"messages[{index}].tool_call_id"
        if message["role"] == "tool" and call_id is None:
            return missing(where)
        if message["role"] == "tool" and not isinstance(call_id, str):
            return wrong_kind(where, "a string", call_id)
    return None


def has_ids_in_form(request: ChatRequest) -> Complaint | None:
    for index, place, call in request.calls():
        found = _wrong_id(request, call["id"], f"messages.{index}.tool_calls.{place}.id")
        if found is not None:
            return request.from_upstream(found)
    for index, message in enumerate(request.messages):
        if message["role"] == "tool":
            found = _wrong_id(request, message["tool_call_id"], f"messages.{index}.tool_call_id")
            if found is not None:
                return request.from_upstream(found)
    return None


def _wrong_id(request: ChatRequest, call_id: str, path: str) -> Complaint | None:
    longest = request.dialect.longest_id
    if longest is not None and len(call_id) > longest:
        return too_long(openai_path(path), longest, len(call_id))
    if request.vendor == "mistral" and not MISTRAL_ID.fullmatch(call_id):
        why = f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9."
        return Complaint(message=why, type="invalid_function_call", code="3280")
    if request.is_claude:
        is_good = re.fullmatch(TOOL_ID[1:-1], call_id) and len(call_id) <= LONGEST_ID
        why = f"{path}: String should match pattern '{TOOL_ID}'"
        return None if is_good else Complaint(message=why)
    return None


def has_unique_ids(request: ChatRequest) -> Complaint | None:
    """An id may come again in a later message, with a result of its own."""
    seen: set[tuple[int, str]] = set()
    for index, place, call in request.calls():
        if (index, call["id"]) in seen:
            why = f"messages.{index}.content.{place}: {REPEATED_ID}"
            if not request.is_claude:  # made up
                where = f"messages[{index}].tool_calls[{place}].id"
                why = f"Duplicate value for '{where}': '{call['id']}'."
            return request.from_upstream(Complaint(message=why))
        seen.add((index, call["id"]))
    return None


def exchanges(request: ChatRequest) -> Iterator[Exchange]:
    """Yield every message with calls and the results right after it, and results without calls."""
    index = 0
    while index < len(request.messages):
        calls = [
            string(mapping(each).get("id"))
            for each in listed(request.messages[index].get("tool_calls"))
        ]
        is_orphan = request.messages[index]["role"] == "tool"
        end = index if is_orphan else index + 1
        answered: list[str] = []
        while (calls or is_orphan) and end < len(request.messages):
            if request.messages[end]["role"] != "tool":
                break
            answered.append(request.messages[end]["tool_call_id"])
            end += 1
        if calls or is_orphan:
            yield Exchange(end - len(answered) - 1, tuple(calls), tuple(answered), end)
        index = end


def has_results_for_calls(request: ChatRequest) -> Complaint | None:
    for each in exchanges(request):
        found = _unpaired(request, each)
        if found is not None:
            return request.from_upstream(found)
    return None


def _unpaired(request: ChatRequest, each: Exchange) -> Complaint | None:
    if request.vendor == "mistral":
        return _mistral(each)
    if request.vendor == "minimax":
        is_paired = sorted(each.called) == sorted(each.answered)
        return (
            None if is_paired else Complaint(message="tool call result does not follow tool call")
        )
    if request.is_claude:
        return _anthropic(each)
    return _unanswered(each) or _uncalled(each)


def _unanswered(each: Exchange) -> Complaint | None:
    unanswered = [call_id for call_id in each.called if call_id not in each.answered]
    if not unanswered:
        return None
    why = (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: "
        f"{', '.join(unanswered)}"
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
    unanswered = [call_id for call_id in each.called if call_id not in each.answered]
    if unanswered:
        return Complaint(message=without_result(f"messages.{each.at}", unanswered))
    if sorted(each.called) == sorted(each.answered):
        return None
    where = f"messages.{each.at + 1}"
    extra = [call_id for call_id in each.answered if call_id not in each.called]
    if extra:
        return Complaint(message=without_call(f"{where}.content.0", extra[0]))
    return Complaint(message=second_result(where, each.answered[-1]))


CALL_RULES = (
    has_calls_in_form,
    has_results_in_form,
    has_ids_in_form,
    has_unique_ids,
    has_results_for_calls,
)
