"""A session's file while it is open: the queries on its tables."""

from __future__ import annotations

import os
import sqlite3
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...provider.error import ConfigError
from ..error import StoreError
from .sqlite_row import (
    MessageRow,
    PartRow,
    read_message_row,
    read_part_row,
    write_message,
    write_part,
)
from .sqlite_schema import open_session, refusal, transaction
from .store import no_message, no_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...provider.conversation import Message, Part

_EVERYTHING = "SELECT total(length(body)) FROM message LEFT JOIN part ON message_id = message.id"
_MESSAGES = """
SELECT id, role, route, requested, usage, attempts, cooldowns FROM message ORDER BY position"""
_PARTS = "SELECT message_id, position, type, body FROM part ORDER BY message_id, position"
_INSERT = """
INSERT INTO message (position, role, route, requested, usage, attempts, cooldowns)
VALUES ((SELECT coalesce(max(position) + 1, 0) FROM message), ?, ?, ?, ?, ?, ?)"""
_INSERT_PART = "INSERT INTO part (message_id, position, type, body) VALUES (?, ?, ?, ?)"
_UPDATE = """
UPDATE message
SET role = ?, route = ?, requested = ?, usage = ?, attempts = ?, cooldowns = ? WHERE id = ?"""
_FIND = "SELECT 1 FROM message WHERE id = ?"
_UPDATE_PART = "UPDATE part SET type = ?, body = ? WHERE message_id = ? AND position = ?"


class SessionFile:
    """The file of one session, locked from the start until `close`.

    The constructor and every method raise `StoreError` if the file cannot be read or written, and
    then leave it unchanged. Any thread may call, one at a time.

    Args:
        path: Absolute; the file is made if it does not exist.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        with self._explained():
            self._connection = open_session(path)
        self._place = _place(path)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def check(self) -> None:
        """Read every page, to find out whether that is possible."""
        with self._at_work():
            self._check_place()
            self._connection.execute(_EVERYTHING).fetchone()

    def load(self) -> dict[int, Message]:
        """Return all messages by their keys, in order."""
        messages = {}
        with self._at_work():
            parts = self._load_parts()
            for key, *columns in self._connection.execute(_MESSAGES):
                try:
                    messages[key] = read_message_row(MessageRow(*columns), parts[key])
                except ConfigError as error:
                    raise self._unreadable(f"message {key}", error) from error
        return messages

    def _load_parts(self) -> defaultdict[int, list[Part]]:
        parts: defaultdict[int, list[Part]] = defaultdict(list)
        for key, position, kind, body in self._connection.execute(_PARTS):
            of_message = parts[key]
            try:
                _check_position(position, len(of_message))
                of_message.append(read_part_row(PartRow(kind, body)))
            except ConfigError as error:
                what = f"part {len(of_message)} of message {key}"
                raise self._unreadable(what, error) from error
        return parts

    def _unreadable(self, what: str, error: ConfigError) -> StoreError:
        why = str(error).removeprefix("parts[0].").removeprefix("parts[0] ")
        return StoreError(
            f"{what} in session file {self._path!r} cannot be read ({why}), and all was left as "
            "it is: restore a copy of the file, or repair that row with `sqlite3`"
        )

    def append(self, message: Message) -> int:
        """Keep *message* as the last one; return its key."""
        with self._writing():
            return self._insert(message)

    def replace(self, messages: Sequence[Message]) -> list[int]:
        """Keep *messages* in place of all others; return their keys."""
        with self._writing():
            self._connection.execute("DELETE FROM message")
            return [self._insert(message) for message in messages]

    def rewrite(self, key: int, message: Message) -> None:
        """Keep *message* in place of the one with that *key*."""
        row, parts = write_message(message)
        with self._writing():
            if not self._connection.execute(_UPDATE, (*row, key)).rowcount:
                raise no_message(key)
            self._connection.execute("DELETE FROM part WHERE message_id = ?", (key,))
            self._insert_parts(key, parts)

    def save_part(self, key: int, index: int, part: Part) -> None:
        """Keep *part* in place of number *index* of the message with that *key*."""
        row = write_part(part)
        with self._writing():
            if not self._connection.execute(_UPDATE_PART, (*row, key, index)).rowcount:
                found = self._connection.execute(_FIND, (key,)).fetchone()
                raise no_message(key) if found is None else no_part(key, index)

    def _insert(self, message: Message) -> int:
        row, parts = write_message(message)
        key = self._connection.execute(_INSERT, row).lastrowid
        assert key is not None  # noqa: S101 - it is an INSERT
        self._insert_parts(key, parts)
        return key

    def _insert_parts(self, key: int, parts: Sequence[PartRow]) -> None:
        rows = ((key, position, *part) for position, part in enumerate(parts))
        self._connection.executemany(_INSERT_PART, rows)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._at_work():
            self._check_place()
            with transaction(self._connection):
                yield

    def _check_place(self) -> None:
        """Check that the path still names this file: a removed file can still be written."""
        if _place(self._path) != self._place:
            raise StoreError(
                f"session file {self._path!r} was removed or replaced while it was open, "
                "so what comes now would be lost: leave the file where it is, and begin anew"
            )

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Explain errors; first undo a change that could not be undone when the disk failed."""
        with self._explained():
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            yield

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise refusal(self._path, error) from error
        except (UnicodeEncodeError, OverflowError) as error:
            raise StoreError(f"session file {self._path!r} cannot hold that: {error}") from error


def _place(path: str) -> tuple[int, int] | None:
    """Return what identifies the file at *path*; None: there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _check_position(found: int, expected: int) -> None:
    if found != expected:
        raise ConfigError("it is missing")
