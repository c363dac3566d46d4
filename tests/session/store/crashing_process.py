"""A session that is killed at one point after another; run by `test_sqlite_crash.py`.

``python crashing.py FOLDER OPERATIONS STRIDE`` takes `STEPS` on a new file in FOLDER, and again on
another, killed before the first statement, then before every STRIDE-th, until it reaches the end.
With OPERATIONS it is killed inside statements, after so many of SQLite's own operations and each
multiple of that. The log beside each file has one byte for each step that had returned.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import anyio

from sidestep import MemoryStore, Route, SqliteStore
from sidestep.provider.conversation import AttemptRecord, Message, Text, ToolCall, Usage
from sidestep.session.store.store import Store

A, B = Route("anthropic/claude"), Route("openrouter/anthropic/claude")


def _call(name: str, output: str | None = None) -> ToolCall:
    call = ToolCall(name, "read_file", {"path": "a.py"}, output=output)
    return call if output is None else replace(call, state="completed")


_ASKED = Message("assistant", [Text("Reading."), _call("a"), _call("b")], A, B)
_TRIED = (AttemptRecord(route=B, number=1, kind="overloaded", status=529),)
_SUMMARY = [Message("user", [Text("x" * 9_000), Text("y")]), Message("assistant", [_call("b")], A)]

STEPS: tuple[Callable[[Store], Awaitable[object]], ...] = (
    lambda store: store.append(Message("user", [Text("Read a.py")])),
    lambda store: store.append(_ASKED),
    lambda store: store.save_part(2, 1, _call("a", "print(1)")),
    lambda store: store.save_part(2, 2, _call("b", "z" * 20_000)),
    lambda store: store.append(Message("assistant", [], requested=B)),
    lambda store: store.rewrite(3, Message("assistant", [Text("1"), _call("c")], A, B, Usage(1))),
    lambda store: store.rewrite(3, Message("assistant", [Text("2")], A, B, attempts=_TRIED)),
    lambda store: store.replace(_SUMMARY),
    lambda store: store.append(Message("user", [Text("Go on")])),
    lambda store: store.save_part(5, 0, _call("b", "again")),
)
"""What a session keeps, one after another."""


async def states() -> list[dict[int, Message]]:
    """Return what a store holds after no step, after the first, and so on."""
    store = MemoryStore()
    held = [await store.load()]
    for step in STEPS:
        await step(store)
        held.append(await store.load())
    return held


async def _take_steps(path: Path) -> None:
    log = os.open(path.with_suffix(".log"), os.O_CREAT | os.O_WRONLY)
    store = SqliteStore(path)
    await store.load()
    for step in STEPS:
        await step(store)
        os.write(log, b".")


def _kill_at(number: int, *, operations: int) -> None:
    """Kill this process when SQLite reaches point *number*, from 1."""
    connect, passed = sqlite3.connect, count(1)

    def point(*_statement: str) -> None:
        if next(passed) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(database: str, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(database, **options)  # type: ignore[call-overload]
        if operations:
            connection.set_progress_handler(point, operations)
        else:
            connection.set_trace_callback(point)
        return connection

    sqlite3.connect = watched  # type: ignore[assignment]


def _dies(path: Path, number: int, *, operations: int) -> bool:
    """Take the steps in a process of their own; say whether it was killed on the way."""
    if not (child := os.fork()):
        _kill_at(number, operations=operations)
        anyio.run(_take_steps, path)
        os._exit(0)  # without closing the file, as after a kill
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status) and os.waitstatus_to_exitcode(status):
        raise SystemExit(f"the steps failed at point {number}")
    return os.WIFSIGNALED(status)


def main(folder: str, operations: str = "0", stride: str = "1") -> None:
    """Take the steps until they end."""
    for number in count(1, int(stride)):
        if not _dies(Path(folder, f"{number:03}.db"), number, operations=int(operations)):
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
