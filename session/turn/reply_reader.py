"""Read one answer into a message; in eager mode, start its tools while it streams."""

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
    """Read the attempts of one step into *message*; only a complete answer stays in it.

    Args:
        eager: Runs a tool as soon as its call is complete; None: tools wait for the end.

    Attributes:
        has_run: A tool was started, so the message is stored even if the answer fails.
    """

    def __init__(self, message: Message, transcript: Transcript, eager: ToolRun | None) -> None:
        self.has_run = False
        self._message = message
        self._transcript = transcript
        self._eager = eager
        self._one_at_a_time = anyio.Lock()  # for tools that may not run beside others
        self._failures: list[Exception] = []
        self._started: list[tuple[ToolCall, int]] = []  # calls as they came, and their index

    async def read(self, reply: Reply, attempt: Attempt, emit: Callable[[Event], None]) -> None:
        """Read one attempt to its end, and emit its deltas as they come.

        Raises:
            ProviderError: The answer is not complete.
            StoreError: A call could not be stored, so its tool was not started.
        """
        if self._eager is None:
            await self._read(reply, attempt, emit, None)
        else:
            await self._read_and_run(reply, attempt, emit)
        self._message.parts = self._with_results(reply.parts)
        self._message.usage = reply.usage

    async def keep(self) -> None:
        """Store the message as it is now.

        Raises:
            StoreError: The store cannot be written.
        """
        if self.has_run:
            await self._transcript.rewrite(self._message)
        else:
            await self._transcript.append(self._message)

    async def keep_failed(self) -> None:
        """Store what a failed step leaves: its attempts, and the calls that tools ran for.

        Raises:
            StoreError: The store cannot be written.
        """
        parts = [part for part in self._message.parts if not _is_pending(part)]
        has_calls = any(isinstance(part, ToolCall) for part in parts)
        self._message.parts = parts if self.has_run and has_calls else []
        await self.keep()

    async def _read(
        self,
        reply: Reply,
        attempt: Attempt,
        emit: Callable[[Event], None],
        tasks: TaskGroup | None,
    ) -> None:
        has_emitted = False
        try:
            async for delta in reply:
                if not has_emitted:
                    has_emitted = True
                    attempt.emitted()
                emit(delta)
                if tasks is not None and isinstance(delta, ToolCallEnded):
                    await self._start(delta, reply, attempt, tasks)
        finally:
            if has_emitted:
                attempt.emitted(reply.parts)

    async def _read_and_run(
        self, reply: Reply, attempt: Attempt, emit: Callable[[Event], None]
    ) -> None:
        """Read on while tools run; a failure of the answer does not cancel them."""
        failure: Exception | None = None
        async with anyio.create_task_group() as tasks:
            try:
                await self._read(reply, attempt, emit, tasks)
            except Exception as error:  # noqa: BLE001 - raised below, when the tools have ended
                failure = error
        for problem in (*self._failures, failure):
            if problem is not None:
                raise problem

    async def _start(
        self, delta: ToolCallEnded, reply: Reply, attempt: Attempt, tasks: TaskGroup
    ) -> None:
        """Store a complete call and the reasoning before it, and start its tool."""
        assert self._eager is not None  # noqa: S101 - the caller has checked
        if not self._eager.has(delta.name):
            return  # the call gets an error result once the answer has ended
        message, parts = self._message, reply.parts
        started = [call for call, _ in self._started]
        for part in parts:
            if isinstance(part, Reasoning) and part.complete and not self.has_run:
                message.parts.append(part)
            if isinstance(part, ToolCall) and part.id == delta.id and part not in started:
                self._started.append((part, len(message.parts)))
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
        assert self._eager is not None  # noqa: S101 - the caller has checked
        try:
            if self._eager.may_run_beside(self._message.parts[index]):
                await self._eager.run(self._message, index)
                return
            async with self._one_at_a_time:
                await self._eager.run(self._message, index)
        except Exception as error:  # noqa: BLE001 - raised when the answer ends
            self._failures.append(error)

    def _with_results(self, parts: Iterable[Part]) -> list[Part]:
        """Return *parts* with the results of the tools that have run.

        Calls are compared whole, because some providers give several calls the same id.
        """
        return [self._with_result(part) for part in parts]

    def _with_result(self, part: Part) -> Part:
        return next((self._message.parts[at] for call, at in self._started if call == part), part)


def _is_pending(part: Part) -> bool:
    return isinstance(part, ToolCall) and part.state == "pending"
