"""What being seen costs a step: OpenTelemetry, Prometheus, and the counts of the status.

CPU time of a step round a call that does nothing, against the same step that nobody observes.
OpenTelemetry's SDK has a batch exporter, which drops what it gets, and a reader of metrics; its own
work, two spans and one value of a histogram, is a row of its own.
"""

from __future__ import annotations

import sys
import time
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
from tests.bench.engine import CONFIG, in_steps, timed
from tests.bench.measure import Row, medians, run

OTEL_LIMIT, PROMETHEUS_LIMIT, STATUS_LIMIT = 60e-6, 15e-6, 0.5e-6
"""Seconds of CPU more a step."""
ITSELF = 1_000
"""How often the SDK does its work alone."""
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
        self._start_span = self.tracers.get_tracer("alone").start_span
        self._record = self.meters.get_meter("alone").create_histogram("alone", "s").record

    def alone(self) -> float:
        """Time two spans and one value of a histogram, as a step has them."""
        start = time.process_time()
        for _ in range(ITSELF):
            step = self._start_span("chat", kind=SpanKind.CLIENT, attributes=ATTRIBUTES)
            within = set_span_in_context(step)
            self._start_span("attempt", within).end()
            step.end()
            self._record(0.5, ATTRIBUTES)
        return (time.process_time() - start) / ITSELF


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
        | {"sdk": sdk.alone},
        rounds=rounds,
    )
    assert any(family.samples for family in shown.collect())
    against, plainly = "nobody observes", took["plain"]
    return [
        Row("a step in OpenTelemetry", took["otel"], against, plainly, OTEL_LIMIT, "more"),
        Row("its spans and metric by the SDK alone", took["sdk"], against, plainly),
        Row("a step in Prometheus", took["prometheus"], against, plainly, PROMETHEUS_LIMIT, "more"),
        Row(
            "the counts of the status",
            plainly,
            "no counts",
            took["uncounted"],
            STATUS_LIMIT,
            "more",
        ),
    ]


if __name__ == "__main__":
    run(__doc__, measure, rounds=15)
