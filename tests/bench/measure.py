"""What the benchmarks share: taking turns, tables, and the words on where they ran."""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import statistics
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeVar

PACKAGES = (
    "sidestep", "httpx", "httpx2", "anyio", "pydantic", "cachetools", "sniffio",
    "stamina", "httpx-sse", "openai", "anthropic",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison; both sides are seconds, medians over the rounds, or bytes.

    Args:
        what: The part of ours that was measured.
        ours: What it took.
        against: What it is measured against.
        theirs: What that took.
        limit: How much we may take: a multiple of *theirs* or, if *allows* is ``more``,
            seconds on top of it; None if the row only informs, and has no limit.
        kind: How time was counted, or that it is memory.
    """

    what: str
    ours: float
    against: str
    theirs: float
    limit: float | None = None
    allows: Literal["times", "more"] = "times"
    kind: Literal["CPU", "wall", "memory"] = "CPU"

    @property
    def ratio(self) -> float:
        """How many times *theirs* ours took."""
        return self.ours / self.theirs

    @property
    def is_ok(self) -> bool:
        """The limit is kept, or there is none."""
        if self.limit is None:
            return True
        return (self.ratio if self.allows == "times" else self.ours - self.theirs) <= self.limit

    def as_json(self) -> dict[str, Any]:
        """Give the row as an object, with what follows from it."""
        return asdict(self) | {"ratio": self.ratio, "ok": self.is_ok}

    def cells(self) -> tuple[str, ...]:
        """Give the row as the table shows it."""
        verdict = "" if self.limit is None else "yes" if self.is_ok else "NO"
        theirs = f"{self._spelled(self.theirs)} ({self.against})"
        ours = f"{self._spelled(self.ours)} {self.kind}"
        return self.what, ours, theirs, self._compared(), self._limit(), verdict

    def _spelled(self, amount: float) -> str:
        return f"{amount / 1e6:.3g} MB" if self.kind == "memory" else _duration(amount)

    def _compared(self) -> str:
        if self.allows == "times":
            return f"{self.ratio:.2f}"
        more = self.ours - self.theirs
        return f"{'+' if more >= 0 else '-'}{_duration(abs(more))}"

    def _limit(self) -> str:
        if self.limit is None:
            return ""
        return f"{self.limit:.2f}" if self.allows == "times" else f"+{_duration(self.limit)}"


HEADINGS = ("what", "ours", "theirs", "ratio", "limit", "ok")

Side = TypeVar("Side", bound=Hashable)


def medians(sides: Mapping[Side, Callable[[], float]], *, rounds: int) -> dict[Side, float]:
    """Return the median of each side over *rounds*; every side has a turn in each.

    Sides that take turns, in an order drawn anew for each round, meet the same noise.
    Before anything counts each is run once.
    """
    taken: dict[Side, list[float]] = {name: [] for name in sides}
    for side in sides.values():
        side()
    rng = random.Random(0)
    for _ in range(rounds):
        for name in rng.sample(list(sides), len(sides)):
            taken[name].append(sides[name]())
    return {name: statistics.median(each) for name, each in taken.items()}


def where() -> dict[str, Any]:
    """Return what this runs on."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "packages": {name: version(name) for name in PACKAGES},
    }


def describe(place: Mapping[str, Any]) -> str:
    """Return the facts from `where` as two lines."""
    packages = ", ".join(f"{name} {number}" for name, number in place["packages"].items())
    return (
        f"{place['python']} on {place['system']}, {place['processors']} processors, "
        f"load {place['load']}\n{packages}"
    )


def table(rows: Iterable[Sequence[str]], *, is_markdown: bool = False) -> str:
    """Lay *rows* out below the headings."""
    lines = [HEADINGS, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = [
        [cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines
    ]
    padded.insert(1, ["-" * width for width in widths])
    if is_markdown:
        return "\n".join(f"| {' | '.join(line)} |" for line in padded)
    return "\n".join("  ".join(line).rstrip() for line in padded)


def run(title: str, measure: Callable[[int], list[Row]], *, rounds: int) -> None:
    """Measure and print, as a table or as JSON, then exit: 1 if a limit is exceeded.

    Args:
        title: The docstring of the script; its first line stands above the table.
        measure: Takes the number of rounds.
        rounds: How many without ``--rounds``.
    """
    parser = argparse.ArgumentParser(
        description=title, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, in seconds")
    parser.add_argument("--rounds", type=int, default=rounds, help="how often (%(default)s)")
    options = parser.parse_args()
    gc.freeze()  # else whoever makes garbage pays for walking what the imports have left
    place = where()
    rows = measure(options.rounds)
    if options.json:
        name = Path(sys.argv[0]).stem
        print(
            json.dumps(
                {
                    "benchmark": name,
                    **place,
                    "rounds": options.rounds,
                    "rows": [row.as_json() for row in rows],
                }
            )
        )
    else:
        print(f"{title.splitlines()[0]}\n{describe(place)}; {options.rounds} rounds\n")
        print(table(row.cells() for row in rows))
    sys.exit(0 if all(row.is_ok for row in rows) else 1)


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
