"""What a session's file promises beyond what every store does."""

# ruff: noqa: ASYNC240 - a test may look at a file

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from sidestep import Route, SqliteStore, StoreError
from sidestep.provider.part import AttemptRecord, Message, Reasoning, Text, ToolCall, Usage
from sidestep.session import sqlite_schema
from sidestep.session.sqlite_file import SessionFile

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


def said(text: str) -> Message:
    return Message("user", [Text(text)])


def execute(path: Path, *statements: str) -> list[tuple[object, ...]]:
    """Run *statements* as another tool would, and return what the last one found."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return [connection.execute(statement).fetchall() for statement in statements][-1]


async def written(path: Path, messages: Sequence[Message]) -> list[int]:
    async with SqliteStore(path) as store:
        return await store.replace(messages)


async def read(path: Path) -> list[Message]:
    async with SqliteStore(path) as store:
        return [*(await store.load()).values()]


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
    message = Message("assistant", [thought, Text("hi")], A, A, Usage(3, 4), (attempt,))
    (key,) = await written(path, [message])

    assert execute(path, "SELECT * FROM message") == [
        (key, 0, "assistant", A, A, '{"input":3,"output":4}',
         '[{"route":"anthropic/claude","number":1,"seconds":0.5,"waited":0.0}]')
    ]  # fmt: skip
    assert execute(path, "SELECT * FROM part ORDER BY position") == [
        (key, 0, "reasoning", '{"text":"é","signature":"EqQB"}'),
        (key, 1, "text", '{"text":"hi"}'),
    ]
    assert execute(path, "PRAGMA application_id") == [(0x73696465,)]
    assert execute(path, "PRAGMA user_version") == [(1,)]


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


@pytest.mark.parametrize("kind", ["cancelled before", "cancelled while it waits"])
async def test_a_write_that_has_not_begun_is_cancelled(path: Path, kind: str) -> None:
    async with SqliteStore(path) as store:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await store.append(said("1"))

        assert scope.cancelled_caught
        assert await store.load() == {}


class Slow:
    """Holds an append up in its thread, from when it has begun until it may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.may_go_on = threading.Event(), threading.Event()
        append = SessionFile.append

        def slow(file: SessionFile, message: Message) -> int:
            self.begun.set()
            assert self.may_go_on.wait(10)
            return append(file, message)

        monkeypatch.setattr(SessionFile, "append", slow)

    async def until_begun(self) -> None:
        assert await anyio.to_thread.run_sync(self.begun.wait, 10)


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
        with anyio.fail_after(10):
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


# ---- files that are none


def nothing(path: Path) -> Path:
    return path


def in_no_directory(path: Path) -> Path:
    return path / "session.db"


def in_a_file(path: Path) -> Path:
    path.touch()
    return path / "session.db"


def directory(path: Path) -> Path:
    path.mkdir()
    return path


def link_to_nowhere(path: Path) -> Path:
    path.symlink_to(path.with_name("nowhere"))
    return path


def bytes_of(data: bytes) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        path.write_bytes(data)
        return path

    return write


def database(*statements: str) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        execute(path, *statements)
        return path

    return write


OURS = f"PRAGMA application_id = {sqlite_schema.APPLICATION_ID}"
REFUSED = [
    pytest.param(in_no_directory, "its directory does not exist: make '", id="no directory"),
    pytest.param(in_a_file, "cannot be made .Not a directory", id="in a file"),
    pytest.param(directory, "is no file, but a directory", id="directory"),
    pytest.param(link_to_nowhere, "is no file", id="link to nowhere"),
    pytest.param(lambda path: path.with_name("x" * 300), "File name too long", id="long name"),
    pytest.param(bytes_of(b"Dear diary"), "is no database", id="short text"),
    pytest.param(bytes_of(b"Dear diary, " * 1000), "is no database", id="long text"),
    pytest.param(database("CREATE TABLE t (x)"), "of another program", id="tables"),
    pytest.param(
        database("PRAGMA journal_mode = WAL", "CREATE TABLE t (x)"), "of another", id="WAL"
    ),
    pytest.param(database("PRAGMA application_id = 7"), "of another program", id="another id"),
    pytest.param(database("PRAGMA user_version = 1"), "of another program", id="a version"),
    pytest.param(database(OURS, "PRAGMA user_version = 2"), "has version 2, .* up to 1", id="new"),
    pytest.param(database(OURS, "PRAGMA user_version = -1"), "has version -1", id="below 0"),
    pytest.param(
        database("PRAGMA journal_mode = WAL", OURS, "PRAGMA user_version = 1"),
        "cannot be used .no such table",
        id="no tables",
    ),
]


@pytest.mark.parametrize(("make", "match"), REFUSED)
async def test_what_is_no_session_file_is_refused_and_left_as_it_is(
    path: Path, make: Callable[[Path], Path], match: str
) -> None:
    there = make(path.with_name("it.db") if make is in_no_directory else path)
    before = there.read_bytes() if os.path.isfile(there) else None

    with pytest.raises(StoreError, match=match) as raised:
        await SqliteStore(there).load()

    assert repr(str(there)) in str(raised.value)
    assert (there.read_bytes() if before is not None else None) == before


async def test_an_empty_file_becomes_a_session(path: Path) -> None:
    path.touch()

    await written(path, [said("1")])

    assert await read(path) == [said("1")]


