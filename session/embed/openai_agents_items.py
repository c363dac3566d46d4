"""The parts of an openai-agents history that may go to a route: no reasoning of another.

An output item names in its ``provider_data`` the route that wrote it. The framework keeps this
field in its history, and sends it to no provider.

Source: openai-agents 0.24, `models/openai_responses.py` and `models/chatcmpl_converter.py`, read on
2026-11-30.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from agents.models import get_default_model_settings
from agents.models.fake_id import FAKE_RESPONSES_ID

from .answer_history import FROM_THE_USER, STAMP, answer_history

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agents import ModelSettings

    from ...provider.route import Route
    from ..step.move_policy import MoveHistory

_FIELD = "provider_data"
_WITH_ID = frozenset({"message", "function_call"})
"""Types of items with an `id` that OpenAI looks up among its own items, and does not need.

The framework needs one, and sends its `FAKE_RESPONSES_ID` to nobody.
"""
_CACHE_SETTINGS = frozenset({"prompt_cache_retention", "prompt_cache_options"})


def stamp(items: Iterable[Any], route: Route, requested: Route) -> None:
    """Note on each of the output *items* that *route* wrote it."""
    for item in items:
        known = getattr(item, _FIELD, None) or {}
        note = {"route": str(route), "requested": str(requested)}
        setattr(item, _FIELD, {**known, STAMP: note})


def history_of(given: str | list[Any], requested: Route) -> MoveHistory | None:
    """Return what a step that asks for *requested* needs to know of the input *given*."""
    items = [] if isinstance(given, str) else given
    return answer_history(map(_stamp_of, reversed(items)), requested)


def _stamp_of(item: Any) -> object:
    if not isinstance(item, dict):
        return None
    if item.get("role") == "user":
        return FROM_THE_USER
    known = item.get(_FIELD)
    return known.get(STAMP) if isinstance(known, dict) else None


def input_for(given: str | list[Any], route: Route, requested: Route) -> str | list[Any]:
    """Return the input *given* without the parts that only another route than *route* can read.

    An item that names no route counts as one of *requested*.
    """
    if isinstance(given, str):
        return given
    items = (_item_for(item, route, requested) for item in given)
    return [item for item in items if item is not None]


def settings_for(settings: ModelSettings, route: Route, requested: Route) -> ModelSettings:
    """Return *settings* without those of the cache if *route* is of another provider."""
    if route.provider == requested.provider:
        return settings
    names = {field.name for field in fields(settings)} & _CACHE_SETTINGS
    return replace(settings, **dict.fromkeys(names))


def without_defaults(settings: ModelSettings, route: Route) -> ModelSettings:
    """Return *settings* without what the framework adds for its own default model.

    An agent that names no model gets them, and most other models refuse them.
    """
    added, wanted = get_default_model_settings(), get_default_model_settings(route.model)
    if (settings.reasoning, settings.verbosity) != (added.reasoning, added.verbosity):
        return settings
    return replace(settings, reasoning=wanted.reasoning, verbosity=wanted.verbosity)


def _item_for(item: Any, route: Route, requested: Route) -> Any:
    """Return the part of *item* that goes to *route*; None: nothing."""
    if not isinstance(item, dict) or not _is_of_model(item):
        return item
    known = item.get(_FIELD)
    known = known if isinstance(known, dict) else {}
    note = known.get(STAMP)
    author = note.get("route") if isinstance(note, dict) else None
    kept = {key: value for key, value in item.items() if key != _FIELD}
    if (author or requested) == route:
        own = {key: value for key, value in known.items() if key != STAMP}
        return {**kept, _FIELD: own} if own else kept
    if item.get("type") == "reasoning":
        return None
    return {**kept, "id": FAKE_RESPONSES_ID} if item.get("type") in _WITH_ID else kept


def _is_of_model(item: dict[str, Any]) -> bool:
    return item.get("type") != "message" or item.get("role") == "assistant"
