"""``sidestep serve``: a local address for agents that cannot import sidestep."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import click

from ...provider.client.client import Client
from ...provider.error import ConfigError
from ...provider.log import logger
from ..serve.access import new_token
from ..serve.client_setup import ClientSetup
from ..serve.server import NEW_TOKEN, Serve
from ..step.middleware import Sidestep
from ..telemetry.export import exporting
from . import signals
from .exit_code import ExitCode
from .option import NonEmptyPath
from .terminal import log_to_stderr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyio.abc import Process

    from ..serve.served_step import Hold

PORT = 8504
NONE = "none"
_RECEIVED = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
DRAIN = 60.0
"""Seconds that the answers which are being sent may take after SIGTERM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """The options of `sidestep serve`.

    Args:
        port: None: 8504, or any free port for a command.
        token: A file with the token; ``none``: there is none; None: a new one.
        command: The client to start; empty: none.
    """

    port: int | None = None
    hold: Hold = "whole"
    token: str | None = None
    use_own_keys: bool = False
    store: Path | None = None
    journal: Path | None = None
    command: tuple[str, ...] = ()


@click.command(
    short_help="Listen at a local address for Claude Code and other agents.",
    help="""
    Listen at a local address that speaks the wires of Anthropic, OpenAI and Gemini, for agents that
    cannot import sidestep.

    Every provider is served under /PROVIDER, such as /anthropic/v1/messages. A request that fails
    is retried, then sent to a sibling, as the configuration says: SIDESTEP_FALLBACK_CONFIG,
    SIDESTEP_ROUTING_RULES, SIDESTEP_HINT, or MODEL_BASE_URL and the variables beside it.

    COMMAND is started as a client of the address. sidestep ends with its exit status:

    sidestep serve -- claude -p "Say hello."
    """,
)
@click.option(
    "--port", type=click.IntRange(0, 65535),
    help=f"Where to listen; 0 is any free port.  [default: {PORT}; with a COMMAND any free port]",
)  # fmt: skip
@click.option(
    "--hold", type=click.Choice(["whole", "first"]), default="whole", show_default=True,
    help="Hold an answer back until it is whole, or until its first output.",
)  # fmt: skip
@click.option(
    "--token", type=NonEmptyPath(), metavar="FILE|none",
    help="The file with the token that clients send in place of a key. A file that is missing is "
    "made. With the word none clients send their own keys. Without this option the token is new "
    "each time.",
)  # fmt: skip
@click.option(
    "--use-own-keys", is_flag=True,
    help="With --token none: send our keys to siblings, and for a client without a key.",
)  # fmt: skip
@click.option(
    "--store", type=NonEmptyPath(path_type=Path), metavar="FILE",
    help="Keep the answers of siblings in this file, for the next start.",
)  # fmt: skip
@click.option(
    "--journal", type=NonEmptyPath(path_type=Path), metavar="FILE",
    help="Append what happens to this file, for `check --journal`.",
)  # fmt: skip
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def serve(**options: Any) -> int:
    settings = ServeSettings(**options)
    if settings.use_own_keys and settings.token != NONE:
        raise click.UsageError(
            "--use-own-keys needs --token none: with a token our keys are used anyway"
        )
    return serve_until_end(settings, os.environ)


def serve_until_end(settings: ServeSettings, environ: Mapping[str, str]) -> int:
    """Serve until a signal comes, or the command ends; return the exit status.

    Raises:
        ConfigError: A file, the port or a setting of a provider cannot be used.
    """
    if settings.command:
        logger.addHandler(logging.NullHandler())  # the terminal is the client's
    else:
        log_to_stderr(has_notices=False)
    middleware = Sidestep.from_env(environ, journal=settings.journal)
    with exporting(middleware, environ, partial(click.echo, err=True)):
        if settings.command:
            return anyio.run(_serve, settings, environ, middleware)
        return signals.run(
            lambda: _serve(settings, environ, middleware),
            on_usr1=lambda: click.echo(f"status: {middleware.status()}", err=True),
        )


