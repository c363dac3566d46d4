"""The tables of a session's file, and how it is opened for one writer only."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..error import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

APPLICATION_ID = 0x73696465
"""Marks the file as ours, in its header: the letters ``side``."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        f"PRAGMA application_id = {APPLICATION_ID}",
        # No key is used twice, so that a key from before a `replace` finds nothing.
        """CREATE TABLE message (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            position INTEGER NOT NULL UNIQUE,
            role TEXT NOT NULL,
            route TEXT,
            requested TEXT,
            usage TEXT,
            attempts TEXT
        )""",
        """CREATE TABLE part (
            message_id INTEGER NOT NULL REFERENCES message (id) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            type TEXT NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (message_id, position)
        )""",
    ),
    ("ALTER TABLE message ADD COLUMN cooldowns TEXT",),
)
"""The statements from each version of the tables to the next, starting with an empty file."""

_PAUSES = (0.01, 0.02, 0.04, 0.08)
_CREATING = threading.Lock()


def _after_fork() -> None:
    """Free the lock in a forked child, because the thread that held it is not there."""
    global _CREATING
    _CREATING = threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_after_fork)


def open_session(path: str) -> sqlite3.Connection:
    """Open the file at *path*, or make it, and lock it until the connection is closed.

    Any thread may use the connection, one at a time. The lock ends with the process, however
    that ends.

    Raises:
        StoreError: It cannot be made, or belongs to another program or a newer version.
        sqlite3.Error: Another program has locked it, or it cannot be read or written.
    """
    _create(path)
    for pause in _PAUSES:
        try:
            return _connect(path)
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            # Several processes that try at the same moment may all block each other: each tries
            # again after a pause of its own.
            time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
    return _connect(path)


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{Path(path).as_uri()}?mode=rw",
        uri=True,
        timeout=0,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        _lock(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: str) -> None:
    """Make an empty file that only this user can read, unless there is one."""
    try:
        # Closing a file releases every lock that the process holds on it, so that no other thread
        # may find the file before it is closed.
        with _CREATING:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        _check_file(path)
    except FileNotFoundError as error:
        raise StoreError(
            f"session file {path!r} cannot be made, because its directory does not exist: make "
            f"{os.path.dirname(path)!r}, or name a file elsewhere"
        ) from error
    except OSError as error:
        raise StoreError(
            f"session file {path!r} cannot be made ({error.strerror}): name one in a directory "
            "that this user may write to"
        ) from error


def _check_file(path: str) -> None:
    """Check that the existing file can keep a session, without opening it."""
    if not os.path.isfile(path):
        raise StoreError(
            f"session file {path!r} is no file, but a directory or something else: name a file"
        )
    by_user = os.access in os.supports_effective_ids
    if not os.access(path, os.R_OK | os.W_OK, effective_ids=by_user):
        raise StoreError(
            f"session file {path!r} is not this user's to read and write, or its file system is "
            "read-only: change its mode, or copy it to where it can be written"
        )


def _lock(connection: sqlite3.Connection, path: str) -> None:
    """Lock the file for this connection, and bring its tables up to date."""
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    with transaction(connection, kind="EXCLUSIVE"):
        version = _version(connection, path)
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")  # without it macOS leaves writes in the drive
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        with transaction(connection):
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
    connection.execute("PRAGMA foreign_keys = ON")


def _version(connection: sqlite3.Connection, path: str) -> int:
    """Return the version of the tables; 0: there are none."""
    owner, version, tables = (
        connection.execute(query).fetchone()[0]
        for query in (
            "PRAGMA application_id",
            "PRAGMA user_version",
            "SELECT count(*) FROM sqlite_master",
        )
    )
    if owner != APPLICATION_ID and (owner or version or tables):
        raise StoreError(
            f"{path!r} is a database of another program, and was left as it is: name another file"
        )
    if not 0 <= version <= len(MIGRATIONS):
        raise StoreError(
            f"session file {path!r} has version {version}, and this sidestep reads up to "
            f"{len(MIGRATIONS)}: use the sidestep that wrote it, or a newer one"
        )
    return int(version)


@contextmanager
def transaction(connection: sqlite3.Connection, *, kind: str = "IMMEDIATE") -> Iterator[None]:
    """Commit all that is written inside, or on any error none of it."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # some errors have already rolled it back
            connection.execute("ROLLBACK")
        raise


def refusal(path: str, error: sqlite3.Error) -> StoreError:
    """Return what *error* means for the file at *path*, and what to do."""
    code = getattr(error, "sqlite_errorcode", None)
    what = _REASONS.get(code & 0xFF) if code is not None else None
    if what is None:
        what = f"cannot be used ({error}): restore a copy of it, or name another file"
    return StoreError(f"session file {path!r} {what}")


_REASONS = {
    **dict.fromkeys(
        (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED),
        "is open elsewhere, and a session has one writer: close it there, or name another file",
    ),
    sqlite3.SQLITE_FULL: "has no room to grow, because the disk is full; what was to be kept is "
    "not, what it holds is safe: make room, then try again",
    **dict.fromkeys(
        (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH),
        "cannot be written, because its directory or its file system is read-only: make that "
        "writable to this user, or copy the file to where it can be written",
    ),
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: let this user read and write it and its directory",
    sqlite3.SQLITE_IOERR: "could not be read or written, because the disk failed: see to the disk, "
    "then try again",
    sqlite3.SQLITE_NOTADB: "is no database, and was left as it is: name another file",
    sqlite3.SQLITE_CORRUPT: "is damaged, and was left as it is: restore a copy of it, or save "
    "what can be read with `sqlite3 FILE .recover`",
    sqlite3.SQLITE_TOOBIG: "cannot hold a part as long as that: shorten it",
}
