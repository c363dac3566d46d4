"""`sidestep run --session`, killed at one point after another; run by `test_kill.py`.

``python killing.py FOLDER URL STRIDE`` takes a turn at the stub at URL in a folder of its own,
killed before the first statement or event, then at every STRIDE-th, until it reaches the end.
After each it goes on with ``--resume`` and is let live, and leaves its exit status in ``status``.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import httpx

import sidestep.session.turn.session  # imported once for all forks
from sidestep.session.command import main as cli
from sidestep.session.command import run as console

ROUTE = "anthropic/claude-sonnet-5"


def _killed_at(number: int) -> None:
    """Kill this process when it reaches point *number*, from 1."""
    connect, passed, tell = sqlite3.connect, count(1), console.Output.__call__

    def point(*_statement: str) -> None:
        if next(passed) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(database: str, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(database, **options)  # type: ignore[call-overload]
        connection.set_trace_callback(point)
        return connection

    def told(output: console.Output, event: sidestep.Event) -> None:
        point()
        tell(output, event)

    sqlite3.connect = watched  # type: ignore[assignment]
    console.Output.__call__ = told  # type: ignore[method-assign, assignment]


def _run(folder: Path, prompt: str, *options: str) -> None:
    os.chdir(folder)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    errors = os.open("errors", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    os.dup2(errors, 2)
    sys.argv = ["sidestep", "run", prompt, "--model", ROUTE, "--session", "session.db"]
    sys.argv += ["--workspace", ".", "--yes", *options]
    cli.main()


def _forked(work: Callable[[], None]) -> int:
    """Do *work* in a process of its own; return its status, or less than 0 if it was killed."""
    if not (child := os.fork()):
        try:
            work()
        except SystemExit as error:
            os._exit(int(error.code or 0))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _take(folder: Path, url: str, number: int) -> bool:
    """Take the turn, killed at point *number*, and go on; say whether it was killed."""
    folder.mkdir()
    httpx.post(f"{url}/_stub/reset").raise_for_status()

    def first() -> None:
        _killed_at(number)
        _run(folder, "Mend it.")

    status = _forked(first)
    options = ["--resume"] if (folder / "session.db").exists() else []
    resumed = _forked(lambda: _run(folder, "Go on.", *options))
    (folder / "status").write_text(str(resumed))
    (folder / "requests").write_text(httpx.get(f"{url}/_stub/requests").text)
    return status < 0


def main(folder: str, url: str, stride: str) -> None:
    """Take the turn until it ends."""
    os.environ["SIDESTEP_PROVIDERS"] = httpx.get(f"{url}/_stub/providers").text
    for number in count(1, int(stride)):
        if not _take(Path(folder, f"{number:03}"), url, number):
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
