"""A file of `--store` that cannot be read or written: answers come all the same, and nothing ends.

Each fault is a real one, of a real file system where that is possible.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from sidestep.session.serve.memory import AnswerMemory
from sidestep.session.serve.memory_file import SqliteMemory

from .served import CLAUDE, SIBLING, Served, serving
from .test_memory import THINKING, call, remembered, restored, said, user

pytestmark = pytest.mark.asyncio

THOUGHT = "I should read it."
TOOLS = [{"name": "read_file", "input_schema": {"type": "object"}}]
Repair = Callable[[], object]


def answers(*, thought: str = THOUGHT) -> Mapping[str, object]:
    call = {"name": "read_file", "input": {"path": "a.py"}}
    thinks = [
        {"reasoning": thought, "tool_calls": [{**call, "id": f"call_{at}"}]} for at in range(9)
    ]
    return {CLAUDE: {"status": 503, "times": 99}, SIBLING: thinks}


def options(path: Path) -> dict[str, Any]:
    return {"siblings": {CLAUDE: SIBLING}, "store": path, "settings": {"cooldownSeconds": 0}}


async def ask(served: Served, messages: list[dict[str, Any]]) -> None:
    """Have the sibling call the tool, and add its answer and the result to *messages*."""
    answer = await served.ask(CLAUDE, stream=False, messages=messages, tools=TOOLS)
    assert answer.status_code == 200, answer.text
    content = answer.json()["content"]
    result = {"type": "tool_result", "tool_use_id": content[0]["id"], "content": "print(1)"}
    messages += [
        {"role": "assistant", "content": content},
        {"role": "user", "content": [result]},
    ]


def thoughts(served: Served) -> int:
    """Return how many answers the sibling was sent with what it had thought."""
    return json.dumps(served.stub.requests[-1].body).count(THOUGHT)


def new() -> list[dict[str, Any]]:
    return [{"role": "user", "content": "Read a.py"}]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        each.getMessage() for each in caplog.records if "the store" in each.getMessage()
        and each.levelno >= logging.WARNING
    ]  # fmt: skip


def kept(path: Path) -> int:
    with closing(sqlite3.connect(path)) as store:
        count: int = store.execute("SELECT count(*) FROM answer").fetchone()[0]
    return count


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder that is a file system of its own, with little room."""
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "sidestep-test", str(tmp_path)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no small file system can be mounted, which takes root")
    yield tmp_path
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def fill(disk: Path) -> Repair:
    """Fill *disk* to the last byte."""
    filler = disk / "filler"
    free = os.statvfs(disk)
    filler.write_bytes(b"x" * (free.f_bavail * free.f_bsize))
    return filler.unlink


def protect(disk: Path) -> Repair:
    """Make the file system read-only."""
    mount = ["mount", str(disk), "-o"]
    subprocess.run([*mount, "remount,ro"], check=True)
    return lambda: subprocess.run([*mount, "remount,rw"], check=True)


