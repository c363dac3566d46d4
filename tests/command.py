"""Programs that run in this process as in one of their own, and the stub beside them."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal

from sidestep.__main__ import main
from sidestep.provider.stub.server import Stub
from sidestep.session.drill.drill import find_scenario


@dataclass(frozen=True)
class Ran:
    """What a person sees of a program that has ended."""

    returncode: int
    stdout: str
    stderr: str


def environment(**variables: Any) -> dict[str, str]:
    """Return what a program is started with: nothing of ours but *variables*."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    given = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in variables.items()
    }
    return kept | {"NO_PROXY": "*", "PYTHONIOENCODING": "utf-8"} | given


def run_command(
    *arguments: str, cwd: Path | None = None, given: str | None = "", **variables: Any
) -> Ran:
    """Run ``sidestep`` with *arguments* and nothing of our environment but *variables*.

    Args:
        given: What stands in stdin; None closes it.
    """
    argv = ["sidestep", *arguments]
    return run_program(main, argv, environment(**variables), cwd=cwd, given=given)


def run_program(
    program: Callable[[], object],
    argv: list[str],
    environ: Mapping[str, str],
    *,
    cwd: Path | None = None,
    given: str | None = "",
) -> Ran:
    """Run *program* as if a process had been started for it.

    A process takes half a second to start, a call takes none. What only a process shows, its
    signals and its closed or full streams, needs a process.
    """
    stdin, stdout, stderr = None if given is None else _stream(given), _stream(), _stream()
    with _surroundings(cwd, environ), _logging(), _system(argv, stdin, stdout, stderr):
        return Ran(_status_of(program), _text(stdout), _text(stderr))


def _stream(text: str = "") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def _status_of(program: Callable[[], object]) -> int:
    """Return the status with which *program*, as a process, would exit."""
    try:
        program()
    except SystemExit as error:
        return _status(error.code)
    except BaseException:  # noqa: BLE001 - Python prints any, and exits with 1
        traceback.print_exc()
        return 1
    return 0


def _status(code: object) -> int:
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)
    return 1


@contextmanager
def _surroundings(cwd: Path | None, environ: Mapping[str, str]) -> Iterator[None]:
    """Change the folder and the environment, and keep fd 1, which the command may redirect."""
    folder, before, output = Path.cwd(), dict(os.environ), os.dup(1)
    try:
        os.chdir(cwd or folder)
        _set_environment(environ)
        yield
    finally:
        _set_environment(before)
        os.chdir(folder)
        os.dup2(output, 1)
        os.close(output)


def _set_environment(variables: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(variables)


@contextmanager
def _logging() -> Iterator[None]:
    """Take away the handlers of the tests, and afterwards the command's."""
    loggers = logging.getLogger(), logging.getLogger("sidestep")
    before = [logger.handlers[:] for logger in loggers]
    for logger in loggers:
        logger.handlers.clear()
    try:
        yield
    finally:
        for logger, handlers in zip(loggers, before, strict=True):
            logger.handlers[:] = handlers


@contextmanager
def _system(
    argv: list[str],
    stdin: io.TextIOWrapper | None,
    stdout: io.TextIOWrapper,
    stderr: io.TextIOWrapper,
) -> Iterator[None]:
    before = sys.argv, sys.stdin, sys.stdout, sys.stderr
    sys.argv, sys.stdout, sys.stderr = argv, stdout, stderr
    sys.stdin = stdin
    try:
        yield
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = before


def scenario(folder: Path, answers: dict[str, Any]) -> str:
    """Write a scenario with *answers* to *folder*, and return its path."""
    path = folder / "scenario.json"
    path.write_text(json.dumps({"answers": answers}))
    return str(path)


@contextmanager
def stub(played: str | None = None, *, strict: bool = False) -> Iterator[str]:
    """Serve the stub from a thread, with the scenario of that name or file; return its URL."""
    found = None if played is None else find_scenario(played)[0]
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Stub(found, strict=strict)) as server,
    ):
        yield server.url
