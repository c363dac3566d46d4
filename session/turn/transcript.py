"""The conversation of one session, kept the same in memory and in its store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from ...provider.conversation import ToolCall
from ..step.move_policy import MoveHistory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...provider.conversation import Message
    from ...provider.route import Route
    from ..store.store import Store

UNSTARTED = "This call was not run: the turn ended before it began."


class Transcript:
    """The messages of a session; a message is added here once the store has it.

    Attributes:
        messages: All messages, in order.
        replacements: How often `replace` was called.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.messages: list[Message] = []
        self.replacements = 0
        self._keys: list[int] = []
        self._is_loaded = False
        self._holds_calls = False
        # So that writing a whole message does not undo a change of one part.
        self._writing = anyio.Lock(fast_acquire=True)

    async def load(self) -> None:
        """Read the store, once, and close the calls that were running.

        Such a call may have run in part or in full, so it never runs again. Later calls of `load`
        close what the store refused to close when a turn ended.

        Raises:
            StoreError: The store cannot be read or written.
        """
        if not self._is_loaded:
            stored = await self.store.load()
            self.messages, self._keys = list(stored.values()), list(stored)
            self._holds_calls = any(message.has_calls for message in self.messages)
            self._is_loaded = True
        for message in self.messages[-1:]:  # earlier messages were sent with every call closed
            await self.close_calls(message)

    async def append(self, message: Message) -> None:
        """Store *message* as the last one.

        Raises:
            StoreError: The store cannot be written; *message* is not added here either.
        """
        with anyio.CancelScope(shield=True):  # what the store has must be here too
            async with self._writing:
                key = await self.store.append(message)
                self.messages.append(message)
                self._keys.append(key)
        self._holds_calls = self._holds_calls or message.has_calls

    async def change(self, message: Message, *, index: int, call: ToolCall) -> None:
        """Replace part number *index* of *message* by *call*, and store it.

        A cancellation does not stop this, because what has happened must be stored.
        """
        with anyio.CancelScope(shield=True):
            async with self._writing:
                await self.store.save_part(self._key(message), index, call)
                message.parts[index] = call

    async def rewrite(self, message: Message) -> None:
        """Store *message* again as it is now, with other parts than before."""
        with anyio.CancelScope(shield=True):
            async with self._writing:
                await self.store.rewrite(self._key(message), message)
        self._holds_calls = self._holds_calls or message.has_calls

    async def replace(self, messages: Sequence[Message]) -> None:
        """Replace all messages by *messages*, and store them."""
        with anyio.CancelScope(shield=True):
            async with self._writing:
                self._keys = await self.store.replace(messages)
                self.messages = list(messages)
        self.replacements += 1
        self._holds_calls = any(message.has_calls for message in messages)

    async def close_calls(self, message: Message, *, output: str | None = None) -> None:
        """Close every call of *message* without a result, because it will not run again.

        Args:
            output: The output of calls that had not started; None: unknown.
        """
        for index, part in enumerate(message.parts):
            if not isinstance(part, ToolCall) or part.state not in ("pending", "running"):
                continue
            result = output if part.state == "pending" else None
            closed = replace(part, state="interrupted", output=result, is_error=True)
            await self.change(message, index=index, call=closed)

    def history(self, requested: Route) -> MoveHistory:
        """Return what `movePolicy` needs to know before a step that asks for *requested*.

        Its route is the last that answered a step for *requested*, because asking for another
        route is not a move.
        """
        answers = (m for m in reversed(self.messages) if m.route and m.requested == requested)
        last = next(answers, None)
        return MoveHistory(
            holds_calls=self._holds_calls,
            tools_run=_names_since_the_user(self.messages),
            route=None if last is None else last.route,
        )

    def _key(self, message: Message) -> int:
        """Return the key of *message*, which is nearly always the last one."""
        for place in range(len(self.messages) - 1, -1, -1):
            if self.messages[place] is message:
                return self._keys[place]
        raise LookupError("the message is not in this conversation")


def _names_since_the_user(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return the names of the tools that ran since the last user message, each once."""
    names: dict[str, None] = {}
    for message in reversed(messages):
        if message.role == "user":
            break
        for part in message.parts:
            if isinstance(part, ToolCall) and part.state != "pending":
                names[part.name] = None
    return tuple(names)
