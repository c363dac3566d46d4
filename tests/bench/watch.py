"""A streamed call of 20 deltas over a watched client, beside the same client that is not watched.

CPU time of the asking process for each call, on connections that are open already; each event is a
block of its own. Both only read the bytes, so that what is compared is the judgement alone.
"""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import httpx2

import sidestep

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.call import CALLS, PATHS, bare, providers, server, timed
from tests.bench.measure import Row, medians, run

LIMIT = 1.1


def patient(library: Any) -> Any:
    """Return a client of *library* with the timeouts that the SDKs give theirs."""
    limits = library.Limits(max_connections=None)
    return library.AsyncClient(limits=limits, timeout=library.Timeout(600.0, connect=5.0))


def measure(rounds: int) -> list[Row]:
    """Compare both wires on both libraries, in both paces."""
    rows: list[Row] = []
    with server() as urls, asyncio.Runner() as runner:
        for wire, path in PATHS.items():
            for library in (httpx, httpx2):
                for pace, limit in (("paced", LIMIT), ("burst", None)):
                    took = compared(runner, library, urls[pace], path, rounds=rounds)
                    name = library.__name__
                    what = f"a call, {wire}, one at a time, {pace}: {name}, watched"
                    rows.append(Row(what, took["watched"], f"bare {name}", took["bare"], limit))
    return rows


def compared(
    runner: asyncio.Runner, library: Any, url: str, path: str, *, rounds: int
) -> dict[str, float]:
    """Return the seconds of a call, bare and watched."""
    watched = sidestep.watched(patient(library), providers=providers(url))
    clients = {"bare": patient(library), "watched": watched}
    sides = {name: partial(bare, http, url + path) for name, http in clients.items()}
    return medians(
        {
            name: partial(timed, runner, call, at_once=1, rounds=CALLS // 4)
            for name, call in sides.items()
        },
        rounds=rounds,
    )


if __name__ == "__main__":
    run(__doc__, measure, rounds=31)
