"""What the tests of encode share."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from sidestep import Route
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import (
    Conversation,
    Message,
    Settings,
    Text,
    ToolSpec,
)
from sidestep.provider.handover.handover import hand_over
from sidestep.provider.handover.target import Target
from sidestep.provider.handover.target_facts import target_of
from sidestep.provider.wire.gemini.encode import encode

THIRD = Route("gemini/gemini-3-flash-preview")
NOTHING = Settings()
GO = Message("user", [Text("Go.")])
Wired = dict[str, Any]


def target(route: Route = THIRD, **changes: Any) -> Target:
    base_url = "https://generativelanguage.googleapis.com/v1beta"
    provider = Provider(route.provider, "gemini", base_url, "GEMINI_API_KEY")
    return replace(target_of(provider, route), **changes)


def request(
    *messages: Message,
    tools: list[ToolSpec] | None = None,
    settings: Settings = NOTHING,
    to: Target | None = None,
) -> Wired:
    conversation = Conversation([*messages], tools or [], settings)
    before = copy.deepcopy(conversation)
    body = encode(hand_over(conversation, to or target()))
    assert conversation == before
    return body


def content(role: str, *parts: Wired) -> Wired:
    return {"role": role, "parts": [*parts]}


def said(text: str = "Go.") -> Wired:
    return content("user", {"text": text})


NEWEST = target()
