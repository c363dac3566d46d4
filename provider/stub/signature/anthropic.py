"""The part of a request to Anthropic that its reasoning is bound to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...json_value import listed, string
from .issuer import DIGEST, Prefix, digest, without_markers

REASONING = frozenset({"thinking", "redacted_thinking"})
_PROOFS = {"thinking": "signature", "redacted_thinking": "data"}


class BoundReasoning(NamedTuple):
    """One block of reasoning in a request, and the conversation before it.

    Args:
        message: The index of its message.
        place: Its index among the blocks of that message.
    """

    message: int
    place: int
    block: Mapping[str, Any]
    prefix: Prefix


def blocks_of(content: object) -> list[Any]:
    """Return the blocks of *content*; a string counts as one block of text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else listed(content)


def prefix_of(body: Mapping[str, object]) -> Prefix:
    """Return the conversation that an answer to *body* is bound to."""
    *_, last = _walk(body)
    return last.prefix


def reasoning_of(body: Mapping[str, object]) -> list[BoundReasoning]:
    """Return every block of reasoning in *body*, each with the conversation before it."""
    *found, _ = _walk(body)
    return found


def _walk(body: Mapping[str, object]) -> Iterator[BoundReasoning]:
    """Yield every block of reasoning in *body*, and at last the end of *body* as one more.

    Two messages of one role in a row count the same as one message with the blocks of both.
    """
    running = hashlib.sha256(digest(without_markers(blocks_of(body.get("system")))))
    running.update(digest(without_markers(listed(body.get("tools")))))
    last = ""
    messages = listed(body.get("messages"))
    for index, message in enumerate(messages):
        fields = message if isinstance(message, Mapping) else {}
        for place, block in enumerate(blocks_of(fields.get("content"))):
            kind = string(block.get("type")) if isinstance(block, Mapping) else ""
            if kind in REASONING:
                yield BoundReasoning(index, place, block, Prefix(running.digest()[:DIGEST], last))
                last = string(block.get(_PROOFS[kind]))
            else:
                running.update(digest([str(fields.get("role")), without_markers(block)]))
    yield BoundReasoning(len(messages), 0, {}, Prefix(running.digest()[:DIGEST], last))
