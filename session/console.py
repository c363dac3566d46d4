"""One turn in a terminal: the answer to stdout, what befell it to stderr."""

from __future__ import annotations

import json
import logging
import os
import time
from typing import TYPE_CHECKING

import anyio
import click

from ..provider.catalog import catalog, providers_from_env
from ..provider.client import Client
from ..provider.delta import ReasoningDelta, TextDelta, ToolCallEnded, ToolCallStarted
from ..provider.error import ProviderError
from .error import StepFailed
from .event import (
    AttemptFailed,
    AttemptStarted,
    CandidateSkipped,
    PartsRetracted,
    ProbeEnded,
    ProbeStarted,
    RouteDegraded,
    StepEnded,
    StepStarted,
    Swapped,
    TurnEnded,
    Waiting,
    to_json,
)
from .middleware import Sidestep
from .turn import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..provider.route import Route
    from .event import Event


def take_turn(
    prompt: str,
    route: Route,
    environ: Mapping[str, str] = os.environ,
    *,
    system: str | None = None,
    max_output_tokens: int | None = None,
    deadline: float | None = None,
    is_streamed: bool = True,
    is_json: bool = False,
) -> int:
    """Answer *prompt*, and return the exit status.

    Raises:
        ConfigError: The providers in the environment are wrong.
        click.UsageError: The provider of *route* is not known.
        KeyboardInterrupt: The person pressed Ctrl-C; the connection is closed.
    """
    middleware = Sidestep.from_env(environ)
    _log_to_stderr()
    config = middleware.config
    overrides = {**(config.providers if config else {}), **providers_from_env(environ)}
    providers = catalog(overrides)
    if route.provider not in providers:
        raise click.UsageError(
            f"{route.provider!r} is no provider that sidestep knows: take one of "
            f"{', '.join(sorted(providers))}, or add it to SIDESTEP_PROVIDERS"
        )

    async def turn() -> None:
        async with Client(providers=providers, environ=environ) as client:
            session = Session(
                route, middleware=middleware, client=client, system=system,
                max_output_tokens=max_output_tokens,
                on_event=_print_json if is_json else Printer(is_streamed=is_streamed),
            )  # fmt: skip
            await session.turn(prompt, deadline=deadline)

    try:
        anyio.run(turn)
    except (ProviderError, StepFailed, TimeoutError) as error:
        if not is_json:
            click.echo(f"Error: {_told(error)}", err=True)
        return 1
    return 0


def _told(error: Exception) -> str:
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def _log_to_stderr() -> None:
    """Show what the library would log: above all a configuration that is ignored."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    handler.addFilter(lambda record: not record.getMessage().startswith("[model-fallback]"))
    logging.getLogger("sidestep").addHandler(handler)


def _print_json(event: Event) -> None:
    click.echo(json.dumps(to_json(event), ensure_ascii=False))


class Printer:
    """Print text as it comes, and a notice of whatever delays or moves it.

    Args:
        is_streamed: False holds the text back until the turn has ended.
    """

    def __init__(self, *, is_streamed: bool = True) -> None:
        self._is_streamed = is_streamed
        self._is_mid_line = False

    def __call__(self, event: Event) -> None:
        match event:
            case TextDelta():
                if self._is_streamed:
                    self._write(event.text)
            case TurnEnded():
                self._end(event)
            case PartsRetracted():
                if self._is_mid_line:
                    self._write("\n")
                    self._note("that is void: the attempt failed, and the answer begins again")
            case StepStarted() if event.route != event.requested:
                self._note(f"{event.requested} is degraded: starting on {event.route}")
            case Waiting():
                self._note(f"retrying {event.route} in {event.seconds:.1f} s ({event.failure})")
            case RouteDegraded():
                until = time.strftime("%H:%M:%S", time.localtime(time.time() + event.seconds))
                self._note(f"{event.route} degraded until {until} ({event.seconds:.0f} s)")
            case Swapped():
                count = f"swap {event.swaps} of {event.max_swaps}"
                self._note(f"switched to {event.route}, {count} ({event.failure})")
            case ProbeStarted():
                self._note(f"trying {event.route} again after its cooldown")
            case (
                AttemptStarted() | AttemptFailed() | CandidateSkipped() | ProbeEnded() | StepEnded()
                | StepStarted() | ReasoningDelta() | ToolCallStarted() | ToolCallEnded()
            ):  # fmt: skip
                pass

    def _end(self, event: TurnEnded) -> None:
        if not self._is_streamed and event.error is None:
            self._write(event.text)
        if self._is_mid_line:
            self._write("\n")
        if event.error is None and event.route != event.requested:
            self._note(f"answered by {event.route}")

    def _write(self, text: str) -> None:
        if text:
            click.echo(text, nl=False)
            self._is_mid_line = not text.endswith("\n")

    def _note(self, text: str) -> None:
        if self._is_mid_line:
            self._write("\n")
        click.echo(f"sidestep: {text}", err=True)