async def _serve(settings: ServeSettings, environ: Mapping[str, str], middleware: Sidestep) -> int:
    port = settings.port
    if port is None:
        port = 0 if settings.command else PORT
    token = NEW_TOKEN if settings.token is None else _token(settings.token)
    async with (
        Client(providers=middleware.providers, environ=environ) as client,
        Serve(
            middleware, client, port=port, hold=settings.hold, store=settings.store,
            use_own_keys=settings.use_own_keys, token=token,
        ) as server,
    ):  # fmt: skip
        setup = ClientSetup(server.url, server.token)
        if settings.command:
            return await _run_beside(server, settings.command, setup, environ)
        _print(setup)
        try:
            await server.stopped()
        finally:
            with anyio.CancelScope(shield=True):
                await server.drain(seconds=DRAIN)
    return ExitCode.DONE


def _print(setup: ClientSetup) -> None:
    click.echo(f"listening on {setup.url}")
    if sys.stdout is not None:
        sys.stdout.flush()
    click.echo("to lead a client here, paste its lines into the shell that it runs in:", err=True)
    for line in setup.lines():
        click.echo(line, err=True)
    click.echo(f"to see routes and steps, open {setup.page}", err=True)


async def _run_beside(
    server: Serve, command: Sequence[str], setup: ClientSetup, environ: Mapping[str, str]
) -> int:
    """Run *command*, and print what is wrong with the store, but not while the command runs."""
    if (before := server.trouble) is not None:
        click.echo(before, err=True)
    code = await _run(command, setup, environ)
    if (after := server.trouble) not in (None, before):
        click.echo(after, err=True)
    return code


async def _run(command: Sequence[str], setup: ClientSetup, environ: Mapping[str, str]) -> int:
    """Run *command* as a client of the address; return its exit status, as a shell would."""
    variables, full = setup.variables(environ), setup.command(command)
    click.echo(f"listening on {setup.url}; started with", err=True)
    for name, value in variables.items():
        shown = value if setup.token is None else value.replace(setup.token, "TOKEN")
        click.echo(f"export {name}={shlex.quote(shown)}", err=True)
    click.echo(shlex.join(full), err=True)
    if (note := setup.note(command)) is not None:
        click.echo(note, err=True)
    with _signals() as received:
        try:
            process = await anyio.open_process(
                full, stdin=None, stdout=None, stderr=None, env={**environ, **variables}
            )
        except OSError as error:
            why = (
                f"{command[0]!r} cannot be started ({error.strerror}): write one that is installed"
            )
            raise ConfigError(why) from None
        async with process, anyio.create_task_group() as tasks:
            tasks.start_soon(_pass_on, received, process)
            code = await process.wait()
            tasks.cancel_scope.cancel()
    return code if code >= 0 else 128 - code


def _signals() -> AbstractContextManager[AsyncIterator[signal.Signals] | None]:
    """Receive signals in place of Python; None: not on Windows."""
    return nullcontext() if sys.platform == "win32" else anyio.open_signal_receiver(*_RECEIVED)


async def _pass_on(received: AsyncIterator[signal.Signals] | None, process: Process) -> None:
    """Pass signals on to *process*, which Ctrl-C reaches from the terminal by itself."""
    if received is not None:
        async for number in received:
            if number != signal.SIGINT:
                process.send_signal(number)


def _token(value: str) -> str | None:
    """Return the token in the file *value*, which is made if it is not there.

    Raises:
        ConfigError: The file cannot be read or made, or is empty.
    """
    if value == NONE:
        return None
    try:
        return _made(value)
    except FileExistsError:
        pass
    except OSError as error:
        raise _unusable_token(value, f"made ({error.strerror})") from None
    try:
        found = Path(value).read_text("utf-8").strip()
    except OSError as error:
        raise _unusable_token(value, f"read ({error.strerror})") from None
    except UnicodeError:
        found = ""
    if len(found) < 16 or not found.isascii() or not found.isprintable() or " " in found:
        raise ConfigError(
            f"the token's file {value!r} must hold 16 characters of ASCII or more: remove it, and "
            "a new one is made"
        )
    if os.name != "nt" and Path(value).stat().st_mode & 0o077:
        click.echo(
            f"others can read the token in {value!r}: chmod 600 {shlex.quote(value)}", err=True
        )
    return found


def _unusable_token(path: str, why: str) -> ConfigError:
    return ConfigError(f"the token's file {path!r} cannot be {why}: name a file that can")


def _made(path: str) -> str:
    token = new_token()
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(f"{token}\n")
    click.echo(f"made the file {path!r}, which holds a new token", err=True)
    return token
