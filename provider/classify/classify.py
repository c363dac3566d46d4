"""The classification of an error: from a provider's answer to a `Failure`.

Facts are tried in order: the configured ones, then money, overflow, rejected history, filter and
refusal, the rest. If none matches, the status decides. Inside a stream this is not the 200 of the
response, but the status that the error's own type or code stands for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..cure import Change
from ..failure import Failure, FailureKind, Stage
from ..json_value import mapping
from ..secret import redact_shapes
from .bare_error import is_bare_error
from .edge import is_of_edge
from .fact_lookup import facts_in_order, kind_of_status, own_facts
from .fact_tables import tables_of, tables_of_upstream
from .redirect import redirect_failure
from .report import parse_body, read_reports
from .retry_after import read_wait
from .scope import scope_of
from .time_text import first_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..catalog.provider import Provider
    from ..cure import Cure
    from ..fact import Fact, FactTable
    from ..route import Route
    from ..wire_name import Wire
    from .fact_lookup import Reading
    from .report import Report

BODY_LIMIT = 65_536
"""The largest number of bytes of an error's body that are read."""

_MESSAGE_LIMIT = 500  # characters of a message that are kept
_AGGREGATED = frozenset({"error_type", "provider_name", "provider_code"})
_CURABLE = frozenset(
    {
        *(FailureKind.HISTORY_REJECTED, FailureKind.BAD_REQUEST, FailureKind.CONTEXT_OVERFLOW),
        FailureKind.CONTENT_FILTER,  # a picture can be left out
    }
)
_VAGUE = frozenset(
    {
        *(FailureKind.BAD_REQUEST, FailureKind.SERVER_ERROR, FailureKind.REQUEST_TOO_LARGE),
        *(FailureKind.OVERLOADED, FailureKind.UNKNOWN),
    }
)
"""The kinds of a status, which an overflow in the words of an unknown server can have."""
_LENGTH_STATUSES = frozenset({400, 413, 422})
_SAID = {
    "challenge": (FailureKind.SERVER_ERROR, "a challenge of the edge, before the provider"),
    "no room": (FailureKind.CONTEXT_OVERFLOW, "the numbers of the message"),
    "too long": (FailureKind.CONTEXT_OVERFLOW, "what the message says of the context and a limit"),
}
"""The kind that words mean whatever the facts say, and the reason."""
_CODE_NAMES = ("error_code", "code", "error_type", "type", "reason", "rpc")


def classify_response(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    provider: Provider | str,
    wire: Wire,
    route: Route | None = None,
    now: float | None = None,
) -> Failure:
    """Return the failure behind a response that is not the requested stream.

    Args:
        headers: With names in lower case, or a mapping that ignores case.
        body: As much of the body as was read; it can hold anything.
        provider: The provider that answered. A name is enough, but a `Provider` also has the facts
            of the configuration, and an address by which an unknown provider is looked up.
        now: Epoch seconds; an HTTP date is counted from it if the response has no ``date``.
    """
    redirected = redirect_failure(status, headers, now=now)
    if redirected is not None:
        redirected.route, redirected.request_id = route, request_id_of(headers)
        return redirected
    value, form = parse_body(body[:BODY_LIMIT])
    if is_of_edge(headers, form, body):
        form = "challenge"
    is_success = 200 <= status < 300
    reports = read_reports(value, form=form, headers=headers)
    failure = _classify(
        reports,
        provider=provider,
        wire=wire,
        status=None if is_success else status,
        stage=Stage.STREAM if is_success else Stage.RESPONSE,
        headers=headers,
        now=now,
    )
    failure.route = route
    failure.message = failure.message or _fallback_message(status, headers, body)
    failure.request_id = request_id_of(headers) or failure.request_id
    return failure


def classify_error_object(
    value: object,
    *,
    provider: Provider | str,
    wire: Wire,
    route: Route | None = None,
) -> Failure:
    """Return the failure that an error object in a stream reports; its status comes from its words.

    Args:
        value: The whole JSON value of the event, of any shape.
    """
    failure = _classify(
        read_reports(value),
        provider=provider,
        wire=wire,
        status=None,
        stage=Stage.STREAM,
        headers={},
    )
    failure.route = route
    return failure


