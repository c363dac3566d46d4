"""The conversation of one session, in memory and in its store alike."""

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
    """What was said so far; a message is here only once the store has it.

    Attributes:
        messages: All of them, in order.
        replacements: How often others were put in place of all of them.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.messages: list[Message] = []
        self.replacements = 0
        self._keys: list[int] = []
        self._is_loaded = False
        self._holds_calls = False
        # A message that is kept whole must not undo what is kept of its parts meanwhile.
        self._writing = anyio.Lock(fast_acquire=True)

    async def load(self) -> None:
        """Read what the store has, once; a call that was under way is closed for good.

        It may have run, in part or in full, and is never run again. Later calls close what the
        store refused to close when a turn ended.

        Raises:
            StoreError: The store cannot be read, or not be written.
        """
        if not self._is_loaded:
            known = await self.store.load()
            self.messages, self._keys = list(known.values()), list(known)
            self._holds_calls = any(message.has_calls for message in self.messages)
            self._is_loaded = True
        for message in self.messages[-1:]:  # what came before it was sent with every call closed
            await self.close_calls(message)

    async def append(self, message: Message) -> None:
        """Keep *message* as the last one.

        Raises:
            StoreError: The store cannot be written; the message is not here either.
        """
        with anyio.CancelScope(shield=True):  # what is kept must be known to be
            async with self._writing:
                key = await self.store.append(message)
                self.messages.append(message)
                self._keys.append(key)
        self._holds_calls = self._holds_calls or message.has_calls

    async def change(self, message: Message, *, index: int, call: ToolCall) -> None:
        """Keep *call* in place of the one that is part number *index* of *message*.

        What has happened is kept also while the turn is being cancelled.
        """
        with anyio.CancelScope(shield=True):
            async with self._writing:
                await self.store.save_part(self._key(message), index, call)
                message.parts[index] = call

    async def rewrite(self, message: Message) -> None:
        """Keep *message* as it is now; it was kept before with other parts."""
        with anyio.CancelScope(shield=True):
            async with self._writing:
                await self.store.rewrite(self._key(message), message)
        self._holds_calls = self._holds_calls or message.has_calls

    async def replace(self, messages: Sequence[Message]) -> None:
        """Keep *messages* in place of all others."""
        with anyio.CancelScope(shield=True):
            async with self._writing:
                self._keys = await self.store.replace(messages)
                self.messages = list(messages)
        self.replacements += 1
        self._holds_calls = any(message.has_calls for message in messages)

    async def close_calls(self, message: Message, *, output: str | None = None) -> None:
        """Close every call of *message* that has no result: it is not going to be run again.

        Args:
            output: What the model is told of those that had not begun; None: that it is unknown.
        """
        for index, part in enumerate(message.parts):
            if not isinstance(part, ToolCall) or part.state not in ("pending", "running"):
                continue
            told = output if part.state == "pending" else None
            closed = replace(part, state="interrupted", output=told, is_error=True)
            await self.change(message, index=index, call=closed)

    def history(self, requested: Route) -> MoveHistory:
        """What `movePolicy` asks of the conversation, of which a step for *requested* is to follow.

        Where it has to stay is who answered last when that was asked for: a route that is asked
        for anew is no move.
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
    """Return the tools that were run since the user last spoke, each once."""
    names: dict[str, None] = {}
    for message in reversed(messages):
        if message.role == "user":
            break
        for part in message.parts:
            if isinstance(part, ToolCall) and part.state != "pending":
                names[part.name] = None
    return tuple(names)
