"""Looking up facts: in which order they are read, and the meaning of a status or stop reason.

The tables of facts are in `facts/`, one for each wire or provider. A table is read section by
section, in the order of its fields, so that a quota is not taken for a rate limit, or an overflow
for a bad request. Types and codes decide. A text pattern is used only if there is no type or code;
it is anchored, and reads a bounded prefix.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from ..fact import Fact, FactTable
from ..failure import FailureKind
from .fact_tables import tables_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..catalog.provider import Provider
    from ..wire_name import Wire
    from .report import Report

    Reading: TypeAlias = tuple[Report, tuple[FactTable, ...]]
    """A report, and the tables of facts to read it by."""


_SECTIONS = ("money", "overflow", "history", "filter", "other")

_K = FailureKind
_BY_STATUS: Mapping[int, FailureKind] = MappingProxyType(
    {
        401: _K.AUTH,
        402: _K.QUOTA,
        403: _K.AUTH,
        404: _K.NOT_FOUND,
        408: _K.TIMEOUT,
        409: _K.SERVER_ERROR,
        410: _K.NOT_FOUND,
        413: _K.REQUEST_TOO_LARGE,
        425: _K.SERVER_ERROR,
        429: _K.RATE_LIMIT,
        499: _K.SERVER_ERROR,  # the server believes that we hung up
        503: _K.OVERLOADED,
        504: _K.TIMEOUT,
        522: _K.TIMEOUT,
        524: _K.TIMEOUT,
        529: _K.OVERLOADED,
    }
)


def own_facts(provider: Provider | str) -> tuple[Fact, ...]:
    """Return the configuration's facts about *provider*."""
    return () if isinstance(provider, str) else provider.failures


def facts_in_order(
    *readings: Reading,
) -> Iterator[tuple[Fact, Report]]:
    """Return all facts section by section; in each, facts without a text pattern first."""
    for section in _SECTIONS:
        for reads_text in (False, True):
            for report, tables in readings:
                for table in tables:
                    for fact in getattr(table, section):
                        if (fact.text is not None) is reads_text:
                            yield fact, report


def kind_of_status(status: int | None, tables: tuple[FactTable, ...] = ()) -> FailureKind:
    """Return the kind of *status*, which counts if nothing else decides."""
    if status is None:
        return FailureKind.UNKNOWN
    for table in tables:
        if status in table.by_status:
            return table.by_status[status]
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return FailureKind.SERVER_ERROR
    return FailureKind.BAD_REQUEST if status >= 400 else FailureKind.UNKNOWN


def kind_of_stop(stop: str | None, *, provider: Provider | str, wire: Wire) -> FailureKind | None:
    """Return the failure that the stop reason *stop* means; None: it is a normal end."""
    if stop is None:
        return None
    stops = (table.stops.get(stop) for table in tables_of(provider, wire))
    return next((kind for kind in stops if kind is not None), None)
