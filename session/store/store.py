"""The protocol of what keeps a session's conversation, so that nothing is lost or runs twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from ...provider.conversation import Message, Part
from ..error import StoreError


class Store(Protocol):
    """Keeps the messages of one session, in order.

    When a method returns, its arguments are kept for good; when it raises, the store is as it was
    before. A store keeps copies (though not of a tool's input), so that a later change of a message
    is kept only by another call. One session writes; its tasks may call at once, and take turns.

    All methods raise `StoreError` if the store cannot be read or written, is closed, or has no
    such message or part.
    """

    async def load(self) -> dict[int, Message]:
        """Return all messages by their keys, in order; tool calls are in the state last kept."""

    async def append(self, message: Message) -> int:
        """Keep *message* as the last one; return its key, by which it can be changed."""

    async def save_part(self, key: int, index: int, part: Part) -> None:
        """Keep *part* as number *index*, from 0, of the message with that *key*."""

    async def rewrite(self, key: int, message: Message) -> None:
        """Keep *message* in place of the one with that *key*."""

    async def replace(self, messages: Sequence[Message]) -> list[int]:
        """Keep *messages* in place of all others, in one transaction; return their keys."""

    async def check(self) -> None:
        """Check that what was kept can be read."""

    async def aclose(self) -> None:
        """Close what the store holds open; further calls raise `StoreError`."""


def snapshot(message: Message) -> Message:
    """Return a copy of *message* that shares no part with it."""
    return replace(message, parts=[replace(part) for part in message.parts])


def no_message(key: int) -> StoreError:
    """Return the error that no message has that *key*."""
    return StoreError(f"there is no message {key!r}: use a key that `append` or `load` returned")


def no_part(key: int, index: int) -> StoreError:
    """Return the error that the message with that *key* has no such part."""
    return StoreError(
        f"message {key!r} has no part {index!r}: save one of those it has, or `rewrite` it"
    )
