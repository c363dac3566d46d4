"""What providers say when something went wrong, as tables: one for a wire, or for one provider.

A table is read section by section, in the order of its fields, so that money is told from a rate
limit and an overflow from a bad request. Types and codes decide; a text pattern stands only
where there is none, is anchored, and reads a bounded prefix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from .failure import FailureKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .wire import Wire

PREFIX = 1_000
"""Characters of a message that a pattern sees."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a provider says, and what it means.

    Args:
        given: What an error must hold: any of the words, for each of the names. The names are
            those of `read_report`.
        text: Anchored pattern that its message must begin with; None reads no text.
        is_capacity: It means that the provider has no room for this model.
    """

    kind: FailureKind
    given: Mapping[str, frozenset[str]]
    text: str | None = None
    is_capacity: bool = False

    def fits(self, report: Mapping[str, str]) -> bool:
        """Say whether an error that holds *report* says this."""
        return all(report.get(name) in words for name, words in self.given.items()) and (
            self.text is None or bool(re.match(self.text, report["message"][:PREFIX]))
        )


def _fact(
    kind: FailureKind, *, text: str | None = None, is_capacity: bool = False, **given: str
) -> Fact:
    words = {name: frozenset(value.split()) for name, value in given.items()}
    return Fact(kind, words, text, is_capacity)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one wire or provider, in the order in which it is read.

    Args:
        statuses: The status that a type or code stands for where an error has none: in a stream.
        stops: The words for why the model stopped that mean failure.
    """

    money: tuple[Fact, ...] = ()
    overflow: tuple[Fact, ...] = ()
    history: tuple[Fact, ...] = ()
    filter: tuple[Fact, ...] = ()
    other: tuple[Fact, ...] = ()
    statuses: Mapping[str, int] = field(default_factory=dict)
    stops: Mapping[str, FailureKind] = field(default_factory=dict)


_K = FailureKind

# Source: platform.claude.com/docs/en/api/errors, read on 2026-11-29; captures anthropic_*.
_ANTHROPIC = Facts(
    money=(_fact(_K.QUOTA, type="billing_error"),),
    overflow=(
        _fact(
            _K.CONTEXT_OVERFLOW,
            type="invalid_request_error",
            text=r"prompt is too long: \d+ tokens > \d+ maximum",
        ),
        _fact(_K.CONTEXT_OVERFLOW, type="request_too_large"),
    ),
    other=(
        _fact(_K.OVERLOADED, type="overloaded_error"),
        _fact(_K.RATE_LIMIT, type="rate_limit_error"),
        _fact(_K.TIMEOUT, type="timeout_error"),
        _fact(_K.SERVER_ERROR, type="api_error"),
        _fact(_K.AUTH, type="authentication_error permission_error"),
        _fact(_K.NOT_FOUND, type="not_found_error"),
    ),
    statuses={
        "invalid_request_error": 400,
        "authentication_error": 401,
        "billing_error": 402,
        "permission_error": 403,
        "not_found_error": 404,
        "conflict_error": 409,
        "request_too_large": 413,
        "rate_limit_error": 429,
        "api_error": 500,
        "timeout_error": 504,
        "overloaded_error": 529,
    },
    stops={
        "refusal": _K.REFUSAL,
        "sensitive": _K.CONTENT_FILTER,
        "model_context_window_exceeded": _K.CONTEXT_OVERFLOW,
    },
)