def lock(disk: Path) -> Repair:
    """Have another connection write, and not end."""
    other = sqlite3.connect(disk / "store", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return other.close


def lock_all(disk: Path) -> Repair:
    """Have another connection take the file for itself, so that nobody else can read it either."""
    other = sqlite3.connect(disk / "store", isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    return other.close


FAULTS = [
    pytest.param(fill, "disk is full|disk I/O error|unable to open", id="full"),
    pytest.param(protect, "readonly|unable to open|[Rr]ead-only", id="read-only"),
    pytest.param(lock, "locked", id="locked against writing"),
    pytest.param(lock_all, "locked", id="locked"),
]


@pytest.mark.parametrize(("fault", "why"), FAULTS)
async def test_a_store_that_cannot_be_used_at_the_start_is_used_once_it_can(
    small_disk: Path, caplog: pytest.LogCaptureFixture, fault: Callable[[Path], Repair], why: str
) -> None:
    path, messages = small_disk / "store", new()
    async with serving(answers(), **options(path)) as served:
        await ask(served, messages)
    repair = fault(small_disk)
    async with serving(answers(), **options(path)) as served:
        await ask(served, messages)
        await ask(served, messages)
        first, told = thoughts(served), warnings(caplog)
        repair()
        await ask(served, messages)
    async with serving(answers(), **options(path)) as served:
        await ask(served, messages)

        assert first == 2  # what the file had could be read, and the memory goes on
        assert len(told) == 1
        assert any(word in told[0] for word in why.split("|"))
        assert "stays in memory, and is lost at the end" in told[0]
        assert thoughts(served) == 4  # nothing is lost
        assert [each for each in warnings(caplog) if "can be written again" in each]


@pytest.mark.parametrize(("fault", "why"), [each for each in FAULTS if each.id != "read-only"][:2])
async def test_a_store_that_cannot_be_written_any_more_loses_nothing_if_it_can_later(
    small_disk: Path, caplog: pytest.LogCaptureFixture, fault: Callable[[Path], Repair], why: str
) -> None:
    path, messages, thought = small_disk / "store", new(), THOUGHT + "x" * 20_000
    async with serving(answers(thought=thought), **options(path)) as served:
        await ask(served, messages)
        repair = fault(small_disk)
        for _ in range(3):
            await ask(served, messages)
        told, in_memory = warnings(caplog), thoughts(served)
        repair()
        await ask(served, messages)

    assert in_memory == 3
    assert len(told) == 1
    assert "stays in memory, and is lost at the end" in told[0]
    assert len(warnings(caplog)) == 2
    assert kept(path) == 5


async def test_a_full_disk_without_any_store_yet_keeps_nobody_from_starting(
    small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    repair, path, messages = fill(small_disk), small_disk / "store", new()
    async with serving(answers(), **options(path)) as served:
        await ask(served, messages)
        await ask(served, messages)
        told, in_memory = warnings(caplog), thoughts(served)
        repair()
        await ask(served, messages)

    assert (len(told), in_memory, kept(path)) == (1, 1, 3)


@contextmanager
def longest_file(size: int) -> Iterator[None]:
    resource = pytest.importorskip("resource")
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


@pytest.mark.parametrize("size", [0, 4_096, 40_960])
async def test_the_file_may_be_as_long_as_it_can_get(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, size: int
) -> None:
    """This needs no root, and is an error of input and output for SQLite, not a full disk."""
    path, messages = tmp_path / "store", new()
    with longest_file(size):
        async with serving(answers(thought=THOUGHT + "x" * 20_000), **options(path)) as served:
            for _ in range(4):
                await ask(served, messages)
            assert thoughts(served) == 3

    assert len(warnings(caplog)) == 1


def damage_pages(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:12_288] + b"\xa5" * 40_000 + content[52_288:])


def change(command: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute(command)

    return run


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        pytest.param(damage_pages, "malformed", id="damaged pages"),
        pytest.param(
            change("PRAGMA user_version = 7"), "another version of sidestep", id="another version"
        ),
        pytest.param(
            change("ALTER TABLE answer RENAME COLUMN key TO name"), "another version of sidestep",
            id="another table",
        ),
    ],
)  # fmt: skip
async def test_a_damaged_store_is_left_as_it_is_and_answers_come_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], None], why: str
) -> None:
    path, messages = tmp_path / "store", new()
    file = SqliteMemory(path)
    file.keep([(f"key {number}", b"x" * 3000) for number in range(50)], [])
    file.close()
    damage(path)
    before = path.read_bytes()
    async with serving(answers(), **options(path)) as served:
        for _ in range(3):
            await ask(served, messages)

        assert thoughts(served) == 2
    (told,) = warnings(caplog)
    assert why in told
    assert "name another file, or delete this one" in told
    assert path.read_bytes() == before


async def test_a_file_that_goes_away_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, messages = tmp_path / "store", new()
    async with serving(answers(), **options(path)) as served:
        await ask(served, messages)
        for each in tmp_path.iterdir():  # noqa: ASYNC240 - tiny
            each.unlink()
        await ask(served, messages)
        await ask(served, messages)

        assert thoughts(served) == 2
    assert len(warnings(caplog)) <= 1


async def test_an_id_that_no_file_can_hold_is_no_fault_of_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A provider may write half a character as an escape."""
    file = SqliteMemory(tmp_path / "store")
    memory = AnswerMemory(file)
    remembered(THINKING, call("call_\ud83d"), memory=memory)
    remembered(THINKING, call(), memory=memory)
    rows = file.load()
    file.close()

    assert (len(rows), warnings(caplog)) == (2, [])
    assert restored(memory, user("Read it."), said(call()))[1].parts[0] == THINKING


async def test_what_was_forgotten_while_nothing_could_be_written_is_forgotten_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidestep.session.serve.memory.MOST_KEYS", 2)
    file = SqliteMemory(tmp_path / "store")
    memory = AnswerMemory(file)
    remembered(call("a"), memory=memory)
    repair = lock(tmp_path)
    for id_ in ("b", "c", "d"):
        remembered(call(id_), memory=memory)
    repair()
    remembered(call("e"), memory=memory)
    bodies = [body.decode() for _, body in file.load()]
    file.close()

    assert [id_ for id_ in "abcde" if any(f'"{id_}"' in body for body in bodies)] == ["d", "e"]
    assert len(bodies) == 2
