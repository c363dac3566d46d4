"""RenderedRequest: a conversation as the request for one route, with notes on what differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..conversation import Reasoning, Text
from ..handover.cured_target import cured
from ..handover.handover import hand_over
from ..handover.target_facts import target_of
from ..json_value import integer, mapping, write_body
from ..wire.effort import with_effort_of
from ..wire.registry import encoder_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..catalog.provider import Provider
    from ..conversation import Conversation, Part
    from ..cure import Cure
    from ..handover.note import Note
    from ..route import Route

_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")


@dataclass(slots=True, kw_only=True)
class RenderedRequest:
    """The request for one route, without the key.

    Args:
        path: The path that is appended to the provider's base URL.
        content: The body.
        renamed: Names of tools that differ at the provider: its name to the agent's own.
        notes: The differences from the conversation, with reasons.
        max_output_tokens: The longest answer that the body allows; None: the provider decides.
        follows_results: The conversation ends with results of tools.
    """

    provider: Provider
    route: Route
    path: str
    content: bytes
    renamed: Mapping[str, str]
    notes: Sequence[Note]
    max_output_tokens: int | None = None
    follows_results: bool = False


def body_of(
    conversation: Conversation, provider: Provider, route: Route, cures: Iterable[Cure] = ()
) -> tuple[dict[str, Any], RenderedRequest]:
    """Return the body for *route* as JSON values, and the request with it."""
    target = cured(target_of(provider, route), cures)
    handover = hand_over(conversation, target)
    if target.efforts and handover.settings.reasoning not in {None, "none"}:
        handover.settings = with_effort_of(handover.settings, target.efforts)
    encoder = encoder_of(provider.wire)
    body = encoder.encode(handover)
    renamed, notes = handover.renamed, handover.notes
    del handover  # it is as large as the history, and the bytes come on top
    return body, RenderedRequest(
        provider=provider,
        route=route,
        path=encoder.path(target),
        content=write_body(body),
        renamed=renamed,
        notes=notes,
        max_output_tokens=_max_output_tokens(body),
        follows_results=_ends_in_results(conversation),
    )


def _ends_in_results(conversation: Conversation) -> bool:
    """True if *conversation* ends with results of tools."""
    for message in reversed(conversation.messages):
        if message.has_calls:
            return True
        if message.role == "user" or any(map(_says_something, message.parts)):
            return False
    return False


def _says_something(part: Part) -> bool:
    return bool(part.text) if isinstance(part, Text) else not isinstance(part, Reasoning)


def _max_output_tokens(body: Mapping[str, Any]) -> int | None:
    """Return the longest answer that *body* allows, whatever its wire; None: it sets no limit."""
    settings = {**body, **mapping(body.get("generationConfig"))}
    limits = (integer(settings.get(name)) for name in _LIMITS)
    return next((limit for limit in limits if limit is not None), None)


def render(
    conversation: Conversation, provider: Provider, route: Route, cures: Iterable[Cure] = ()
) -> RenderedRequest:
    """Return the request for *route* to continue *conversation*.

    Args:
        cures: Changes that refusals of earlier requests asked for.
    """
    return body_of(conversation, provider, route, cures)[1]
