"""Tools: functions of the agent that the model may call."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio
import anyio.to_thread

from ...provider.conversation import Output, ToolCall, ToolSpec
from ...provider.handover.shortened import shortened_input
from ...provider.json_value import write_json
from ...provider.native_cancel import is_stray_cancellation
from .arguments import Arguments, BadArguments
from .output import bounded, clean, output_of
from .signature import description_of, is_async, name_of, parameters_of

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""The names that every provider accepts."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one call.

    Args:
        output: What the model is shown.
        is_error: The call failed, and *output* says why.
        was_run: False: the function was not called, because the arguments do not fit.
    """

    output: Output
    is_error: bool = False
    was_run: bool = True


LONGEST_INPUT = 500_000
"""Default for the bytes of one call's arguments.

OpenAI refuses a field of more than 1,048,576 characters. Source: openai/codex#13270.
"""


def bounded_call(call: ToolCall, longest: int) -> tuple[ToolCall, ToolResult] | None:
    """Return *call* with shortened arguments, and its result, which says so; None: it is not long.

    Args:
        longest: The bytes that its arguments may have as JSON.
    """
    size = len(write_json(call.input))
    if size <= longest:
        return None
    text = (
        f"{call.name!r} was not run: its arguments have {size} bytes, and at most {longest} can "
        "be given in one call. Give them in smaller pieces, in several calls."
    )
    return replace(call, input=shortened_input(call.input, longest)), ToolResult(
        text, is_error=True, was_run=False
    )


