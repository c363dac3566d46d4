"""What an exporter does ends no turn and delays none."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest
from opentelemetry import context, trace
from opentelemetry.metrics import NoOpMeter
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)

import sidestep.otel
from sidestep import StepEnded, Swapped, TurnEnded
from sidestep.session.telemetry.instrumentation import instrumentation

from ..turn.outage import A, B, Outage
from .seen import Seen

pytestmark = pytest.mark.asyncio


class Gone(Exception):
    """The backend is gone."""


class RaisesAtStart(SpanProcessor):
    def on_start(self, span: Span, parent_context: context.Context | None = None) -> None:
        raise Gone


class RaisesAtEnd(SpanProcessor):
    def on_end(self, span: ReadableSpan) -> None:
        raise Gone


class CancelsAtStart(SpanProcessor):
    def on_start(self, span: Span, parent_context: context.Context | None = None) -> None:
        raise asyncio.CancelledError


class CancelsAtEnd(SpanProcessor):
    def on_end(self, span: ReadableSpan) -> None:
        raise asyncio.CancelledError


class RaisingExporter(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        raise Gone


class HangingExporter(SpanExporter):
    """Answers once it may."""

    def __init__(self) -> None:
        self.began, self.may_end = threading.Event(), threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.began.set()
        self.may_end.wait()
        return SpanExportResult.SUCCESS


@pytest.mark.parametrize(
    "processor",
    [
        pytest.param(RaisesAtStart, id="the start of a span raises"),
        pytest.param(RaisesAtEnd, id="the end of a span raises"),
        pytest.param(CancelsAtStart, id="a loop of the processor is cancelled at the start"),
        pytest.param(CancelsAtEnd, id="a loop of the processor is cancelled at the end"),
        pytest.param(lambda: SimpleSpanProcessor(RaisingExporter()), id="the exporter raises"),
    ],
)
async def test_what_raises_ends_no_turn_and_leaves_no_span_current(
    processor: Callable[[], SpanProcessor], caplog: pytest.LogCaptureFixture
) -> None:
    seen, before = Seen(), context.get_current()
    seen.tracers.add_span_processor(processor())
    async with Outage({A: {"status": 503}, B: {"text": "hello"}}) as outage:
        seen.watch(outage.middleware)
        ended = await outage.session.turn("hi")
        await outage.session.turn("again")

    assert ended.text == "hello"
    kinds = [type(event) for event in outage.events if isinstance(event, Swapped | StepEnded)]
    assert kinds[:2] == [Swapped, StepEnded]
    assert context.get_current() is before
    ours = [each for each in caplog.records if each.name == "sidestep"]
    assert sum(each.levelno >= logging.ERROR for each in ours) <= 1


class BrokenMeter(NoOpMeter):
    """Its instruments raise."""

    def create_counter(self, *_: Any, **__: Any) -> Any:
        return Broken()

    def create_histogram(self, *_: Any, **__: Any) -> Any:
        return Broken()


class Broken:
    def record(self, *_: object) -> None:
        raise Gone

    add = record


async def test_instruments_that_raise_end_no_turn_and_leave_no_span_open() -> None:
    seen = Seen()
    async with Outage({A: {"status": 503}, B: {"text": "hello"}}) as outage:
        observer = instrumentation(seen.tracers.get_tracer("sidestep"), BrokenMeter("broken"))
        outage.middleware.observe(observer)
        ended = await outage.session.turn("hi")

    assert ended.text == "hello"
    assert seen.open == 0


async def test_an_exporter_that_hangs_delays_no_turn() -> None:
    seen, exporter = Seen(), HangingExporter()
    batches = BatchSpanProcessor(exporter, schedule_delay_millis=1, max_export_batch_size=1)
    seen.tracers.add_span_processor(batches)
    try:
        async with Outage({A: {"text": "hello"}}) as outage:
            seen.watch(outage.middleware)
            await outage.session.turn("hi")
            with anyio.fail_after(60):
                await anyio.to_thread.run_sync(exporter.began.wait)
            ended = await outage.session.turn("again")  # while nothing is exported any more
    finally:
        exporter.may_end.set()
        seen.tracers.shutdown()

    assert ended.text == "hello"
    assert isinstance(outage.events[-1], TurnEnded)


async def test_without_an_sdk_nothing_is_recorded_and_nothing_fails() -> None:
    async with Outage({A: {"text": "hello"}}) as outage:
        sidestep.otel.instrument(outage.middleware)
        ended = await outage.session.turn("hi")

    assert ended.text == "hello"
    assert trace.get_current_span() is trace.INVALID_SPAN
