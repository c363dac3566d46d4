"""A session's file that cannot be used, was changed by somebody, or is older."""

# ruff: noqa: ASYNC240 - a test may look at a file

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from math import inf
from pathlib import Path

import pytest

from sidestep import SqliteStore, StoreError
from sidestep.provider.conversation import Cooldown, Message, Text, ToolCall
from sidestep.session.store import sqlite_schema

from ...other_words import NAME_TOO_LONG, NO_PERMISSION, NOT_A_DIRECTORY, READ_ONLY
from .session_file import execute, read, said, written

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.db"


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
    pytest.param(in_a_file, f"cannot be made .{NOT_A_DIRECTORY}", id="in a file"),
    pytest.param(directory, "is no file, but a directory", id="directory"),
    pytest.param(link_to_nowhere, "is no file", id="link to nowhere"),
    pytest.param(lambda path: path.with_name("x" * 300), NAME_TOO_LONG, id="long name"),
    pytest.param(bytes_of(b"Dear diary"), "is no database", id="short text"),
    pytest.param(bytes_of(b"Dear diary, " * 1000), "is no database", id="long text"),
    pytest.param(database("CREATE TABLE t (x)"), "of another program", id="tables"),
    pytest.param(
        database("PRAGMA journal_mode = WAL", "CREATE TABLE t (x)"), "of another", id="WAL"
    ),
    pytest.param(database("PRAGMA application_id = 7"), "of another program", id="another id"),
    pytest.param(database("PRAGMA user_version = 1"), "of another program", id="a version"),
    pytest.param(database(OURS, "PRAGMA user_version = 3"), "has version 3, .* up to 2", id="new"),
    pytest.param(database(OURS, "PRAGMA user_version = -1"), "has version -1", id="below 0"),
    pytest.param(
        database("PRAGMA journal_mode = WAL", OURS, "PRAGMA user_version = 1"),
        "cannot be used .",
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
        async with SqliteStore(there) as store:
            await store.load()

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


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be removed there")
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(Path.unlink, id="removed"),
        pytest.param(lambda path: path.rename(path.with_name("x")), id="moved"),
        pytest.param(replaced, id="replaced"),
    ],
)
async def test_a_file_that_nobody_would_find_again_takes_nothing_more(
    path: Path, change: Callable[[Path], object]
) -> None:
    async with SqliteStore(path) as store:
        key = await store.append(Message("assistant", [ToolCall("a", "f", {})]))
        change(path)
        with pytest.raises(StoreError, match="was removed or replaced while it was open"):
            await store.save_part(key, 0, ToolCall("a", "f", {}, state="running"))
        with pytest.raises(StoreError, match="was removed or replaced"):
            await store.check()


async def test_a_file_system_that_is_read_only_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object) -> int:
        raise OSError(errno.EROFS, READ_ONLY)

    monkeypatch.setattr(os, "open", refuse)

    with pytest.raises(StoreError, match=f"cannot be made .{READ_ONLY}"):
        await SqliteStore(path).load()


@pytest.fixture
def guarded() -> Iterator[Path]:
    """A directory with modes that hold for this process, whoever runs it."""
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
        pytest.param(0o600, 0o000, f"cannot be made .{NO_PERMISSION}", id="directory: nothing"),
        pytest.param(None, 0o500, f"cannot be made .{NO_PERMISSION}", id="new file"),
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
        async with SqliteStore(path) as store:
            await store.append(said("2"))

    guarded.chmod(0o700)
    if of_file is not None:
        path.chmod(0o600)
        assert await read(path) == [said("1")]


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


NOTED = (*sqlite_schema.MIGRATIONS, ("ALTER TABLE message ADD note TEXT DEFAULT 'none'",))


async def test_an_older_file_is_brought_up_to_date(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await written(path, [said("1")])
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", NOTED)

    assert await read(path) == [said("1")]
    assert execute(path, "SELECT note FROM message") == [("none",)]
    assert execute(path, "PRAGMA user_version") == [(3,)]


async def test_a_file_from_before_cooldowns_were_stored_is_brought_up_to_date(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = Message("user", [Text("2")], cooldowns=(Cooldown(name="a/x", until=1.5),))
    await written(path, [said("1")])
    execute(path, "ALTER TABLE message DROP COLUMN cooldowns", "PRAGMA user_version = 1")

    async with SqliteStore(path) as store:
        assert [*(await store.load()).values()] == [said("1")]
        await store.append(later)

    assert await read(path) == [said("1"), later]
    assert execute(path, "PRAGMA user_version") == [(2,)]


COOLDOWNS = [
    pytest.param('[{"name":"a/x","until":5}]', (Cooldown(name="a/x", until=5.0),), id="whole"),
    pytest.param('[{"name":"a/x","until":1e999}]', (Cooldown(name="a/x", until=inf),), id="absurd"),
    pytest.param("[]", (), id="none"),
    pytest.param('[{"name":"a/x"}]', "until", id="no end"),
    pytest.param('[{"name":"a/x","until":"soon"}]', "until", id="a text for the end"),
    pytest.param('[{"name":7,"until":1.5}]', "name", id="a number for the name"),
    pytest.param('[{"name":"a/x","until":1.5,"cooldowns":1.5}]', "cooldowns", id="half a cooldown"),
    pytest.param('[{"name":"a/x","until":1.5,"colour":"red"}]', "colour", id="an unknown field"),
    pytest.param('{"a/x":1.5}', "cooldowns", id="an object"),
    pytest.param("[", "it is not JSON", id="no JSON"),
]


@pytest.mark.parametrize(("column", "found"), COOLDOWNS)
async def test_what_another_tool_wrote_of_cooldowns_is_read_or_refused(
    path: Path, column: str, found: tuple[Cooldown, ...] | str
) -> None:
    await written(path, [said("1")])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE message SET cooldowns = ?", (column,))

    if isinstance(found, str):
        with pytest.raises(StoreError, match=f"message 1 in session file .*{found}"):
            await read(path)
    else:
        assert await read(path) == [Message("user", [Text("1")], cooldowns=found)]


async def test_a_migration_that_fails_changes_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await written(path, [said("1")])
    with monkeypatch.context() as patch:
        broken = (*NOTED[-1], "DELETE FROM elsewhere")
        patch.setattr(sqlite_schema, "MIGRATIONS", (*NOTED[:-1], broken))
        with pytest.raises(StoreError, match="no such table"):
            await read(path)

    assert execute(path, "PRAGMA user_version") == [(2,)]
    assert await read(path) == [said("1")]
