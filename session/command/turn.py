"""One turn in a terminal: the answer to stdout, what befell it to stderr."""

from __future__ import annotations

import difflib
import json
import logging
import re
import sys
import time
from typing import TYPE_CHECKING, Any

import anyio
import click

from ...provider.client.client import Client
from ...provider.delta import ReasoningDelta, TextDelta, ToolCallEnded, ToolCallStarted
from ...provider.error import ConfigError, ProviderError
from ...provider.secret import masked
from ..error import StepFailed, StoreError
from ..event import (
    AttemptFailed,
    AttemptStarted,
    CandidateSkipped,
    Compacted,
    PartsRetracted,
    ProbeEnded,
    ProbeStarted,
    Repaired,
    RouteDegraded,
    StepEnded,
    StepStarted,
    Swapped,
    ToolRunEnded,
    ToolRunStarted,
    TurnEnded,
    Waiting,
    to_json,
)
from ..skip_reason import PASSING, without_numbers
from ..step.middleware import Sidestep
from ..turn.compaction import Summary
from ..turn.session import Session
from . import signals as interrupt
from .run_setup import Desk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ...provider.conversation import Output
    from ..cost.budget import Budget
    from ..event import Event, Listener

_BRIEF = 60
"""Characters of a tool's arguments that a notice shows."""
# The control characters of ASCII and Latin-1, but for the tab and the ends of lines.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def take_turn(
    prompt: str,
    asked: str,
    environ: Mapping[str, str],
    *,
    system: str | None = None,
    max_output_tokens: int | None = None,
    deadline: float | None = None,
    budget: Budget | None = None,
    session_budget: Budget | None = None,
    desk: Desk | None = None,
    is_streamed: bool = True,
    is_json: bool = False,
    journal: Path | None = None,
) -> int:
    """Answer *prompt*, and return the exit status.

    Raises:
        ConfigError: The providers in the environment are wrong, or the workspace, the file of
            the session, the journal or stdout cannot be used; or a budget limits money, and
            nothing knows prices.
        click.UsageError: *asked* is neither a route nor the name of a chain, or its provider is
            not known.
        KeyboardInterrupt: The person pressed Ctrl-C; the connection is closed.
    """
    _log_to_stderr()
    if sys.stdout is None:
        raise ConfigError("stdout is closed, so that nobody would get the answer: leave it open")
    middleware = Sidestep.from_env(environ, journal=journal)
    providers = middleware.providers
    try:
        route = middleware.requested(asked)
    except ValueError as error:
        raise click.UsageError(f"--model: {error}") from None
    if route.provider not in providers:
        close = difflib.get_close_matches(route.provider, providers, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise click.UsageError(
            f"{route.provider!r} is no provider that sidestep knows{hint}: take one of "
            f"{', '.join(sorted(providers))}, or add it to SIDESTEP_PROVIDERS"
        )

    printer = _print_json if is_json else Printer(is_streamed=is_streamed)
    desk = Desk() if desk is None else desk
    tools = desk.tools(environ, providers)

    async def turn() -> None:
        output = _Output(printer)
        async with (
            desk.open_store() as store,
            Client(providers=providers, environ=environ) as client,
        ):
            session = Session(
                asked,
                middleware=middleware,
                client=client,
                system=system or desk.instructions,
                tools=tools,
                store=store,
                max_output_tokens=max_output_tokens,
                budget=budget,
                session_budget=session_budget,
                compact=Summary(),
                on_event=output,
            )
            with output.scope:
                await session.turn(prompt, deadline=deadline)
        if output.error is not None:
            raise output.error

    try:
        interrupt.run(turn)
    except (ProviderError, StepFailed, StoreError, TimeoutError) as error:
        if not is_json:
            click.echo(f"Error: {printable(masked(_told(error)))}", err=True)
        return 1
    return 0


class _Output:
    """Where a turn's events go; it ends the turn once nothing can be written any more.

    An answer that nobody can read must not go on being paid for.
    """

    def __init__(self, printer: Listener) -> None:
        self._printer = printer
        self.scope = anyio.CancelScope()
        self.error: OSError | None = None

    def __call__(self, event: Event) -> None:
        if self.error is not None:
            return
        try:
            self._printer(event)
        except OSError as error:
            self.error = error
            self.scope.cancel()


def _told(error: Exception) -> str:
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def _log_to_stderr() -> None:
    """Show what the library would log: above all a configuration that is ignored."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    handler.addFilter(lambda record: not record.getMessage().startswith("[model-fallback]"))
    logging.getLogger("sidestep").addHandler(handler)


def _print_json(event: Event) -> None:
    sys.stdout.write(json.dumps(to_json(event), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def printable(text: str) -> str:
    """Return *text* without what would steer a terminal; providers and models write it."""
    return _CONTROL.sub("�", text)


def _brief(arguments: Mapping[str, Any]) -> str:
    """Say in half a line what a tool was asked for."""
    said = ", ".join(str(value).partition("\n")[0] for value in arguments.values())
    return said if len(said) <= _BRIEF else f"{said[: _BRIEF - 1]}…"


def _reason(output: Output | None) -> str:
    said = output.partition("\n")[0] if isinstance(output, str) else ""
    return f" ({said})" if said else ""


class Printer:
    """Print text as it comes, and a notice of whatever delays or moves it.

    Args:
        is_streamed: False holds the text back until the turn has ended.
    """

    def __init__(self, *, is_streamed: bool = True) -> None:
        self._is_streamed = is_streamed
        self._is_terminal = sys.stdout.isatty()
        self._is_mid_line = False
        self._has_shown = False
        self._asked: dict[str, Mapping[str, Any]] = {}
        self._passed_over: set[tuple[str, str]] = set()

    def __call__(self, event: Event) -> None:
        match event:
            case TextDelta():
                if self._is_streamed:
                    self._write(event.text)
            case ToolCallEnded():
                self._asked[event.id] = event.input
            case ToolRunStarted():
                self._note(f"{event.name} {_brief(self._asked.get(event.id, {}))}")
            case ToolRunEnded() if event.state != "completed":
                self._note(f"{event.name}: {event.state}{_reason(event.output)}")
            case Compacted():
                self._note(
                    f"the conversation was too long: {event.before} messages became a summary"
                )
            case TurnEnded():
                self._end(event)
            case AttemptStarted():
                self._has_shown = False
            case PartsRetracted():
                if self._has_shown:
                    self._note("the answer above is void: its attempt failed")
            case StepStarted() if event.route != event.requested:
                self._note(f"{event.requested} is degraded: starting on {event.route}")
            case Waiting():
                self._note(f"retrying {event.route} in {event.seconds:.1f} s ({event.failure})")
            case RouteDegraded():
                until = time.strftime("%H:%M:%S", time.localtime(time.time() + event.seconds))
                self._note(f"{event.route} degraded until {until} ({event.seconds:.0f} s)")
            case CandidateSkipped() if event.reason not in PASSING:
                self._pass_over(event)
            case Swapped():
                count = f"swap {event.swaps} of {event.max_swaps}"
                self._note(f"switched to {event.route}, {count} ({event.failure})")
            case Repaired():
                self._note(f"asking {event.route} once more: {event.change} ({event.failure})")
            case ProbeStarted():
                self._note(f"trying {event.route} again after its cooldown")
            case (
                AttemptFailed() | CandidateSkipped() | ProbeEnded() | StepEnded() | StepStarted()
                | ReasoningDelta() | ToolCallStarted() | ToolRunEnded()
            ):  # fmt: skip
                pass

    def _pass_over(self, event: CandidateSkipped) -> None:
        """Say once in a turn why a route was passed over, whatever the numbers in it."""
        told = event.route, without_numbers(event.reason)
        if told not in self._passed_over:
            self._passed_over.add(told)
            self._note(f"{event.route} is passed over: {event.reason}")

    def _end(self, event: TurnEnded) -> None:
        self._passed_over.clear()
        if not self._is_streamed and event.error is None:
            self._write(event.text)
        self._end_line()
        if event.error is None and event.route != event.requested:
            self._note(f"answered by {event.route}")

    def _write(self, text: str) -> None:
        if text:
            sys.stdout.write(printable(text) if self._is_terminal else text)
            sys.stdout.flush()
            self._is_mid_line = not text.endswith("\n")
            self._has_shown = True

    def _end_line(self) -> None:
        if self._is_mid_line:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._is_mid_line = False

    def _note(self, text: str) -> None:
        self._end_line()
        click.echo(f"sidestep: {printable(masked(text))}", err=True)
