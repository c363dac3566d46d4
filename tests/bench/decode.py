"""The bytes of a long streamed answer to its deltas, beside what else reads such a stream.

CPU time for each of 20,000 deltas. The bare loop splits the same bytes and calls
`pydantic_core.from_json`, and builds nothing; "to events" is our parser and decoder, which is what
the loop does by hand. The others are what an agent iterates over: a reply of `Client`, of the SDK,
or of httpx-sse and `json`, on a transport that hands out the blocks without any socket. The limits
are judged on blocks of 64 KiB, one read of a busy stream; with one event a block, what the
transport does for each counts as well.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import anthropic
import httpx
import httpx2
import openai
from httpx_sse import EventSource
from pydantic_core import from_json

from sidestep import Client, Route
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import Conversation, Message, Text
from sidestep.provider.wire.registry import decoder_of
from sidestep.provider.wire.sse import SseParser

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.measure import Row, medians, run
from tests.bench.sample import Wire, events

DELTAS = 20_000
BLOCK = 65_536
LOOP_LIMIT, PEER_LIMIT = 1.5, 0.5
SDKS: dict[Wire, str] = {"openai-chat": "openai SDK", "anthropic": "anthropic SDK"}
ASKED: dict[str, Any] = {
    "model": "m",
    "max_tokens": 4096,
    "messages": [{"role": "user", "content": "Go on."}],
    "stream": True,
}
CONVERSATION = Conversation([Message("user", [Text("Go on.")])])

Blocks = Sequence[bytes]


def bare(blocks: Blocks) -> int:
    """Split, and parse what is data."""
    count, rest = 0, b""
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n\n")
        for event in whole:
            data = event[event.index(b"data: ") + 6 :]
            if data != b"[DONE]":
                from_json(data)
                count += 1
    return count


def to_events(blocks: Blocks, wire: Wire) -> int:
    """Run our parser and decoder."""
    parser, decoder = SseParser(), decoder_of(provider(wire))
    count = 0
    for block in blocks:
        for name, data in parser.feed(block):
            count += len(decoder.decode(data, name))
    return count


def provider(wire: Wire) -> Provider:
    """Return one that nobody serves."""
    return Provider("bench", wire, "http://bench", None)


def answer(library: ModuleType, blocks: Blocks) -> Callable[[object], Any]:
    """Return what answers every request with *blocks*, in the types of httpx or httpx2."""

    async def body() -> AsyncIterator[bytes]:
        for block in blocks:
            yield block

    def handler(_request: object) -> Any:
        headers = {"content-type": "text/event-stream"}
        return library.Response(200, headers=headers, content=body())

    return handler


def offline(library: ModuleType, blocks: Blocks) -> Any:
    """Return a client of *library* that reads *blocks* for every answer."""
    return library.AsyncClient(transport=library.MockTransport(answer(library, blocks)))


async def with_client(blocks: Blocks, wire: Wire) -> int:
    """Iterate over a reply of ours."""
    http = offline(httpx, blocks)
    client = Client(http=http, providers={"bench": provider(wire)}, environ={})
    count = 0
    async with client.stream(Route("bench/m"), CONVERSATION) as reply:
        async for _ in reply:
            count += 1
    return count


async def with_httpx_sse(blocks: Blocks) -> int:
    """Iterate over the events of httpx-sse, and parse each with `json`."""
    count = 0
    async with offline(httpx, blocks).stream("POST", "http://bench", json=ASKED) as response:
        async for event in EventSource(response).aiter_sse():
            if event.data != "[DONE]":
                event.json()
                count += 1
    return count


async def with_sdk(blocks: Blocks, wire: Wire) -> int:
    """Iterate over a stream of the provider's own SDK."""
    options: dict[str, Any] = {
        "api_key": "k", "base_url": "http://bench", "max_retries": 0,
        "http_client": offline(httpx2, blocks),
    }  # fmt: skip
    if wire == "anthropic":
        stream = await anthropic.AsyncAnthropic(**options).messages.create(**ASKED)
    else:
        stream = await openai.AsyncOpenAI(**options).chat.completions.create(**ASKED)
    count = 0
    async for _ in stream:
        count += 1
    return count


def timed(call: Callable[[], int]) -> float:
    """Return the CPU seconds of a delta."""
    start = time.process_time()
    count = call()
    taken = time.process_time() - start
    assert count >= DELTAS, f"{count} of {DELTAS} deltas came"
    return taken / DELTAS


def timed_in_loop(runner: asyncio.Runner, call: Callable[[], Awaitable[int]]) -> float:
    """Return the CPU seconds of a delta; the event loop is up before."""

    async def inside() -> float:
        start = time.process_time()
        count = await call()
        taken = time.process_time() - start
        assert count >= DELTAS, f"{count} of {DELTAS} deltas came"
        return taken / DELTAS

    return runner.run(inside())


def sides(runner: asyncio.Runner, wire: Wire, blocks: Blocks) -> dict[str, Callable[[], float]]:
    """Return what reads *blocks*."""
    in_loop = partial(timed_in_loop, runner)
    return {
        "bare": partial(timed, partial(bare, blocks)),
        "to events": partial(timed, partial(to_events, blocks, wire)),
        "client": partial(in_loop, partial(with_client, blocks, wire)),
        "httpx-sse, json": partial(in_loop, partial(with_httpx_sse, blocks)),
        SDKS[wire]: partial(in_loop, partial(with_sdk, blocks, wire)),
    }


def rows(wire: Wire, form: str, took: dict[str, float], *, is_judged: bool) -> list[Row]:
    """Compare what one chunking of one wire took."""
    what, loop = f"{wire}, {form}", "split and from_json"
    limits = (LOOP_LIMIT, PEER_LIMIT) if is_judged else (None, None)
    return [
        Row(f"a delta to an event: {what}", took["to events"], loop, took["bare"], limits[0]),
        Row(f"a delta through Client: {what}", took["client"], loop, took["bare"]),
        *(
            Row(f"a delta through Client: {what}", took["client"], peer, took[peer], limits[1])
            for peer in ("httpx-sse, json", SDKS[wire])
        ),
    ]


def measure(rounds: int) -> list[Row]:
    """Compare both wires, in both chunkings."""
    compared: list[Row] = []
    with asyncio.Runner() as runner:
        for wire in SDKS:
            whole = events(wire, deltas=DELTAS)
            body = b"".join(whole)
            chunkings = {
                "64 KiB a block": [body[at : at + BLOCK] for at in range(0, len(body), BLOCK)],
                "an event a block": whole,
            }
            for form, blocks in chunkings.items():
                took = medians(sides(runner, wire, blocks), rounds=rounds)
                compared += rows(wire, form, took, is_judged=blocks is not whole)
    return compared


if __name__ == "__main__":
    run(__doc__, measure, rounds=11)
