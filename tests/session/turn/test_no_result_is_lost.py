"""Whatever write of a turn fails, once or for ever: store and memory agree, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pytest

from sidestep import (
    Journal,
    MemoryStore,
    Message,
    SqliteStore,
    StoreError,
    Summary,
    Text,
    ToolCall,
)
from sidestep.provider.conversation import Part
from sidestep.session.store.store import Store, snapshot
from sidestep.session.turn.transcript import UNSTARTED

from .failing_store import FOR_EVER, ONCE, Disk, FailingStore, failing_statements
from .worker import JOBS, Worker

T = TypeVar("T")

pytestmark = pytest.mark.asyncio


def calls(messages: Sequence[Message]) -> list[ToolCall]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolCall)]


def results(messages: Sequence[Message]) -> dict[str, object]:
    """Return what came of each job that was done."""
    ended = [call for call in calls(messages) if call.state == "completed"]
    return {call.input["job"]: call.output for call in ended}


async def finish(
    worker: Worker, store: Store, make_room: Callable[[], None], *, patience: int = 1
) -> int:
    """Take the turn; return how often it failed.

    Args:
        patience: How many failures there are before there is room.
    """
    worker.in_tool = lambda job: worker.session.steer("Hurry.") if job == "job-9" else None
    prompt: str | None = "Do it."
    for failures in range(patience + 3):
        try:
            ended = await worker.session.turn(prompt)
        except StoreError:
            if failures + 1 == patience:
                make_room()
            messages = worker.session.conversation.messages
            assert [*(await store.load()).values()] == messages
            prompt = None
        else:
            assert ended.text == "Done."
            return failures
    raise AssertionError("the session does not go on")


async def check(worker: Worker, store: Store) -> None:
    """Check that every job was done once, and that its result is there."""
    messages = worker.session.conversation.messages
    assert sorted(worker.done) == sorted(JOBS)
    assert [*(await store.load()).values()] == messages
    assert results(messages) == {job: f"did {job}" for job in JOBS}
    said = [p for m in messages if m.role == "user" for p in m.parts]
    assert said == [Text("Do it."), Text("Hurry.")]
    states = {call.state for call in calls(messages) if call.output != UNSTARTED}
    assert states == {"completed", "error"}


EAGER = pytest.mark.parametrize("eager", [False, True], ids=["at the end", "eager"])


@EAGER
@pytest.mark.parametrize(
    ("how", "patience"),
    [
        pytest.param(ONCE, 1, id="once"),
        pytest.param(FOR_EVER, 1, id="for ever"),
        pytest.param(FOR_EVER, 3, id="for ever, in three turns"),
    ],
)
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(None, id="an error of ours"),
        pytest.param(asyncio.CancelledError(), id="what the store waited for was cancelled"),
        pytest.param(LookupError(), id="any exception"),
    ],
)
async def test_any_write_may_fail(
    how: str, patience: int, error: BaseException | None, *, eager: bool, whole: bool
) -> None:
    async def play(disk: Disk) -> int:
        store = FailingStore(disk, error)
        worker = Worker(store=store, eager=eager)
        failures = await finish(worker, store, disk.make_room, patience=patience)
        await check(worker, store)
        return failures

    healthy = Disk()
    assert await play(healthy) == 0
    assert healthy.writes > 30
    for at in range(1, healthy.writes + 1, 1 if whole else 2):
        failures = await play(Disk(at, how))
        assert failures == patience or (eager and how == ONCE), at


class CutOffStore(FailingStore):
    """A store; somebody cancels every task during a write, as `asyncio.run` does at its end.

    So nobody knows what was written.

    Args:
        is_written: The write that is cut off is written all the same.
    """

    def __init__(self, disk: Disk, *, is_written: bool) -> None:
        super().__init__(disk)
        self.is_written = is_written
        self.others = asyncio.all_tasks()

    def _write(self) -> None:
        """Write; `_cut_off` does what a disk does otherwise."""

    async def _cut_off(self, write: Awaitable[T]) -> T:
        if self.disk.has_room():
            return await write
        if self.is_written:
            await write
        else:
            write.close()  # type: ignore[attr-defined]
        for task in asyncio.all_tasks() - self.others:
            task.cancel()
        await asyncio.sleep(3600)
        raise AssertionError

    async def append(self, message: Message) -> int:
        return await self._cut_off(super().append(message))

    async def save_part(self, key: int, index: int, part: Part) -> None:
        await self._cut_off(super().save_part(key, index, part))

    async def rewrite(self, key: int, message: Message) -> None:
        await self._cut_off(super().rewrite(key, message))


# What Python says of tasks that were cancelled before their first step.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@EAGER
@pytest.mark.parametrize("is_written", [False, True], ids=["not written", "written"])
async def test_any_write_may_be_cut_off(*, is_written: bool, eager: bool, whole: bool) -> None:
    async def play(disk: Disk) -> None:
        store = CutOffStore(disk, is_written=is_written)
        worker = Worker(store=store, eager=eager)
        worker.in_tool = lambda job: worker.session.steer("Hurry.") if job == "job-9" else None
        with suppress(asyncio.CancelledError):
            await asyncio.create_task(worker.session.turn("Do it."))
        disk.make_room()
        ended = await worker.session.turn(None)
        assert ended.text == "Done."
        messages = worker.session.conversation.messages
        assert [*(await store.load()).values()] == messages
        assert len(set(worker.done)) == len(worker.done)
        assert results(messages) == {job: f"did {job}" for job in worker.ended}, disk.at

    healthy = Disk()
    await play(healthy)
    for at in range(1, healthy.writes + 1, 1 if whole else 2):
        await play(Disk(at))


@EAGER
@pytest.mark.parametrize("how", [ONCE, FOR_EVER])
async def test_any_statement_may_fail(
    how: str, tmp_path: Path, *, eager: bool, whole: bool
) -> None:
    async def play(disk: Disk) -> None:
        store = SqliteStore(tmp_path / f"{disk.at}.db")
        with failing_statements(disk):
            try:
                worker = Worker(store=store, eager=eager)
                await finish(worker, store, disk.make_room)
                await check(worker, store)
            finally:
                await store.aclose()

    healthy = Disk()
    await play(healthy)
    assert healthy.writes > 100
    for at in range(1, healthy.writes + 1, 3 if whole else 23):
        await play(Disk(at, how))


@EAGER
@pytest.mark.parametrize("how", [ONCE, FOR_EVER])
async def test_any_write_of_a_turn_that_is_summarised_may_fail(how: str, *, eager: bool) -> None:
    async def play(disk: Disk) -> None:
        store = FailingStore(disk)
        worker = Worker(store=store, eager=eager, compact=Summary(keep=1))
        worker.longest = 6
        await finish(worker, store, disk.make_room)
        assert sorted(worker.done) == sorted(JOBS)
        messages = worker.session.conversation.messages
        assert [*(await store.load()).values()] == messages
        assert "Summary of" in str(messages)

    healthy = Disk()
    await play(healthy)
    for at in range(1, healthy.writes + 1, 3):
        await play(Disk(at, how))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder that is a file system of its own, with little room."""
    options = ["-t", "tmpfs", "-o", "size=512k", "sidestep-test", str(tmp_path)]
    try:
        subprocess.run(["mount", *options], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no small file system can be mounted, which takes root")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


def fill(disk: Path, *, left: int) -> Path:
    """Fill *disk* up to the last *left* bytes; return the file that can be removed again."""
    filler = disk / "filler"
    free = os.statvfs(disk)
    filler.write_bytes(b"x" * max(0, free.f_bavail * free.f_bsize - left))
    return filler


def empty(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


@EAGER
async def test_the_disk_may_be_full(small_disk: Path, *, eager: bool, whole: bool) -> None:
    """The journal is on it as well: it loses lines, and counts them."""
    for left in range(0, 400_000, 4_096 if whole else 11 * 4_096):
        filler = fill(small_disk, left=left)
        store = SqliteStore(small_disk / "session.db")
        worker = Worker(store=store, eager=eager)
        path = small_disk / "journal.jsonl"
        try:
            with Journal(path) as worker.middleware.journal:
                await finish(worker, store, filler.unlink)
            await check(worker, store)
        finally:
            await store.aclose()
        last = path.read_text().splitlines()[-1]  # of the lines before, one may be half there
        assert json.loads(last)["event"] == "TurnEnded"
        empty(small_disk)


@contextmanager
def longest_file(size: int) -> Iterator[Callable[[], None]]:
    """Let no file of this process become longer than *size*; yield what ends this."""
    resource = pytest.importorskip("resource")
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)

    def make_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield make_room
    finally:
        make_room()


@EAGER
async def test_the_file_may_be_as_long_as_it_can_get(
    tmp_path: Path, *, eager: bool, whole: bool
) -> None:
    """This needs no root, and is an error of input and output for SQLite, not a full disk."""
    for size in range(8_192, 500_000, 8_192 if whole else 11 * 8_192):
        store = SqliteStore(tmp_path / f"{size}.db")
        with longest_file(size) as make_room:
            try:
                worker = Worker(store=store, eager=eager)
                await finish(worker, store, make_room)
                await check(worker, store)
            finally:
                await store.aclose()


class Filmed(MemoryStore):
    """A store that keeps, before and after each write, how a crash there would leave it."""

    def __init__(self, held: Sequence[Message] = ()) -> None:
        super().__init__()
        self._messages = {key: snapshot(message) for key, message in enumerate(held, 1)}
        self._next = len(held)
        self.film: list[tuple[list[Message], list[str]]] = []
        self.done: list[str] = []

    async def _shoot(self) -> None:
        self.film.append(([*(await self.load()).values()], [*self.done]))

    async def append(self, message: Message) -> int:
        await self._shoot()
        key = await super().append(message)
        await self._shoot()
        return key

    async def save_part(self, key: int, index: int, part: Part) -> None:
        await self._shoot()
        await super().save_part(key, index, part)
        await self._shoot()

    async def rewrite(self, key: int, message: Message) -> None:
        await self._shoot()
        await super().rewrite(key, message)
        await self._shoot()


@EAGER
async def test_a_process_may_end_before_and_after_any_write(*, eager: bool) -> None:
    store = Filmed()
    worker = Worker(store=store, eager=eager)
    store.done = worker.done
    await finish(worker, store, lambda: None)

    for held, done in store.film:
        resumed = Filmed(held)
        other = Worker(store=resumed, eager=eager)
        other.may_break_off = False
        is_asked = any(message.role == "user" for message in held)
        await other.session.turn(None if is_asked else "Do it.")
        both = [*done, *other.done]
        assert len(both) == len(set(both))
        messages = [*(await resumed.load()).values()]
        assert messages == other.session.conversation.messages
        assert results(messages).items() >= results(held).items()
