"""Where cache markers go: on a body that is encoded already, a few, and each where it may stand.

The last marker writes what the next request will read; the one before reads what the last request
wrote. Both move on as the conversation grows; those on the tools and on the instructions stay.

Source: platform.claude.com/docs/en/build-with-claude/prompt-caching and
openrouter.ai/docs/features/prompt-caching, read on 2026-11-29. In a message of the role ``tool``
OpenRouter takes a marker on a text, and hangs on one beside the text:
github.com/earendil-works/pi/pull/6941 and github.com/NousResearch/hermes-agent/pull/2391.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_BLOCKS = frozenset({"text", "image", "document", "tool_use", "tool_result"})
"""What Anthropic caches; a marker on thinking, or on a block it does not know, is refused."""
_PARTS = frozenset({"text"})
"""What OpenRouter takes a marker on."""
_ASKING = frozenset({"user", "tool"})
_INSTRUCTING = frozenset({"system", "developer"})

_Place = tuple[list[Any], int]
"""A list of the body, and what in it is to be marked: a block, or a message that is one string."""


def mark_anthropic(body: dict[str, Any], *, most: int) -> None:
    """Mark up to *most* places of a Messages request, the most useful first.

    What is marked is copied first: it may belong to the conversation.
    """
    if most <= 0:
        return
    tools = body.get("tools")
    _mark(
        asked=_asked(body["messages"], _BLOCKS),
        instructed=_last(body.get("system"), _BLOCKS),
        declared=(tools, len(tools) - 1) if tools else None,
        most=most,
    )


def mark_chat(body: dict[str, Any], *, most: int) -> None:
    """Mark up to *most* places of a request to OpenRouter, the most useful first.

    A string becomes a list of one text where it is marked. Answers are left as they are.
    """
    if most <= 0:
        return
    messages = body["messages"]
    _mark(
        asked=_asked(messages, _PARTS),
        instructed=_instructed(messages),
        declared=None,
        most=most,
    )


def _mark(
    *, asked: list[_Place], instructed: _Place | None, declared: _Place | None, most: int
) -> None:
    # What comes later covers what stands before it, and so is worth more.
    wanted = [*asked[:1], instructed, *asked[1:], declared]
    places = [place for place in wanted if place is not None]
    for items, index in places[:most]:
        items[index] = _marked(items[index])


def _asked(messages: list[Any], types: frozenset[str]) -> list[_Place]:
    """Return the last place before each of the two answers to come: this one, and the last.

    All that stands between two answers counts as one, in however many messages it came.
    """
    places: list[_Place] = []
    is_open = True
    for index in range(len(messages) - 1, -1, -1):
        role = messages[index]["role"]
        if role == "assistant":
            is_open = True
        elif is_open and role in _ASKING and (place := _in(messages, index, types)):
            places.append(place)
            if len(places) == 2:
                break
            is_open = False
    return places


def _instructed(messages: list[Any]) -> _Place | None:
    """Return the last place in the instructions that the messages begin with."""
    last: _Place | None = None
    for index, message in enumerate(messages):
        if message["role"] not in _INSTRUCTING:
            break
        last = _in(messages, index, _PARTS) or last
    return last


def _in(messages: list[Any], index: int, types: frozenset[str]) -> _Place | None:
    content = messages[index].get("content")
    if isinstance(content, str):
        return (messages, index) if _is_text(content) else None
    return _last(content, types)


def _last(blocks: object, types: Iterable[str]) -> _Place | None:
    """Return the last of *blocks* that takes a marker."""
    if not isinstance(blocks, list):
        return None
    for index in range(len(blocks) - 1, -1, -1):
        type_ = blocks[index].get("type")
        if type_ in types and (type_ != "text" or _is_text(blocks[index].get("text"))):
            return blocks, index
    return None


def _is_text(value: object) -> bool:
    """Say whether *value* is a text with something in it; a marker on any other is refused."""
    return isinstance(value, str) and value != "" and not value.isspace()


def _marked(item: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of *item* with a marker: of a block, or of a message that is one string."""
    if "role" not in item:
        return {**item, "cache_control": {"type": "ephemeral"}}
    return {**item, "content": [_marked({"type": "text", "text": item["content"]})]}