# Source: openrouter.ai/docs/api/reference/errors-and-debugging and the error types of the openai
# package 3.57, read on 2026-11-29; captures openai_*, openrouter_*, deepseek_stream_*.
_CHAT = Facts(
    money=(
        _fact(
            _K.RATE_LIMIT,
            status="402",
            limit_source="openrouter_in_flight_budget",
            reason="in_flight_budget_exhausted",
        ),
        _fact(_K.QUOTA, type="insufficient_quota"),
        _fact(
            _K.QUOTA,
            code="insufficient_quota credit_balance_exhausted billing_hard_limit_reached "
            "billing_not_active",
        ),
        _fact(_K.QUOTA, error_type="payment_required"),
    ),
    overflow=(
        _fact(_K.CONTEXT_OVERFLOW, code="context_length_exceeded"),
        _fact(
            _K.CONTEXT_OVERFLOW,
            error_type="context_length_exceeded max_tokens_exceeded token_limit_exceeded "
            "string_too_long",
        ),
    ),
    history=(_fact(_K.HISTORY_REJECTED, code="invalid_encrypted_content"),),
    filter=(
        _fact(_K.CONTENT_FILTER, code="content_filter content_policy_violation"),
        _fact(_K.CONTENT_FILTER, error_type="content_policy_violation"),
        _fact(_K.REFUSAL, error_type="refusal"),
    ),
    other=(
        _fact(_K.OVERLOADED, error_type="provider_overloaded"),
        _fact(_K.OVERLOADED, code="server_is_overloaded"),
        _fact(_K.OVERLOADED, type="service_unavailable_error"),
        _fact(_K.RATE_LIMIT, error_type="rate_limit_exceeded"),
        _fact(_K.RATE_LIMIT, code="slow_down"),
        _fact(_K.TIMEOUT, error_type="timeout"),
        _fact(_K.SERVER_ERROR, error_type="provider_unavailable server"),
        _fact(_K.AUTH, error_type="authentication permission_denied"),
        _fact(_K.NOT_FOUND, error_type="not_found"),
        _fact(_K.REQUEST_TOO_LARGE, error_type="payload_too_large"),
    ),
    statuses={
        "invalid_request_error": 400,
        "context_length_exceeded": 400,
        "invalid_request": 400,
        "invalid_prompt": 400,
        "authentication_error": 401,
        "authentication": 401,
        "invalid_api_key": 401,
        "payment_required": 402,
        "permission_denied": 403,
        "not_found": 404,
        "model_not_found": 404,
        "rate_limit_exceeded": 429,
        "rate_limit_error": 429,
        "insufficient_quota": 429,
        "slow_down": 429,
        "server_error": 500,
        "server": 500,
        "provider_unavailable": 502,
        "server_is_overloaded": 503,
        "service_unavailable_error": 503,
        "timeout": 504,
        "provider_overloaded": 529,
    },
    stops={
        "content_filter": _K.CONTENT_FILTER,
        "sensitive": _K.CONTENT_FILTER,
        "error": _K.SERVER_ERROR,
        "network_error": _K.SERVER_ERROR,
        "insufficient_system_resource": _K.OVERLOADED,
        "model_context_window_exceeded": _K.CONTEXT_OVERFLOW,
    },
)

# Source: traffic recorded by pydantic-ai (tests/models/cassettes/test_groq), read on 2026-11-29;
# captures groq_stream_*.
_GROQ = Facts(
    other=(
        _fact(_K.TOOL_CALL_MALFORMED, code="tool_use_failed"),
        _fact(_K.OVERLOADED, code="over_capacity"),
    ),
    statuses={"tool_use_failed": 400, "over_capacity": 503},
)

_NOTHING = Facts()
_OF_WIRE: Mapping[str, Facts] = MappingProxyType({"anthropic": _ANTHROPIC, "openai-chat": _CHAT})
_OF_PROVIDER: Mapping[str, Facts] = MappingProxyType({"groq": _GROQ})
_SECTIONS = ("money", "overflow", "history", "filter", "other")

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
        503: _K.OVERLOADED,
        504: _K.TIMEOUT,
        522: _K.TIMEOUT,
        524: _K.TIMEOUT,
        529: _K.OVERLOADED,
    }
)


def tables_of(provider: str, wire: Wire) -> tuple[Facts, Facts]:
    """Return what is known of *provider*, and then of its *wire*."""
    return _OF_PROVIDER.get(provider, _NOTHING), _OF_WIRE.get(wire, _NOTHING)


def walk(tables: tuple[Facts, ...]) -> Iterator[Fact]:
    """Go through the facts of all *tables*, section by section."""
    for section in _SECTIONS:
        for table in tables:
            yield from getattr(table, section)


def kind_of_status(status: int | None) -> FailureKind:
    """Return what *status* means where nothing else decides."""
    if status is None:
        return FailureKind.UNKNOWN
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return FailureKind.SERVER_ERROR
    return FailureKind.BAD_REQUEST if status >= 400 else FailureKind.UNKNOWN


def kind_of_stop(stop: str | None, *, provider: str, wire: Wire) -> FailureKind | None:
    """Return the failure that the word *stop* means; None where it is an end like any other."""
    if stop is None:
        return None
    stops = (table.stops.get(stop) for table in tables_of(provider, wire))
    return next((kind for kind in stops if kind is not None), None)
