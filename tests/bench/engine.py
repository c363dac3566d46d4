"""The engine round a call that does nothing, against stamina round the same call.

CPU time for each call, over many calls in one event loop. stamina is taken as its README has it,
with its defaults; its hooks and log lines belong to retries, and nothing is retried here. One row
has them off all the same.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import stamina
from stamina.instrumentation import get_on_retry_hooks, set_on_retry_hooks

from sidestep import FallbackConfig, Sidestep
from sidestep.session.plan.source import VARIABLE

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.measure import Row, medians, run

CALLS = 2_000
LIMIT = 0.2
SYNC_LIMIT = 0.5
"""Without an event loop stamina takes half as long, and we as long."""
SETTLED = 2.5
"""Seconds to leave a new file alone: what was just written may rightly be read more often."""
SYNC = "without an event loop"
ROUTE = "openrouter/anthropic/claude-sonnet-5"
CONFIG = {
    "fallbackModelsByModel": {
        ROUTE: "anthropic/claude-sonnet-5",
        "anthropic/claude-sonnet-5": [ROUTE, "gemini/gemini-3-pro"],
    },
    "fallbackOnErrors": [402, 408, 429, 500, 502, 503, 504, 520, 522, 524, 529],
    "maxFallbackAttempts": 2,
    "maxUpstreamRetryAttempts": 3,
    "cooldownSeconds": 60,
}

Side = Callable[[], float]


async def nothing() -> None:
    """The model call: it does not even suspend."""


async def bare() -> None:
    """Call it, and nothing round it."""
    for _ in range(CALLS):
        await nothing()


async def in_steps(middleware: Sidestep) -> None:
    """Call it as the README has it."""
    for _ in range(CALLS):
        async for attempt in middleware.step(ROUTE):
            async with attempt:
                await nothing()


def without_a_loop(middleware: Sidestep) -> float:
    """Time a step without an event loop, round a call that does nothing either."""
    start = time.process_time()
    for _ in range(CALLS):
        for attempt in middleware.step_sync(ROUTE):
            with attempt:
                pass
    return (time.process_time() - start) / CALLS


def in_sync_retry_contexts() -> float:
    """Time stamina's form without an event loop."""
    start = time.process_time()
    for _ in range(CALLS):
        for attempt in stamina.retry_context(on=Exception):
            with attempt:
                pass
    return (time.process_time() - start) / CALLS


async def in_retry_contexts() -> None:
    """Call it as stamina's documentation has it."""
    for _ in range(CALLS):
        async for attempt in stamina.retry_context(on=Exception):
            with attempt:
                await nothing()


def timed(calls: Callable[[], Awaitable[None]]) -> float:
    """Return the CPU seconds of one call; the event loop is up before and down after."""

    async def all_of_them() -> float:
        start = time.process_time()
        await calls()
        return (time.process_time() - start) / CALLS

    return asyncio.run(all_of_them())


def without_hooks() -> float:
    """Time stamina with its instrumentation off."""
    hooks = get_on_retry_hooks()
    set_on_retry_hooks([])
    try:
        return timed(in_retry_contexts)
    finally:
        set_on_retry_hooks(hooks)


@contextmanager
def middlewares() -> Iterator[dict[str, Sidestep]]:
    """Yield one for each place that a configuration may come from."""
    config = FallbackConfig.model_validate(CONFIG)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "fallback.json")
        file.write_text(json.dumps(CONFIG))
        time.sleep(SETTLED)
        os.environ[VARIABLE] = json.dumps(CONFIG)
        yield {
            "configuration in the environment": Sidestep.from_env(),
            "configuration given": Sidestep(config),
            "no configuration": Sidestep(),
            "environment names a file": Sidestep.from_env({VARIABLE: f"@{file}"}),
            "configuration given, with a listener": Sidestep(config, on_event=lambda _event: None),
        }


def measure(rounds: int) -> list[Row]:
    """Compare each way to configure the engine with stamina."""
    with middlewares() as ours:
        sides: dict[str, Side] = {
            name: partial(timed, partial(in_steps, each)) for name, each in ours.items()
        }
        first = next(iter(ours))
        sides |= {
            SYNC: partial(without_a_loop, ours[first]),
            "stamina, no loop": in_sync_retry_contexts,
            "stamina": partial(timed, in_retry_contexts),
            "stamina, no hooks": without_hooks,
            "bare": partial(timed, bare),
        }
        took = medians(sides, rounds=rounds)
    theirs = took["stamina"]
    rows = [Row(f"a step: {name}", took[name], "stamina", theirs, LIMIT) for name in ours]
    no_hooks = took["stamina, no hooks"]
    rows.insert(1, Row(f"a step: {first}", took[first], "stamina, no hooks", no_hooks, LIMIT))
    rows.append(Row(f"a step: {SYNC}", took[SYNC], "stamina", took["stamina, no loop"], SYNC_LIMIT))
    return [*rows, Row("the call alone", took["bare"], "stamina", theirs)]


if __name__ == "__main__":
    run(__doc__, measure, rounds=15)
