"""The ``sidestep`` command."""

from __future__ import annotations

import difflib
import io
import os
import sys

import click

from ... import __version__
from ...provider.error import ConfigError, InstallError
from ...provider.secret import redact_shapes
from .exit_code import ExitCode
from .outlived_signal import outlive_usr1


class _Commands(click.Group):
    """Import a command only when it is used, because some of them import a lot.

    Each import is spelled out: a tool that freezes an application finds no computed name.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return ["check", "drill", "explain", "render", "run", "serve", "stub"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name; None: there is none."""
        match cmd_name:
            case "check":
                from .check import check as command
            case "drill":
                from .drill import drill as command
            case "explain":
                from .explain import explain as command
            case "render":
                from .render import render as command
            case "run":
                outlive_usr1()  # the import takes long
                from .run import run as command
            case "serve":
                outlive_usr1()
                from .serve import serve as command
            case "stub":
                from .stub import stub as command
            case _:
                return None
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that *args* begin with, and the rest of them.

        Raises:
            click.UsageError: There is no such command; the error names a similar one.
        """
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            ctx.fail(f"No such command {name!r}.{_meant(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


def _meant(name: str, commands: list[str]) -> str:
    """Return a hint at what *name* may mean, a drill or one of *commands*; empty: neither."""
    from ..drill.drill import list_drills

    if name in {drill.name for drill in list_drills()}:
        return f" Did you mean `sidestep drill {name}`?"
    close = difflib.get_close_matches(name, commands, n=1)
    return f" Did you mean `sidestep {close[0]}`?" if close else ""


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Keep a coding agent's turn alive while a model provider fails.",
)
@click.version_option(__version__, prog_name="sidestep")
def cli() -> None:
    pass


def main() -> None:
    """Run the command, and exit."""
    try:
        code = cli.main(standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        code = ExitCode.INTERRUPTED
    except click.ClickException as error:
        _print_usage_error(error)
        code = error.exit_code
    except ConfigError as error:
        click.echo(f"Error: {error}", err=True)
        code = ExitCode.USAGE
    except InstallError as error:
        click.echo(f"Error: {error}", err=True)
        code = ExitCode.FAILED
    except OSError as error:
        _print_file_error(error)
        code = ExitCode.FAILED
    sys.exit(int(code) if isinstance(code, int) else 0)


def _print_usage_error(error: click.ClickException) -> None:
    """Print what was typed wrong, redacted: a key may have been typed in the wrong place."""
    text = io.StringIO()
    error.show(text)
    click.echo(redact_shapes(text.getvalue()), err=True, nl=False)


def _print_file_error(error: OSError) -> None:
    """Report what happened to a file, or to stdout if the error names no file.

    Nothing is said if the reader of stdout left, and nothing is written at exit.
    """
    if error.filename is not None:
        click.echo(redact_shapes(f"Error: {error.filename!r}: {error.strerror}"), err=True)
        return
    if not isinstance(error, BrokenPipeError):
        click.echo(f"Error: the output cannot be written ({error.strerror})", err=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
