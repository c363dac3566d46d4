"""A step and `healthy()` of a provider with eight keys, against the same with one key.

CPU time, in the same process and in turn. With a key out, the step looks for the next one.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sidestep import Route, Sidestep
from sidestep.session.plan.source import VARIABLE

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.measure import Row, medians, run

CALLS = 2_000
LIMIT = 1.5
ROUTE, SIBLING = Route("anthropic/claude-sonnet-5"), Route("gemini/gemini-3-pro")
NAMES = tuple(f"SIDESTEP_BENCH_KEY_{number}" for number in range(8))


def middleware(keys: int) -> Sidestep:
    """Return one whose provider has so many keys, which are in the environment of the process."""
    os.environ.update(dict.fromkeys(NAMES, "a-key-of-nobody"))
    os.environ["SIDESTEP_PROVIDERS"] = json.dumps({"anthropic": {"apiKeyEnv": NAMES[:keys]}})
    os.environ[VARIABLE] = json.dumps({"fallbackModelsByModel": {ROUTE: SIBLING}})
    engine = Sidestep.from_env()
    assert len(engine.active.keys.of(ROUTE)) == keys
    return engine


def steps(engine: Sidestep) -> float:
    """Return the CPU seconds of one step round a call that does nothing."""
    start = time.process_time()
    for _ in range(CALLS):
        for attempt in engine.step_sync(ROUTE):
            with attempt:
                pass
    return (time.process_time() - start) / CALLS


def walks(engine: Sidestep) -> float:
    """Return the CPU seconds of one `healthy()`."""
    start = time.process_time()
    for _ in range(CALLS):
        engine.healthy(ROUTE)
    return (time.process_time() - start) / CALLS


def measure(rounds: int) -> list[Row]:
    """Compare eight keys with one: all is well, the route is degraded, and a key is."""
    well = {keys: middleware(keys) for keys in (1, 8)}
    degraded = {keys: middleware(keys) for keys in (1, 8)}
    for engine in degraded.values():
        engine.degraded.degrade(ROUTE, cooldown=3000.0)
    key_out = middleware(8)
    key_out.degraded.degrade(("anthropic", NAMES[0]), cooldown=3000.0)
    cases = {
        "all is well": (well[8], well[1]),
        "the route is degraded": (degraded[8], degraded[1]),
        "the first key is degraded": (key_out, degraded[1]),
    }
    parts: dict[str, Callable[[Sidestep], float]] = {"a step": steps, "healthy()": walks}
    took = medians(
        {
            (part, case, side): partial(call, engine)
            for part, call in parts.items()
            for case, engines in cases.items()
            for side, engine in zip(("ours", "theirs"), engines, strict=True)
        },
        rounds=rounds,
    )
    return [
        Row(
            f"{part} with eight keys, {case}", took[part, case, "ours"], "one key",
            took[part, case, "theirs"], LIMIT,
        )
        for part in parts
        for case in cases
    ]  # fmt: skip


if __name__ == "__main__":
    run(__doc__, measure, rounds=15)
