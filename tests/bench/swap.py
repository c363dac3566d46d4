"""A swap over real sockets, from the last byte of a 503 to the first byte at the sibling.

Both instants are read by the server, in a process of its own (see `server.py`), on connections that
are open already. httpx that just posts to one address and then to the other shows what of the gap
is not ours. The log lines of a swap are formatted and written, to the null device.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import statistics
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from sidestep import Client, FallbackConfig, MemoryStore, Route, Session, Sidestep
from sidestep.provider.conversation import Message, Text

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.measure import Row, medians, run

SWAPS = 20
"""A round."""
LIMIT = 2e-3
DOWN, UP = "down/model", "up/model"
CONFIG = FallbackConfig.model_validate(
    {"fallbackModelsByModel": {DOWN: UP, UP: DOWN}, "maxUpstreamRetryAttempts": 0}
)
HISTORIES = {"a short conversation": 1, "200 messages, 100 kB": 200}
WORDS = 'The parser drops the last token of "a.py": see line 42.\n' * 9

Swap = Callable[[], Awaitable[object]]


@dataclass
class Server:
    """The far side, and what it noted.

    Args:
        urls: Of the provider that is down, and of the one that is up.
    """

    process: subprocess.Popen[str]
    urls: Mapping[str, str]

    def noted(self) -> tuple[list[float], int]:
        """Return the seconds of every swap since this was last asked, and the new connections."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        noted = json.loads(self.process.stdout.readline())
        return noted["gaps"], noted["opened"]


@contextmanager
def server() -> Iterator[Server]:
    """Run `server.py`."""
    command = [sys.executable, str(Path(__file__).with_name("server.py"))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        down, up = json.loads(process.stdout.readline())
        yield Server(process, {"down": f"http://127.0.0.1:{down}", "up": f"http://127.0.0.1:{up}"})
        process.stdin.close()


def history(size: int) -> list[tuple[str, str]]:
    """Return a conversation of *size* messages, as roles and texts."""
    return [
        ("user" if number % 2 == 0 else "assistant", f"{number}: {WORDS if size > 1 else 'Hi'}")
        for number in range(size - 1)
    ] + [("user", "Go on.")]


def body(size: int) -> dict[str, Any]:
    """Return the request of an agent that speaks to the provider itself."""
    messages = [{"role": role, "content": text} for role, text in history(size)]
    return {"model": "model", "max_tokens": 4096, "stream": True, "messages": messages}


async def by_hand(http: httpx.AsyncClient, urls: Mapping[str, str], asked: object) -> None:
    """Ask the one, then the other, with nothing in between."""
    for url in urls.values():
        await http.post(f"{url}/v1/messages", json=asked)


async def with_attempts(
    http: httpx.AsyncClient, urls: Mapping[str, str], asked: object, middleware: Sidestep
) -> None:
    """Ask as an agent does that has its own call in our attempts."""
    step = middleware.step(DOWN)
    async for attempt in step:
        async with attempt:
            url = urls[attempt.route.provider]
            response = await http.post(f"{url}/v1/messages", json=asked)
            response.raise_for_status()
    assert step.route == UP
    middleware.degraded.clear()


async def with_session(client: Client, size: int, middleware: Sidestep) -> None:
    """Ask with our own client and session, in a conversation of *size* messages."""
    store = MemoryStore()
    *before, (_, prompt) = history(size)
    await store.replace(
        [
            Message("assistant", [Text(text)], route=Route(DOWN))
            if role == "assistant"
            else Message("user", [Text(text)])
            for role, text in before
        ]
    )
    session = Session(
        DOWN, middleware=middleware, client=client, store=store, max_output_tokens=4096
    )
    ended = await session.turn(prompt)
    assert ended.route == UP
    middleware.degraded.clear()


def providers(urls: Mapping[str, str]) -> str:
    """Return what ``SIDESTEP_PROVIDERS`` has to hold."""
    return json.dumps(
        {
            name: {"wire": "anthropic", "baseUrl": url, "apiKeyEnv": None}
            for name, url in urls.items()
        }
    )


def measure(rounds: int) -> list[Row]:
    """Compare both ways to embed us with httpx alone, at two lengths of history."""
    logging.basicConfig(filename=os.devnull, level=logging.INFO)
    with server() as far, asyncio.Runner() as runner:
        http, own = httpx.AsyncClient(), Client(environ={"SIDESTEP_PROVIDERS": providers(far.urls)})
        middleware = Sidestep(CONFIG)
        swaps: dict[str, Swap] = {}
        for name, size in HISTORIES.items():
            post = partial(by_hand, http, far.urls, body(size))
            swaps[f"httpx: {name}"] = post
            swaps[f"attempts: {name}"] = partial(
                with_attempts, http, far.urls, body(size), middleware
            )
            swaps[f"session: {name}"] = partial(with_session, own, size, middleware)
        took = medians(
            {name: partial(timed, runner, far, swap) for name, swap in swaps.items()},
            rounds=rounds,
        )
        runner.run(own.aclose())
        runner.run(http.aclose())
    return [
        Row(
            f"a swap, {way}: {name}", took[f"{way}: {name}"], "httpx alone",
            took[f"httpx: {name}"], LIMIT, allows="more", kind="wall",
        )
        for name in HISTORIES
        for way in ("attempts", "session")
    ]  # fmt: skip


def timed(runner: asyncio.Runner, far: Server, swap: Swap) -> float:
    """Return the median seconds between the two requests of a *swap*."""

    async def all_of_them() -> None:
        await swap()  # opens the connections, if it is the first
        far.noted()
        for _ in range(SWAPS):
            await swap()

    runner.run(all_of_them())
    gaps, opened = far.noted()
    assert len(gaps) == SWAPS, f"{len(gaps)} gaps for {SWAPS} swaps"
    assert not opened, f"{opened} connections were opened on the way"
    return statistics.median(gaps)


if __name__ == "__main__":
    run(__doc__, measure, rounds=25)
