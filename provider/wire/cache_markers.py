"""Cache markers, which are set on an encoded body, at the places that the API allows.

The last marker writes what the next request will read; the one before it reads what the last
request wrote. Both move on as the conversation grows; those on the tools and the instructions stay.

Source: platform.claude.com/docs/en/build-with-claude/prompt-caching and
openrouter.ai/docs/features/prompt-caching, read on 2026-11-29. In a message of the role ``tool``
OpenRouter takes a marker on a text, and hangs on a marker beside the text:
github.com/earendil-works/pi/pull/6941 and github.com/NousResearch/hermes-agent/pull/2391.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_BLOCKS = frozenset({"text", "image", "document", "tool_use", "tool_result"})
"""The blocks that Anthropic caches; a marker on thinking or on an unknown block is refused."""
_PARTS = frozenset({"text"})
"""The parts on which OpenRouter takes a marker."""
_ASKING = frozenset({"user", "tool"})
_INSTRUCTING = frozenset({"system", "developer"})

_Place = tuple[list[Any], int]
"""A list in the body, and the index of what to mark: a block, or a message that is one string."""


def mark_anthropic(body: dict[str, Any], *, most: int) -> None:
    """Mark up to *most* places of a Messages request, the most useful first.

    Each marked block is copied first, because it may belong to the conversation.
    """
    if most <= 0:
        return
    tools = body.get("tools")
    _mark(
        before_answers=_places_before_answers(body["messages"], _BLOCKS),
        instructions=_last_place(body.get("system"), _BLOCKS),
        tools=(tools, len(tools) - 1) if tools else None,
        most=most,
    )


def mark_chat(body: dict[str, Any], *, most: int) -> None:
    """Mark up to *most* places of a request to OpenRouter, the most useful first.

    A marked string becomes a list of one text. Answers are never marked.
    """
    if most <= 0:
        return
    messages = body["messages"]
    _mark(
        before_answers=_places_before_answers(messages, _PARTS),
        instructions=_place_in_instructions(messages),
        tools=None,
        most=most,
    )


def _mark(
    *, before_answers: list[_Place], instructions: _Place | None, tools: _Place | None, most: int
) -> None:
    # A later marker covers everything before it, and so is worth more.
    wanted = [*before_answers[:1], instructions, *before_answers[1:], tools]
    places = [place for place in wanted if place is not None]
    for items, index in places[:most]:
        items[index] = _with_marker(items[index])


def _places_before_answers(messages: list[Any], types: frozenset[str]) -> list[_Place]:
    """Return the last place to mark before the next answer, and before the last one.

    All messages between two answers count as one.
    """
    places: list[_Place] = []
    is_open = True
    for index in range(len(messages) - 1, -1, -1):
        role = messages[index]["role"]
        if role == "assistant":
            is_open = True
        elif is_open and role in _ASKING and (place := _place_in(messages, index, types)):
            places.append(place)
            if len(places) == 2:
                break
            is_open = False
    return places


def _place_in_instructions(messages: list[Any]) -> _Place | None:
    """Return the last place to mark in the instructions at the start of the messages."""
    last: _Place | None = None
    for index, message in enumerate(messages):
        if message["role"] not in _INSTRUCTING:
            break
        last = _place_in(messages, index, _PARTS) or last
    return last


def _place_in(messages: list[Any], index: int, types: frozenset[str]) -> _Place | None:
    content = messages[index].get("content")
    if isinstance(content, str):
        return (messages, index) if _is_text(content) else None
    return _last_place(content, types)


def _last_place(blocks: object, types: Iterable[str]) -> _Place | None:
    """Return the last of *blocks* that takes a marker; None: none does."""
    if not isinstance(blocks, list):
        return None
    for index in range(len(blocks) - 1, -1, -1):
        type_ = blocks[index].get("type")
        if type_ in types and (type_ != "text" or _is_text(blocks[index].get("text"))):
            return blocks, index
    return None


def _is_text(value: object) -> bool:
    """True if *value* is a text of more than white space; a marker on an empty text is refused."""
    return isinstance(value, str) and value != "" and not value.isspace()


def _with_marker(item: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of *item*, a block or a message that is one string, with a marker."""
    if "role" not in item:
        return {**item, "cache_control": {"type": "ephemeral"}}
    return {**item, "content": [_with_marker({"type": "text", "text": item["content"]})]}
