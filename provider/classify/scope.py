"""Whose a failure is: the key's, the key's on one route, or the route's."""

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
    """Return whose a failure is; None: neither the fact that decided nor the status says.

    The status counts only if it is the provider's own. That of an error with another body inside
    may be the status of somebody else, whose key it is then.
    """
    if decided is not None and decided.scope is not None:
        return decided.scope
    report, tables = readings[0]
    is_passed_on = len(readings) > 1 or any(map(report.word, _PASSED_ON))
    if status is None or is_passed_on or kind is not kind_of_status(status):
        return None
    return next((table.scopes[status] for table in tables if status in table.scopes), None)
