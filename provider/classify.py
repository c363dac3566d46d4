"""What a provider said went wrong, to a `Failure`.

The facts of `fact.py` are read in order: money, overflow, a rejected history, filter and refusal,
the rest; where none fits, the status decides. Inside a stream that is never the 200 it came with,
but what the error's own type or code stands for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .fact import kind_of_status, tables_of, walk
from .failure import Failure, FailureKind, Stage
from .retry_after import retry_after
from .wire import mapping, read_json, string

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .fact import Facts
    from .route import Route
    from .wire import Wire

BODY_LIMIT = 65_536
"""Bytes of an error's body that are read at most."""

_MESSAGE = 500  # characters of a message that are kept


def classify_response(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    provider: str,
    wire: Wire,
    route: Route | None = None,
    now: float | None = None,
) -> Failure:
    """Name the failure behind an answer that is not the stream we asked for.

    Args:
        headers: With names in lower case, or a mapping that does not care.
        body: As much of it as was read; anything at all may stand there.
        now: Epoch seconds, which an HTTP date without an own ``date`` is counted from.
    """
    try:
        value = read_json(body[:BODY_LIMIT])
    except ValueError:
        value = None
    is_success = 200 <= status < 300
    failure = classify_error_object(
        value,
        provider=provider,
        wire=wire,
        status=None if is_success else status,
        stage=Stage.STREAM if is_success else Stage.RESPONSE,
        route=route,
    )
    if not failure.message:
        failure.message = _described(status, headers, body)
    failure.retry_after = retry_after(headers, now=now)
    failure.request_id = request_id_of(headers) or failure.request_id
    return failure


def classify_error_object(
    value: object,
    *,
    provider: str,
    wire: Wire,
    status: int | None = None,
    stage: Stage = Stage.STREAM,
    route: Route | None = None,
) -> Failure:
    """Name the failure that an error object tells of, from a body or from a stream.

    Args:
        value: The whole JSON value it stands in, whatever its shape.
        status: That of the answer; None in a stream, whose own types and codes give one.
    """
    tables = tables_of(provider, wire)
    report = read_report(value)
    if status is None:
        status = _effective_status(report, tables)
    report["status"] = str(status)
    fact = next((fact for fact in walk(tables) if fact.fits(report)), None)
    kind = kind_of_status(status) if fact is None else fact.kind
    if kind is FailureKind.UNKNOWN and stage is Stage.STREAM:
        kind = FailureKind.SERVER_ERROR  # it broke off an answer, in words that we do not know
    return Failure(
        kind=kind,
        message=shorten(report["message"]),
        status=status,
        code=_code(report, status),
        stage=stage,
        route=route,
        request_id=report["request_id"] or None,
        is_capacity=fact is not None and fact.is_capacity,
    )


def has_error_object(value: object) -> bool:
    """Say whether what came with a 200, a body or an event, tells of an error."""
    top = mapping(value)
    kind = top.get("type")
    return (
        bool(top.get("error"))
        or "error" in (kind, top.get("object"))
        or (isinstance(kind, str) and kind.endswith("_error"))
    )


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """Return the provider's id of a request, for its support desk."""
    return headers.get("request-id") or headers.get("x-request-id")


def shorten(text: str, limit: int = _MESSAGE) -> str:
    """Bring *text* on one line of at most *limit* characters."""
    line = " ".join(text[: 4 * limit].split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _effective_status(report: Mapping[str, str], tables: tuple[Facts, ...]) -> int | None:
    """Return the status that an error in a stream stands for, from its own words."""
    for name in ("status_code", "code"):
        number = report[name]
        if len(number) == 3 and number.isdecimal() and "400" <= number <= "599":
            return int(number)
    for name in ("error_code", "code", "error_type", "type"):
        for table in tables:
            if report[name] in table.statuses:
                return table.statuses[report[name]]
    return None


def _code(report: Mapping[str, str], status: int | None) -> str | None:
    """Return the provider's most telling word; a code that only repeats the status is none."""
    for name in ("error_code", "code", "error_type", "type"):
        if report[name] and report[name] != str(status):
            return report[name]
    return None


def read_report(value: object) -> dict[str, str]:
    """Lay out flat what an error object says; what it does not say is empty."""
    if isinstance(value, list) and value:
        value = value[0]
    top = mapping(value)
    inner = top.get("error")
    error = mapping(inner) or top
    metadata, details = mapping(error.get("metadata")), mapping(error.get("details"))
    return {
        "message": _said(error.get("message") or error.get("detail") or inner),
        "type": string(error.get("type")),
        "code": _written(error.get("code")),
        "error_code": string(details.get("error_code")),
        "error_type": string(metadata.get("error_type")),
        "reason": string(metadata.get("reason")),
        "limit_source": string(metadata.get("limit_source")),
        "status_code": _written(error.get("status_code") or top.get("status_code")),
        "request_id": string(top.get("request_id")),
    }


def _said(value: object) -> str:
    """Return the words of a message; of a list of complaints not the input that they repeat."""
    if isinstance(value, str):
        return value
    details = mapping(value).get("detail", value)
    if not isinstance(details, list):
        return ""
    return "; ".join(string(mapping(detail).get("msg")) for detail in details)


def _written(value: Any) -> str:
    return "" if value is None or isinstance(value, bool) else str(value)


def _described(status: int, headers: Mapping[str, str], body: bytes) -> str:
    """Say what an answer without an error object was; a page of HTML is not repeated."""
    kind = headers.get("content-type", "").partition(";")[0].strip()
    said = body[: 4 * _MESSAGE].decode("utf-8", "replace").strip()
    if kind == "text/plain" and said and not said.startswith("<"):
        return shorten(said)
    form = f"a body of type {kind or 'unknown'}" if body.strip() else "an empty body"
    return f"answered {status} with no error object, but {form}"