class Tool:
    """A function that the model may call.

    The model sees the type hints and defaults as a JSON Schema, and the docstring as the
    description. ``Annotated[..., Field(description=...)]`` describes one argument. The model
    neither sees nor changes an argument that a `functools.partial` has bound by name.

    A tool can be pickled if its function can: a function at the top of a module, or a method of
    what can be pickled.

    The function may be asynchronous. Any other runs in a worker thread and cannot be stopped from
    outside: a cancellation waits for it, and its result counts, however late, unless the function
    calls `anyio.from_thread.check_cancelled` itself.

    Args:
        function: A function, a method, a `functools.partial` or an object with ``__call__``. It
            returns a text, None, bytes, an `Image`, a list of texts and pictures, or data, which
            is then spelled as JSON.
        name: The name for the model; None: the function's.
        description: The description for the model; None: the docstring.
        timeout: Seconds until a call is cancelled, and the result says so; None: never.
        is_parallel: It may run at the same time as other calls of one answer.
        longest: Characters of output that the model is shown; the middle of more is left out.
        longest_input: Bytes of arguments, as JSON, that the model may give in one call. A call with
            more is not run, and is kept with shortened arguments, because APIs refuse a
            conversation with a field that is too long.

    Attributes:
        function: What is called.
        spec: Name, description and schema, as the model sees them.

    Raises:
        TypeError: The function cannot be a tool; the message says why.
    """

    def __init__(
        self,
        function: Callable[..., object],
        *,
        name: str | None = None,
        description: str | None = None,
        timeout: float | None = 600.0,
        is_parallel: bool = False,
        longest: int = 50_000,
        longest_input: int = LONGEST_INPUT,
    ) -> None:
        self.name = _checked_name(name_of(function) if name is None else name)
        if timeout is not None and not timeout > 0:
            raise TypeError(
                f"`timeout` of tool {self.name!r} must be a number of seconds above 0, or None "
                f"for no limit, got {timeout!r}"
            )
        if not longest > 0:
            raise TypeError(
                f"`longest` of tool {self.name!r} must be a number of characters above 0, "
                f"got {longest!r}"
            )
        if not longest_input > 0:
            raise TypeError(
                f"`longest_input` of tool {self.name!r} must be a number of bytes above 0, "
                f"got {longest_input!r}"
            )
        self.function = function
        self.longest_input = longest_input
        self.timeout = timeout
        self.is_parallel = is_parallel
        self.longest = longest
        try:
            self._arguments = Arguments(parameters_of(function))
        except TypeError as error:
            raise TypeError(f"{self.name!r} cannot be a tool: {error}") from error
        self._is_async = is_async(function)
        text = description_of(function) if description is None else description
        self.spec = ToolSpec(self.name, clean(text), self._arguments.schema)

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the model of the arguments, which cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "_arguments"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make the model of the arguments again."""
        vars(self).update(state)
        self._arguments = Arguments(parameters_of(self.function))

    async def run(self, input: Mapping[str, Any]) -> ToolResult:  # noqa: A002 - as ToolCall has it
        """Call the function with *input*, a JSON object; any failure is in the result.

        The caller's cancellation passes on, once the function has ended; so does every exception
        that is no `Exception`, such as `KeyboardInterrupt`. A cancellation that the function caused
        itself, by waiting for a task that was cancelled, is a failure in the result.
        """
        try:
            arguments = self._arguments.check(input)
        except Exception as error:  # noqa: BLE001 - whatever a validator raises is for the model
            why = str(error) if isinstance(error, BadArguments) else _message(error)
            return ToolResult(bounded(clean(why), self.longest), is_error=True, was_run=False)
        output, is_error = await self._outcome(arguments)
        return ToolResult(bounded(output, self.longest), is_error)

    async def _outcome(self, arguments: Mapping[str, Any]) -> tuple[Output, bool]:
        """Return what the model is shown, and whether it is an error."""
        try:
            with anyio.move_on_after(self.timeout):
                returned = await self._call(arguments)
                return _output_of(returned)
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is for the model
            return clean(_message(error)), True
        except BaseException as exc:
            if not is_stray_cancellation(exc):
                raise
            return f"{self.name!r} broke off: what it waited for was cancelled.", True
        return (
            f"{self.name!r} was stopped, because it had not ended after {self.timeout:g} s. "
            "What it did until then is done; ask it for less at once.",
            True,
        )

    async def _call(self, arguments: Mapping[str, Any]) -> object:
        call = functools.partial(self.function, **arguments)
        if self._is_async:
            returned = call()
        else:
            returned = await _call_in_thread(call)
        return await returned if inspect.isawaitable(returned) else returned


async def _call_in_thread(call: Callable[[], object]) -> object:
    """Return what *call* returns, or raise what it raises.

    A future of asyncio cannot raise every exception here: `GeneratorExit` would close the
    coroutines that await it. And trio lets no coroutine out of a thread, which a plain function may
    return. So the thread returns either in a list.
    """
    returned: list[object] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            returned.append(call())
        except BaseException as error:  # noqa: BLE001 - raised below
            raised.append(error)

    await anyio.to_thread.run_sync(run)
    if raised:
        raise raised.pop()
    return returned.pop()


def _output_of(returned: object) -> tuple[Output, bool]:
    """Return *returned* as output, and whether that failed: then the output says that it ran."""
    try:
        return output_of(returned), False
    except Exception as error:  # noqa: BLE001 - whatever its `str` raises
        why = clean(_message(error))
        return f"It ran to its end, but what it returned cannot be shown ({why}).", True


def tools_by_name(tools: Iterable[Tool | Callable[..., object]]) -> dict[str, Tool]:
    """Return *tools* by their names, in order; bare functions become tools.

    Raises:
        ValueError: Two have one name.
        TypeError: A function cannot be a tool.
    """
    named: dict[str, Tool] = {}
    for each in tools:
        tool = each if isinstance(each, Tool) else Tool(each)
        if tool.name in named:
            raise ValueError(
                f"two tools are named {tool.name!r}: give one another name, Tool(..., name=...)"
            )
        named[tool.name] = tool
    return named


def _checked_name(name: object) -> str:
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise TypeError(
        f"{name!r} cannot name a tool: give it a `name` of at most 64 letters, digits, "
        "'_' and '-', none of them accented"
    )


def _message(error: Exception) -> str:
    """Return the class and message of what a tool raised; of a group, of each exception."""
    if isinstance(error, ExceptionGroup):
        return "\n".join(_message(each) for each in error.exceptions)
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - an error without a readable message is still one
        message = ""
    name = type(error).__name__
    return f"{name}: {message}" if message else name
