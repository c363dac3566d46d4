"""What of a request to Anthropic its reasoning is bound to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...json_value import listed, string
from .issuer import DIGEST, Prefix, digest, unmarked

REASONING = frozenset({"thinking", "redacted_thinking"})
_PROOFS = {"thinking": "signature", "redacted_thinking": "data"}


class BoundReasoning(NamedTuple):
    """One block of reasoning in a request, and what came before it.

    Args:
        message: Which message it stands in, counted from 0.
        place: Which block it is of that message.
    """

    message: int
    place: int
    block: Mapping[str, Any]
    prefix: Prefix


def blocks_of(content: object) -> list[Any]:
    """Return the blocks of *content*; a string is one block of text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else listed(content)


def prefix_of(body: Mapping[str, object]) -> Prefix:
    """Return what an answer to *body* is bound to: all of it."""
    *_, last = _walk(body)
    return last.prefix


def reasoning_of(body: Mapping[str, object]) -> list[BoundReasoning]:
    """Return every block of reasoning in *body*, with what came before it."""
    *found, _ = _walk(body)
    return found


def _walk(body: Mapping[str, object]) -> Iterator[BoundReasoning]:
    """Go through *body* once; after every block of reasoning comes the end, as one more.

    How the blocks are shared out between messages of one role makes no difference.
    """
    running = hashlib.sha256(digest(unmarked(blocks_of(body.get("system")))))
    running.update(digest(unmarked(listed(body.get("tools")))))
    last = ""
    messages = listed(body.get("messages"))
    for index, message in enumerate(messages):
        said = message if isinstance(message, Mapping) else {}
        for place, block in enumerate(blocks_of(said.get("content"))):
            kind = string(block.get("type")) if isinstance(block, Mapping) else ""
            if kind in REASONING:
                yield BoundReasoning(index, place, block, Prefix(running.digest()[:DIGEST], last))
                last = string(block.get(_PROOFS[kind]))
            else:
                running.update(digest([str(said.get("role")), unmarked(block)]))
    yield BoundReasoning(len(messages), 0, {}, Prefix(running.digest()[:DIGEST], last))
