"""Where a session's conversation is kept, so that nothing of it is lost and nothing runs twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..provider.part import Message, Part


class Store(Protocol):
    """Keeps the messages of one session, in order.

    Whatever a method was given is kept for good when it returns; where it raises, the store holds
    what it held before. One session writes, from one task at a time.

    All methods raise `StoreError` where the store cannot be read or written.
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

    async def aclose(self) -> None:
        """Let go of what the store holds open; further calls raise `StoreError`."""


class MemoryStore:
    """Keep a conversation for as long as this object lives: a `Store` without a file."""

    def __init__(self) -> None:
        self._messages: dict[int, Message] = {}
        self._next = 0

    async def load(self) -> dict[int, Message]:
        """Return all messages by their keys, in order."""
        return dict(self._messages)

    async def append(self, message: Message) -> int:
        """Keep *message* as the last one."""
        self._next += 1
        self._messages[self._next] = message
        return self._next

    async def save_part(self, key: int, index: int, part: Part) -> None:
        """Keep *part* in its message."""
        self._messages[key].parts[index] = part

    async def rewrite(self, key: int, message: Message) -> None:
        """Keep *message* in place of the one with that *key*."""
        self._messages[key] = message

    async def replace(self, messages: Sequence[Message]) -> list[int]:
        """Keep *messages* in place of all others."""
        self._messages = {}
        return [await self.append(message) for message in messages]

    async def aclose(self) -> None:
        """Do nothing: there is nothing to let go of."""
