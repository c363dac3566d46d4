"""Report a `Sidestep` to OpenTelemetry."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from opentelemetry import metrics, trace

from ..observation import HandlerTable
from ..step.middleware import Sidestep
from .instruments import Instruments
from .steps import StepSpans
from .turns import TurnSpans

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

_NAME = "sidestep"


class Instrumentation(HandlerTable):
    """An observer that makes spans and metrics of what it observes."""


def instrument(
    middleware: Sidestep,
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    capture_content: bool = False,
    agent_name: str | None = None,
) -> Callable[[], None]:
    """Report the steps of *middleware*, and the turns and tools of its sessions.

    A second call replaces the first.

    Args:
        tracer_provider: Makes the spans; None: the global one.
        meter_provider: Makes the metrics; None: the global one.
        capture_content: Put prompts, answers, and what tools get and return into the spans.
        agent_name: The name of the agent, for its turns and tools; None: it has no name.

    Returns:
        A function that ends the reports, for the steps that begin afterwards.
    """
    if middleware.observers is not None:
        for each in middleware.observers.all:
            if isinstance(each, Instrumentation):
                middleware.unobserve(each)
    reported = instrumentation(
        trace.get_tracer(_NAME, tracer_provider=tracer_provider),
        metrics.get_meter(_NAME, meter_provider=meter_provider),
        capture_content=capture_content,
        agent_name=agent_name,
    )
    return middleware.observe(reported)


def instrumentation(
    tracer: trace.Tracer,
    meter: metrics.Meter,
    *,
    now: Callable[[], int] = time.time_ns,
    capture_content: bool = False,
    agent_name: str | None = None,
) -> Instrumentation:
    """Return an observer that reports to *tracer* and *meter*.

    Args:
        now: Reads the time, in nanoseconds since the epoch.
    """
    instruments = Instruments(meter)
    steps = StepSpans(tracer, instruments, now=now, capture_content=capture_content)
    turns = TurnSpans(
        tracer, instruments, now=now, capture_content=capture_content, agent_name=agent_name
    )
    return Instrumentation(steps.handlers | turns.handlers)
