"""What a client's request and its answer cost a server in between, in the four wires.

An answer of 20,000 deltas is written in blocks of 64, beside a loop that writes each text as JSON
into one template. A request of many small messages is read, beside its JSON alone, and with ten
times as many messages.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from sidestep import Route
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.client.rendering import render
from sidestep.provider.conversation import Conversation, Message, Text, ToolCall
from sidestep.provider.delta import Delta, TextDelta
from sidestep.provider.json_value import read_json, write_json
from sidestep.provider.wire.answer import Answer
from sidestep.provider.wire.registry import reader_of, writer_of
from sidestep.provider.wire_name import WIRES, Wire

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.measure import Row, medians, run

DELTAS, BLOCK = 20_000, 64
PAIRS, LARGER = 1_000, 10
PATH = "models/m:streamGenerateContent?alt=sse"
WRITE_LIMIT, READ_LIMIT, FLAT = 4.0, 15.0, 1.5
MODELS: Mapping[Wire, str] = {
    "anthropic": "claude-opus-4-8",
    "openai-chat": "gpt-4o",
    "openai-responses": "gpt-5.1",
    "gemini": "gemini-3-pro",
}


def timed(call: Callable[[], int]) -> float:
    """Return the CPU seconds of *call*."""
    start = time.process_time()
    call()
    return time.process_time() - start


def deltas() -> list[TextDelta]:
    return [TextDelta(f" token {number}") for number in range(DELTAS)]


def write(wire: Wire, given: list[Delta]) -> int:
    """Write an answer as a stream, and return its size."""
    writer = writer_of(wire)(model="m")
    size = len(writer.start())
    for start in range(0, len(given), BLOCK):
        size += len(writer.feed(given[start : start + BLOCK]))
    return size + len(writer.end(Answer(parts=[], wire=wire)))


def write_bare(given: list[TextDelta]) -> int:
    """Write each text into one template."""
    size = 0
    for start in range(0, len(given), BLOCK):
        block = given[start : start + BLOCK]
        size += len(b"".join([b'data: {"text":%s}\n\n' % write_json(d.text) for d in block]))
    return size


def request(wire: Wire, pairs: int) -> bytes:
    """Return the body of a request with so many prompts and calls."""
    messages = []
    for number in range(pairs):
        call = ToolCall(f"call_{number}", "read", {"path": "a.py"}, "completed", "z" * 400)
        messages.append(Message("user", [Text("x" * 500)]))
        messages.append(Message("assistant", [Text("y" * 100), call]))
    provider = Provider("somewhere", wire, "http://bench", None)
    conversation = Conversation([*messages, Message("user", [Text("Go on")])])
    return render(conversation, provider, Route(f"somewhere/{MODELS[wire]}")).content


def read(wire: Wire, body: bytes) -> int:
    return len(reader_of(wire).read(body, path=PATH).conversation.messages)


def written(wire: Wire, rounds: int) -> Row:
    given = deltas()
    sides: dict[str, Callable[[], float]] = {
        "ours": partial(timed, partial(write, wire, [*given])),
        "bare": partial(timed, partial(write_bare, given)),
    }
    took = medians(sides, rounds=rounds)
    what, against = f"a delta, written for a client: {wire}", "a template and its JSON"
    return Row(what, took["ours"] / DELTAS, against, took["bare"] / DELTAS, WRITE_LIMIT)


def read_rows(wire: Wire, rounds: int) -> list[Row]:
    """Compare reading with JSON alone, and a message of a large body with one of a small."""
    small, large = request(wire, PAIRS), request(wire, PAIRS * LARGER)
    sides: dict[str, Callable[[], float]] = {
        "small": partial(timed, partial(read, wire, small)),
        "large": partial(timed, partial(read, wire, large)),
        "json": partial(timed, lambda: len(read_json(small))),
    }
    took = medians(sides, rounds=rounds)
    size = f"{len(small) / 1e6:.1f} MB"
    what = f"a request of {size}, read from a client: {wire}"
    flat = f"the same, {LARGER} times as long, each {size}"
    return [
        Row(what, took["small"], "its JSON alone", took["json"], READ_LIMIT),
        Row(flat, took["large"] / LARGER, "one", took["small"], FLAT),
    ]


def measure(rounds: int) -> list[Row]:
    """Compare writing and reading in each wire."""
    rows = [written(wire, rounds) for wire in WIRES]
    return rows + [row for wire in WIRES for row in read_rows(wire, rounds)]


if __name__ == "__main__":
    run(__doc__, measure, rounds=9)
