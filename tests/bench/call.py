"""A whole streamed call of 20 deltas, beside bare httpx that only reads its bytes, and both SDKs.

CPU time of the asking process for each call, on connections that are open already; the server is a
process of its own (see `streamer.py`). Ours is a step of `Sidestep` with a listener round a reply
of `Client`; "a session" is a turn of a new `Session`, with its transcript. One at a time an answer
comes in one burst, each event a chunk of the transfer; in the rows "paced" its events come one by
one. SDKs have their retries off and, like our client, the connections that they open for
themselves; bare httpx has no timeouts, nor their cost.
At 50 at once all run on httpx2: what httpx costs there differs fourfold from run to run.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anthropic
import httpx
import httpx2
import openai

from sidestep import Client, FallbackConfig, Session, Sidestep
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import Conversation, Message, Settings, Text

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.measure import Row, medians, run
from tests.bench.sample import Wire

DELTAS = 20
AT_ONCE = 50
CALLS = 20
"""A round: few, so that the sides take turns often and meet the same noise."""
BARE_LIMIT, SDK_LIMIT = 1.4, 1.0
PATHS: dict[Wire, str] = {"openai-chat": "/v1/chat/completions", "anthropic": "/v1/messages"}
SDKS: dict[Wire, str] = {"openai-chat": "openai SDK", "anthropic": "anthropic SDK"}
CONFIG = FallbackConfig.model_validate(
    {"fallbackModelsByModel": {"anthropic/m": "openai-chat/m", "openai-chat/m": "anthropic/m"}}
)
ON_HTTPX = ("ours", "a session", "bare httpx")
PROMPT = "Why does test_parser fail?"
ASKED: dict[str, Any] = {
    "model": "m",
    "max_tokens": 4096,
    "messages": [{"role": "user", "content": PROMPT}],
    "stream": True,
}

CONVERSATION = Conversation(
    [Message("user", [Text(PROMPT)])], settings=Settings(max_output_tokens=4096)
)

Call = Callable[[], Awaitable[int]]


@contextmanager
def server() -> Iterator[dict[str, str]]:
    """Run `streamer.py`, and yield the address of its burst, and of its paced answer."""
    command = [sys.executable, str(Path(__file__).with_name("streamer.py")), str(DELTAS)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        burst, paced = json.loads(process.stdout.readline())
        yield {"burst": f"http://127.0.0.1:{burst}", "paced": f"http://127.0.0.1:{paced}"}
        process.stdin.close()


async def bare(http: Any, url: str) -> int:
    """Read the bytes, and look at none."""
    count = 0
    async with http.stream("POST", url, json=ASKED) as response:
        async for _ in response.aiter_raw():
            count += 1
    return count


async def with_engine(client: Client, middleware: Sidestep, wire: Wire) -> int:
    """Take a step over the client, as an agent with a loop of its own does."""
    count = 0

    def listen(_event: object) -> None:
        pass

    async for attempt in middleware.step(f"{wire}/m", serves=client.serves, on_event=listen):
        async with attempt, client.stream(attempt.route, CONVERSATION) as reply:
            async for _ in reply:
                count += 1
    return count


async def with_session(client: Client, middleware: Sidestep, wire: Wire) -> int:
    """Take a turn of a new conversation."""
    count = 0

    def listen(_event: object) -> None:
        nonlocal count
        count += 1

    session = Session(
        f"{wire}/m", middleware=middleware, client=client, max_output_tokens=4096, on_event=listen
    )
    await session.turn(PROMPT)
    return count


async def with_anthropic(sdk: anthropic.AsyncAnthropic) -> int:
    """Iterate over a stream of Anthropic's SDK."""
    count = 0
    async for _ in await sdk.messages.create(**ASKED):
        count += 1
    return count


async def with_openai(sdk: openai.AsyncOpenAI) -> int:
    """Iterate over a stream of OpenAI's SDK."""
    count = 0
    async for _ in await sdk.chat.completions.create(**ASKED):
        count += 1
    return count


def sdk_call(wire: Wire, url: str) -> Call:
    """Return a call of the provider's own SDK, with a client that is used again."""
    options: dict[str, Any] = {"api_key": "k", "max_retries": 0}
    if wire == "anthropic":
        return partial(with_anthropic, anthropic.AsyncAnthropic(base_url=url, **options))
    return partial(with_openai, openai.AsyncOpenAI(base_url=f"{url}/v1", **options))


