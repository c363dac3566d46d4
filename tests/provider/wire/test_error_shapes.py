"""Errors that stand at unusual places of a stream: the message and the code are read all the same.

Source: the issues named in `classify/bare_error.py`, openai/codex#24973, and servers that write an
error as text.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sidestep import FailureKind, ProviderError
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.wire.registry import decoder_of, parser_of

if TYPE_CHECKING:
    from sidestep.provider.wire_name import Wire

K = FailureKind
QUOTA = {"code": "insufficient_quota", "message": "You have no money."}
FULL = "number of input tokens (204703) has exceeded max_prompt_tokens (202752) limit."


def lines(value: Any) -> bytes:
    return b"data: %s\n\n" % json.dumps(value).encode()


def failed(response: Any, **beside: Any) -> bytes:
    return lines({"type": "response.failed", "response": response, **beside})


RESPONSES = [
    pytest.param(failed({"error": {}}, error=QUOTA), id="beside an empty object"),
    pytest.param(failed({"error": None}, error=QUOTA), id="beside null"),
    pytest.param(failed({"error": ""}, **QUOTA), id="fields beside an empty text"),
    pytest.param(failed({"error": {"code": None, "message": None}}, error=QUOTA), id="nulls"),
    pytest.param(failed({"error": {"code": None}}, error={"error": QUOTA}), id="one deeper"),
    pytest.param(failed({"error": [QUOTA]}), id="in a list"),
    pytest.param(failed({"status_details": {"error": QUOTA}}), id="in the details of the status"),
    pytest.param(failed({"error": QUOTA}, error={"message": "x"}), id="in its own place"),
]


def failure_of(body: bytes, wire: Wire) -> Any:
    with pytest.raises(ProviderError) as caught:
        _read(body, wire)
    return caught.value.failure


def _read(body: bytes, wire: Wire) -> None:
    provider = Provider("somebody", wire, "http://h", None)
    decoder, parser = decoder_of(provider), parser_of(wire)
    for name, data in (*parser.feed(body), *parser.flush()):
        decoder.decode(data, name)
    decoder.end()


@pytest.mark.parametrize("body", RESPONSES)
def test_the_first_error_that_says_something_counts(body: bytes) -> None:
    failure = failure_of(body, "openai-responses")

    assert (failure.kind, failure.code) == (K.QUOTA, "insufficient_quota")
    assert failure.message == "You have no money."


CHAT = [
    pytest.param(
        lines({"code": 20015, "message": FULL, "data": None}), K.CONTEXT_OVERFLOW, id="a code"
    ),
    pytest.param(lines({"error_code": 336103, "error_msg": "x"}), K.CONTEXT_OVERFLOW, id="Baidu"),
    pytest.param(lines({"detail": "Model crashed."}), K.SERVER_ERROR, id="FastAPI"),
    pytest.param(lines({"text": "No GPU.", "error_code": 50004}), K.SERVER_ERROR, id="FastChat"),
    pytest.param(b'data: error: {"code": 429, "message": "Slow."}\n\n', K.RATE_LIMIT, id="a word"),
    pytest.param(b'data: [ERROR] {"code": 503, "message": "x"}\n\n', K.OVERLOADED, id="brackets"),
    pytest.param(b'error: {"code": 503, "message": "x"}\n\n', K.OVERLOADED, id="a field"),
    pytest.param(
        lines({"code": 0, "message": "", "data": {}}), K.TRUNCATED, id="a code that is none"
    ),
    pytest.param(b"data: no error: {1}\n\n", K.SERVER_ERROR, id="other words"),
]


@pytest.mark.parametrize(("body", "kind"), CHAT)
def test_an_error_of_another_shape_is_an_error(body: bytes, kind: FailureKind) -> None:
    assert failure_of(body, "openai-chat").kind is kind
