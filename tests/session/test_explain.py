"""What sidestep says of a recorded answer: every capture, and the other forms of a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sidestep import ConfigError, Route
from sidestep.provider.recorded import Recorded
from sidestep.session.explain import explain

CAPTURES = sorted((Path(__file__).parents[2] / "fixtures" / "captures").glob("*.json"))
STAGES = {"in_stream": "stream", "end": "end"}


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    content = path.read_bytes()
    return json.loads(content)["expect"], explain(Recorded.parse(content), {})


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_a_capture_is_what_it_is_expected_to_be(path: Path) -> None:
    expect, found = read(path)

    assert found["kind"] == expect["kind"]
    if expect["kind"] in {"ok", "max_tokens"}:
        for name in {"text", "thinking", "stop"} & expect.keys():
            assert found[name] == expect[name]
        for call, wanted in zip(found["tool_calls"], expect.get("tool_calls", ()), strict=False):
            assert all(call[key] == wanted[key] for key in ("id", "name") if key in wanted)
            assert call["input"] == wanted["input"]
        assert len(found["tool_calls"]) == len(expect.get("tool_calls", ()))
        assert expect.get("usage", {}).items() <= found["usage"].items()
        return
    assert found["retry_after"] == expect["retry_after"]
    # What may work later is not waited for if that is longer than `maxWaitSeconds`.
    fits = (found["retry_after"] or 0) <= 60
    assert found["retry"] is (expect["retryable"] and fits)
    assert expect["overflow"] or found["kind"] != "context_overflow"
    assert found["reset_at"] == expect.get("reset_at")
    assert found["message"]
    assert found["why"]
    if "stage" in expect:
        assert found["stage"] == STAGES[expect["stage"]]
    if "delivered" in expect:
        assert found["delivered"] is expect["delivered"]


CONFIG = {
    "SIDESTEP_FALLBACK_CONFIG": json.dumps(
        {
            "fallbackModelsByModel": {"openrouter/x": "anthropic/x"},
            "maxUpstreamRetryAttempts": 3,
        }
    )
}
OPENROUTER = b'{"error":{"code":%d,"message":"no"}}'


@pytest.mark.parametrize(
    ("status", "route", "environ", "retry", "swap", "degrade"),
    [
        pytest.param(503, "openrouter/x", CONFIG, True, True, True, id="mapped"),
        pytest.param(503, "openrouter/y", CONFIG, True, False, True, id="not mapped"),
        pytest.param(503, None, CONFIG, True, True, True, id="no route named"),
        pytest.param(503, "openrouter/x", {}, True, False, False, id="no configuration"),
        pytest.param(402, "openrouter/x", CONFIG, False, True, True, id="no credit"),
        pytest.param(401, "openrouter/x", CONFIG, False, False, False, id="not listed"),
        pytest.param(400, "openrouter/x", CONFIG, False, False, False, id="a bad request"),
    ],
)
def test_the_decision_follows_the_configuration(
    status: int,
    route: str | None,
    environ: Mapping[str, str],
    *,
    retry: bool,
    swap: bool,
    degrade: bool,
) -> None:
    recorded = Recorded.parse(OPENROUTER % status, provider="openrouter", status=status)

    found = explain(recorded, environ, route=Route(route) if route else None)

    assert (found["retry"], found["swap"], found["degrade"]) == (retry, swap, degrade)


@pytest.mark.parametrize("end", ["\r\n", "\n"], ids=["CRLF", "LF"])
@pytest.mark.parametrize(
    ("head", "body", "kind", "retry_after"),
    [
        pytest.param(
            ["HTTP/1.1 429 Too Many Requests", "Content-Type: application/json", "Retry-After: 7"],
            '{"error":{"code":429,"message":"slow"}}', "rate_limit", 7.0, id="a hint",
        ),
        pytest.param(
            ["HTTP/2 503"], "<html>\n\n<body>nginx</body>", "overloaded", None, id="a page"
        ),
        pytest.param(["HTTP/1.1 529 "], "", "overloaded", None, id="nothing but a status"),
        pytest.param(
            ["HTTP/1.1 200 OK", "content-type: text/event-stream"],
            'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n', "truncated", None, id="half",
        ),
    ],
)  # fmt: skip
def test_a_raw_answer_is_read_with_its_headers(
    head: list[str], body: str, kind: str, retry_after: float | None, end: str
) -> None:
    content = end.join([*head, "", ""]) + body

    found = explain(Recorded.parse(content.encode(), provider="openrouter"), {})

    assert found["kind"] == kind
    assert found["retry_after"] == retry_after


@pytest.mark.parametrize(
    ("content", "provider", "status", "kind"),
    [
        pytest.param(b"", None, None, "truncated", id="nothing"),
        pytest.param(b"\xff\xfe", "groq", 500, "server_error", id="no text"),
        pytest.param(b'{"error":{"message":"no"}}', "nobody", 429, "rate_limit", id="unknown"),
        pytest.param(
            b'{"type":"error","error":{"type":"overloaded_error","message":"no"}}', None, None,
            "overloaded", id="a guess at who speaks",
        ),
        pytest.param(
            b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n',
            "openrouter", None, "ok", id="a whole stream",
        ),
    ],
)  # fmt: skip
def test_a_bare_body_is_read_by_the_status_and_provider_given(
    content: bytes, provider: str | None, status: int | None, kind: str
) -> None:
    found = explain(Recorded.parse(content, provider=provider, status=status), {})

    assert found["kind"] == kind


@pytest.mark.parametrize(
    ("capture", "message"),
    [
        pytest.param({"status": "429", "body": ""}, "`status` of a capture", id="a word"),
        pytest.param({"status": True, "body": ""}, "`status` of a capture", id="a boolean"),
        pytest.param({"status": 200, "chunks_b64": ["%"]}, "`chunks_b64`", id="no base64"),
        pytest.param({"status": 200, "chunks_b64": 5}, "`chunks_b64`", id="no list"),
    ],
)
def test_a_capture_that_cannot_be_read_is_refused(capture: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Recorded.parse(json.dumps(capture).encode())


def test_a_failure_that_the_configuration_names_is_explained_by_it() -> None:
    own = {"house": {"wire": "openai-chat", "baseUrl": "http://127.0.0.1:1",
                     "failures": [{"kind": "overloaded", "code": "busy"}]}}  # fmt: skip
    recorded = Recorded.parse(
        b'{"error":{"message":"no","code":"busy"}}', provider="house", status=418
    )

    found = explain(recorded, {"SIDESTEP_PROVIDERS": json.dumps(own)})

    assert found["kind"] == "overloaded"
    assert "busy" in found["because"]
