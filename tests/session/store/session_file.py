"""What tests write into a session's file and read from it, as a session and as another tool."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from sidestep import SqliteStore
from sidestep.provider.conversation import Message, Text


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
