"""What being seen costs a step: OpenTelemetry, Prometheus, and the counts of the status.

CPU time of a step round a call that does nothing, against the same step that nobody observes.
OpenTelemetry's SDK has a batch exporter, which drops what it gets, and a reader of metrics. Most of
the cost is its own: one row compares with a step around which the agent makes the same two spans
and records the same value itself.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind, set_span_in_context

from sidestep import FallbackConfig, Sidestep
from sidestep.otel import instrument
from sidestep.prometheus import collector

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.engine import CALLS, CONFIG, ROUTE, in_steps, nothing, timed
from tests.bench.measure import Row, medians, run

OTEL_LIMIT, PROMETHEUS_LIMIT, STATUS_LIMIT = 60e-6, 15e-6, 0.5e-6
"""Seconds of CPU more a step."""
BY_HAND_LIMIT = 1.25
ATTRIBUTES = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openrouter",
    "gen_ai.request.model": "anthropic/claude-sonnet-5",
}


class Nowhere(SpanExporter):
    """Drops what it gets."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


class Sdk:
    """OpenTelemetry's SDK as a program sets it up."""

    def __init__(self) -> None:
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(BatchSpanProcessor(Nowhere()))
        self.meters = MeterProvider(metric_readers=[InMemoryMetricReader()])
        self._start_span = self.tracers.get_tracer("by hand").start_span
        self._record = self.meters.get_meter("by hand").create_histogram("seconds", "s").record

    async def by_hand(self, middleware: Sidestep) -> None:
        """Take steps, each with the same spans and the same value, made by the agent itself."""
        for _ in range(CALLS):
            step = self._start_span("chat", kind=SpanKind.CLIENT, attributes=ATTRIBUTES)
            within = set_span_in_context(step)
            async for attempt in middleware.step(ROUTE):
                async with attempt:
                    tried = self._start_span("attempt", within)
                    await nothing()
                    tried.end()
            step.end()
            self._record(0.5, ATTRIBUTES)


def measure(rounds: int) -> list[Row]:
    """Compare steps that are observed with steps that are not."""
    config, sdk = FallbackConfig.model_validate(CONFIG), Sdk()
    plain, uncounted, traced, counted = (Sidestep(config) for _ in range(4))
    uncounted.tally.answered = lambda _place: None
    instrument(traced, tracer_provider=sdk.tracers, meter_provider=sdk.meters)
    shown = collector(counted)
    sides = {"plain": plain, "uncounted": uncounted, "otel": traced, "prometheus": counted}
    took = medians(
        {name: partial(timed, partial(in_steps, each)) for name, each in sides.items()}
        | {"by hand": partial(timed, partial(sdk.by_hand, plain))},
        rounds=rounds,
    )
    assert any(family.samples for family in shown.collect())
    nobody, plainly = "nobody observes", took["plain"]
    return [
        Row("a step in OpenTelemetry", took["otel"], nobody, plainly, OTEL_LIMIT, "more"),
        Row("the same", took["otel"], "its spans by hand", took["by hand"], BY_HAND_LIMIT),
        Row("a step in Prometheus", took["prometheus"], nobody, plainly, PROMETHEUS_LIMIT, "more"),
        Row("the counts of a status", plainly, "none", took["uncounted"], STATUS_LIMIT, "more"),
    ]


if __name__ == "__main__":
    run(__doc__, measure, rounds=15)
