"""A session's conversation in a file, kept by SQLite."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self, TypeVar

import anyio
import anyio.to_thread

from ...provider.conversation import Message, Part
from ...provider.native_cancel import run_in_child_task
from ..error import StoreError
from .sqlite_file import SessionFile
from .store import snapshot

T = TypeVar("T")


class SqliteStore:
    """Keep a conversation in a file of its own: a `Store` that outlives the process.

    The first call opens the file, or makes it for this user alone, and locks it until `aclose`.
    The lock ends with the process, however that ends, and the next process finds all that was
    kept. When a method returns, its arguments are on the disk. A call that is cancelled while it
    writes completes the write. Only the process that opened the file can use it: a
    forked child makes a store of its own, for another file.

    Args:
        path: The file; its directory must exist.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(path)
        self._file: SessionFile | None = None
        self._is_closed = False
        self._process: int | None = None
        self._turns = anyio.CapacityLimiter(1)
        # A task that asyncio itself cancels leaves its thread running: the next call waits here.
        self._working = threading.Lock()

    async def __aenter__(self) -> Self:
        """Open the file now.

        Raises:
            StoreError: It is open elsewhere, cannot be opened, or is not the file of a session.
        """
        try:
            await run_in_child_task(lambda: self._run(lambda _file: None))
        except BaseException:
            # Nobody will call `__aexit__`.
            await run_in_child_task(lambda: self._release(for_good=False))
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        await self.aclose()

    async def load(self) -> dict[int, Message]:
        """Return all messages by their keys, in order."""
        return await self._run(lambda file: file.load())

    async def check(self) -> None:
        """Check that what was kept can be read."""
        await self._run(lambda file: file.check())

    async def append(self, message: Message) -> int:
        """Keep *message* as the last one; return its key."""
        kept = snapshot(message)
        return await self._run(lambda file: file.append(kept))

    async def save_part(self, key: int, index: int, part: Part) -> None:
        """Keep *part* in place of number *index* of the message with that *key*."""
        kept = replace(part)
        await self._run(lambda file: file.save_part(key, index, kept))

    async def rewrite(self, key: int, message: Message) -> None:
        """Keep *message* in place of the one with that *key*."""
        kept = snapshot(message)
        await self._run(lambda file: file.rewrite(key, kept))

    async def replace(self, messages: Sequence[Message]) -> list[int]:
        """Keep *messages* in place of all others, in one transaction; return their keys."""
        kept = [snapshot(message) for message in messages]
        return await self._run(lambda file: file.replace(kept))

    async def aclose(self) -> None:
        """Close the file once the running calls have ended; further ones raise `StoreError`.

        Without this call nothing is lost, but the file is locked until the process ends.
        """
        await self._release(for_good=True)

    async def _release(self, *, for_good: bool) -> None:
        if self._is_inherited():
            return
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._close, for_good, limiter=self._turns)

    async def _run(self, work: Callable[[SessionFile], T]) -> T:
        if self._is_inherited():
            raise StoreError(
                f"session file {self.path!r} was opened before this process was forked, and only "
                "the process that opened it may use it: make another store, for another file"
            )
        self._process = os.getpid()
        return await anyio.to_thread.run_sync(self._work, work, limiter=self._turns)

    def _is_inherited(self) -> bool:
        """Return whether another process opened the file, because SQLite forbids to share it.

        A thread of that process may also have held our lock, and it is not there to release it.
        """
        return self._process not in (None, os.getpid())

    def _work(self, work: Callable[[SessionFile], T]) -> T:
        with self._working:
            if self._is_closed:
                raise StoreError(f"session file {self.path!r} is closed: make another store for it")
            if self._file is None:
                # Imported here, because sqlite3 would add milliseconds to every `import sidestep`.
                from .sqlite_file import SessionFile

                self._file = SessionFile(self.path)
            return work(self._file)

    def _close(self, for_good: bool) -> None:
        with self._working:
            self._is_closed = self._is_closed or for_good
            if self._file is not None:
                self._file.close()
                self._file = None
