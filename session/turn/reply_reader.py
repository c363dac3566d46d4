"""Read one answer into a message; in eager mode, start its tools while it streams."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from ...provider.conversation import Message, Reasoning, ToolCall
from ...provider.delta import ToolCallEnded
from ..error import StoreError
from .tool_run import raise_first

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyio.abc import TaskGroup

    from ...provider.client.reply import Reply
    from ...provider.conversation import AttemptRecord, Part, Usage
    from ...provider.route import Route
    from ..event import Event
    from ..step.attempt import Attempt
    from .tool_run import ToolRun
    from .transcript import Transcript


class _EagerCalls:
    """The calls of one step whose tools start before the answer ends.

    Attributes:
        tools: Runs each of them.
        started: The calls as they came, each with its index in the stored message.
        failures: What the runs raised.
        one_at_a_time: For tools that may not run beside others.
    """

    def __init__(self, tools: ToolRun) -> None:
        self.tools = tools
        self.started: list[tuple[ToolCall, int]] = []
        self.failures: list[BaseException] = []
        self.one_at_a_time = anyio.Lock()


class ReplyReader:
    """Read the attempts of one step; only a complete answer joins the conversation.

    Args:
        requested: The route that the step asks for.
        eager: Runs a tool as soon as its call is complete; None: tools wait for the end.
        emit: Called with each delta as it comes.

    Attributes:
        parts: The parts of the answer, once it is complete.
    """

    def __init__(
        self,
        transcript: Transcript,
        requested: Route,
        eager: ToolRun | None,
        *,
        emit: Callable[[Event], None],
    ) -> None:
        self.parts: Sequence[Part] = ()
        self._usage: Usage | None = None
        self._requested = requested
        self._transcript = transcript
        self._eager = None if eager is None else _EagerCalls(eager)
        self._emit = emit
        self._stored: Message | None = None  # with the calls that were started

    @property
    def has_run(self) -> bool:
        """True if a tool may have run, so that its call is stored even if the answer fails."""
        return self._stored is not None

    async def read(self, reply: Reply, attempt: Attempt) -> None:
        """Read one attempt to its end, and emit its deltas as they come.

        Raises:
            ProviderError: The answer is not complete.
        """
        if self._eager is None:
            await self._read(reply, attempt, None)
        else:
            await self._read_and_run(self._eager, reply, attempt)
        self.parts, self._usage = reply.parts, reply.usage

    async def keep(self, route: Route, attempts: Sequence[AttemptRecord]) -> Message:
        """Store the answer of *route*, with the results of the tools that ran; return it.

        Raises:
            StoreError: The store cannot be written. What it held before is still there.
        """

        def whole(stored: Message) -> Message:
            parts = [self._with_result(part, stored) for part in self.parts]
            return replace(stored, parts=parts, route=route, usage=self._usage, attempts=attempts)

        return await self._keep(whole)

    async def keep_failed(self, attempts: Sequence[AttemptRecord]) -> Message:
        """Store what a failed step leaves: its attempts, and the calls that tools ran for.

        Raises:
            StoreError: The store cannot be written. What it held before is still there.
        """

        def rest(stored: Message) -> Message:
            parts = [part for part in stored.parts if not _is_pending(part)]
            has_calls = any(isinstance(part, ToolCall) for part in parts)
            return replace(stored, parts=parts if has_calls else [], attempts=attempts)

        return await self._keep(rest)

    async def _keep(self, edit: Callable[[Message], Message]) -> Message:
        """Store what *edit* makes of the message with the calls that were started; return it."""
        if self._stored is None:
            requested = self._requested
            message = edit(Message("assistant", [], route=requested, requested=requested))
            await self._transcript.append(message)
            return message
        await self._transcript.change(self._stored, edit)
        return self._stored

    async def _read(self, reply: Reply, attempt: Attempt, tasks: TaskGroup | None) -> None:
        has_emitted, emit = False, self._emit
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

    async def _read_and_run(self, calls: _EagerCalls, reply: Reply, attempt: Attempt) -> None:
        """Read on while tools run; a failure of the answer does not cancel them."""
        failures: list[BaseException] = []
        async with anyio.create_task_group() as tasks:
            try:
                await self._read(reply, attempt, tasks)
            except anyio.get_cancelled_exc_class():
                raise
            except BaseException as error:  # noqa: BLE001 - raised below, when the tools have ended
                failures.append(error)
                if not isinstance(error, Exception):
                    tasks.cancel_scope.cancel()
            await reply.end()  # the tools may ask a model as well, and wait for our place
        raise_first([*calls.failures, *failures])

    async def _start(
        self, delta: ToolCallEnded, reply: Reply, attempt: Attempt, tasks: TaskGroup
    ) -> None:
        """Store a complete call and the reasoning before it, and start its tool.

        A call that cannot be stored waits for the end of the answer, as without `eager`.
        """
        assert self._eager is not None  # noqa: S101 - the caller has checked
        if not self._eager.tools.has(delta.name):
            return  # the call gets an error result once the answer has ended
        started = [call for call, _ in self._eager.started]
        parts: list[Part] = []
        for part in reply.parts:
            if isinstance(part, Reasoning) and part.complete and not self.has_run:
                parts.append(part)
            if isinstance(part, ToolCall) and part.id == delta.id and part not in started:
                break
        else:
            return
        with suppress(StoreError):
            index = await self._store_call([*parts, part], attempt.route)
            self._eager.started.append((part, index))
            attempt.tool_started(delta.name)
            tasks.start_soon(self._run, index, tasks)

    async def _store_call(self, parts: Sequence[Part], route: Route) -> int:
        """Store *parts*, which end with a call, after the parts so far; return the call's index."""

        def longer(stored: Message) -> Message:
            return replace(stored, parts=[*stored.parts, *parts], route=route)

        self._stored = await self._keep(longer)
        return len(self._stored.parts) - 1

    async def _run(self, index: int, tasks: TaskGroup) -> None:
        """Run the call with that *index*; a result that cannot be stored now is stored later."""
        assert self._eager is not None  # noqa: S101 - the caller has checked
        assert self._stored is not None  # noqa: S101 - the call is in it
        message, tools = self._stored, self._eager.tools
        try:
            if tools.may_run_beside(message.parts[index]):
                await tools.run(message, index)
                return
            async with self._eager.one_at_a_time:
                await tools.run(message, index)
        except StoreError:
            return
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:  # noqa: BLE001 - raised when the tools have ended
            self._eager.failures.append(error)
            if not isinstance(error, Exception):
                tasks.cancel_scope.cancel()

    def _with_result(self, part: Part, stored: Message) -> Part:
        """Return *part*, or its present state if it is a call that was started.

        Calls are compared whole, because some providers give several calls the same id.
        """
        started = () if self._eager is None else self._eager.started
        return next((stored.parts[at] for call, at in started if call == part), part)


def _is_pending(part: Part) -> bool:
    return isinstance(part, ToolCall) and part.state == "pending"