async def test_a_damaged_file_is_left_as_it_is(path: Path) -> None:
    await written(path, [said("x" * 3000) for _ in range(50)])
    data = bytearray(path.read_bytes())
    data[12_000:] = b"\xff" * len(data[12_000:])
    path.write_bytes(data)

    with pytest.raises(StoreError, match=r"session\.db' is damaged, .*: restore a copy"):
        await read(path)

    assert path.read_bytes() == data


async def test_a_file_system_that_is_read_only_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "open", refuse)

    with pytest.raises(StoreError, match=r"cannot be made .Read-only file system"):
        await SqliteStore(path).load()


@pytest.fixture
def guarded() -> Iterator[Path]:
    """A directory whose modes hold for this process, whoever runs it."""
    with tempfile.TemporaryDirectory() as name:
        folder, user = Path(name), os.geteuid()
        if user == 0:
            os.chown(folder, 65534, -1)
            os.setresuid(65534, 65534, 0)
        try:
            yield folder
        finally:
            if user == 0:
                os.setresuid(0, 0, 0)
            folder.chmod(0o700)


@pytest.mark.parametrize(
    ("of_file", "of_folder", "match"),
    [
        pytest.param(0o000, 0o700, "is not this user's to read and write", id="file: nothing"),
        pytest.param(0o400, 0o700, "is not this user's to read and write", id="file: read"),
        pytest.param(0o200, 0o700, "is not this user's to read and write", id="file: write"),
        pytest.param(
            0o600, 0o500, "its directory or its file system is read-only", id="directory: read"
        ),
        pytest.param(0o600, 0o000, "cannot be made .Permission denied", id="directory: nothing"),
        pytest.param(None, 0o500, "cannot be made .Permission denied", id="new file"),
    ],
)
async def test_without_permission_a_file_is_refused(
    guarded: Path, of_file: int | None, of_folder: int, match: str
) -> None:
    path = guarded / "session.db"
    if of_file is not None:
        await written(path, [said("1")])
        path.chmod(of_file)
    guarded.chmod(of_folder)

    with pytest.raises(StoreError, match=match):
        await SqliteStore(path).append(said("2"))

    guarded.chmod(0o700)
    if of_file is not None:
        path.chmod(0o600)
        assert await read(path) == [said("1")]


# ---- rows that somebody changed


@pytest.mark.parametrize(
    ("statement", "match"),
    [
        pytest.param("UPDATE part SET body = '{'", "part 0 of message 1 .* not JSON", id="no JSON"),
        pytest.param("UPDATE part SET body = '[]'", "part 0 .*should be an object", id="list"),
        pytest.param("UPDATE part SET body = '{}'", r"\(text is missing", id="missing"),
        pytest.param("UPDATE part SET body = '{\"text\":1}'", r"\(text is wrong", id="wrong"),
        pytest.param("UPDATE part SET body = x'ff' WHERE position = 1", "part 1 of", id="bytes"),
        pytest.param("UPDATE part SET type = 'video'", r"\(is wrong: its `type`", id="type"),
        pytest.param("DELETE FROM part WHERE position = 0", "part 0 .*it is missing", id="gap"),
        pytest.param("UPDATE message SET role = 'tool'", r"message 1 in .*\(role is", id="role"),
        pytest.param("UPDATE message SET usage = '{\"x\":1}'", r"\(usage.x is not", id="usage"),
        pytest.param("UPDATE message SET attempts = '[{}]'", r"\(attempts\[0\]", id="attempts"),
        pytest.param("UPDATE message SET route = 'claude'", r"\(route is wrong", id="route"),
    ],
)
async def test_a_row_that_is_wrong_is_named(path: Path, statement: str, match: str) -> None:
    await written(path, [Message("user", [Text("1"), Text("2")])])
    execute(path, statement)

    with pytest.raises(StoreError, match=match) as raised:
        await read(path)

    assert repr(str(path)) in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "body", "part"),
    [
        pytest.param("text", '{"text": "a", "signature": null}', Text("a"), id="null"),
        pytest.param("tool_call", '{"id": "a", "name": "f"}', ToolCall("a", "f", {}), id="input"),
    ],
)
async def test_a_part_may_be_spelled_as_in_a_conversation_file(
    path: Path, kind: str, body: str, part: Text | ToolCall
) -> None:
    await written(path, [said("1")])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE part SET type = ?, body = ?", (kind, body))

    assert await read(path) == [Message("user", [part])]


# ---- migrations


NOTED = (*sqlite_schema.MIGRATIONS, ("ALTER TABLE message ADD note TEXT DEFAULT 'none'",))


async def test_an_older_file_is_brought_up_to_date(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await written(path, [said("1")])
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", NOTED)

    assert await read(path) == [said("1")]
    assert execute(path, "SELECT note FROM message") == [("none",)]
    assert execute(path, "PRAGMA user_version") == [(2,)]


async def test_a_migration_that_fails_changes_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await written(path, [said("1")])
    with monkeypatch.context() as patch:
        broken = (*NOTED[1], "DELETE FROM elsewhere")
        patch.setattr(sqlite_schema, "MIGRATIONS", (NOTED[0], broken))
        with pytest.raises(StoreError, match="no such table"):
            await read(path)

    assert execute(path, "PRAGMA user_version") == [(1,)]
    assert await read(path) == [said("1")]
