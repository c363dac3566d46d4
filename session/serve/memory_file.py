"""The file of `--store`: what is remembered of answers, kept by SQLite."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...provider.error import ConfigError
from ...provider.log import logger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

APPLICATION_ID = 0x73617276
"""Marks the file as ours, in its header."""
VERSION = 0
"""The form of the table, in the header as well."""
_MAGIC = b"SQLite format 3\x00"
_ID_AT = 68
"""Where the header has the application's id. Source: sqlite.org/fileformat2.html, section 1.3."""
_LOCKED = 0.5
"""Seconds to wait for another process that writes; every client waits meanwhile."""
_LOAD = (
    "SELECT key, body FROM answer WHERE typeof(key) = 'text' AND typeof(body) = 'blob'"
    " ORDER BY position"
)
_FLAGS = getattr(os, "O_NOFOLLOW", 0)
_PASSING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE})
_PROTECTED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class SqliteMemory:
    """Keeps answers in a file that only this user can read.

    If the file cannot be read or written, such as on a full disk, no request fails: the log says
    once what is lost, and each further answer tries again. A damaged file, or a file of another
    version, is left as it is.

    Args:
        path: The file; its directory must exist.

    Raises:
        ConfigError: There can be no such file, or it is another program's.

    Attributes:
        trouble: What is lost, and why; None: nothing is.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.path.abspath(path)
        self.trouble: str | None = None
        self._is_ours = self._is_given_up = False
        self._connection: sqlite3.Connection | None = None
        try:
            self._connection = self._open()
        except (OSError, sqlite3.Error) as error:
            if not (self._is_ours or _is_passing(error)):
                why = getattr(error, "strerror", None) or error
                raise ConfigError(
                    f"the store {self._path!r} cannot be used ({why}): name a file of your own"
                ) from error
            self._report(error)

    def load(self) -> list[tuple[str, bytes]]:
        """Return all that can be read, the oldest first."""
        rows: list[tuple[str, bytes]] = []
        try:
            for row in self._rows():
                rows.append(row)  # noqa: PERF402 - those before the damage count
        except (OSError, sqlite3.Error) as error:
            if self._connection is not None:  # without one it was reported
                self._report(error)
        return rows

    def keep(self, rows: Iterable[tuple[str, bytes]], dropped: Iterable[str]) -> bool:
        """Keep *rows*, and forget the keys in *dropped*; False: nothing could be written."""
        if self._is_given_up:
            return False
        try:
            self._connection = self._connection or self._open()
            self._write(self._connection, rows, dropped)
        except (OSError, sqlite3.Error) as error:
            self._report(error)
            return False
        if self.trouble is not None:
            self.trouble = None
            self._connection.execute(_waiting(_LOCKED))
            logger.warning("the store %r can be written again, and lacks nothing", self._path)
        return True

    def close(self) -> None:
        """Close the file."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _open(self) -> sqlite3.Connection:
        self._look()
        connection = self._connect("mode=rw")
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self, how: str) -> sqlite3.Connection:
        address = f"{Path(self._path).as_uri()}?{how}"
        seconds = _LOCKED if self.trouble is None else 0.0
        return sqlite3.connect(address, uri=True, isolation_level=None, timeout=seconds)

    def _look(self) -> None:
        """Make the file if there is none, make it private, and see whether it is ours."""
        try:
            descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR | _FLAGS, 0o600)
        except OSError as error:
            if error.errno not in _PROTECTED:
                raise
            descriptor = os.open(self._path, os.O_RDONLY | _FLAGS)
        try:
            self._look_at(descriptor)
        finally:
            os.close(descriptor)

    def _look_at(self, descriptor: int) -> None:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is no regular file")
        if hasattr(os, "fchmod"):  # not on Windows before Python 3.13
            with suppress(OSError):  # of a file that cannot be written
                os.fchmod(descriptor, 0o600)
        header = os.read(descriptor, _ID_AT + 4)
        mark = int.from_bytes(header[_ID_AT:], "big")
        self._is_ours = not header or (header.startswith(_MAGIC) and mark == APPLICATION_ID)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the table if there is none. Nothing is written into a file that has it."""
        mark = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if mark != APPLICATION_ID and tables:
            raise sqlite3.DatabaseError("another program made it")
        if not tables:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS answer (position INTEGER PRIMARY KEY AUTOINCREMENT,"
            " key TEXT NOT NULL UNIQUE, body BLOB NOT NULL)"
        )
        self._is_ours = True
        columns = {row[1] for row in connection.execute("PRAGMA table_info(answer)")}
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != VERSION or not columns >= {"position", "key", "body"}:
            raise sqlite3.DatabaseError("another version of sidestep made it")

    def _rows(self) -> Iterator[tuple[str, bytes]]:
        if self._connection is not None:
            yield from self._connection.execute(_LOAD)
        elif not self._is_given_up and os.path.getsize(self._path):
            # Read it without the files beside it, which cannot be made now.
            with closing(self._connect("mode=ro&immutable=1")) as connection:
                yield from connection.execute(_LOAD)

    def _write(
        self,
        connection: sqlite3.Connection,
        rows: Iterable[tuple[str, bytes]],
        dropped: Iterable[str],
    ) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT OR REPLACE INTO answer (key, body) VALUES (?, ?)", rows)
            connection.executemany("DELETE FROM answer WHERE key = ?", [(key,) for key in dropped])
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            raise

    def _report(self, error: OSError | sqlite3.Error) -> None:
        """Log once what is lost, and wait for no lock until the file can be written again."""
        is_lasting = isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        )
        if is_lasting and not self._is_given_up:
            self._is_given_up = True
            self.close()
            self._log(f"used ({error}): name another file, or delete this one", "at the end")
        elif self.trouble is None:
            self._log(f"written ({error})", "at the end unless the file can be written before")
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.execute(_waiting(0.0))

    def _log(self, what: str, when: str) -> None:
        self.trouble = (
            f"the store {self._path!r} cannot be {what}. What is remembered of answers stays in "
            f"memory, and is lost {when}"
        )
        logger.warning(self.trouble)


def _waiting(seconds: float) -> str:
    """Return the command that makes SQLite wait so long for a lock."""
    return f"PRAGMA busy_timeout = {seconds * 1000:.0f}"


def _is_passing(error: Exception) -> bool:
    """True if *error* says nothing about the file that was named."""
    return isinstance(error, OSError) and error.errno in _PASSING
