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
from sidestep.provider.wire.openai_responses.encode import encode

GPT = Route("openai/gpt-5.6")
NOTHING = Settings()
GO = Message("user", [Text("Go.")])
GO_ITEM = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]}


def target(route: Route = GPT, **changes: Any) -> Target:
    base_url = "https://api.openai.com/v1"
    provider = Provider(route.provider, "openai-responses", base_url, "OPENAI_API_KEY")
    return replace(target_of(provider, route), **changes)


def elsewhere(name: str) -> Target:
    """Return what the route *name* takes, of a vendor that nobody knows."""
    route = Route(name)
    provider = Provider(route.provider, "openai-responses", "https://example.com/v1", None)
    return target_of(provider, route)


def request(
    *messages: Message,
    tools: list[ToolSpec] | None = None,
    settings: Settings = NOTHING,
    to: Target | None = None,
) -> dict[str, Any]:
    conversation = Conversation([*messages], tools or [], settings)
    before = copy.deepcopy(conversation)
    body = encode(hand_over(conversation, to or target()))
    assert conversation == before
    return body


READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {}}})
