"""The file of `--store`: what is remembered of answers, kept by SQLite."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from ...provider.error import ConfigError
from ...provider.log import logger

if TYPE_CHECKING:
    from collections.abc import Iterable

APPLICATION_ID = 0x73617276
"""Marks the file as ours, in its header."""
_LOCKED = 0.5
"""Seconds to wait for another process that writes; every client waits meanwhile."""
_LOAD = (
    "SELECT key, body FROM answer WHERE typeof(key) = 'text' AND typeof(body) = 'blob'"
    " ORDER BY position"
)
_FLAGS = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)


class SqliteMemory:
    """Keeps answers in a file that only this user can read.

    What cannot be written is logged, because a request must not fail for it.

    Args:
        path: The file; its directory must exist.

    Raises:
        ConfigError: The file cannot be used, or is another program's.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.path.abspath(path)
        try:
            self._connection = self._open()
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error

    def _open(self) -> sqlite3.Connection:
        descriptor = os.open(self._path, _FLAGS, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError("it is no regular file")
            if hasattr(os, "fchmod"):  # not on Windows before Python 3.13
                os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
        connection = sqlite3.connect(
            f"{Path(self._path).as_uri()}?mode=rw",
            uri=True, isolation_level=None, timeout=_LOCKED,
        )  # fmt: skip
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        mark = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if mark != APPLICATION_ID and tables:
            raise sqlite3.DatabaseError("another program made it")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS answer (position INTEGER PRIMARY KEY AUTOINCREMENT,"
            " key TEXT NOT NULL UNIQUE, body BLOB NOT NULL)"
        )

    def load(self) -> list[tuple[str, bytes]]:
        """Return all that is kept, the oldest first.

        Raises:
            ConfigError: The file is damaged.
        """
        try:
            return self._connection.execute(_LOAD).fetchall()
        except sqlite3.Error as error:
            self.close()
            raise self._unusable(error) from error

    def keep(self, rows: Iterable[tuple[str, bytes]], dropped: Iterable[str]) -> None:
        """Keep *rows*, and forget the keys in *dropped*."""
        try:
            self._connection.execute("BEGIN")
            self._connection.executemany(
                "INSERT OR REPLACE INTO answer (key, body) VALUES (?, ?)", rows
            )
            self._connection.executemany(
                "DELETE FROM answer WHERE key = ?", [(key,) for key in dropped]
            )
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            logger.warning("the store %r cannot be written: %s", self._path, error)

    def _unusable(self, error: Exception) -> ConfigError:
        return ConfigError(
            f"the store {self._path!r} cannot be used ({error}): name a file of your own"
        )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
