"""The parts of a pydantic-ai history that may go to a route: no reasoning and no id of another.

pydantic-ai compares the name of the provider, but all endpoints of `OpenAIProvider` have one name.

Source: pydantic-ai 2.68, `models/__init__.py` and `messages.py`, read on 2026-11-30.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelMessage, ModelResponse, ThinkingPart, UserPromptPart

from .answer_history import FROM_THE_USER, STAMP, answer_history

if TYPE_CHECKING:
    from ...provider.route import Route
    from ..step.move_policy import MoveHistory
    from ..step.step import Step

_OF_PROVIDER = frozenset(
    {"id", "provider_name", "provider_details", "provider_response_id", "canonical_system"}
)
"""The fields of a response and of its parts that only the provider that wrote them can read."""


def stamped(response: ModelResponse, step: Step) -> ModelResponse:
    """Return *response* with the name of the route that answered *step*."""
    stamp = {"route": str(step.route), "requested": str(step.requested)}
    return replace(response, metadata={**(response.metadata or {}), STAMP: stamp})


def history_of(messages: list[ModelMessage], requested: Route) -> MoveHistory | None:
    """Return what a step that asks for *requested* needs to know of *messages*."""
    return answer_history(map(_stamp, reversed(messages)), requested)


def _stamp(message: ModelMessage) -> object:
    if isinstance(message, ModelResponse):
        return (message.metadata or {}).get(STAMP)
    is_prompt = any(isinstance(part, UserPromptPart) for part in message.parts)
    return FROM_THE_USER if is_prompt else None


def messages_for(
    messages: list[ModelMessage], route: Route, requested: Route
) -> list[ModelMessage]:
    """Return *messages* without the parts that only another route than *route* can read.

    A response that names no route counts as one of *requested*.
    """
    return [
        _without_proofs(message)
        if isinstance(message, ModelResponse) and _author(message, requested) != route
        else message
        for message in messages
    ]


def _author(response: ModelResponse, requested: Route) -> str:
    stamp = (response.metadata or {}).get(STAMP)
    route = stamp.get("route") if isinstance(stamp, dict) else None
    return route if isinstance(route, str) else requested


def _without_proofs(response: ModelResponse) -> ModelResponse:
    parts = [_cleared(part) for part in response.parts if not isinstance(part, ThinkingPart)]
    return _cleared(replace(response, parts=parts))


def _cleared(value: Any) -> Any:
    """Return *value*, a response or a part, without the fields of its provider."""
    names = {field.name for field in fields(value) if field.init}
    return replace(value, **dict.fromkeys(names & _OF_PROVIDER))
