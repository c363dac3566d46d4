"""Report a `Sidestep` to OpenTelemetry: ``sidestep.otel.instrument(middleware)``.

Needs the extra ``otel``.
"""

from .session.embed.framework import require

require("opentelemetry-api", at_least="1.40", extra="otel")

from .session.telemetry.instrumentation import instrument  # noqa: E402 - checked first

__all__ = ["instrument"]
