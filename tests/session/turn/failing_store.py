"""Stores that fail at a chosen write, as on a full disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from sidestep import MemoryStore, Message, StoreError
from sidestep.provider.conversation import Part

ONCE, FOR_EVER = "once", "for ever"


class Disk:
    """A disk on which the write with the number *at* fails, or every write from there on.

    Args:
        at: Counted from 1; 0: no write fails.
        how: `ONCE` or `FOR_EVER`.

    Attributes:
        writes: How many writes were tried.
    """

    def __init__(self, at: int = 0, how: str = ONCE) -> None:
        self.at = at
        self.how = how
        self.writes = 0

    def make_room(self) -> None:
        """Let all further writes succeed."""
        self.at = 0

    def has_room(self) -> bool:
        """Count a write, and return whether it succeeds."""
        self.writes += 1
        is_full = self.writes > self.at > 0 and self.how == FOR_EVER
        return not (is_full or self.writes == self.at)


class FailingStore(MemoryStore):
    """A store in memory that writes to *disk*.

    Args:
        error: What a write that fails raises; None: a `StoreError`.
    """

    def __init__(self, disk: Disk, error: BaseException | None = None) -> None:
        super().__init__()
        self.disk = disk
        self.error = StoreError("the disk is full") if error is None else error

    def _write(self) -> None:
        if not self.disk.has_room():
            raise self.error

    async def append(self, message: Message) -> int:
        self._write()
        return await super().append(message)

    async def save_part(self, key: int, index: int, part: Part) -> None:
        self._write()
        await super().save_part(key, index, part)

    async def rewrite(self, key: int, message: Message) -> None:
        self._write()
        await super().rewrite(key, message)

    async def replace(self, messages: Sequence[Message]) -> list[int]:
        self._write()
        return await super().replace(messages)


@contextmanager
def failing_statements(disk: Disk) -> Iterator[None]:
    """Have every statement of SQLite that writes count as a write to *disk*."""
    connect = sqlite3.connect

    class Connection(sqlite3.Connection):
        def execute(self, sql: str, given: Any = (), /) -> sqlite3.Cursor:
            _run(disk, sql)
            return super().execute(sql, given)

        def executemany(self, sql: str, given: Iterable[Any], /) -> sqlite3.Cursor:
            _run(disk, sql)
            return super().executemany(sql, given)

    def failing(*place: Any, **options: Any) -> sqlite3.Connection:
        return connect(*place, factory=Connection, **options)

    with mock.patch("sqlite3.connect", failing):
        yield


_WRITING = {"BEGIN", "COMMIT", "CREATE", "DELETE", "INSERT", "ROLLBACK", "UPDATE"}


def _run(disk: Disk, sql: str) -> None:
    if sql.split()[0] in _WRITING and not disk.has_room():
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error
