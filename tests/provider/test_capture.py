"""What is read from the file of a capture."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sidestep import ConfigError
from sidestep.provider.capture import CaptureFile

LEAST = {"status": 200, "body": ""}


def parsed(**fields: Any) -> CaptureFile | None:
    return CaptureFile.parse(json.dumps(LEAST | fields).encode())


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, {"provider": "", "headers": (), "chunks": None}, id="the least"),
        pytest.param({"body": "é"}, {"body": "é".encode()}, id="text"),
        pytest.param({"body": {"a": 1}}, {"body": b'{"a":1}'}, id="an object"),
        pytest.param(
            {"chunks_b64": ["YQ==", "Yg=="]}, {"body": b"ab", "chunks": (b"a", b"b")}, id="chunks"
        ),
        pytest.param(
            {"headers": {"X-A": "1", "b": 2}}, {"headers": (("X-A", "1"), ("b", "2"))}, id="headers"
        ),
        pytest.param({"kind": "sse"}, {"is_stream": True, "is_reset": False}, id="a stream"),
        pytest.param({"eof": "reset"}, {"is_stream": False, "is_reset": True}, id="a reset"),
    ],
)
def test_a_capture_is_read(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    capture = parsed(**fields)

    assert {name: getattr(capture, name) for name in expected} == expected


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"data: {}", b'{"status": 200}', b'{"body": ""}', b'{"status": 200,'],
)
def test_what_is_no_capture_may_be_another_recording(content: bytes) -> None:
    assert CaptureFile.parse(content) is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"status": "200"}, "`status` of a capture must be a whole number from 100 to 999"),
        ({"status": True}, "`status` of a capture must be a whole number from 100 to 999"),
        ({"status": 99}, "got 99"),
        ({"provider": 1}, "`provider` of a capture must be a string, got 1"),
        ({"headers": []}, "`headers` of a capture must be an object"),
        ({"eof": "cut"}, "`eof` of a capture must be 'clean' or 'reset', got 'cut'"),
        ({"chunks_b64": ["?"]}, "must be a list of base64 strings"),
        ({"chunks_b64": 1}, "must be a list of base64 strings"),
    ],
)
def test_a_field_with_a_wrong_value_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parsed(**fields)
