"""``sidestep run``: one turn in a terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click

from ...provider.catalog.catalog import unknown_provider
from ...provider.client.client import Client
from ...provider.error import ConfigError, ProviderError
from ...provider.secret import redact_shapes
from ..error import StepFailed, StoreError
from ..event import Event, Listener
from ..plan.retry import RetryPolicy
from ..step.middleware import Sidestep
from ..telemetry.export import exporting
from ..turn.compaction import Summary
from ..turn.session import Session
from . import signals
from .exit_code import ExitCode
from .input_file import open_stdin
from .option import Duration, NonEmptyPath, Seconds, as_json, budget_option
from .printer import Printer, print_json
from .run_setup import RunSettings
from .terminal import log_to_stderr, printable


@click.command(
    short_help="Take a turn with coding tools.",
    help="""
    Take a turn: send PROMPT to the model, and print the answer. - reads the prompt from stdin.

    Notices go to stderr: of retries, of swaps, of a sibling that is passed over, of an answer
    above that is void.

    The key is read from the provider's own variable, such as OPENROUTER_API_KEY. The configuration
    says where the turn may go: SIDESTEP_FALLBACK_CONFIG, SIDESTEP_ROUTING_RULES, SIDESTEP_HINT, or
    MODEL_BASE_URL and the variables beside it. SIDESTEP_PROVIDERS adds providers.

    A KEY of a budget is attempts, input-tokens, output-tokens, money (in US dollars) or seconds.
    """,
)
@click.argument("prompt")
@click.option(
    "--model", required=True, metavar="PROVIDER/MODEL",
    help="The route to ask for, or the name of a chain.",
)  # fmt: skip
@click.option("--system", help="Instructions that stand before the conversation.")
@click.option("--max-output-tokens", type=click.IntRange(min=1), help="Longest answer, in tokens.")
@click.option(
    "--deadline", type=Seconds(min=0, min_open=True), help="Seconds after which to give up."
)
@click.option(
    "--patience", type=Duration(), metavar="DURATION",
    help="How long a step may wait for a route to come back when every route is out, such as 4h.",
)  # fmt: skip
@budget_option("--budget", help="What the turn may spend, such as attempts=40; several times.")
@budget_option(
    "--session-budget", help="What all turns in the --session file may spend, such as money=10."
)
@click.option(
    "--workspace",
    type=NonEmptyPath(path_type=Path),
    metavar="DIR",
    help="Give the model tools to read, write and run things in this folder.",
)
@click.option(
    "--yes", "approve_all", is_flag=True, help="Do not ask before a tool writes or runs something."
)
@click.option(
    "--session",
    type=NonEmptyPath(path_type=Path),
    metavar="FILE",
    help="Keep the conversation in this file.",
)
@click.option("--resume", is_flag=True, help="Go on with the conversation in the --session file.")
@click.option(
    "--journal",
    type=NonEmptyPath(path_type=Path),
    metavar="FILE",
    help="Append what happens to this file, for `check --journal`.",
)
@click.option(
    "--status",
    "shows_status",
    is_flag=True,
    help="Print the state of every route to stderr at the end. SIGUSR1 prints it at once.",
)
@click.option("--no-stream", is_flag=True, help="Print the answer only once it is complete.")
@as_json
def run(**options: Any) -> int:
    return take_turn(_checked(RunSettings(**options)), os.environ)


def _checked(settings: RunSettings) -> RunSettings:
    """Return *settings* with the prompt of stdin, if they go together."""
    if settings.resume and settings.session is None:
        raise click.UsageError("--resume needs --session FILE: name the file to go on with")
    if settings.approve_all and settings.workspace is None:
        raise click.UsageError("--yes needs --workspace DIR: without one there are no tools")
    if settings.prompt == "-":
        prompt = open_stdin("write PROMPT itself, or lead it into it").read()
        settings = replace(settings, prompt=prompt)
    if not settings.prompt.strip():
        raise click.UsageError("PROMPT is empty: write what the model is to do, or - for stdin")
    return settings


def take_turn(settings: RunSettings, environ: Mapping[str, str]) -> int:
    """Answer the prompt, and return the exit status.

    Raises:
        ConfigError: The providers in the environment are wrong, or the workspace, the file of
            the session, the journal or stdout cannot be used; or a budget limits money, and
            nothing knows prices.
        click.UsageError: The model is neither a route nor the name of a chain, or its provider is
            not known.
        KeyboardInterrupt: The person pressed Ctrl-C; the connection is closed.
    """
    if sys.stdout is None:
        raise ConfigError("stdout is closed, so that nobody would get the answer: leave it open")
    printer = _printer(settings)
    policy = RetryPolicy(patience=settings.patience)
    middleware = Sidestep.from_env(environ, policy=policy, journal=settings.journal)
    _check_model(settings.model, middleware)
    show_status = partial(_show_status, middleware, printer, is_json=settings.is_json)
    try:
        with exporting(middleware, environ, partial(click.echo, err=True)):
            signals.run(
                lambda: _take_turn(settings, environ, middleware, printer), on_usr1=show_status
            )
    except (ProviderError, StepFailed, StoreError, TimeoutError) as error:
        if not settings.is_json:
            click.echo(f"Error: {printable(redact_shapes(_with_notes(error)))}", err=True)
        return ExitCode.FAILED
    finally:
        if settings.shows_status:
            show_status()
    return ExitCode.DONE


def _show_status(middleware: Sidestep, printer: Listener, *, is_json: bool) -> None:
    """Print the state of every route to stderr, in one line."""
    if isinstance(printer, Printer):
        printer.end_line()
    status = middleware.status()
    text = json.dumps(status.to_json()) if is_json else f"status: {status}"
    click.echo(printable(redact_shapes(text)), err=True)


def _printer(settings: RunSettings) -> Listener:
    """Return the listener that prints events; log lines never interrupt a line of the answer."""
    if settings.is_json:
        log_to_stderr()
        return print_json
    printer = Printer(is_streamed=not settings.no_stream)
    log_to_stderr(before=printer.end_line)
    return printer


def _check_model(model: str, middleware: Sidestep) -> None:
    providers = middleware.providers
    try:
        route = middleware.requested(model)
    except ValueError as error:
        raise click.UsageError(f"--model: {error}") from None
    if route.provider not in providers:
        raise click.UsageError(unknown_provider(route.provider, providers))


async def _take_turn(
    settings: RunSettings, environ: Mapping[str, str], middleware: Sidestep, printer: Listener
) -> None:
    providers = middleware.providers
    tools = settings.tools(environ, providers)
    output = Output(printer)
    async with (
        settings.open_store() as store,
        Client(providers=providers, environ=environ) as client,
    ):
        session = Session(
            settings.model,
            middleware=middleware,
            client=client,
            system=settings.instructions,
            tools=tools,
            store=store,
            max_output_tokens=settings.max_output_tokens,
            budget=settings.budget,
            session_budget=settings.session_budget,
            compact=Summary(),
            on_event=output,
        )
        with output.scope:
            await session.turn(settings.prompt, deadline=settings.deadline)
    if output.error is not None:
        raise output.error


class Output:
    """Print the events of a turn, and end the turn once nothing can be written any more.

    An answer that nobody can read must not go on being paid for.
    """

    def __init__(self, printer: Listener) -> None:
        self._printer = printer
        self.scope = anyio.CancelScope()
        self.error: OSError | None = None

    def __call__(self, event: Event) -> None:
        """Print *event*."""
        if self.error is not None:
            return
        try:
            self._printer(event)
        except OSError as error:
            self.error = error
            self.scope.cancel()


def _with_notes(error: Exception) -> str:
    return "\n".join([str(error), *getattr(error, "__notes__", ())])
