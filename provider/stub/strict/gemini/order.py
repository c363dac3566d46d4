"""Rules for the order of the contents."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ..complaint import Complaint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from .request import GeminiRequest, Turn

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
OF_ITS_CALL = (
    "Please ensure that the function response parts answer the function call parts of the function "
    "call turn."
)  # made up


def has_calls_after_the_user(request: GeminiRequest) -> Complaint | None:
    for at, turn in enumerate(request.turns):
        if turn.having("functionCall") and (at == 0 or turn.role != "model"):
            return Complaint(message=CALL_TURN)
    return None


def has_responses_after_calls(request: GeminiRequest) -> Complaint | None:
    """Responses come first in their turn, which is the user's."""
    for before, turn in itertools.pairwise([None, *request.turns]):
        if turn is None or not turn.having("functionResponse"):
            continue
        is_after = before is not None and bool(before.having("functionCall"))
        if not is_after or turn.role != "user":
            return Complaint(message=RESPONSE_TURN)
        kinds = ["functionResponse" in part for part in turn.parts]
        if kinds != sorted(kinds, reverse=True):
            return Complaint(message=RESPONSE_TURN)
    return None


def begins_with_the_user(request: GeminiRequest) -> Complaint | None:
    return None if request.turns[0].role == "user" else Complaint(message=ALTERNATE)


def has_a_response_for_each_call(request: GeminiRequest) -> Complaint | None:
    for calls, responses in _exchanges(request):
        if len(calls) != len(responses):
            return Complaint(message=COUNT)
    return None


def has_responses_of_its_calls(request: GeminiRequest) -> Complaint | None:
    """Every response answers one call; their order does not matter."""
    for calls, responses in _exchanges(request):
        for response in responses:
            found = next((call for call in calls if _match(call, response)), None)
            if found is None:
                return Complaint(message=OF_ITS_CALL)
            calls.remove(found)
    return None


def _exchanges(
    request: GeminiRequest,
) -> Iterator[tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]]:
    """Yield the calls of every turn that has any, and the responses in the turn after it."""
    nothing: list[Turn | None] = [None]
    for turn, after in itertools.pairwise([*request.turns, *nothing]):
        calls = turn.having("functionCall") if turn is not None else []
        if calls:
            yield calls, after.having("functionResponse") if after is not None else []


def _match(call: Mapping[str, Any], response: Mapping[str, Any]) -> bool:
    """True if *response* answers *call*: by name, and by id if both have one."""
    has_ids = call.get("id") and response.get("id")
    is_it = call["name"] == response["name"]
    return is_it and (not has_ids or call["id"] == response["id"])


ORDER_RULES = (
    has_calls_after_the_user,
    has_responses_after_calls,
    begins_with_the_user,
    has_a_response_for_each_call,
    has_responses_of_its_calls,
)
