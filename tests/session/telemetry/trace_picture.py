"""Draw the spans of a rehearsed outage, as `session/telemetry/trace.svg`.

``python -m tests.session.telemetry.trace_picture`` writes the file anew.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from sidestep import AttemptStarted, Event, TextDelta, ToolRunStarted
from sidestep.session.telemetry.instrumentation import instrumentation

from ..turn.outage import A, B, Outage
from .seen import Seen, attributes_of

FILE = Path(__file__).parents[3] / "session" / "telemetry" / "trace.svg"
CALL = {"tool_calls": [{"name": "read", "input": {"path": "parser.py"}}]}
ANSWERS = {
    A: {"status": 503},
    B: [{"text": "I look at the parser. ", **CALL}, {"text": "It drops the last token."}],
}
TOOK = {AttemptStarted: 0.9, TextDelta: 0.8, ToolRunStarted: 1.6}
"""Seconds that pass when an event is seen."""
WIDTH, ROW, NAMES, MARGIN = 960, 26, 330, 12
COLOURS = {"invoke_agent": "#8a8f98", "chat": "#3b6fb6", "execute_tool": "#8a63b8"}
ANSWERED, FAILED, NOTE = "#3c9a5f", "#c8473f", "#d08a1f"


async def rehearse() -> Seen:
    """Return the spans of a turn in which the first route is down, in virtual time."""
    seen = Seen()
    session = {"tools": [read]}
    async with Outage(ANSWERS, session=session, maxUpstreamRetryAttempts=1) as outage:
        clock, outage.middleware.rng = outage.clock, random.Random(3)
        begin = clock.time()

        def pass_time(event: Event) -> None:
            clock.now += TOOK.get(type(event), 0.0)

        outage.session.on_event = pass_time
        outage.middleware.observe(
            instrumentation(
                seen.tracers.get_tracer("sidestep"),
                seen.meters.get_meter("sidestep"),
                now=lambda: round((clock.time() - begin) * 1e9),
                agent_name="tiny",
            )
        )
        await outage.session.turn("Why does test_parser fail?")
    return seen


def read(path: str) -> str:
    """Read a file."""
    return f"the text of {path}"


def picture(seen: Seen) -> str:
    """Return the spans as SVG, a row for each."""
    spans = in_order(seen.spans)
    end = max(span.end_time or 0 for span, _ in spans)
    height = ROW * (len(spans) + 1) + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for row, (span, depth) in enumerate(spans):
        lines += _row(span, depth, MARGIN + ROW * row, end)
    lines += _scale(MARGIN + ROW * len(spans), end)
    return "\n".join([*lines, "</svg>", ""])


def in_order(spans: Sequence[ReadableSpan]) -> list[tuple[ReadableSpan, int]]:
    """Return each span after its parent, with how deep it is."""
    below: dict[int, list[ReadableSpan]] = {}
    for span in spans:
        below.setdefault(span.parent.span_id if span.parent else 0, []).append(span)

    def walk(parent: int, depth: int) -> Iterator[tuple[ReadableSpan, int]]:
        for span in below.get(parent, []):
            assert span.context is not None
            yield span, depth
            yield from walk(span.context.span_id, depth + 1)

    return list(walk(0, 0))


def _row(span: ReadableSpan, depth: int, top: int, end: int) -> Iterator[str]:
    left, right = _at(span.start_time or 0, end), _at(span.end_time or 0, end)
    error = attributes_of(span).get("error.type")
    is_attempt = span.name.startswith("attempt ")
    colour = COLOURS.get(span.name.split()[0], FAILED if error else ANSWERED)
    if span.status.status_code is StatusCode.ERROR and not is_attempt:
        colour = FAILED
    yield (
        f'<text x="{MARGIN + 14 * depth}" y="{top + 17}" fill="#24292f">{escape(span.name)}</text>'
    )
    yield (
        f'<rect x="{left:.1f}" y="{top + 5}" width="{max(right - left, 3):.1f}" height="16" rx="2" '
        f'fill="{colour}"/>'
    )
    if error is not None:
        said = f"{error} {attributes_of(span).get('sidestep.status', '')}".strip()
        yield f'<text x="{right + 6:.1f}" y="{top + 17}" fill="{colour}">{escape(said)}</text>'
    for time, events in groupby(span.events, key=lambda event: event.timestamp):
        x = _at(time, end)
        said = ", ".join(event.name.removeprefix("sidestep.") for event in events)
        yield f'<path d="M{x:.1f} {top + 3} v20" stroke="{NOTE}" stroke-width="3"/>'
        place = f'x="{x + 5:.1f}" y="{top + 17}"'
        yield f'<text {place} fill="#ffffff" font-size="12">{escape(said)}</text>'


def _scale(top: int, end: int) -> Iterator[str]:
    for second in range(0, end // 1_000_000_000 + 1, 2):
        x = _at(second * 1_000_000_000, end)
        yield f'<text x="{x:.1f}" y="{top + 17}" fill="#6e7681">{second} s</text>'


def _at(time: int, end: int) -> float:
    return NAMES + (WIDTH - NAMES - 130) * time / end


if __name__ == "__main__":
    FILE.write_text(picture(asyncio.run(rehearse())), encoding="utf-8")
