"""Which call a path asks for, whatever somebody makes of the path."""

from __future__ import annotations

import time

import pytest

from sidestep.provider.server.call_path import CallPath

FEW_SECONDS = 5.0


@pytest.mark.parametrize(
    ("path", "call"),
    [
        ("/gemini/v1beta/models/m:generateContent", ("gemini", "m", False, False)),
        ("/gemini/models/m:countTokens", ("gemini", "m", False, True)),
        ("/gemini/v1/models/a/b:streamGenerateContent", ("gemini", "a/b", True, False)),
        ("/gemini/v1/models/a%2Fb:free:generateContent", ("gemini", "a/b:free", False, False)),
        ("/%67emini/v1/models/m:generateContent", ("gemini", "m", False, False)),
        ("/gemini/v1/models/a/models/b:generateContent", ("gemini", "b", False, False)),
        ("/gemini/v1/mymodels/m:generateContent", None),
        ("/gemini/v1/models/:generateContent", None),
        ("/gemini/v1/models//m:generateContent", None),
        ("/gemini/v1/models/m:generateContents", None),
        ("/gemini/v1/models/m:", None),
        ("/gemini/v1/models/m", None),
        ("/models/m:generateContent", None),
        ("//v1/models/m:generateContent", None),
    ],
)
def test_a_path_of_gemini_names_its_model_and_its_method(
    path: str, call: tuple[str, str, bool, bool] | None
) -> None:
    found = CallPath.at(path)

    assert (found and (found.provider, found.model, found.is_stream, found.is_count)) == call
    assert found is None or found.wire == "gemini"


@pytest.mark.parametrize("piece", ["/models/a:", "/models/a:generateContent", "/v1a", ":", "%2e"])
def test_no_path_takes_long_to_read(piece: str) -> None:
    """Anybody can send a path, also a page in a browser, and every client waits meanwhile."""
    begun = time.process_time()

    CallPath.at("/openrouter/v1" + piece * (600_000 // len(piece)))

    assert time.process_time() - begun < FEW_SECONDS
