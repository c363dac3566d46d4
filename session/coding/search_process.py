"""Search texts for a pattern, as a program of its own.

`re` holds the interpreter's lock while it matches, so that a runaway pattern would stop every
thread; a process can be ended. The program is run by its path, and imports nothing of ours.

The first line of stdin is ``{"pattern", "most", "longest", "shown"}``, each further line ``[name,
text]``. A line of stdout is ``[name, number, line]``, the line shortened to ``shown``. The last one
is ``{"cut": lines searched only up to longest}`` or ``{"error": why the pattern is invalid}``.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable


def search(lines: Iterable[str], output: TextIO) -> None:
    """Write a line for each hit when it is found, at most ``most`` lines."""
    source = iter(lines)
    order = json.loads(next(source))
    try:
        pattern = re.compile(order["pattern"])
    except (re.error, OverflowError, RecursionError) as error:
        _write(output, {"error": str(error)})
        return
    left, longest, cut = order["most"], order["longest"], 0
    for name, text in map(json.loads, source):
        for number, line in enumerate(text.split("\n"), 1):
            cut += len(line) > longest
            match = pattern.search(line[:longest])
            if match is not None:
                _write(output, [name, number, _around(line, match.start(), order["shown"])])
                left -= 1
            if not left:
                break
        if not left:
            break
    _write(output, {"cut": cut})


def _around(line: str, place: int, shown: int) -> str:
    if len(line) <= shown:
        return line
    start = max(0, min(place - shown // 4, len(line) - shown))
    end = start + shown
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def _write(output: TextIO, value: object) -> None:
    output.write(json.dumps(value) + "\n")
    output.flush()


if __name__ == "__main__":
    search(sys.stdin, sys.stdout)
