"""One answer, read to its end into a message; eagerly, with tools begun while it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from ...provider.conversation import Reasoning, ToolCall
from ...provider.delta import ToolCallEnded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyio.abc import TaskGroup

    from ...provider.client.reply import Reply
    from ...provider.conversation import Message, Part
    from ..event import Event
    from ..step.attempt import Attempt
    from .tool_run import ToolRun
    from .transcript import Transcript


class ReplyReader:
    """Read the attempts of one step into *message*, of which only a whole answer stays.

    Args:
        eager: What runs a tool as soon as its call is closed; None: tools wait for the end.

    Attributes:
        has_run: A tool was begun, so that the message is kept whatever becomes of the answer.
    """

    def __init__(self, message: Message, transcript: Transcript, eager: ToolRun | None) -> None:
        self.has_run = False
        self._message = message
        self._transcript = transcript
        self._eager = eager
        self._turn = anyio.Lock()  # of tools that may not run beside another
        self._failures: list[Exception] = []
        self._begun: list[tuple[ToolCall, int]] = []  # as they came; where the message has them

    async def read(self, reply: Reply, attempt: Attempt, tell: Callable[[Event], None]) -> None:
        """Read one attempt to its end; what it shows is told as it comes.

        Raises:
            ProviderError: The answer is not whole.
            StoreError: A call could not be kept, so that its tool was not begun.
        """
        if self._eager is None:
            await self._listen(reply, attempt, tell, None)
        else:
            await self._listen_and_run(reply, attempt, tell)
        self._message.parts = self._with_results(reply.parts)
        self._message.usage = reply.usage

    async def keep(self) -> None:
        """Keep the message as it is now.

        Raises:
            StoreError: The store cannot be written.
        """
        if self.has_run:
            await self._transcript.rewrite(self._message)
        else:
            await self._transcript.append(self._message)

    async def keep_failed(self) -> None:
        """Keep of a failed step what tools did, and who was asked.

        Raises:
            StoreError: The store cannot be written.
        """
        parts = [part for part in self._message.parts if not _has_not_begun(part)]
        has_begun = any(isinstance(part, ToolCall) for part in parts)
        self._message.parts = parts if self.has_run and has_begun else []
        await self.keep()

    async def _listen(
        self,
        reply: Reply,
        attempt: Attempt,
        tell: Callable[[Event], None],
        tasks: TaskGroup | None,
    ) -> None:
        has_emitted = False
        try:
            async for delta in reply:
                if not has_emitted:
                    has_emitted = True
                    attempt.emitted()
                tell(delta)
                if tasks is not None and isinstance(delta, ToolCallEnded):
                    await self._begin(delta, reply, attempt, tasks)
        finally:
            if has_emitted:
                attempt.emitted(reply.parts)

    async def _listen_and_run(
        self, reply: Reply, attempt: Attempt, tell: Callable[[Event], None]
    ) -> None:
        """Read on while tools run; what they were begun for is not taken from them."""
        failure: Exception | None = None
        async with anyio.create_task_group() as tasks:
            try:
                await self._listen(reply, attempt, tell, tasks)
            except Exception as error:  # noqa: BLE001 - raised below, when the tools have ended
                failure = error
        for problem in (*self._failures, failure):
            if problem is not None:
                raise problem

    async def _begin(
        self, delta: ToolCallEnded, reply: Reply, attempt: Attempt, tasks: TaskGroup
    ) -> None:
        """Keep the call that was closed, with the reasoning that led to it, and begin its tool."""
        assert self._eager is not None  # noqa: S101 - the caller has looked
        if not self._eager.has(delta.name):
            return  # that there is none is said once the answer has ended
        message, parts = self._message, reply.parts
        begun = [call for call, _ in self._begun]
        for part in parts:
            if isinstance(part, Reasoning) and part.complete and not self.has_run:
                message.parts.append(part)
            if isinstance(part, ToolCall) and part.id == delta.id and part not in begun:
                self._begun.append((part, len(message.parts)))
                message.parts.append(part)
                break
        else:
            return
        attempt.tool_started(delta.name)
        message.route = attempt.route
        await self.keep()
        self.has_run = True
        tasks.start_soon(self._run, len(message.parts) - 1)

    async def _run(self, index: int) -> None:
        assert self._eager is not None  # noqa: S101 - the caller has looked
        try:
            if self._eager.may_run_beside(self._message.parts[index]):
                await self._eager.run(self._message, index)
                return
            async with self._turn:
                await self._eager.run(self._message, index)
        except Exception as error:  # noqa: BLE001 - raised where the answer ends
            self._failures.append(error)

    def _with_results(self, parts: Iterable[Part]) -> list[Part]:
        """Return *parts* with what the tools said that have run by now.

        Of two calls that share no more than their id, as some providers number them, each has
        its own result.
        """
        return [self._ran(part) for part in parts]

    def _ran(self, part: Part) -> Part:
        return next((self._message.parts[at] for call, at in self._begun if call == part), part)


def _has_not_begun(part: Part) -> bool:
    return isinstance(part, ToolCall) and part.state == "pending"
