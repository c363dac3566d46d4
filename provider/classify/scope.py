"""What a failure concerns: the key, the key on one route, or the route."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .fact_lookup import kind_of_status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..fact import Fact
    from ..failure import FailureKind, Scope
    from .fact_lookup import Reading

_PASSED_ON = ("provider_name", "provider_code", "upstream")
"""Words by which an aggregator says that the error is of a provider behind it."""


def scope_of(
    kind: FailureKind, status: int | None, decided: Fact | None, readings: Sequence[Reading]
) -> Scope | None:
    """Return what a failure concerns; None: neither the fact that decided nor the status says.

    The status counts only if it is the provider's own. If an error holds the error of another
    server, the status and the key may be those of that server.
    """
    if decided is not None and decided.scope is not None:
        return decided.scope
    report, tables = readings[0]
    is_passed_on = len(readings) > 1 or any(map(report.word, _PASSED_ON))
    if status is None or is_passed_on or kind is not kind_of_status(status):
        return None
    return next((table.scopes[status] for table in tables if status in table.scopes), None)
