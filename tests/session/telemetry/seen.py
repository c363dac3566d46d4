"""What OpenTelemetry's SDK got, as tests look at it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import sidestep.otel
from sidestep import Sidestep


class Seen:
    """An SDK that keeps what it gets in memory."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.meters = MeterProvider(metric_readers=[self._reader])
        self.tracer = self.tracers.get_tracer("the agent")
        self.started = 0
        self._count_starts()

    def _count_starts(self) -> None:
        class Counting(SimpleSpanProcessor):
            def on_start(_, *args: Any, **kwargs: Any) -> None:  # noqa: N805
                self.started += 1

            def on_end(_, span: ReadableSpan) -> None:  # noqa: N805
                pass

        self.tracers.add_span_processor(Counting(self._exporter))

    def watch(self, middleware: Sidestep, **options: Any) -> Callable[[], None]:
        """Instrument *middleware* with this SDK."""
        return sidestep.otel.instrument(
            middleware, tracer_provider=self.tracers, meter_provider=self.meters, **options
        )

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """The spans that have ended, in the order in which they began."""
        ended = self._exporter.get_finished_spans()
        return tuple(sorted(ended, key=lambda span: span.start_time or 0))

    @property
    def open(self) -> int:
        """How many spans have not ended."""
        return self.started - len(self.spans)

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def only(self, name: str) -> ReadableSpan:
        (span,) = self.named(name)
        return span

    def parent_of(self, span: ReadableSpan) -> str | None:
        """Return the name of the parent of *span*; None: it is a root."""
        if span.parent is None:
            return None
        names = {each.context.span_id: each.name for each in self.spans if each.context}
        return names.get(span.parent.span_id, "not ended")

    @property
    def tree(self) -> list[str]:
        """A line for each span, in order: how deep it is, and its name."""
        depths: dict[int, int] = {}
        lines = []
        for span in self.spans:
            assert span.context is not None
            depth = 0 if span.parent is None else depths.get(span.parent.span_id, 90) + 1
            depths[span.context.span_id] = depth
            lines.append("  " * depth + span.name)
        return lines

    @property
    def metrics(self) -> dict[str, Any]:
        """Every metric by its name."""
        data = self._reader.get_metrics_data()
        if data is None:
            return {}
        return {
            metric.name: metric
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def points(self, name: str) -> list[tuple[dict[str, Any], Any]]:
        """Return the attributes and the count or sum of each point of a metric."""
        metric = self.metrics.get(name)
        found = () if metric is None else metric.data.data_points
        return [
            (dict(point.attributes), getattr(point, "count", getattr(point, "value", None)))
            for point in found
        ]


def attributes_of(span: ReadableSpan) -> Mapping[str, Any]:
    return dict(span.attributes or {})


def events_of(span: ReadableSpan) -> list[tuple[str, Mapping[str, Any]]]:
    return [(event.name, dict(event.attributes or {})) for event in span.events]


def named(spans: tuple[ReadableSpan, ...]) -> Counter[str]:
    return Counter(span.name for span in spans)
