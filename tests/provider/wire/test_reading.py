"""One answer, read without any input or output."""

from __future__ import annotations

import pytest

from sidestep import Failure, FailureKind, TextDelta
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.failure import Stage
from sidestep.provider.wire.reading import Reading

K = FailureKind
HELLO = b'data: {"choices": [{"delta": {"content": "Hello"}}]}\n\n'
STOP = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
CALL = (
    b'data: {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": '
    b'{"name": "ls", "arguments": "{\\"pa"}}]}}]}\n\n'
)
ERROR = b'data: {"error": {"code": 503, "message": "down"}}\n\n'
DONE = b"data: [DONE]\n\n"
LATE = Failure(kind=K.TIMEOUT, message="late", stage=Stage.STREAM)
BROKEN = Failure(kind=K.NETWORK, message="broken", code="reset", stage=Stage.STREAM)


def reading() -> Reading:
    return Reading(catalog()["openai-chat"])


def texts(one: Reading, *blocks: bytes) -> list[str]:
    return [d.text for block in blocks for d in one.feed(block) if isinstance(d, TextDelta)]


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param([HELLO, STOP, DONE], id="an event a block"),
        pytest.param([HELLO + STOP + DONE], id="all in one"),
        pytest.param([HELLO + STOP[:20], STOP[20:-1]], id="without its last line end"),
        pytest.param([HELLO, STOP, DONE, ERROR], id="an error after its end"),
    ],
)
def test_a_whole_answer(blocks: list[bytes]) -> None:
    one = reading()

    assert texts(one, *blocks) == ["Hello"]
    one.end()
    assert (one.is_whole, one.failed) == (True, None)


@pytest.mark.parametrize("blocks", [[HELLO, ERROR, HELLO], [HELLO + ERROR + HELLO]])
def test_what_came_before_a_failure_is_returned_and_nothing_after_it(blocks: list[bytes]) -> None:
    one = reading()

    assert texts(one, *blocks) == ["Hello"]
    assert one.failed is not None
    assert (one.failed.kind, one.failed.message) == (K.OVERLOADED, "down")
    assert one.end(BROKEN) == ()
    assert (one.is_whole, one.failed.message) == (False, "down")


@pytest.mark.parametrize(
    ("blocks", "broken", "kind", "code"),
    [
        pytest.param([HELLO], None, K.TRUNCATED, None, id="no end"),
        pytest.param([HELLO], BROKEN, K.TRUNCATED, "reset", id="a broken connection"),
        pytest.param([HELLO], LATE, K.TIMEOUT, None, id="silence"),
        pytest.param([HELLO + STOP[:30]], None, K.TRUNCATED, None, id="half an event"),
        pytest.param([STOP], None, K.EMPTY_RESPONSE, None, id="nothing in it"),
        pytest.param([], None, K.TRUNCATED, None, id="an empty body"),
        pytest.param([HELLO, STOP], BROKEN, None, None, id="broken after its reason"),
    ],
)
def test_an_end(
    blocks: list[bytes], broken: Failure | None, kind: FailureKind | None, code: str | None
) -> None:
    one = reading()
    texts(one, *blocks)

    one.end(broken)

    failed = one.failed
    assert (failed and failed.kind, failed and failed.code) == (kind, code)
    assert one.is_whole is (kind is None)


def test_output_after_the_reason_for_the_end() -> None:
    one = reading()
    texts(one, HELLO + STOP, CALL)

    one.end(stopped_after=5.0)
    assert one.goes_on
    assert one.failed is not None
    assert (one.failed.kind, one.is_whole) == (K.TRUNCATED, False)


def test_another_reason_for_the_end_ends_it() -> None:
    one = reading()
    texts(one, HELLO + STOP, HELLO, STOP)

    assert not one.goes_on
    one.end()
    assert one.is_whole
