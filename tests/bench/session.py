"""A session and its store: a long answer, a long conversation to resume, a thousand turns.

The answer is 20,000 deltas in blocks of 64 KiB on a transport without a socket, kept in a file;
beside it our parser and decoder alone, which read the same bytes. To resume is to open the file
and load it, wall time. A thousand turns of a session in memory must not leave more behind than
the conversation, and the list of what it took: the rest of the process's memory is compared after
200 turns and after 1,000.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

import anyio
import httpx

import sidestep
from sidestep import Client, Message, Route, Session, Sidestep, SqliteStore, Text, ToolCall

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.decode import BLOCK, DELTAS, offline, provider, to_events
from tests.bench.measure import Row, medians, run
from tests.bench.sample import Wire, events

ROUTE = "bench/m"
STEPS = 5_000
ANSWER_LIMIT = 2.0
RESUME_LIMIT = 1.0
FLAT_LIMIT = 1.5
"""Both are some 40 kB; the interpreter's own lists make a few of them."""


def blocks_of(wire: Wire, deltas: int) -> list[bytes]:
    """Return an answer of so many *deltas*, in blocks."""
    body = b"".join(events(wire, deltas=deltas))
    return [body[start : start + BLOCK] for start in range(0, len(body), BLOCK)]


async def answered(wire: Wire, blocks: list[bytes], folder: str) -> None:
    """Take a turn with *blocks* as its answer, and keep it in a file."""
    client = Client(http=offline(httpx, blocks), providers={"bench": provider(wire)}, environ={})
    heard = 0

    def listen(_event: sidestep.Event) -> None:
        nonlocal heard
        heard += 1

    async with SqliteStore(Path(folder) / f"{time.monotonic_ns()}.db") as store:
        session = Session(ROUTE, middleware=Sidestep(), client=client, store=store, on_event=listen)
        await session.turn("Go on.")
    assert heard > DELTAS


def answers(rounds: int) -> list[Row]:
    """Measure a long answer through a session with its store."""
    rows = []
    for wire, name in (("openai-chat", "OpenAI Chat"), ("anthropic", "Anthropic")):
        blocks = blocks_of(wire, DELTAS)  # type: ignore[arg-type]
        with tempfile.TemporaryDirectory() as folder:

            def ours(wire: Any = wire, blocks: list[bytes] = blocks, at: str = folder) -> float:
                started_at = time.process_time()
                asyncio.run(answered(wire, blocks, at))
                return time.process_time() - started_at

            def theirs(wire: Any = wire, blocks: list[bytes] = blocks) -> float:
                started_at = time.process_time()
                to_events(blocks, wire)
                return time.process_time() - started_at

            taken = medians({"ours": ours, "theirs": theirs}, rounds=rounds)
        what = f"an answer of {DELTAS:,} deltas through `Session` with `SqliteStore`, {name}"
        rows.append(Row(what, taken["ours"], "decoding alone", taken["theirs"], limit=ANSWER_LIMIT))
    return rows


async def written(path: Path) -> None:
    """Keep a conversation of many steps."""
    async with SqliteStore(path) as store:
        call = ToolCall("call_1", "read", {"path": "src/a.py"}, "completed", "x" * 400)
        messages = [Message("user", [Text("Go on.")])]
        messages += [
            Message("assistant", [Text(f"Step {n}"), call, call], route=Route(ROUTE))
            for n in range(STEPS)
        ]
        await store.replace(messages)


async def resumed(path: Path) -> None:
    """Open a session again."""
    async with SqliteStore(path) as store:
        session = Session(ROUTE, middleware=Sidestep(), client=Client(environ={}), store=store)
        await session.transcript.load()
        assert len(session.conversation.messages) == STEPS + 1


def resuming(rounds: int) -> Row:
    """Measure how long a session of many steps takes to be there again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.db"
        asyncio.run(written(path))

        def ours() -> float:
            started_at = time.perf_counter()
            asyncio.run(resumed(path))
            return time.perf_counter() - started_at

        taken = medians({"ours": ours}, rounds=rounds)["ours"]
    what = f"a session of {STEPS:,} steps is there again"
    return Row(what, taken, "a second", 1.0, limit=RESUME_LIMIT, kind="wall")


async def left_behind(turns: int, blocks: list[bytes]) -> int:
    """Return the bytes that *turns* turns leave behind beside the conversation."""
    client = Client(
        http=offline(httpx, blocks), providers={"bench": provider("openai-chat")}, environ={}
    )
    session = Session(ROUTE, middleware=Sidestep(), client=client, on_event=lambda _event: None)
    for _ in range(turns):
        await session.turn("Go on.")
        session.transcript.messages.clear()
        session._state.ledger._session.records.clear()  # what every attempt took
        await session.transcript.replace([])
        await anyio.lowlevel.checkpoint()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def flatness() -> Row:
    """Compare what is left behind by many turns and by few."""
    blocks = blocks_of("openai-chat", 20)
    tracemalloc.start()
    asyncio.run(left_behind(50, blocks))
    few = asyncio.run(left_behind(200, blocks))
    many = asyncio.run(left_behind(1_000, blocks))
    tracemalloc.stop()
    what = "memory after 1,000 turns, without the conversation and its costs"
    return Row(what, many, "after 200", few, limit=FLAT_LIMIT, kind="memory")


def measure(rounds: int) -> list[Row]:
    """Measure all."""
    return [*answers(rounds), resuming(max(3, rounds // 2)), flatness()]


if __name__ == "__main__":
    run(__doc__, measure, rounds=7)
