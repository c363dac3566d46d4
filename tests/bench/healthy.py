"""The walk to a healthy route: nearly free while all is well, and linear in the hops it takes.

CPU time. With nothing degraded it is measured against a function that reads the clock and looks
five keys up in a dict; with the first k of a chain degraded, against the same walk over the
shortest chain, hop for hop.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from time import monotonic

from sidestep import DegradedRoutes, Route

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.measure import Row, medians, run

CALLS = 5_000
HOPS = (8, 64, 512, 4096)
HOPS_A_ROUND = 8 * max(HOPS)
"""So that each length of chain is walked over as many hops."""
FLAT = 1.5
"""How much more a hop of a longer chain may cost: caches of the processor are not endless."""

TABLE = {"a/m": 0, "b/m": 1, "c/m": 2, "d/m": 3, "e/m": 4, "f/m": 5, "g/m": 6, "h/m": 7}


def stamp_and_look_up(table: dict[str, int]) -> float:
    """Read the clock, and look five keys up."""
    now = monotonic()
    table["a/m"]
    table["b/m"]
    table["c/m"]
    table["d/m"]
    table["e/m"]
    return now


def timed(call: Callable[[], object], *, calls: int) -> float:
    """Return the CPU seconds of one *call*."""
    again = range(calls)
    start = time.process_time()
    for _ in again:
        call()
    return (time.process_time() - start) / calls


def walk(*, degraded: int, healthy: int = 1) -> Callable[[], Route]:
    """Return `DegradedRoutes.healthy` from the head of a chain with its first routes degraded."""
    routes = [Route(f"provider-{number}/model") for number in range(degraded + healthy)]
    siblings = {route: (sibling,) for route, sibling in pairwise(routes)}
    health = DegradedRoutes()
    for route in routes[:degraded]:
        health.degrade(route, cooldown=3000.0)
    walk_it = partial(health.healthy, routes[0], siblings)
    assert walk_it() == routes[degraded]
    return walk_it


def measure(rounds: int) -> list[Row]:
    """Compare the usual case with its limit, and longer walks with the shortest."""
    usual = medians(
        {
            "ours": partial(timed, walk(degraded=0, healthy=8), calls=CALLS),
            "limit": partial(timed, partial(stamp_and_look_up, TABLE), calls=CALLS),
        },
        rounds=8 * rounds,
    )
    walks = {hops: walk(degraded=hops) for hops in HOPS}
    took = medians(
        {hops: partial(timed, walks[hops], calls=HOPS_A_ROUND // hops) for hops in HOPS},
        rounds=rounds,
    )
    shortest, *longer = HOPS
    a_hop = {hops: took[hops] / hops for hops in HOPS}
    against = f"a hop of {shortest}"
    return [
        Row("healthy(), all is well", usual["ours"], "a stamp, 5 lookups", usual["limit"], 1.0),
        *(
            Row(f"healthy(), a hop of {hops}", a_hop[hops], against, a_hop[shortest], FLAT)
            for hops in longer
        ),
    ]


if __name__ == "__main__":
    run(__doc__, measure, rounds=25)
