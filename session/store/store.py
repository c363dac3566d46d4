"""Where a session's conversation is kept, so that nothing of it is lost and nothing runs twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from ...provider.conversation import Message, Part
from ..error import StoreError


class Store(Protocol):
    """Keeps the messages of one session, in order.

    Whatever a method was given is kept for good when it returns; where it raises, the store holds
    what it held before. What changes in a message afterwards is not kept until a method is given
    it; to this end a store keeps copies, though not of a tool's input. One session writes; its
    tasks may do so at once, and then take turns.

    All methods raise `StoreError` where the store cannot be read or written, is closed, or has
    no such message or part.
    """

    async def load(self) -> dict[int, Message]:
        """Return all messages by their keys, in order; calls are in the state last kept."""

    async def append(self, message: Message) -> int:
        """Keep *message* as the last one; return its key, by which it can be changed."""

    async def save_part(self, key: int, index: int, part: Part) -> None:
        """Keep *part* as number *index*, from 0, of the message with that *key*."""

    async def rewrite(self, key: int, message: Message) -> None:
        """Keep *message* in place of the one with that *key*."""

    async def replace(self, messages: Sequence[Message]) -> list[int]:
        """Keep *messages* in place of all others, at once; return their keys."""

    async def check(self) -> None:
        """Make sure that what was kept can be read."""

    async def aclose(self) -> None:
        """Let go of what the store holds open; further calls raise `StoreError`."""


class MemoryStore:
    """Keep a conversation for as long as this object lives: a `Store` without a file."""

    def __init__(self) -> None:
        self._messages: dict[int, Message] = {}
        self._next = 0
        self._is_closed = False

    async def load(self) -> dict[int, Message]:
        """Return all messages by their keys, in order."""
        self._check_open()
        return {key: snapshot(message) for key, message in self._messages.items()}

    async def check(self) -> None:
        """Make sure that the store is open."""
        self._check_open()

    async def append(self, message: Message) -> int:
        """Keep *message* as the last one; return its key."""
        self._check_open()
        self._next += 1
        self._messages[self._next] = snapshot(message)
        return self._next

    async def save_part(self, key: int, index: int, part: Part) -> None:
        """Keep *part* in place of number *index* of the message with that *key*."""
        parts = self._find(key).parts
        if not 0 <= index < len(parts):
            raise no_part(key, index)
        parts[index] = replace(part)

    async def rewrite(self, key: int, message: Message) -> None:
        """Keep *message* in place of the one with that *key*."""
        self._find(key)
        self._messages[key] = snapshot(message)

    async def replace(self, messages: Sequence[Message]) -> list[int]:
        """Keep *messages* in place of all others; return their keys."""
        self._check_open()
        self._messages = {}
        return [await self.append(message) for message in messages]

    async def aclose(self) -> None:
        """Refuse further calls; what was kept is gone."""
        self._is_closed = True
        self._messages = {}

    def _find(self, key: int) -> Message:
        self._check_open()
        if key not in self._messages:
            raise no_message(key)
        return self._messages[key]

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreError("the store is closed: make another")


def snapshot(message: Message) -> Message:
    """Return *message* as it is now, whatever becomes of its parts."""
    return replace(message, parts=[replace(part) for part in message.parts])


def no_message(key: int) -> StoreError:
    """Say that no message has that *key*."""
    return StoreError(f"there is no message {key!r}: use a key that `append` or `load` returned")


def no_part(key: int, index: int) -> StoreError:
    """Say that the message with that *key* has no such part."""
    return StoreError(
        f"message {key!r} has no part {index!r}: save one of those it has, or `rewrite` it"
    )
