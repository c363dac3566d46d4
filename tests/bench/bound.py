"""What the bounds on a streamed answer cost: on one event, on all of it, on what is decompressed.

CPU time for each of 20,000 deltas, beside the same code without the lines that bound it. Those
lines are taken out of the source, so that both sides differ in nothing else. Decompression has no
such lines: the other side gives each block to `zlib` whole.
"""

from __future__ import annotations

import gzip
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from sidestep.provider.client.decompression import decompressor_of
from sidestep.provider.wire import reading, sse
from sidestep.provider.wire.registry import decoder_of

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.decode import BLOCK, DELTAS, Blocks, provider, timed
from tests.bench.measure import Row, medians, run
from tests.bench.sample import Wire, events

WIRES: tuple[Wire, ...] = ("openai-chat", "anthropic")
PIECE = 100  # bytes: no block ends with an event
LIMIT, PIECE_LIMIT = 1.1, 1.2
EVENT_BOUND = re.compile(r"^ +self\._(?:hold\(.*\)|held = 0)\n", re.MULTILINE)
ANSWER_BOUND = re.compile(
    r"^ +self\._bytes_left -= .*\n|^ +if self\._bytes_left < 0:\n +raise .*\n", re.MULTILINE
)


def without(lines: re.Pattern[str], module: ModuleType, *, count: int) -> dict[str, Any]:
    """Return the names of *module*, made again without *lines*, which are *count* places."""
    assert module.__file__ is not None
    text, found = lines.subn("", Path(module.__file__).read_text("utf-8"))
    assert found == count, f"{found} places of {count} bound {module.__name__}"
    names: dict[str, Any] = {"__name__": module.__name__, "__package__": module.__package__}
    exec(compile(text, module.__file__, "exec"), names)  # noqa: S102 - our own source
    return names


UNBOUND_PARSER: Callable[[], sse.SseParser] = without(EVENT_BOUND, sse, count=3)["SseParser"]
UNBOUND_READING: type[reading.Reading] = without(ANSWER_BOUND, reading, count=2)["Reading"]


def to_events(parser: Callable[[], sse.SseParser], blocks: Iterable[bytes], wire: Wire) -> int:
    """Run a parser and our decoder."""
    feed, decoder, count = parser().feed, decoder_of(provider(wire)), 0
    for block in blocks:
        for name, data in feed(block):
            count += len(decoder.decode(data, name))
    return count


def cut(body: bytes, size: int) -> Blocks:
    """Cut *body* as it may be read."""
    return [body[at : at + size] for at in range(0, len(body), size)]


def bounded(blocks: Blocks) -> Iterator[bytes]:
    """Decompress in steps."""
    feed = decompressor_of("gzip")
    assert feed is not None
    for block in blocks:
        yield from feed(block)


def unbounded(blocks: Blocks) -> Iterator[bytes]:
    """Decompress each block whole."""
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    for block in blocks:
        yield inflate.decompress(block)


def read(made: type[reading.Reading], blocks: Blocks, wire: Wire) -> int:
    """Read an answer from its bytes to its end."""
    reader = made(provider(wire))
    return sum(len(reader.feed(block)) for block in blocks)


def pair(on: Callable[[], int], off: Callable[[], int]) -> dict[str, Callable[[], float]]:
    return {"on": partial(timed, on), "off": partial(timed, off)}


def comparisons(wire: Wire) -> dict[str, dict[str, Callable[[], float]]]:
    """Return both sides of each comparison, by its name."""
    whole = events(wire, deltas=DELTAS)
    body = b"".join(whole)
    zipped = cut(gzip.compress(body), BLOCK)
    forms = {"64 KiB a block": cut(body, BLOCK), "an event a block": whole}
    forms[f"{PIECE} bytes a block"] = cut(body, PIECE)
    parse = partial(to_events, wire=wire)
    found = {
        f"the bound on one event: {wire}, {form}": pair(
            partial(parse, sse.SseParser, blocks), partial(parse, UNBOUND_PARSER, blocks)
        )
        for form, blocks in forms.items()
    }
    found[f"steps of decompression: {wire}, gzip"] = pair(
        lambda: parse(sse.SseParser, bounded(zipped)),
        lambda: parse(sse.SseParser, unbounded(zipped)),
    )
    found[f"the bound on an answer: {wire}, an event a block"] = pair(
        partial(read, reading.Reading, whole, wire), partial(read, UNBOUND_READING, whole, wire)
    )
    return found


def measure(rounds: int) -> list[Row]:
    """Compare each with and without its bound."""
    rows = []
    for wire in WIRES:
        for what, sides in comparisons(wire).items():
            took = medians(sides, rounds=rounds)
            limit = PIECE_LIMIT if f"{PIECE} bytes" in what else LIMIT
            rows.append(Row(what, took["on"], "without it", took["off"], limit))
    return rows


if __name__ == "__main__":
    run(__doc__, measure, rounds=21)
