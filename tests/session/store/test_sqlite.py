"""What a session's file promises beyond what every store does."""

# ruff: noqa: ASYNC240 - a test may look at a file

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import threading
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from sidestep import Route, SqliteStore, StoreError
from sidestep.provider.conversation import (
    AttemptRecord,
    Cooldown,
    Message,
    Part,
    Reasoning,
    Text,
    ToolCall,
    Usage,
)
from sidestep.session.store.sqlite_file import SessionFile

from .session_file import execute, read, said, written

pytestmark = pytest.mark.anyio

A = Route("anthropic/claude")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.db"


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """Every connection that a store makes."""
    made: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def watched(database: str, **options: object) -> sqlite3.Connection:
        made.append(connect(database, **options))  # type: ignore[call-overload]
        return made[-1]

    monkeypatch.setattr(sqlite3, "connect", watched)
    return made


async def test_another_store_finds_what_was_kept(path: Path) -> None:
    await written(path, [said("1"), said("2")])

    assert await read(path) == [said("1"), said("2")]
    assert os.listdir(path.parent) == [path.name]


async def test_the_file_is_made_at_the_first_call(path: Path) -> None:
    store = SqliteStore(path)
    assert not path.exists()

    await store.load()
    assert path.exists()
    await store.aclose()


async def test_a_store_that_was_not_used_makes_no_file(path: Path) -> None:
    await SqliteStore(path).aclose()

    assert not path.exists()


async def test_only_this_user_can_read_a_new_file(path: Path) -> None:
    before = os.umask(0)
    try:
        async with SqliteStore(path) as store:
            await store.append(said("1"))
            modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)

    assert modes == {0o600}


async def test_the_mode_of_a_file_that_was_there_stays(path: Path) -> None:
    path.touch(0o640)
    mode = path.stat().st_mode

    await written(path, [said("1")])

    assert path.stat().st_mode == mode


async def test_a_path_stays_the_same_when_the_process_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("what? a #1 100%.db")
    monkeypatch.chdir("elsewhere")

    async with store:
        assert (tmp_path / "what? a #1 100%.db").exists()


async def test_another_tool_can_read_the_tables(path: Path) -> None:
    attempt = AttemptRecord(route=A, number=1, seconds=0.5)
    thought = Reasoning("é", signature="EqQB")
    cooldown = Cooldown(name=A, until=1796054471.5, cooldowns=2, kind="overloaded")
    parts: list[Part] = [thought, Text("hi")]
    message = Message("assistant", parts, A, A, Usage(3, 4), (attempt,), (cooldown,))
    (key,) = await written(path, [message])

    assert execute(path, "SELECT * FROM message") == [
        (key, 0, "assistant", A, A, '{"input":3,"output":4}',
         '[{"route":"anthropic/claude","number":1,"seconds":0.5,"waited":0.0}]',
         '[{"name":"anthropic/claude","until":1796054471.5,"cooldowns":2,"kind":"overloaded"}]')
    ]  # fmt: skip
    assert execute(path, "SELECT * FROM part ORDER BY position") == [
        (key, 0, "reasoning", '{"text":"é","signature":"EqQB"}'),
        (key, 1, "text", '{"text":"hi"}'),
    ]
    assert execute(path, "PRAGMA application_id") == [(0x73696465,)]
    assert execute(path, "PRAGMA user_version") == [(2,)]


async def test_every_method_writes_through_to_the_disk(
    path: Path, connections: list[sqlite3.Connection]
) -> None:
    async with SqliteStore(path):
        told = [
            connections[0].execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "locking_mode")
        ]

    assert told == ["wal", 2, 1, "exclusive"]


async def test_a_second_store_is_refused_until_the_first_is_closed(path: Path) -> None:
    second = SqliteStore(path)
    async with SqliteStore(path) as first:
        key = await first.append(said("1"))
        with pytest.raises(StoreError, match=r"is open elsewhere.*: close it there"):
            await second.load()
        await first.append(said("2"))

    async with second:
        assert list(await second.load()) == [key, key + 1]


async def test_a_refused_store_takes_no_hold_away(path: Path) -> None:
    async with SqliteStore(path):
        for _ in range(2):
            with pytest.raises(StoreError, match="is open elsewhere"):
                await SqliteStore(path).load()


