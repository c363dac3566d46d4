"""A session's file when its process is killed, or when there are two."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import anyio
import pytest

from sidestep import SqliteStore
from sidestep.provider.conversation import Message, Text

from . import contending_process as contending
from . import crashing_process as crashing

SECONDS = 60


def held_by(path: Path) -> dict[int, Message]:
    async def load() -> dict[int, Message]:
        async with SqliteStore(path) as store:
            return await store.load()

    return anyio.run(load)


def broken_references(path: Path) -> list[object]:
    with closing(sqlite3.connect(path)) as connection:
        return [
            *connection.execute("PRAGMA foreign_key_check"),
            *(row for row in connection.execute("PRAGMA integrity_check") if row != ("ok",)),
        ]


def take_steps(folder: Path, operations: int, stride: int = 1) -> list[Path]:
    """Have the steps taken and killed; return the file of each time, the last one whole."""
    subprocess.run(
        [sys.executable, crashing.__file__, str(folder), str(operations), str(stride)],
        check=True,
        timeout=SECONDS,
    )
    return sorted(folder.glob("*.db"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks of one process")
@pytest.mark.parametrize(
    ("operations", "unseen", "quick"),
    [
        pytest.param(0, 0, 3, id="between statements"),
        pytest.param(31, 4, 4, id="inside statements"),
    ],
)
def test_a_killed_session_holds_what_was_kept_and_nothing_half(
    tmp_path: Path, operations: int, unseen: int, quick: int, *, whole: bool
) -> None:
    stride = 1 if whole else quick
    states = anyio.run(crashing.states)
    reached = set()

    files = take_steps(tmp_path, operations, stride)
    for path in files:
        log = path.with_suffix(".log")
        returned = log.stat().st_size if log.exists() else 0
        held = held_by(path) if path.exists() else {}
        assert held in states[returned : returned + 2], path.name
        assert broken_references(path) == []
        reached.add(states.index(held))

    assert held_by(files[-1]) == states[-1]
    assert len(reached) * stride >= len(states) - unseen
    assert len(files) * stride > 3 * len(states)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks of one process")
def test_a_log_that_is_torn_off_anywhere_leaves_a_state_that_was(tmp_path: Path) -> None:
    states = anyio.run(crashing.states)
    whole = take_steps(tmp_path, 1_000_000)[-1]
    log = whole.with_name(whole.name + "-wal")
    copy = tmp_path / "copy.db"
    found = []

    for size in range(0, log.stat().st_size + 1, 4096 // 3):
        shutil.copy(whole, copy)
        torn = Path(shutil.copy(log, tmp_path / "copy.db-wal"))
        os.truncate(torn, size)
        found.append(states.index(held_by(copy)))
        assert broken_references(copy) == []

    assert found == sorted(found)
    assert {*found} >= {*range(len(states) - 1)}


class Contender:
    """A process that wants the session of a file for itself."""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, contending.__file__, str(path)],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def tell(self, command: str) -> None:
        assert self._process.stdin is not None
        print(command, file=self._process.stdin, flush=True)

    def hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def ask(self, command: str) -> str:
        self.tell(command)
        return self.hear()

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate(timeout=SECONDS)


@contextmanager
def contender(path: Path) -> Iterator[Contender]:
    made = Contender(path)
    try:
        yield made
    finally:
        made.kill()


def texts(path: Path) -> list[str]:
    return [
        part.text
        for message in held_by(path).values()
        for part in message.parts
        if isinstance(part, Text)
    ]


def test_a_second_process_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "session.db"
    with contender(path) as first, contender(path) as second:
        assert (first.hear(), second.hear()) == ("ready", "ready")
        assert first.ask("append 1") == "kept"
        assert f"{str(path)!r} is open elsewhere" in second.ask("append 2")
        assert first.ask("append 3") == "kept"

        first.kill()

        assert second.ask("append 4") == "kept"

    assert texts(path) == ["1", "3", "4"]


def test_of_processes_that_open_a_session_at_once_one_gets_it(tmp_path: Path) -> None:
    path = tmp_path / "session.db"
    with ExitStack() as stack:
        racers = [stack.enter_context(contender(path)) for _ in range(4)]
        assert {racer.hear() for racer in racers} == {"ready"}
        for number in range(10):
            for racer in racers:
                racer.tell(f"append {number}")
            answers = [racer.hear() for racer in racers]
            assert answers.count("kept") == 1, answers
            assert sum("is open elsewhere" in answer for answer in answers) == 3
            assert {racer.ask("close") for racer in racers} == {"closed"}

    assert texts(path) == [str(n) for n in range(10)]
