"""A conversation as the bytes of a request, from 1 to 100 MB of it, in the four wires.

CPU time and the peak of memory, each in a process of its own that encodes once, as an agent does
that waits for an answer between two requests: nothing is in a cache, and no memory is at hand. The
peak is what the resident memory grows by beyond the conversation. Messages are of 1 kB, half of
them calls with thinking and a result, or they are ten results that share all of it. A step that
is answered at its fourth attempt goes through `Session`, on a transport without any socket.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import httpx

from sidestep import Client, MemoryStore, RetryPolicy, Route, Session, Sidestep
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.client.rendering import RenderedRequest, body_of, render
from sidestep.provider.conversation import (
    Conversation,
    Message,
    Reasoning,
    Settings,
    Text,
    ToolCall,
    ToolSpec,
)
from sidestep.provider.wire_name import Wire

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.measure import Row, medians, run
from tests.bench.sample import Wire as StreamedWire
from tests.bench.sample import events

Case: TypeAlias = tuple[Wire, str, int]
"""A wire, a shape of the history, and its size in MB."""

ROUTES: Mapping[Wire, Route] = {
    "anthropic": Route("anthropic/claude-opus-4-8"),
    "openai-chat": Route("openai-chat/gpt-5.1"),
    "openai-responses": Route("openai/gpt-5.1"),
    "gemini": Route("gemini/gemini-3-pro"),
}
MANY, FEW = "many messages", "ten huge results"
SIZES = (1, 10, 100)
MB = 1_000_000
LINE = 'The parser drops the last token of "a.py": see line 42.\n'
FLAT, MOST_MEMORY, AGAIN_LIMIT = 1.5, 3.0, 1.2
JSON_LIMIT = {MANY: 2.5, FEW: 1.0}
AGAIN = 3
"""Retries of the step that is answered at last."""


def provider(wire: Wire) -> Provider:
    """Return one that nobody serves."""
    return Provider(ROUTES[wire].provider, wire, "http://bench", None)


def lines(number: int, size: int) -> str:
    """Return a text of *size* characters that no other *number* has."""
    return f"{number}: {LINE * (size // len(LINE))}"


def pair(number: int, size: int, route: Route) -> Iterator[Message]:
    """Return a prompt, and an answer that thinks and calls a tool; the result has *size*."""
    yield Message("user", [Text(lines(number, 1000 if size == 1000 else 10))])
    thought = Reasoning(
        "I look.", signature="c2ln" * 40, encrypted="gAAA" * 40, item_id=f"rs_{number}"
    )
    call = ToolCall(
        f"call_{number}", "read_file", {"path": "a.py"}, "completed", lines(number, size)
    )
    yield Message("assistant", [thought, Text("I read it."), call], route)


def conversation(case: Case) -> Conversation:
    """Return one that was made on the route of the wire alone."""
    wire, shape, size = case
    each = 1000 if shape == MANY else size * MB // 10
    count = max(1, size * MB // 2500) if shape == MANY else 10
    messages = [Message("system", [Text("You are a coding agent.")])]
    for number in range(count):
        messages += pair(number, each, ROUTES[wire])
    messages.append(Message("user", [Text("Go on.")]))
    return Conversation(messages, (ToolSpec("read_file"),), Settings(reasoning="high"))


def peak() -> int:
    """Return the most resident memory that this process has had, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def encode_once(case: Case) -> dict[str, float]:
    """Encode in this process, and say what it took for each byte."""
    wire = case[0]
    render(conversation((wire, MANY, 0)), provider(wire), ROUTES[wire])  # what is made only once
    long = conversation(case)
    gc.collect()
    before, start = peak(), time.process_time()
    content = render(long, provider(wire), ROUTES[wire]).content
    took = time.process_time() - start
    size = len(content)
    return {"seconds": took / size, "memory": (peak() - before) / size, "bytes": size}


