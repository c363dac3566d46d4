"""A process that ends with all that it started, also if our own process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import IO, TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
    from pathlib import Path

    from anyio.abc import Process

_GUARD = """
read -r group && { read -r _
for _ in 1 2 3; do
    kill -9 "-$group"
    for stat in /proc/[0-9]*/stat; do
        read -r line <"$stat" || continue
        set -- ${line##*) }
        [ "$4" = "$group" ] && kill -9 "${line%% *}"
    done
done; }
"""
"""The program of the guard. It does what `_kill` does once stdin is closed, because our process has
ended."""
_LEADER = 'read -r _ && exec "$@"'
"""Become the command once the guard knows the group; end if our process has ended before."""


@asynccontextmanager
async def process_group(
    command: Sequence[str],
    *,
    has_input: bool,
    stdout: int,
    stderr: int,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[Process]:
    """Run *command* in a process group of its own, and kill the group on leaving.

    The group is also killed if our own process ends in any way, even by SIGKILL. A process that
    leaves the session of the group on purpose, as a daemon does, is not ended.

    Args:
        has_input: False: the command reads nothing. True: it reads what is sent to its `stdin`.
        stdout: A file descriptor, or a constant of `subprocess`; as is *stderr*.
        env: None: our own variables.
    """
    leader = _LEADER if has_input else f"{_LEADER} </dev/null"
    with _guard() as guarded, anyio.CancelScope(shield=True) as scope:
        process = await anyio.open_process(
            ["/bin/sh", "-c", leader, "sh", *command],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
        try:
            await _start(process, guarded)
            scope.shield = False
            yield process
        finally:
            # `Process.kill` would look whether the process has ended, and so take its status away
            # from the event loop, which then reports an unknown child.
            _kill(process.pid)
            scope.shield = True
            await process.aclose()


async def _start(process: Process, guarded: IO[bytes]) -> None:
    """Let *process* become the command, unless another program has killed it."""
    assert process.stdin is not None  # noqa: S101
    with suppress(BrokenPipeError, anyio.BrokenResourceError):
        guarded.write(b"%d\n" % process.pid)
        await process.stdin.send(b"\n")


@contextmanager
def _guard() -> Iterator[IO[bytes]]:
    """Start a guard, and yield its stdin, which takes the number of the group to kill."""
    with subprocess.Popen(  # noqa: S603 - the script above
        ["/bin/sh", "-c", _GUARD],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        bufsize=0,
        start_new_session=True,
    ) as guard:
        assert guard.stdin is not None  # noqa: S101
        try:
            yield guard.stdin
        finally:
            guard.kill()


def _kill(group: int) -> None:
    """Kill a group, and on Linux also the groups that its members have made, as ``timeout`` does.

    All these groups are in one session of the operating system, which the first group began.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    killed: set[int] = set()
    while left := {each for each in _processes() if _session(each) == group} - killed:
        for process in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        killed |= left


def _processes() -> Iterator[int]:
    """Yield the number of every process, on Linux."""
    with suppress(OSError):
        yield from (int(name) for name in os.listdir("/proc") if name.isdigit())


def _session(process: int) -> int | None:
    try:
        return os.getsid(process)
    except OSError:  # the process has ended meanwhile
        return None
