"""Show a `Sidestep` to Prometheus: ``registry.register(collector(middleware))``.

Needs the extra ``prometheus``.
"""

from .session.embed.framework import require

require("prometheus-client", at_least="0.20", extra="prometheus")

from .session.telemetry.prometheus_collector import collector  # noqa: E402 - checked first

__all__ = ["collector"]