def has_error_object(value: object) -> bool:
    """True if *value*, the body of a 200 or an event, reports an error."""
    if isinstance(value, list):
        return any(has_error_object(item) for item in value[:2])
    top = mapping(value)
    kind = top.get("type")
    return (
        bool(top.get("error"))
        or "error" in (kind, top.get("object"))
        or (isinstance(kind, str) and (kind.endswith("_error") or kind == "response.failed"))
        or top.get("success") is False
        or mapping(top.get("base_resp")).get("status_code") not in (None, 0, "0")
        or (0 < len(top) <= 2 and any(name.endswith("Exception") for name in top))
        or is_bare_error(top)
    )


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """Return the provider's id of the request, which its support asks for."""
    names = ("request-id", "x-request-id", "x-amzn-requestid")
    return next((value for name in names if (value := headers.get(name))), None)


def shorten(text: str, limit: int = _MESSAGE_LIMIT) -> str:
    """Return *text* on one line of at most *limit* characters, without what looks like a key."""
    line = " ".join(redact_shapes(text[: 4 * limit]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _classify(
    reports: Sequence[Report],
    *,
    provider: Provider | str,
    wire: Wire,
    status: int | None,
    stage: Stage,
    headers: Mapping[str, str],
    now: float | None = None,
) -> Failure:
    readings = _with_tables(reports, provider, wire)
    reason = ""
    if status is None:
        status, reason = _effective_status(readings)
    named = "none" if status is None else str(status)
    readings = [(report.with_code("status", named), tables) for report, tables in readings]
    decided = _first_match(readings, own_facts(provider))
    kind = kind_of_status(status, readings[0][1]) if decided is None else decided[0].kind
    said = "" if decided is not None and decided[0].is_own else _said(kind, status, readings)
    if said:
        decided, kind, reason = None, *_SAID[said]
    if kind is FailureKind.UNKNOWN and stage is Stage.STREAM:
        kind = FailureKind.SERVER_ERROR  # it broke off an answer, in unknown words
    wait, reset_at = read_wait(kind, headers, readings, now=now)
    return Failure(
        kind=kind,
        message=shorten(_message_of(reports)),
        status=status,
        code=_code([report for report, _ in readings], status),
        retry_after=wait,
        reset_at=reset_at,
        stage=stage,
        request_id=next((report.request_id for report in reports if report.request_id), None),
        lacks_capacity=_is_capacity(decided, status, wait),
        should_retry=_should_retry(headers),
        because=_because(decided, status, reason),
        cure=_cure(kind, readings),
        scope=scope_of(kind, status, decided and decided[0], readings),
    )


def _is_capacity(
    decided: tuple[Fact, Report] | None, status: int | None, wait: float | None
) -> bool:
    """True if waiting is of no use; but it is for a 402 that says how long to wait."""
    lacks_capacity = decided is not None and decided[0].lacks_capacity
    return lacks_capacity and not (status == 402 and wait is not None)


def _with_tables(reports: Sequence[Report], provider: Provider | str, wire: Wire) -> list[Reading]:
    """Return each report with the tables to read it by, the most specific report first.

    This is usually the innermost. An aggregator's own words come first, and an inner body belongs
    to the provider that the aggregator names.
    """
    tables = tables_of(provider, wire)
    readings = []
    for report in reports:
        readings.append((_with_text_code(report, tables), tables))
        upstream = report.word("provider_name")
        if upstream:
            tables = tables_of_upstream(upstream, wire)
    is_aggregated = _AGGREGATED.intersection(reports[0].words)
    return readings if is_aggregated else readings[::-1]


def _with_text_code(report: Report, tables: tuple[FactTable, ...]) -> Report:
    """Return *report* with the code that some providers write into the message."""
    for table in tables:
        for pattern in table.coded:
            found = re.match(pattern, report.message)
            if found is not None and found["code"] not in report.words.get("code", ()):
                return report.with_code("code", found["code"])
    return report


def _first_match(readings: Sequence[Reading], own: tuple[Fact, ...]) -> tuple[Fact, Report] | None:
    """Return the first fact that matches, and the report that it matches."""
    for fact in own:
        for report, _ in readings:
            if fact.matches(report):
                return fact, report
    return next((pair for pair in facts_in_order(*readings) if pair[0].matches(pair[1])), None)


def _effective_status(
    readings: Sequence[Reading],
) -> tuple[int | None, str]:
    """Return the status that an error in a stream stands for, and the word that says so."""
    for report, tables in readings:
        if report.status is not None:
            return report.status, f"the status {report.status} in the error itself"
        for name in (*_CODE_NAMES, "provider_code"):
            for word in report.words.get(name, ()):
                for table in tables:
                    if word in table.statuses:
                        return table.statuses[word], f"{name} {word!r}"
    return None, ""


def _code(reports: Sequence[Report], status: int | None) -> str | None:
    """Return the provider's most specific word, other than a code that repeats the status."""
    for report in reports:
        for name in _CODE_NAMES:
            for word in report.words.get(name, ()):
                if word != str(status):
                    return word
    return None


def _message_of(reports: Sequence[Report]) -> str:
    """Return the message, with what a body inside it adds."""
    message = ""
    for report in reports:
        text = report.message
        if message in text or "{" in message:
            message = text or message
        elif text and text not in message:
            message = f"{message}: {text}"
    return message


def _because(decided: tuple[Fact, Report] | None, status: int | None, reason: str) -> str:
    if decided is not None:
        fact, report = decided
        return fact.explain(report)
    if reason:
        return reason
    return "" if status is None else f"status {status}"


def _cure(kind: FailureKind, readings: Sequence[Reading]) -> Cure | None:
    """Return the change that a refused request needs; None: unknown, or not a refusal."""
    if kind not in _CURABLE:
        return None
    from .cure_wording import find_cure, find_room  # few failures are refusals

    reports = [report for report, _ in readings]
    if kind is FailureKind.CONTENT_FILTER:
        cure = find_cure(reports)
        is_of_images = cure is not None and cure.change is Change.LEAVE_OUT_IMAGES
        return cure if is_of_images else None
    return find_room(reports) or (
        None if kind is FailureKind.CONTEXT_OVERFLOW else find_cure(reports)
    )


def _said(kind: FailureKind, status: int | None, readings: Sequence[Reading]) -> str:
    """Return what the words say that is more than *kind*: a word of `_SAID`; empty: no more."""
    if any("challenge" in report.words.get("form", ()) for report, _ in readings):
        return "challenge"
    is_length = status is None or status in _LENGTH_STATUSES or status >= 500
    if not is_length or kind not in _VAGUE:
        return ""
    from .overflow_wording import room_of  # few failures are as vague

    for report, tables in readings:
        room = room_of(report.message)
        if room is not None and not room.is_enough:
            return "no room"
        if any(table.is_of_unknown for table in tables) and _is_overflow(report):
            return "too long"
    return ""


def _is_overflow(report: Report) -> bool:
    """True if the words of *report*, of a server that nobody knows, mean an overflow."""
    from .overflow_wording import is_overflow, is_overflow_code

    return is_overflow(report.message) or any(map(is_overflow_code, report.words.get("any", ())))


def _should_retry(headers: Mapping[str, str]) -> bool | None:
    advice = first_value(headers.get("x-should-retry", ""))
    return {"true": True, "false": False}.get(advice.lower())


def _fallback_message(status: int, headers: Mapping[str, str], body: bytes) -> str:
    """Return a message for a response without an error object; its body is not repeated."""
    kind = headers.get("content-type", "").partition(";")[0].strip()
    form = f"a body of type {kind or 'unknown'}" if body.strip() else "an empty body"
    return f"answered {status} with no error object, but {form}"