def apart(case: Case) -> dict[str, float]:
    """Run `encode_once` in a process of its own."""
    command = [sys.executable, __file__, "--once", json.dumps(case)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(ran.stdout)
    return found


def measure(rounds: int) -> list[Row]:
    """Encode in every wire, shape and size; then beside `json`, and in steps."""
    cases: list[Case] = [
        (wire, shape, size) for wire in ROUTES for shape in (MANY, FEW) for size in SIZES
    ]
    memory: dict[Case, float] = {}
    sides = {case: partial(seconds_of, case, memory) for case in cases}
    took = medians(sides, rounds=rounds)
    return [
        *(flat(case, took) for case in cases if case[2] > SIZES[0]),
        *(remembered(case, memory[case]) for case in cases if case[2] == SIZES[-1]),
        *(beside_json(wire, shape, rounds) for wire in ROUTES for shape in (MANY, FEW)),
        again("anthropic", rounds),
        again("openai-chat", rounds),
    ]


def seconds_of(case: Case, memory: dict[Case, float]) -> float:
    """Return the seconds a byte, and keep the most memory a byte."""
    found = apart(case)
    memory[case] = max(memory.get(case, 0.0), found["memory"])
    return found["seconds"]


def flat(case: Case, took: Mapping[Case, float]) -> Row:
    """Compare a megabyte of *case* with one that is all there is."""
    wire, shape, size = case
    alone = took[wire, shape, SIZES[0]] * MB
    return Row(
        f"encoding {size} MB, {shape}, {wire}: each MB", took[case] * MB,
        f"of {SIZES[0]} MB", alone, FLAT,
    )  # fmt: skip


def remembered(case: Case, memory: float) -> Row:
    """Compare the memory that *case* needs with its body."""
    wire, shape, size = case
    body = float(size * MB)
    return Row(
        f"encoding {size} MB, {shape}, {wire}: peak", memory * body,
        "the body", body, MOST_MEMORY, kind="memory",
    )  # fmt: skip


def beside_json(wire: Wire, shape: str, rounds: int) -> Row:
    """Compare one encoding with `json.dumps` of a body that is made already."""
    long = conversation((wire, shape, 1))
    route, known = ROUTES[wire], provider(wire)
    body, _ = body_of(long, known, route)
    sides: dict[str, Callable[[], object]] = {
        "ours": lambda: render(long, known, route),
        "json": lambda: json.dumps(body).encode(),
    }
    took = medians({name: partial(cpu, work) for name, work in sides.items()}, rounds=10 * rounds)
    what = f"encoding 1 MB, {shape}, {wire}"
    return Row(what, took["ours"], "json.dumps of the body", took["json"], JSON_LIMIT[shape])


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of *work*."""
    start = time.process_time()
    work()
    return time.process_time() - start


class Counting(Client):
    """A client that counts what it renders."""

    rendered = 0

    def render(self, *about: Any) -> RenderedRequest:
        """Count, and render."""
        self.rendered += 1
        return super().render(*about)


def again(wire: StreamedWire, rounds: int) -> Row:
    """Compare a step that is answered at last with one that is answered at once."""
    sides = {retries: partial(step, wire, retries) for retries in (0, AGAIN)}
    took = medians(sides, rounds=10 * rounds)
    return Row(
        f"a step of 10 MB, {wire}, after {AGAIN} retries", took[AGAIN],
        "at once", took[0], AGAIN_LIMIT,
    )  # fmt: skip


def step(wire: StreamedWire, retries: int) -> float:
    """Return the CPU seconds of a turn over a long history; it may be rendered but once."""
    answers = iter([*[httpx.Response(503)] * retries, streamed(wire)])
    http = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: next(answers)))
    route = ROUTES[wire]
    client = Counting(http=http, providers={route.provider: provider(wire)}, environ={})
    middleware = Sidestep(policy=RetryPolicy(first_wait=0.0))
    store = MemoryStore()
    with asyncio.Runner() as runner:
        runner.run(store.replace(conversation((wire, MANY, 10)).messages))
        session = Session(route, middleware=middleware, client=client, store=store)
        took = cpu(lambda: runner.run(session.turn("Go on.")))
    assert client.rendered == 1, f"{client.rendered} encodings of one step"
    return took


def streamed(wire: StreamedWire) -> httpx.Response:
    """Return a short answer."""
    body = b"".join(events(wire, deltas=1))
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=body)


if __name__ == "__main__":
    if "--once" in sys.argv:
        wire, shape, size = json.loads(sys.argv[-1])
        print(json.dumps(encode_once((wire, shape, size))))
    else:
        logging.basicConfig(filename=os.devnull)
        run(__doc__, measure, rounds=3)
