"""A failure that a client gets in its own wire means there what it meant before."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.classify.classify import classify_response
from sidestep.provider.delta import TextDelta
from sidestep.provider.failure import Failure, FailureKind, Stage
from sidestep.provider.wire.reading import Reading
from sidestep.provider.wire.registry import writer_of
from sidestep.provider.wire_name import WIRES, Wire

K = FailureKind
KINDS = (
    *(K.RATE_LIMIT, K.OVERLOADED, K.SERVER_ERROR, K.TIMEOUT, K.QUOTA, K.AUTH, K.NOT_FOUND),
    *(K.BAD_REQUEST, K.CONTEXT_OVERFLOW),
)
"""The kinds that every wire has words for."""
PROVIDERS: dict[Wire, str] = {
    "anthropic": "anthropic",
    "openai-chat": "openai-chat",
    "openai-responses": "openai",
    "gemini": "gemini",
}


def provider(wire: Wire) -> Provider:
    return catalog()[PROVIDERS[wire]]


def failure(kind: FailureKind, **more: Any) -> Failure:
    return Failure(kind=kind, message="All 2 routes failed", **more)


def refused(wire: Wire, failed: Failure) -> Failure:
    """Return the failure that a client sees in the response for *failed*."""
    status, headers, body = writer_of(wire).refusal(failed)
    return classify_response(status, headers, body, provider=provider(wire), wire=wire, now=0.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wire", WIRES)
def test_a_response_in_place_of_an_answer_keeps_its_kind(wire: Wire, kind: FailureKind) -> None:
    seen = refused(wire, failure(kind))

    assert seen.kind is kind
    assert "All 2 routes failed" in seen.message


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wire", WIRES)
def test_an_error_in_a_stream_keeps_its_kind(wire: Wire, kind: FailureKind) -> None:
    made, reader = writer_of(wire)(model="m"), Reading(provider(wire))
    reader.feed(made.start() + made.feed([TextDelta("Half")]))

    reader.feed(made.error(failure(kind)))
    reader.end()

    assert reader.failed is not None
    assert reader.failed.kind is kind
    assert "All 2 routes failed" in reader.failed.message
    assert not reader.is_whole


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("kind", FailureKind)
def test_every_kind_is_an_error_on_every_wire(wire: Wire, kind: FailureKind) -> None:
    made, reader = writer_of(wire)(model="m"), Reading(provider(wire))
    status, _, body = made.refusal(failure(kind))

    reader.feed(made.start() + made.error(failure(kind)))
    reader.end()

    assert 400 <= status <= 599
    assert json.loads(body)["error"]["message"]
    assert reader.failed is not None


@pytest.mark.parametrize(
    ("given", "status"),
    [
        pytest.param(failure(K.OVERLOADED, status=529), 529, id="the provider's own"),
        pytest.param(failure(K.QUOTA, status=429), 429, id="a quota under 429"),
        pytest.param(failure(K.OVERLOADED), 503, id="none"),
        pytest.param(failure(K.EMPTY_RESPONSE, status=200), 502, id="no error"),
        pytest.param(failure(K.TRUNCATED, stage=Stage.END), 502, id="a cut stream"),
        pytest.param(failure(K.CONTEXT_OVERFLOW, status=413), 400, id="an overflow"),
        pytest.param(failure(K.CONTEXT_OVERFLOW, status=429), 400, id="an overflow under 429"),
    ],
)
@pytest.mark.parametrize("wire", WIRES)
def test_the_status_is_the_providers_if_it_means_an_error(
    wire: Wire, given: Failure, status: int
) -> None:
    assert writer_of(wire).refusal(given).status == status


@pytest.mark.parametrize(
    ("retry_after", "header"),
    [
        pytest.param(None, None, id="unknown"),
        pytest.param(12.0, "12", id="whole"),
        pytest.param(11.2, "12", id="never too early"),
        pytest.param(0.0, "1", id="at once"),
        pytest.param(float("inf"), None, id="never"),
    ],
)
@pytest.mark.parametrize("wire", WIRES)
def test_a_client_is_told_how_long_to_wait(
    wire: Wire, retry_after: float | None, header: str | None
) -> None:
    failed = failure(K.RATE_LIMIT, status=429, retry_after=retry_after)

    headers = writer_of(wire).refusal(failed).headers

    assert headers.get("retry-after") == header
    assert refused(wire, failed).retry_after == (None if header is None else float(header))


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "gemini"])
def test_a_wait_is_read_from_an_error_in_a_stream(wire: Wire) -> None:
    made, reader = writer_of(wire)(model="m"), Reading(provider(wire))

    reader.feed(made.start() + made.error(failure(K.RATE_LIMIT, retry_after=11.2)))

    assert reader.failed is not None
    assert reader.failed.retry_after == 12.0


@pytest.mark.parametrize("should_retry", [True, False, None])
@pytest.mark.parametrize("wire", WIRES)
def test_a_client_is_told_not_to_retry(wire: Wire, should_retry: bool | None) -> None:
    headers = writer_of(wire).refusal(failure(K.AUTH, should_retry=should_retry)).headers

    assert headers.get("x-should-retry") == ("false" if should_retry is False else None)


WORDS: dict[Wire, str] = {
    "anthropic": "prompt is too long",
    "openai-chat": "exceeds the context window",
    "openai-responses": "exceeds the context window",
    "gemini": "input token count exceeds the maximum number of tokens",
}
"""What clients look for before they compact."""


@pytest.mark.parametrize("wire", WIRES)
def test_an_overflow_has_the_words_from_which_clients_compact(wire: Wire) -> None:
    error = json.loads(writer_of(wire).refusal(failure(K.CONTEXT_OVERFLOW)).body)["error"]

    assert WORDS[wire] in error["message"]
    assert "All 2 routes failed" in error["message"]
    if wire.startswith("openai"):
        assert error["code"] == "context_length_exceeded"


@pytest.mark.parametrize("wire", WIRES)
def test_the_words_of_an_overflow_do_not_come_twice(wire: Wire) -> None:
    once = json.loads(writer_of(wire).refusal(failure(K.CONTEXT_OVERFLOW)).body)["error"]
    again = replace(failure(K.CONTEXT_OVERFLOW), message=once["message"])

    twice = json.loads(writer_of(wire).refusal(again).body)["error"]

    assert twice["message"] == once["message"]


def test_an_overflow_of_a_streamed_response_is_an_event_because_codex_reads_no_status() -> None:
    overflow = failure(K.CONTEXT_OVERFLOW, status=400)
    status, headers, body = writer_of("openai-responses").refusal(overflow, is_streamed=True)
    reader = Reading(provider("openai-responses"))

    reader.feed(body)

    assert status == 200
    assert headers["content-type"].startswith("text/event-stream")
    assert reader.failed is not None
    assert reader.failed.kind is K.CONTEXT_OVERFLOW
    assert b'"code":"context_length_exceeded"' in body
