"""A session's conversation in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...provider.conversation import Message, Part
from ..error import StoreError
from .store import no_message, no_part, snapshot


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
        """Check that the store is open."""
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
        kept = {key: snapshot(each) for key, each in enumerate(messages, self._next + 1)}
        self._messages, self._next = kept, self._next + len(kept)
        return list(kept)

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
