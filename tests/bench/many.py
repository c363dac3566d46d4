"""Many sessions of one process at once: the CPU time of a turn of three requests.

The stub answers in a process of its own. A turn calls a tool twice and then ends; in an outage its
first request gets a 503 besides, and the turn moves to the sibling. What ours is measured against
asks the same provider three times, one after the other. Each side keeps its client, and so its
connections; bare httpx has the limits that it has by itself. The others are left out at a thousand
at once, because there one round of them takes minutes.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import httpx
import httpx2
import openai

from sidestep import Client, FallbackConfig, Session, Sidestep, Tool
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.settings import provider_settings

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.measure import Row, medians, run

FEW, SOME, MANY = 10, 200, 1000
TURNS = 400
"""A round, or as many as are at once."""
LIMIT = 1.3
DOWN, UP, PLAIN = "openrouter/down", "zai/up", "zai/plain"
CALL = {"tool_calls": [{"name": "look", "input": {"path": "a.py"}}]}
TEXT = {"text": "The parser drops its last token, so mend line 42."}
CONFIG = FallbackConfig.model_validate(
    {"fallbackModelsByModel": {DOWN: UP}, "maxUpstreamRetryAttempts": 0}
)
PROMPT = "Why does test_parser fail?"

OURS, OUTAGE = "a turn of three requests", "the same in an outage"
ASKED: dict[str, Any] = {
    "model": "plain",
    "messages": [{"role": "user", "content": PROMPT}],
    "stream": True,
}
_URL = re.compile(r"http://127\.0\.0\.1:\d+")

Batch = Callable[[int], Coroutine[Any, Any, None]]


@contextmanager
def stub(at_once: int) -> Iterator[str]:
    """Run the stub for *at_once* sessions, and yield its address.

    All sessions share its list of answers: two calls for each, then a text for each.
    """
    up = [CALL | {"times": 2 * at_once}, TEXT | {"times": at_once}]
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder, "scenario.json")
        scenario.write_text(json.dumps({"answers": {DOWN: {"status": 503}, UP: up, PLAIN: TEXT}}))
        command = [sys.executable, "-m", "sidestep", "stub", "--port", "0"]
        with subprocess.Popen(
            [*command, "--scenario", str(scenario)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        ) as process:  # fmt: skip
            try:
                assert process.stdout
                yield next(found[0] for line in process.stdout if (found := _URL.search(line)))
            finally:
                process.terminate()


async def look(path: str) -> str:
    """Return a line of a file."""
    return f"{path}: x = 1"


TOOL = Tool(look)


async def sessions(client: Client, route: str, at_once: int) -> None:
    """Take a turn of *at_once* new sessions, whose middleware knows of no failure yet."""
    middleware = Sidestep(CONFIG)
    every = [
        Session(route, middleware=middleware, client=client, tools=[TOOL]) for _ in range(at_once)
    ]
    await asyncio.gather(*(session.turn(PROMPT) for session in every))


async def calls(ask: Callable[[], Awaitable[object]], at_once: int) -> None:
    """Ask three times, *at_once* times at once."""

    async def turn() -> None:
        for _ in range(3):
            await ask()

    await asyncio.gather(*(turn() for _ in range(at_once)))


async def bare(http: Any, url: str) -> None:
    """Read the bytes, and look at none."""
    async with http.stream("POST", url, json=ASKED) as response:
        async for _ in response.aiter_raw():
            pass


async def with_openai(sdk: openai.AsyncOpenAI) -> None:
    """Iterate over a stream of OpenAI's SDK."""
    async for _ in await sdk.chat.completions.create(**ASKED):
        pass


def sides(url: str) -> dict[str, Batch]:
    """Return what asks the stub at *url*."""
    providers = page(f"{url}/_stub/providers")
    for provider in providers.values():
        provider["timeouts"] = {"connect": 60}  # for a thousand connections on a busy machine
    client = Client(providers=catalog(provider_settings(providers, where="the stub")), environ={})
    base = providers["zai"]["baseUrl"]
    chat, limits = f"{base}/chat/completions", httpx2.Limits(max_connections=None)
    old, new = httpx.AsyncClient(timeout=None), httpx2.AsyncClient(timeout=None, limits=limits)  # noqa: S113
    sdk = openai.AsyncOpenAI(base_url=base, api_key="k", max_retries=0)
    return {
        OURS: partial(sessions, client, UP),
        OUTAGE: partial(sessions, client, DOWN),
        "bare httpx": partial(calls, partial(bare, old, chat)),
        "bare httpx2": partial(calls, partial(bare, new, chat)),
        "openai SDK": partial(calls, partial(with_openai, sdk)),
    }


def page(url: str, method: str = "GET") -> Any:
    """Return what the stub answers."""
    with urlopen(Request(url, method=method)) as answer:  # noqa: S310 - our own stub
        return json.load(answer)


def timed(runner: asyncio.Runner, url: str, batch: Batch, at_once: int) -> float:
    """Return the CPU seconds of a turn, *at_once* at once."""
    took = 0.0
    batches = max(1, TURNS // at_once)
    for _ in range(batches):
        page(f"{url}/_stub/reset", "POST")
        start = time.process_time()
        runner.run(batch(at_once))
        took += time.process_time() - start
    return took / (batches * at_once)


def measure(rounds: int) -> list[Row]:
    """Compare a thousand at once with ten; and where others can bear it, what others take."""
    timing: dict[tuple[str, int], Callable[[], float]] = {}
    with ExitStack() as stack:
        runner = stack.enter_context(asyncio.Runner())
        for at_once in (FEW, SOME, MANY):
            url = stack.enter_context(stub(at_once))
            for name, batch in sides(url).items():
                if at_once == SOME or name in (OURS, OUTAGE):
                    timing[name, at_once] = partial(timed, runner, url, batch, at_once)
        took = medians(timing, rounds=rounds)
    own = [
        Row(f"{name}, {at_once:,} at once", took[name, at_once], f"{FEW} at once", took[name, FEW],
            LIMIT)
        for name in (OURS, OUTAGE) for at_once in (SOME, MANY)
    ]  # fmt: skip
    return own + [
        Row(f"{OURS}, {SOME} at once", took[OURS, SOME], f"three calls of {name}", took[name, SOME])
        for name in ("bare httpx", "bare httpx2", "openai SDK")
    ]


if __name__ == "__main__":
    run(__doc__, measure, rounds=5)
