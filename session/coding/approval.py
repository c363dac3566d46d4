"""Asking whether a tool may do what the model wants."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import anyio

from .workspace import visible

MOST_SHOWN = 400
LONGEST_SHOWN = 500
MOST_COMPARED = 2000
_CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Request:
    """What the model wants to do.

    Args:
        tool: The name of the tool.
        what: The file that would be written, relative to the workspace, or the command.
        diff: What would change in the file; long ones are cut. None for a command.
    """

    tool: str
    what: str
    diff: str | None = None


Approve = Callable[[Request], Awaitable[bool]]
"""Say whether the tool may; what is not allowed is not done."""


async def require(approve: Approve, request: Request) -> None:
    """Return once *request* is allowed.

    Raises:
        PermissionError: It is not; the message is meant for the model.
    """
    if not await approve(request):
        raise PermissionError("the user did not allow this")


async def approve_all(request: Request) -> bool:
    """Allow everything, unasked."""
    return True


def ask_in_terminal() -> Approve:
    """Return what asks the person at the terminal, one question at a time.

    It can be told to allow everything from then on. Where stdin is closed or no terminal, nothing
    is allowed.
    """
    return _Terminal().ask


class _Terminal:
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
        _forget_typed(stdin)
        while True:
            click.echo("Allow this? [y]es, [N]o, [a]ll from now on: ", err=True, nl=False)
            typed = await _line(stdin)
            answer = typed.strip().lower()
            if not answer or answer in {"y", "yes", "n", "no", "a", "all"}:
                return answer[:1]


def _show(request: Request) -> None:
    import click

    # Whole, however long it is: what is allowed must have been seen.
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


def _forget_typed(stdin: int) -> None:
    """Drop what was typed before the question could be read."""
    import termios

    with suppress(termios.error):
        termios.tcflush(stdin, termios.TCIFLUSH)


async def _line(stdin: int) -> str:
    """Read a line; empty at the end of the input.

    Not by a thread: one that waits for the keyboard cannot be cancelled, and would hold up the
    end of the program.
    """
    await anyio.wait_readable(stdin)
    try:
        return os.read(stdin, 4096).decode(errors="replace").partition("\n")[0]
    except OSError:
        return ""


def diff_of(name: str, before: bytes | None, after: bytes) -> str:
    """Return what changes as a unified diff, its first 400 lines.

    Args:
        before: None where there is no file yet.
    """
    if before is not None and b"\0" in before:
        return f"(a binary file of {len(before):,} bytes is replaced by {len(after):,} bytes)"
    header = [f"--- {'/dev/null' if before is None else f'a/{name}'}", f"+++ b/{name}"]
    lines = [*header, *_hunks(_lines(before or b""), _lines(after))]
    shown = [_cut(line) for line in lines[:MOST_SHOWN]]
    if len(lines) > MOST_SHOWN:
        shown.append(f"… {len(lines) - MOST_SHOWN:,} more lines are not shown")
    return "\n".join(shown)


def _lines(content: bytes) -> list[str]:
    *lines, last = content.decode(errors="replace").split("\n")
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


def _hunks(old: list[str], new: list[str]) -> list[str]:
    """Compare only what lies between the first change and the last; it may take very long."""
    most = min(len(old), len(new))
    same = next((at for at in range(most) if old[at] != new[at]), most)
    ends = (at for at in range(most - same) if old[-1 - at] != new[-1 - at])
    end = next(ends, most - same)
    if max(len(old), len(new)) - same - end > MOST_COMPARED:
        old, new = old[same : len(old) - end], new[same : len(new) - end]
        head = f"@@ -{same + 1},{len(old)} +{same + 1},{len(new)} @@"
        return [head, *(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    skipped, left = max(0, same - _CONTEXT), max(0, end - _CONTEXT)
    old, new = old[skipped : len(old) - left], new[skipped : len(new) - left]
    lines = list(difflib.unified_diff(old, new, n=_CONTEXT, lineterm=""))[2:]
    return [_moved(line, skipped) if line.startswith("@@ ") else line for line in lines]


def _moved(head: str, by: int) -> str:
    return re.sub(r"([-+])(\d+)", lambda place: f"{place[1]}{int(place[2]) + by}", head)


def _cut(line: str) -> str:
    if len(line) <= LONGEST_SHOWN:
        return line
    return f"{line[:LONGEST_SHOWN]}… ({len(line) - LONGEST_SHOWN:,} more characters)"
