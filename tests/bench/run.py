"""Every benchmark, one after the other, and one Markdown table of what they found.

Each runs in a process of its own. Name some to run only these: ``run.py engine healthy``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.measure import Row, describe, table

NAMES = (
    "engine", "healthy", "keys", "swap", "decode", "bound", "encode", "call", "many", "watch",
    "served", "serve", "session", "imports", "telemetry",
)  # fmt: skip


def result(name: str, *, rounds: int | None) -> dict[str, Any]:
    """Run the benchmark *name*, and return what it prints as JSON."""
    script = str(Path(__file__).with_name(f"{name}.py"))
    counted = [] if rounds is None else ["--rounds", str(rounds)]
    ran = subprocess.run(
        [sys.executable, script, "--json", *counted], stdout=subprocess.PIPE, text=True, check=False
    )
    if not ran.stdout:
        sys.exit(f"{name} gave no result: run {script} by itself")
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def rows_of(found: dict[str, Any]) -> list[Row]:
    """Read the rows back."""
    fields = Row.__dataclass_fields__
    return [Row(**{name: row[name] for name in fields}) for row in found["rows"]]


def main() -> None:
    """Run, print, and exit: 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--json", action="store_true", help="print one JSON object, in seconds")
    parser.add_argument("--rounds", type=int, help="how often; without it each has its own number")
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"there is no {', '.join(sorted(unknown))}: take of {', '.join(NAMES)}")
    results = [result(name, rounds=options.rounds) for name in options.names or NAMES]
    rows = [row for found in results for row in rows_of(found)]
    if options.json:
        print(json.dumps({"benchmarks": results, "ok": all(row.is_ok for row in rows)}))
    else:
        print(describe(results[0]) + "\n")
        print(table((row.cells() for row in rows), is_markdown=True))
    sys.exit(0 if all(row.is_ok for row in rows) else 1)


if __name__ == "__main__":
    main()
