"""Run the tool calls of an answer in order, each once, and store each result."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from ...provider.conversation import ToolCall
from ..error import StoreError
from ..event import ToolRunEnded, ToolRunStarted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ...provider.conversation import Message, Part, ToolState
    from ..event import Event
    from ..tool.tool import Tool, ToolResult
    from .transcript import Transcript


class ToolRun:
    """Run the tools that one session has.

    Args:
        tools: The tools by name.
        emit: Called when a tool starts and when it ends.

    Attributes:
        runs: How many tools were called so far; wrong calls do not count.
    """

    def __init__(
        self, tools: Mapping[str, Tool], transcript: Transcript, emit: Callable[[Event], None]
    ) -> None:
        self._tools = tools
        self._transcript = transcript
        self._emit = emit
        self.runs = 0

    async def run_all(self, message: Message) -> None:
        """Run every pending call of *message*; consecutive parallel tools run side by side.

        Raises:
            StoreError: A call cannot be stored, so its tool does not run.
        """
        pending = list(_pending(message))
        for is_parallel, group in groupby(pending, key=lambda each: self.may_run_beside(each[1])):
            places = [index for index, _ in group]
            if not is_parallel or len(places) == 1:
                for index in places:
                    await self.run(message, index)
                continue
            await self._run_together(message, places)

    async def _run_together(self, message: Message, places: list[int]) -> None:
        failures: list[BaseException] = []

        async def run(index: int) -> None:
            try:
                await self.run(message, index)
            except anyio.get_cancelled_exc_class():
                raise
            except BaseException as error:  # noqa: BLE001 - raised below, outside the group
                failures.append(error)
                if not isinstance(error, Exception):
                    tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            for index in places:
                tasks.start_soon(run, index)
        raise_first(failures)

    async def run(self, message: Message, index: int) -> None:
        """Run the call that is part number *index* of *message*; store it before and after.

        Raises:
            StoreError: As for `run_all`.
        """
        call = message.parts[index]
        assert isinstance(call, ToolCall)  # noqa: S101 - the caller has checked
        tool = self._tools.get(call.name)
        if (ended := _too_long(call, tool)) is not None:
            await self._end(message, index, *ended)
            return
        if tool is None:
            await self._end(message, index, call, _unknown(call.name, self._tools))
            return
        await anyio.lowlevel.checkpoint_if_cancelled()  # a tool may act before its first await
        started = replace(call, state="running")
        await self._transcript.set_call(message, index, started)
        try:
            self._emit(ToolRunStarted(call.id, call.name))
            await anyio.lowlevel.checkpoint_if_cancelled()
            result = await tool.run(call.input)
        except BaseException:
            self.runs += 1
            interrupted = replace(call, state="interrupted", is_error=True)
            with suppress(StoreError):  # it is stored with the next change
                await self._transcript.set_call(message, index, interrupted)
            self._emit(ToolRunEnded(call.id, call.name, "interrupted", None))
            raise
        await self._end(message, index, started, result)

    async def _end(self, message: Message, index: int, call: ToolCall, result: ToolResult) -> None:
        self.runs += result.was_run
        state: ToolState = "error" if result.is_error else "completed"
        ended = replace(call, state=state, output=result.output, is_error=result.is_error)
        try:
            await self._transcript.set_call(message, index, ended)
        finally:  # a result that cannot be stored now is stored with the next change
            self._emit(ToolRunEnded(call.id, call.name, state, result.output))

    def has(self, name: str) -> bool:
        """True if there is a tool called *name*."""
        return name in self._tools

    def may_run_beside(self, call: Part) -> bool:
        """True if the tool of *call* may run beside others."""
        tool = self._tools.get(call.name) if isinstance(call, ToolCall) else None
        return tool is not None and tool.is_parallel


def raise_first(failures: Sequence[BaseException]) -> None:
    """Raise the first of *failures* that ends the program, else the first one, if there is one."""
    ending = (each for each in failures if not isinstance(each, Exception))
    if failures:
        raise next(ending, failures[0])


def _pending(message: Message) -> Iterator[tuple[int, ToolCall]]:
    for index, part in enumerate(message.parts):
        if isinstance(part, ToolCall) and part.state == "pending":
            yield index, part


def _too_long(call: ToolCall, tool: Tool | None) -> tuple[ToolCall, ToolResult] | None:
    """Return *call* and its result if its arguments are too long to be kept; None: they are not."""
    from ..tool.tool import LONGEST_INPUT, bounded_call

    return bounded_call(call, LONGEST_INPUT if tool is None else tool.longest_input)


def _unknown(name: str, tools: Mapping[str, Tool]) -> ToolResult:
    from ..tool.tool import ToolResult

    names = ", ".join(sorted(tools)) or "none at all"
    text = f"There is no tool {name!r}; there are: {names}."
    return ToolResult(text, is_error=True, was_run=False)
