"""Asking a person whether a tool may do what the model wants."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import anyio

from .workspace import visible


@dataclass(frozen=True, slots=True)
class Request:
    """What the model wants to do.

    Args:
        tool: The name of the tool.
        what: The file that would be written, relative to the workspace, or the command.
        diff: What would change in the file, shortened; None: it is a command.
    """

    tool: str
    what: str
    diff: str | None = None


Approve = Callable[[Request], Awaitable[bool]]
"""Returns whether the tool may do it; otherwise it does nothing."""


async def require(approve: Approve, request: Request) -> None:
    """Return once *request* is allowed.

    Raises:
        PermissionError: It is refused; the message is for the model.
    """
    if not await approve(request):
        raise PermissionError("the user did not allow this")


async def approve_all(request: Request) -> bool:
    """Allow everything without asking."""
    return True


def ask_in_terminal() -> Approve:
    """Return a function that asks the person at the terminal, one question at a time.

    The person may allow everything from then on. If stdin is closed or no terminal, nothing is
    allowed.
    """
    return _TerminalPrompt().ask


class _TerminalPrompt:
    def __init__(self) -> None:
        self._is_all_allowed = False
        self._turn = anyio.Lock()

    async def ask(self, request: Request) -> bool:
        async with self._turn:
            if self._is_all_allowed:
                return True
            _show(request)
            answer = await self._answer()
            self._is_all_allowed = answer == "a"
        return answer in {"a", "y"}

    async def _answer(self) -> str:
        import click

        stdin = _terminal_input()
        if stdin is None:
            click.echo("Not allowed: stdin is no terminal, so nobody can be asked.", err=True)
            return "n"
        _discard_typeahead(stdin)
        while True:
            click.echo("Allow this? [y]es, [N]o, [a]ll from now on: ", err=True, nl=False)
            typed = await _line(stdin)
            answer = typed.strip().lower()
            if not answer or answer in {"y", "yes", "n", "no", "a", "all"}:
                return answer[:1]


def _show(request: Request) -> None:
    import click

    # Never shortened, because a person must see all of what they allow.
    what = visible(request.what, keep="\n\t").replace("\n", "\n    ")
    click.echo(f"\nThe model asks for {request.tool}: {what}", err=True)
    for line in (request.diff or "").split("\n") if request.diff else ():
        color = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        click.secho(visible(line, keep="\t"), fg=color, err=True)


def _terminal_input() -> int | None:
    try:
        stdin = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        return None
    return stdin if os.isatty(stdin) else None


def _discard_typeahead(stdin: int) -> None:
    """Discard what was typed before the question was shown."""
    import termios

    with suppress(termios.error):
        termios.tcflush(stdin, termios.TCIFLUSH)


async def _line(stdin: int) -> str:
    """Return a line; empty at the end of the input.

    No thread reads it, because a thread that waits for the keyboard cannot be cancelled and would
    delay the end of the program.
    """
    await anyio.wait_readable(stdin)
    try:
        return os.read(stdin, 4096).decode(errors="replace").partition("\n")[0]
    except OSError:
        return ""
