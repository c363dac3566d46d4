"""What `import sidestep` takes, against importing httpx, anyio, pydantic and cachetools.

A second pair adds what a configuration needs, because both pydantic and sidestep import it later:
the models.

Each side is a fresh interpreter with its bytecode written before; counted is the import alone, not
the start of the interpreter. With ``--added`` it lists what we import beyond theirs, and the time
that each module takes by itself, by ``python -X importtime``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.measure import Row, medians, run

OURS = "import sidestep"
THEIRS = "import httpx, anyio, pydantic, cachetools"
MODELS = {OURS: f"{OURS}; sidestep.FallbackConfig", THEIRS: f"{THEIRS}; pydantic.BaseModel"}
LIMIT = 1.2
STARTS = 3
LISTED = 25
CLOCKS: Mapping[str, Literal["CPU", "wall"]] = {"perf_counter": "wall", "process_time": "CPU"}
ENVIRON = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
"""In which bytecode is written, and so read back, as it is for an agent."""


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a fresh interpreter, outside of this folder."""
    return subprocess.run(
        [sys.executable, *arguments],
        env=ENVIRON, cwd="/", text=True, capture_output=True, check=True,
    )  # fmt: skip


def timed(statement: str, *, clock: str) -> float:
    """Return the seconds of an import by `time.perf_counter` or `time.process_time`.

    The quickest of a few: whatever else runs on the machine can only make one slower.
    """
    code = (
        f"from time import {clock} as now\nstart = now()\n{statement}\ntook = now() - start\n"
        "print(took)"
    )
    return min(float(python("-c", code).stdout) for _ in range(STARTS))


def measure(rounds: int) -> list[Row]:
    """Compare the imports, by the clock on the wall and by the processor's."""
    pairs = ((OURS, THEIRS), (MODELS[OURS], MODELS[THEIRS]))
    sides = {
        (statement, clock): partial(timed, statement, clock=clock)
        for pair in pairs
        for statement in pair
        for clock in CLOCKS
    }
    took = medians(sides, rounds=rounds)
    return [
        Row(
            ours, took[ours, clock], theirs.removeprefix("import "), took[theirs, clock],
            LIMIT, kind=kind,
        )
        for ours, theirs in pairs
        for clock, kind in CLOCKS.items()
    ]  # fmt: skip


def own_seconds(statement: str) -> dict[str, float]:
    """Return what each module takes by itself."""
    python("-c", statement)
    lines = python("-X", "importtime", "-c", statement).stderr.splitlines()[1:]
    rows = [line.removeprefix("import time:").split("|") for line in lines]
    return {name.strip(): int(own) / 1e6 for own, _with_others, name in rows}


def print_added() -> None:
    """List the modules that we import beyond theirs, the slowest first."""
    ours, theirs = own_seconds(OURS), own_seconds(THEIRS)
    added = {name: seconds for name, seconds in ours.items() if name not in theirs}
    for name in sorted(added, key=added.__getitem__, reverse=True)[:LISTED]:
        print(f"{added[name] * 1e3:7.2f} ms  {name}")
    print(f"{sum(added.values()) * 1e3:7.2f} ms  all {len(added)} of them")
    missing = {name: seconds for name, seconds in theirs.items() if name not in ours}
    print(f"{sum(missing.values()) * 1e3:7.2f} ms  {len(missing)} modules of theirs we do without")


if __name__ == "__main__":
    if "--added" in sys.argv:
        print_added()
    else:
        run(__doc__, measure, rounds=11)
