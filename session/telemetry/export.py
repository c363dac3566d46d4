"""Export what a command does, as the standard variables of OpenTelemetry say.

Source: opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables and
opentelemetry.io/docs/specs/otel/protocol/exporter, read on 2026-11-30. The SDK reads the variables
with addresses, headers, intervals and limits itself.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from ...provider.log import logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    from ..step.middleware import Sidestep

_FLUSH_SECONDS = 5.0
"""How long the end of a command waits for what is not exported yet."""
_SIGNALS = ("TRACES", "METRICS")
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_INSTALL = "pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http 'sidestep[otel]'"


@contextmanager
def exporting(
    middleware: Sidestep,
    environ: Mapping[str, str],
    report: Callable[[str], None],
    *,
    flush_seconds: float | None = None,
) -> Iterator[None]:
    """Export what happens in *middleware* during the block, if *environ* asks for it.

    Nothing is exported without the SDK; that is logged once.

    Args:
        report: Called once with where traces and metrics go.
        flush_seconds: How long the end of the block may wait for what is not exported yet; None:
            5 seconds.
    """
    wanted = {signal: names for signal in _SIGNALS if (names := exporters_of(signal, environ))}
    if not wanted:
        yield
        return
    try:
        providers = _Providers(wanted, environ)
    except ImportError as error:
        logger.warning("%s: nothing is exported to OpenTelemetry: %s", error, _INSTALL)
        yield
        return
    if providers.is_empty:
        yield
        return
    providers.instrument(middleware, capture_content=_captures_content(environ))
    report(f"OpenTelemetry: {providers}")
    try:
        yield
    finally:
        seconds = _FLUSH_SECONDS if flush_seconds is None else flush_seconds
        if not providers.shut_down(seconds):
            logger.warning("OpenTelemetry: what was not exported within %g s is lost", seconds)


def exporters_of(signal: str, environ: Mapping[str, str]) -> list[str]:
    """Return the exporters that *environ* names for *signal*, ``TRACES`` or ``METRICS``.

    Without a name this is ``otlp`` if an address is set, because a command must not send anything
    to an address that nobody has named.
    """
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return []
    named = environ.get(f"OTEL_{signal}_EXPORTER", "").strip()
    if not named:
        addresses = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
        named = "otlp" if any(environ.get(name, "").strip() for name in addresses) else "none"
    return [name.strip() for name in named.split(",") if name.strip() not in ("", "none")]


def _captures_content(environ: Mapping[str, str]) -> bool:
    return environ.get(_CONTENT, "").strip().lower() in ("true", "span_only", "span_and_event")


class _Providers:
    """The SDK, with the exporters that are installed.

    Raises:
        ImportError: The SDK, or the extra ``otel``, is not installed.
    """

    def __init__(self, wanted: Mapping[str, list[str]], environ: Mapping[str, str]) -> None:
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        resource = _resource(environ)
        self._names: dict[str, list[str]] = {}
        spans = self._load("TRACES", wanted, environ)
        metrics = self._load("METRICS", wanted, environ)
        self._tracers: TracerProvider = TracerProvider(resource=resource, shutdown_on_exit=False)
        for exporter in spans:
            self._tracers.add_span_processor(BatchSpanProcessor(exporter))
        self._meters: MeterProvider = MeterProvider(
            metric_readers=[PeriodicExportingMetricReader(exporter) for exporter in metrics],
            resource=resource,
            shutdown_on_exit=False,
        )

    def __str__(self) -> str:
        return ", ".join(
            f"{signal.lower()} go to {' and '.join(names)}" for signal, names in self._names.items()
        )

    @property
    def is_empty(self) -> bool:
        """True if no exporter is there."""
        return not self._names

    def instrument(self, middleware: Sidestep, *, capture_content: bool) -> None:
        """Report *middleware* to this SDK."""
        from .instrumentation import instrument

        instrument(
            middleware,
            tracer_provider=self._tracers,
            meter_provider=self._meters,
            capture_content=capture_content,
            agent_name="sidestep",
        )

    def shut_down(self, seconds: float) -> bool:
        """Export what is left, and return whether that took at most *seconds*."""

        def end() -> None:
            self._tracers.shutdown()
            self._meters.shutdown()

        # A thread of its own, because an exporter may hang whatever limit it is given.
        ending = threading.Thread(target=end, name="sidestep-flush", daemon=True)
        ending.start()
        ending.join(seconds)
        return not ending.is_alive()

    def _load(
        self, signal: str, wanted: Mapping[str, list[str]], environ: Mapping[str, str]
    ) -> list[Any]:
        """Return the exporters of *signal* that are installed; log each that is not."""
        found = []
        for name in wanted.get(signal, []):
            exporter = _exporter(signal, name, environ)
            if exporter is None:
                logger.warning(
                    "OTEL_%s_EXPORTER: no installed package has an exporter %r, so that it is left "
                    "out: %s", signal, name, _INSTALL,
                )  # fmt: skip
                continue
            found.append(exporter)
            self._names.setdefault(signal, []).append(name)
        return found


def _exporter(signal: str, name: str, environ: Mapping[str, str]) -> Any:
    """Return a new exporter; None: no installed package has it."""
    if name == "otlp":
        protocol = environ.get(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "").strip()
        protocol = protocol or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "").strip()
        name = "otlp_proto_grpc" if protocol == "grpc" else "otlp_proto_http"
    for each in entry_points(group=f"opentelemetry_{signal.lower()}_exporter", name=name):
        kind = each.load()
        return kind(out=sys.stderr) if name == "console" else kind()  # stdout has the answer
    return None


def _resource(environ: Mapping[str, str]) -> Resource:
    """Return the resource of the variables; the service is ``sidestep`` unless they name one."""
    from opentelemetry.sdk.resources import Resource

    is_named = environ.get("OTEL_SERVICE_NAME") or "service.name=" in environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    return Resource.create({} if is_named else {"service.name": "sidestep"})
