"""The spans of turns and tools of our own loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.context import get_current

from ...provider.delta import ToolCallEnded
from ...provider.route import Route
from ..event import ToolRunEnded, ToolRunStarted, TurnEnded
from ..observation import TurnStarted
from . import convention as name
from .content import answer_content, as_json, result_of, turn_content
from .scope import TaskScope, outer_context, scope_of
from .text import short_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer
    from opentelemetry.util.types import AnyValue

    from .instruments import Instruments

_CANCELLED = {"Cancelled", "CancelledError", "GeneratorExit", "KeyboardInterrupt"}


class TurnScope(TaskScope):
    """The part of a program that is a turn.

    Attributes:
        steps: How many steps it has taken, side calls among them.
        tools: How many tools it has run.
        inputs: The arguments of the calls that have not run yet, if content is captured.
    """

    def __init__(self, span: Span, outer: Context, started_at: int) -> None:
        super().__init__(span, outer)
        self.started_at = started_at
        self.steps = self.tools = 0
        self.inputs: dict[str, dict[str, Any]] = {}


class ToolScope(TaskScope):
    """The part of a program that is a tool."""

    def __init__(self, span: Span, outer: Context, call: ToolRunStarted, started_at: int) -> None:
        super().__init__(span, outer)
        self.call_id = call.id
        self.started_at = started_at


class TurnSpans:
    """Make a span of each turn, with a child for each tool.

    The span of a tool is a child of its turn, also if the tool runs while the answer still streams.

    Args:
        agent_name: What the agent is called; None: it has no name.
    """

    def __init__(
        self,
        tracer: Tracer,
        instruments: Instruments,
        *,
        now: Callable[[], int],
        capture_content: bool,
        agent_name: str | None,
    ) -> None:
        self._start_span = tracer.start_span
        self._instruments = instruments
        self._now = now
        self._capture_content = capture_content
        self._agent: dict[str, AnyValue] = {}
        if agent_name is not None:
            self._agent[name.AGENT_NAME] = agent_name = short_name(agent_name)
        self._title = " ".join(filter(None, (name.INVOKE_AGENT, agent_name)))

    @property
    def handlers(self) -> dict[type, Callable[[Any], None]]:
        """What handles each observation."""
        found: dict[type, Callable[[Any], None]] = {
            TurnStarted: self._turn_started,
            TurnEnded: self._turn_ended,
            ToolRunStarted: self._tool_started,
            ToolRunEnded: self._tool_ended,
        }
        return found | ({ToolCallEnded: self._call_written} if self._capture_content else {})

    def _turn_started(self, observed: TurnStarted) -> None:
        at, outer = self._now(), outer_context()
        found = {
            name.OPERATION: name.INVOKE_AGENT,
            name.REQUEST_MODEL: short_name(Route(observed.requested).model),
            **self._agent,
        }
        if self._capture_content:
            found |= turn_content(observed.prompt, observed.system)
        span = self._start_span(self._title, outer, attributes=found, start_time=at)
        TurnScope(span, outer, at).enter()

    def _turn_ended(self, event: TurnEnded) -> None:
        turn = scope_of(TurnScope, get_current())
        if turn is None:
            return  # it began before it was observed
        at, failed = self._now(), None
        found: dict[str, AnyValue] = {name.ROUTE: short_name(event.route)}
        if event.error is not None:
            failed = found[name.ERROR_TYPE] = _error_type(event.error["class"])
        elif self._capture_content:
            found |= answer_content(_text(event.text), "stop")
        turn.leave(found, failed=failed, at=at)
        self._measure(turn, failed, (at - turn.started_at) / 1e9)

    def _measure(self, turn: TurnScope, failed: str | None, seconds: float) -> None:
        ended = {} if failed is None else {name.ERROR_TYPE: failed}
        self._instruments.turn_seconds(
            seconds, {name.OPERATION: name.INVOKE_AGENT, **self._agent, **ended}
        )
        self._instruments.inference_calls(turn.steps, self._agent)
        self._instruments.tool_calls(turn.tools, self._agent)

    def _call_written(self, delta: ToolCallEnded) -> None:
        if (turn := scope_of(TurnScope, get_current())) is not None:
            turn.inputs[delta.id] = delta.input

    def _tool_started(self, event: ToolRunStarted) -> None:
        at, outer = self._now(), outer_context()
        parent, turn = outer, scope_of(TurnScope, outer)
        found: dict[str, AnyValue] = {
            name.OPERATION: name.EXECUTE_TOOL,
            name.TOOL_NAME: short_name(event.name),
            name.TOOL_TYPE: "function",
            name.TOOL_CALL_ID: short_name(event.id),
            **self._agent,
        }
        if turn is not None:
            turn.tools += 1
            parent = turn.around(turn.outer)
            if event.id in turn.inputs:
                found[name.TOOL_ARGUMENTS] = as_json(turn.inputs.pop(event.id))
        span = self._start_span(
            f"{name.EXECUTE_TOOL} {short_name(event.name)}", parent, attributes=found, start_time=at
        )
        ToolScope(span, outer, event, at).enter()

    def _tool_ended(self, event: ToolRunEnded) -> None:
        tool = scope_of(ToolScope, get_current())
        if tool is None or tool.call_id != event.id:
            return  # the call was not run
        at, failed = self._now(), None
        found: dict[str, AnyValue] = {}
        if event.state != "completed":
            failed = found[name.ERROR_TYPE] = _TOOL_ERRORS.get(event.state, "_OTHER")
        if self._capture_content and event.output is not None:
            found[name.TOOL_RESULT] = as_json(result_of(event.output))
        tool.leave(found, failed=failed, at=at)
        ended = {} if failed is None else {name.ERROR_TYPE: failed}
        self._instruments.tool_seconds(
            (at - tool.started_at) / 1e9,
            {
                name.TOOL_NAME: short_name(event.name),
                name.TOOL_TYPE: "function",
                **self._agent,
                **ended,
            },
        )


_TOOL_ERRORS = {"error": "tool_error", "interrupted": "cancelled"}


def _error_type(error: str) -> str:
    return "cancelled" if error in _CANCELLED else error


def _text(text: str) -> list[Any]:
    from ...provider.conversation import Text

    return [Text(text)]
