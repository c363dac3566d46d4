"""Rules for the order of the contents."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ..complaint import Complaint

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .request import GeminiRequest

ALTERNATE = "Please ensure that multiturn requests alternate between user and model."
CALL_TURN = (
    "Please ensure that function call turn comes immediately after a user turn or after a function "
    "response turn."
)
RESPONSE_TURN = (
    "Please ensure that function response turn comes immediately after a function call turn."
)
COUNT = (
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn."
)
IN_ORDER = (
    "Please ensure that the function response parts are in the order of the function call parts of "
    "the function call turn."
)  # made up


def role(request: GeminiRequest, index: int) -> str:
    """Return the role of content *index*; without one it is the user's."""
    return str(request.contents[index].get("role", "user"))


def has_calls_after_the_user(request: GeminiRequest) -> Complaint | None:
    for index in range(len(request.contents)):
        is_call = bool(request.having(index, "functionCall"))
        is_good = (
            index > 0 and role(request, index) == "model" and role(request, index - 1) == "user"
        )
        if is_call and not is_good:
            return Complaint(message=CALL_TURN)
    return None


def has_responses_after_calls(request: GeminiRequest) -> Complaint | None:
    """Responses come first in their content, which is the user's."""
    for index in range(len(request.contents)):
        if not request.having(index, "functionResponse"):
            continue
        is_after = index > 0 and bool(request.having(index - 1, "functionCall"))
        if not is_after or role(request, index) != "user":
            return Complaint(message=RESPONSE_TURN)
        kinds = ["functionResponse" in part for part in request.parts(index)]
        if kinds != sorted(kinds, reverse=True):
            return Complaint(message=RESPONSE_TURN)
    return None


def alternates(request: GeminiRequest) -> Complaint | None:
    roles = [role(request, index) for index in range(len(request.contents))]
    is_good = roles[0] == "user" and all(a != b for a, b in itertools.pairwise(roles))
    return None if is_good else Complaint(message=ALTERNATE)


def has_a_response_for_each_call(request: GeminiRequest) -> Complaint | None:
    for index in range(len(request.contents)):
        calls = request.having(index, "functionCall")
        if len(calls) != len(request.having(index + 1, "functionResponse")) and calls:
            return Complaint(message=COUNT)
    return None


def has_responses_in_order(request: GeminiRequest) -> Complaint | None:
    for index in range(len(request.contents)):
        calls = request.having(index, "functionCall")
        responses = request.having(index + 1, "functionResponse")
        pairs = zip(calls, responses, strict=False)
        if not all(_match(call, response) for call, response in pairs):
            return Complaint(message=IN_ORDER)
    return None


def _match(call: Mapping[str, Any], response: Mapping[str, Any]) -> bool:
    """True if *response* answers *call*: by name, and by id if both have one."""
    has_ids = call.get("id") and response.get("id")
    is_it = call["name"] == response["name"]
    return is_it and (not has_ids or call["id"] == response["id"])


ORDER_RULES = (
    has_calls_after_the_user,
    has_responses_after_calls,
    alternates,
    has_a_response_for_each_call,
    has_responses_in_order,
)