def providers(url: str) -> dict[str, Provider]:
    """Return both wires at *url*."""
    bases: Mapping[Wire, str] = {"openai-chat": f"{url}/v1", "anthropic": url}
    return {wire: Provider(wire, wire, base, "KEY") for wire, base in bases.items()}


def calls(wire: Wire, url: str) -> dict[str, Call]:
    """Return what asks *url*."""
    middleware = Sidestep(CONFIG)
    known, environ = providers(url), {"KEY": "k"}
    ours = Client(providers=known, environ=environ)
    ours2 = Client(http=unlimited(httpx2), providers=known, environ=environ)
    return {
        "bare httpx": partial(bare, unlimited(httpx), url + PATHS[wire]),
        "bare httpx2": partial(bare, unlimited(httpx2), url + PATHS[wire]),
        "ours": partial(with_engine, ours, middleware, wire),
        "ours, httpx2": partial(with_engine, ours2, middleware, wire),
        "a session": partial(with_session, ours, middleware, wire),
        SDKS[wire]: sdk_call(wire, url),
    }


def unlimited(library: Any) -> Any:
    """Return a client of *library* that holds no call up, and puts no deadline to any."""
    return library.AsyncClient(limits=library.Limits(max_connections=None), timeout=None)


def timed(runner: asyncio.Runner, call: Call, *, at_once: int, rounds: int) -> float:
    """Return the CPU seconds of one of *rounds* times *at_once* calls."""

    async def batch() -> None:
        if at_once == 1:
            counts = [await call()]
        else:
            counts = await asyncio.gather(*(call() for _ in range(at_once)))
        assert min(counts) >= DELTAS

    async def inside() -> float:
        await batch()  # opens the connections that were idle for too long
        start = time.process_time()
        for _ in range(rounds):
            await batch()
        return (time.process_time() - start) / (rounds * at_once)

    return runner.run(inside())


def compared(
    runner: asyncio.Runner, wire: Wire, url: str, *, at_once: int, calls_a_round: int, rounds: int
) -> dict[str, float]:
    """Return the seconds of each side's call."""
    return medians(
        {
            name: partial(timed, runner, call, at_once=at_once, rounds=calls_a_round // at_once)
            for name, call in calls(wire, url).items()
            if at_once == 1 or name not in ON_HTTPX
        },
        rounds=rounds,
    )


def measure(rounds: int) -> list[Row]:
    """Compare a call at a time, in both paces, and 50 at once."""
    rows: list[Row] = []
    with server() as urls, asyncio.Runner() as runner:
        for wire in PATHS:
            against = partial(compared, runner, wire, rounds=rounds)
            one = against(urls["burst"], at_once=1, calls_a_round=CALLS)
            many = against(urls["burst"], at_once=AT_ONCE, calls_a_round=AT_ONCE)
            paced = against(urls["paced"], at_once=1, calls_a_round=CALLS // 4)
            rows += rows_of(wire, one, many, paced)
    return rows


def rows_of(
    wire: Wire, one: dict[str, float], many: dict[str, float], paced: dict[str, float]
) -> list[Row]:
    """Compare what the calls in *wire* took."""
    sdk = SDKS[wire]
    sides: list[tuple[str, dict[str, float], str, str, float | None]] = [
        ("one at a time", one, "ours", "bare httpx", BARE_LIMIT),
        ("one at a time", one, "ours", sdk, SDK_LIMIT),
        ("one at a time", one, "a session", "bare httpx", None),
        ("one at a time", one, "a session", sdk, SDK_LIMIT),
        ("one at a time", one, "ours, httpx2", "bare httpx2", None),
        ("one at a time", one, "ours, httpx2", sdk, SDK_LIMIT),
        ("one at a time, paced", paced, "ours", "bare httpx", None),
        ("one at a time, paced", paced, "ours", sdk, None),
        (f"{AT_ONCE} at once", many, "ours, httpx2", sdk, SDK_LIMIT),
        (f"{AT_ONCE} at once", many, "ours, httpx2", "bare httpx2", None),
    ]
    return [
        Row(f"a call, {wire}, {how}: {ours}", took[ours], theirs, took[theirs], limit)
        for how, took, ours, theirs, limit in sides
    ]


if __name__ == "__main__":
    run(__doc__, measure, rounds=31)
