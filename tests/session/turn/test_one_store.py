"""Two sessions with one store take turns, one after the other, and never mix."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from sidestep import MemoryStore, SqliteStore, Text
from sidestep.session.store.store import Store

from .outage import A, Outage

pytestmark = pytest.mark.asyncio

KINDS = pytest.mark.parametrize("kind", ["memory", "file"])


@asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncGenerator[Store, None]:
    store: Store = MemoryStore() if kind == "memory" else SqliteStore(folder / "session.db")
    try:
        yield store
    finally:
        await store.aclose()


async def said(store: Store) -> list[str]:
    stored = (await store.load()).values()
    return [part.text for each in stored for part in each.parts if isinstance(part, Text)]


@KINDS
async def test_a_session_goes_on_with_what_another_has_said(kind: str, tmp_path: Path) -> None:
    answers = [{"text": text} for text in ("one", "two", "three", "four")]
    async with opened(kind, tmp_path) as store, Outage({A: answers}) as outage:
        first, second = outage.open(store=store), outage.open(store=store)
        await first.turn("1")
        await second.turn("2")
        await first.turn("3")
        answer = await second.side_call("4")

        assert await said(store) == ["1", "one", "2", "two", "3", "three"]
        assert len(first.conversation.messages) == len(second.conversation.messages) == 6
        assert answer == "four"


@KINDS
@pytest.mark.parametrize("way", ["turn", "side_call"])
async def test_a_session_is_refused_while_another_takes_a_turn(
    kind: str, way: str, tmp_path: Path
) -> None:
    running, go_on = anyio.Event(), anyio.Event()

    async def wait() -> str:
        """Wait."""
        running.set()
        await go_on.wait()
        return "waited"

    answers = [{"tool_calls": [{"name": "wait", "input": {}}]}, {"text": "one"}, {"text": "two"}]
    async with opened(kind, tmp_path) as store, Outage({A: answers}) as outage:
        first, second = outage.open(store=store, tools=[wait]), outage.open(store=store)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first.turn, "1")
            await running.wait()
            with pytest.raises(RuntimeError, match="another session with the same store"):
                await getattr(second, way)("2")
            go_on.set()
        assert await said(store) == ["1", "one"]

        await second.turn("3")
        assert await said(store) == ["1", "one", "3", "two"]


async def test_sessions_with_their_own_stores_run_at_once() -> None:
    async with Outage({A: [{"text": "hello", "times": 2}]}) as outage:
        first, second = outage.open(store=MemoryStore()), outage.open(store=MemoryStore())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first.turn, "1")
            tasks.start_soon(second.turn, "2")

    assert len(first.conversation.messages) == len(second.conversation.messages) == 2


async def test_a_session_whose_turn_failed_keeps_no_other_one_from_its_store() -> None:
    store = MemoryStore()
    async with Outage({A: [{"status": 400}, {"text": "two"}]}) as outage:
        first, second = outage.open(store=store), outage.open(store=store)
        with pytest.raises(Exception, match="400"):
            await first.turn("1")
        ended = await second.turn("2")

    assert ended.text == "two"