class Slow:
    """Holds a method up in its thread, from when it has begun until it may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str = "append") -> None:
        self.begun, self.may_go_on, self.ended = (threading.Event() for _ in range(3))
        method = getattr(SessionFile, name)

        def slow(*given: object) -> object:
            self.begun.set()
            assert self.may_go_on.wait(60)
            try:
                return method(*given)
            finally:
                self.ended.set()

        monkeypatch.setattr(SessionFile, name, slow)

    async def until_begun(self) -> None:
        assert await anyio.to_thread.run_sync(self.begun.wait, 60)


async def test_a_write_that_waits_for_its_turn_is_cancelled(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch)
    async with SqliteStore(path) as store:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(store.append, said("1"))
                await slow.until_begun()
                with anyio.CancelScope() as scope:
                    scope.cancel()
                    await store.append(said("2"))
                slow.may_go_on.set()

        assert scope.cancelled_caught
        assert [*(await store.load()).values()] == [said("1")]


async def test_a_write_that_has_begun_ends_though_it_is_cancelled(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, went_on = Slow(monkeypatch), False

    async def append() -> None:
        nonlocal went_on
        await store.append(said("1"))
        await anyio.lowlevel.checkpoint()
        went_on = True

    async with SqliteStore(path) as store:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(append)
                await slow.until_begun()
                tasks.cancel_scope.cancel()
                slow.may_go_on.set()

        assert [*(await store.load()).values()] == [said("1")]
    assert not went_on


def test_a_task_that_asyncio_cancels_leaves_no_half_write(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch)

    async def cancel() -> dict[int, Message]:
        async with SqliteStore(path) as store:
            task = asyncio.create_task(store.append(said("1")))
            await slow.until_begun()
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
            load = asyncio.create_task(store.load())
            await asyncio.sleep(0)
            slow.may_go_on.set()
            return await load

    assert [*asyncio.run(asyncio.wait_for(cancel(), 10)).values()] == [said("1")]


@pytest.mark.parametrize("times", [pytest.param(1, id="once"), pytest.param(2, id="twice")])
def test_a_task_that_asyncio_cancels_while_it_opens_a_file_lets_go_of_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    slow = Slow(monkeypatch, "__init__")

    async def cancel() -> list[Message]:
        store = SqliteStore(path)
        task = asyncio.create_task(store.__aenter__())
        await slow.until_begun()
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        slow.may_go_on.set()
        await asyncio.wait([task])
        assert task.cancelled()
        assert await anyio.to_thread.run_sync(slow.ended.wait, 60)
        await written(path, [said("another's")])
        async with store:
            return [*(await store.load()).values()]

    assert asyncio.run(asyncio.wait_for(cancel(), 10)) == [said("another's")]


def test_a_store_may_be_used_in_one_loop_after_another(path: Path) -> None:
    store = SqliteStore(path)

    key = anyio.run(store.append, said("1"))

    assert anyio.run(store.load) == {key: said("1")}
    anyio.run(store.aclose)


UNKEEPABLE = [
    pytest.param(Message("user", [ToolCall("c", "f", {"x": {1, 2}})]), "is no JSON", id="a set"),
    pytest.param(Message("user", [], Route("a/\udc80")), "cannot hold that", id="route"),
]


@pytest.mark.parametrize(("message", "match"), UNKEEPABLE)
async def test_what_cannot_be_kept_changes_nothing(
    path: Path, message: Message, match: str
) -> None:
    async with SqliteStore(path) as store:
        key = await store.append(said("1"))

        with pytest.raises(StoreError, match=match):
            await store.replace([said("2"), message])

        assert await store.load() == {key: said("1")}


async def test_a_full_disk_loses_nothing(path: Path, connections: list[sqlite3.Connection]) -> None:
    long = said("x" * 50_000)
    async with SqliteStore(path) as store:
        key = await store.append(said("1"))
        pages = connections[0].execute("PRAGMA page_count").fetchone()[0]
        connections[0].execute(f"PRAGMA max_page_count = {pages + 2}").fetchall()

        for change in (store.append(long), store.rewrite(key, long), store.replace([long])):
            with pytest.raises(StoreError, match=r"session\.db' has no room .*: make room"):
                await change
        assert await store.load() == {key: said("1")}

        connections[0].execute("PRAGMA max_page_count = 100000").fetchall()
        assert await store.append(long) == key + 1
