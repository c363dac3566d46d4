"""The tool that runs a command."""

# Annotations are not postponed, because a schema is made of them at run time.

import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Annotated

import anyio
from anyio.abc import Process
from pydantic import Field

from ...provider.secret import is_secret_name
from .approval import Approve, Request, require
from .process_group import process_group

LONGEST_TIMEOUT = 600.0
MOST_BYTES = 30_000
_CHUNK = 65_536
_MOST_DRAINED = 64
_OURS = "SIDESTEP_"
"""The prefix of our own variables; some of them hold keys."""

Command = Annotated[str, Field(description="What the shell is to run.")]
Timeout = Annotated[
    float, Field(gt=0, le=LONGEST_TIMEOUT, description="Seconds until the command is stopped.")
]


class ShellTool:
    """Run commands in a folder, each in a process group of its own that ends with it.

    A process that leaves its session on purpose, as a daemon does, is not ended.

    Args:
        root: Where commands start; they may leave it.
        environ: Their variables, except those that are named like a key; None: `os.environ`.
        hidden: Names of other variables to leave out.
    """

    def __init__(
        self,
        root: Path,
        approve: Approve,
        *,
        environ: Mapping[str, str] | None = None,
        hidden: Collection[str] = (),
    ) -> None:
        self._root = root
        self._approve = approve
        self._environ: Mapping[str, str] = os.environ if environ is None else environ
        self._hidden = hidden

    async def shell(self, command: Command, timeout: Timeout = 120.0) -> str:  # noqa: ASYNC109
        """Run a shell command in the workspace, and return what it printed and its exit code.

        It has no input and no terminal. Nothing goes on in the background: what still runs when
        the command ends is stopped. Of a long output the start and the end are kept.
        """
        if not 0 < timeout <= LONGEST_TIMEOUT:
            raise ValueError(
                f"`timeout` must be above 0 and at most {LONGEST_TIMEOUT:g} seconds, got {timeout}"
            )
        if "\0" in command:
            raise ValueError("`command` has a NUL in it: no shell can run that")
        await require(self._approve, Request("shell", command))
        output = _Output()
        await self._run(command, timeout, output)
        if output.status is None:
            return f"{output.text()}[stopped after {timeout:g} s]"
        return f"{output.text()}[exit code {output.status}]"

    async def _run(self, command: str, seconds: float, output: "_Output") -> None:
        """Fill *output*; its status stays None if time ran out."""
        with _pipe() as (reader, writer):
            async with self._started(command, writer) as process:
                writer.close()
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_collect, reader, output)
                    with anyio.move_on_after(seconds):
                        output.status = await process.wait()
                    tasks.cancel_scope.cancel()
            _drain(reader, output)

    def _started(self, command: str, writer: IO[bytes]) -> AbstractAsyncContextManager[Process]:
        return process_group(
            [shutil.which("bash") or "/bin/sh", "-c", command],
            has_input=False,
            stdout=writer.fileno(),
            stderr=writer.fileno(),
            cwd=self._root,
            env=visible_environ(self._environ, self._hidden),
        )


def visible_environ(environ: Mapping[str, str], hidden: Collection[str] = ()) -> dict[str, str]:
    """Return *environ* without our variables, those named like a key, and *hidden*."""
    return {
        name: value
        for name, value in environ.items()
        if not (name in hidden or name.upper().startswith(_OURS) or is_secret_name(name))
    }


class _Output:
    """The first and the last bytes of an output, and the exit status, negative for a signal."""

    def __init__(self) -> None:
        self.status: int | None = None
        self._start = bytearray()
        self._end = bytearray()
        self._dropped = 0

    def add(self, chunk: bytes) -> None:
        room = MOST_BYTES // 2 - len(self._start)
        self._start += chunk[:room]
        self._end += chunk[room:]
        over = len(self._end) - MOST_BYTES // 2
        if over > 0:
            del self._end[:over]
            self._dropped += over

    def text(self) -> str:
        """Return the output as text, with a line break at the end unless it is empty."""
        if self._dropped:
            start = self._start.decode(errors="replace")
            end = self._end.decode(errors="replace")
            text = f"{start}\n[{self._dropped:,} bytes left out]\n{end}"
        else:
            text = (self._start + self._end).decode(errors="replace")
        return text if not text or text.endswith("\n") else f"{text}\n"


@contextmanager
def _pipe() -> Iterator[tuple[int, IO[bytes]]]:
    """Open a pipe, as its reader and its writer.

    With a pipe of asyncio we would wait for every process that holds its other end.
    """
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    try:
        with open(writer, "wb", buffering=0) as file:
            yield reader, file
    finally:
        os.close(reader)


async def _collect(reader: int, output: _Output) -> None:
    while True:
        await anyio.wait_readable(reader)
        with suppress(BlockingIOError):
            chunk = os.read(reader, _CHUNK)
            if not chunk:
                return
            output.add(chunk)


def _drain(reader: int, output: _Output) -> None:
    """Read what is left in the pipe, but not for ever: a daemon may go on writing."""
    with suppress(BlockingIOError):
        for _ in range(_MOST_DRAINED):
            chunk = os.read(reader, _CHUNK)
            if not chunk:
                return
            output.add(chunk)
