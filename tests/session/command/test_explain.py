"""What sidestep says of a recorded answer: every capture, and the other forms of a file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sidestep import ConfigError, Route
from sidestep.provider.recording.recorded_answer import Recorded
from sidestep.session.command.explain import explain_answer as explain

CAPTURES = sorted((Path(__file__).parents[3] / "fixtures" / "captures").glob("*.json"))
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


@pytest.mark.parametrize(
    ("provider", "status", "scope"),
    [
        pytest.param("deepseek", 402, "key: other routes of this provider", id="the key"),
        pytest.param("deepseek", 429, "key_on_route: ", id="the key on the route"),
        pytest.param("deepseek", 503, "route: ", id="the route"),
        pytest.param("my-proxy", 401, "key_on_route: ", id="nothing says"),
        pytest.param("deepseek", 400, None, id="the request"),
    ],
)
def test_it_says_what_the_failure_concerns(provider: str, status: int, scope: str | None) -> None:
    found = explain(Recorded.parse(b"{}", provider=provider, status=status), {})

    assert found["scope"] is None if scope is None else found["scope"].startswith(scope)


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
            ["HTTP/1.1 429 X"], '{"error":{"code":429,"message":"slow","metadata":'
            '{"headers":{"Retry-After":"3"}}}}', "rate_limit", 3.0, id="no header",
        ),
        pytest.param(["http/1.1 429 X", "retry-after: 7"], "", "rate_limit", 7.0, id="low case"),
        pytest.param(["", "HTTP/1.1 503 X"], "", "overloaded", None, id="a blank line before"),
        pytest.param(
            ["HTTP/1.1 100 Continue", "", "HTTP/1.1 429 X", "retry-after: 7"], "slow",
            "rate_limit", 7.0, id="continued",
        ),
        pytest.param(
            ["HTTP/1.1 200 Connection established", "", "HTTP/2 429", "retry-after: 7"], "slow",
            "rate_limit", 7.0, id="through a tunnel",
        ),
        pytest.param(
            ["HTTP/1.1 301 Moved", "location: /", "", "HTTP/2 402", "x: y"], "", "quota", None,
            id="redirected",
        ),
        pytest.param(
            ["HTTP/1.1 429 X", "x-note: two", "  lines", "retry-after: 7"], "", "rate_limit", 7.0,
            id="a folded header",
        ),
        pytest.param(
            ["HTTP/1.1 200 OK", "content-type: text/event-stream"],
            'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n', "truncated", None, id="half",
        ),
        pytest.param(
            ["HTTP/1.1 200 OK", "content-type: text/event-stream"],
            'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\ndata: {"choi', "truncated", None,
            id="half an event",
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


SLOW = b'{"error":{"code":429,"message":"slow"}}'
SQUEEZED = gzip.compress(SLOW)


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)


@pytest.mark.parametrize(
    ("header", "body"),
    [
        pytest.param("transfer-encoding: chunked", chunked(SLOW[:9], SLOW[9:], b""), id="chunks"),
        pytest.param("transfer-encoding: chunked", chunked(SLOW), id="the last chunk missing"),
        pytest.param("transfer-encoding: chunked", SLOW, id="chunks joined"),
        pytest.param("content-encoding: gzip", SQUEEZED, id="compressed"),
        pytest.param("content-encoding: gzip", SLOW, id="decompressed"),
        pytest.param("content-encoding: br", SLOW, id="decompressed, another coding"),
        pytest.param(
            "content-encoding: gzip\r\ntransfer-encoding: chunked",
            chunked(SQUEEZED[:20], SQUEEZED[20:], b""), id="both",
        ),
    ],
)  # fmt: skip
def test_framing_and_compression_of_a_raw_answer_are_undone(header: str, body: bytes) -> None:
    content = f"HTTP/1.1 429 X\r\n{header}\r\n\r\n".encode() + body

    found = explain(Recorded.parse(content, provider="openrouter"), {})

    assert (found["kind"], found["message"]) == ("rate_limit", "slow")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_hides_no_status_line(encoding: str) -> None:
    content = "HTTP/1.1 429 X\r\nretry-after: 7\r\n\r\n".encode(encoding)

    assert explain(Recorded.parse(content), {})["retry_after"] == 7.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"HTTP/1.1 abc\n\n", "'HTTP/1.1 abc' is no status line", id="no number"),
        pytest.param(b"HTTP/1.1 000\n\n", "'HTTP/1.1 000' is no status line", id="no answer"),
        pytest.param(b"HTTP/" + b"x" * 99, f"'HTTP/{'x' * 55}' is no status line", id="a long one"),
        pytest.param(b"> GET /\n>\n< HTTP/2 429 \n<\n", "stands in line 3", id="curl -v"),
        pytest.param(b"  % Total\r\nHTTP/2 429 \r\n", "stands in line 2", id="a progress bar"),
        pytest.param(
            b"HTTP/2 429\ncontent-encoding: br\n\n\x80\x81", "curl --compressed", id="brotli"
        ),
    ],
)
def test_a_raw_answer_that_cannot_be_read_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Recorded.parse(content)


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
        pytest.param(
            b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n',
            "openai", None, "ok", id="OpenAI, chat",
        ),
        pytest.param(
            b'data: {"type":"response.created","response":{"status":"in_progress"}}\n\n'
            b'data: {"type":"response.completed","response":{"status":"completed","output":[]}}'
            b"\n\n", None, None, "empty_response", id="a guess at Responses",
        ),
        pytest.param(
            b'data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}'
            b"\n\n", "house", None, "ok", id="a guess at Gemini",
        ),
        pytest.param(
            b'data: {"type":"message_start","message":{"content":[]}}\n\n'
            b'data: {"type":"message_delta","delta":{"stop_reason":"refusal"}}\n\n'
            b'data: {"type":"message_stop"}\n\n', None, None, "refusal", id="a guess at Anthropic",
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
        pytest.param({"status": 4290, "body": ""}, "`status` of a capture", id="no status"),
        pytest.param({"status": 200, "body": "", "headers": [["a", "b"]]}, "`headers`", id="pairs"),
        pytest.param({"status": 200, "body": "", "provider": 5}, "`provider`", id="no name"),
        pytest.param({"status": 200, "body": "", "eof": "cut"}, "`eof`", id="another end"),
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


def test_a_capture_may_hold_its_body_unquoted() -> None:
    capture = {"status": 429, "headers": None, "body": {"error": {"message": "slow"}}}

    assert explain(Recorded.parse(json.dumps(capture).encode()), {})["message"] == "slow"


STREAM = b'data: {"type":"message_start","message":{"content":[]}}\n\n'
EMPTY = b'data: {"choices":[{"delta":{},"finish_reason":"%s"}]}\n\n'


@pytest.mark.parametrize(
    ("content", "provider", "status", "assumed"),
    [
        pytest.param(b"{}", "groq", 429, [], id="all is said"),
        pytest.param(b"{}", "zai-anthropic", 429, [], id="a facade"),
        pytest.param(b"{}", "groq", None, ["status 200, as the file has none"], id="no status"),
        pytest.param(b"HTTP/2 429\n\n", "groq", None, [], id="a status in the file"),
        pytest.param(b"HTTP/2 429\n\n", "groq", 503, ["status 429, as the file says"], id="two"),
        pytest.param(b'{"status":429,"body":""}', "groq", 503, ["status 429"], id="a capture"),
        pytest.param(b"{}", None, 429, ["the openai-chat wire, as no provider"], id="nobody"),
        pytest.param(b"{}", "GROQ", 429, ["'GROQ' is no provider that"], id="unknown"),
        pytest.param(STREAM, "groq", 200, ["but the body looks like anthropic"], id="not groq's"),
        pytest.param(
            EMPTY % b"stop", "groq", 200, ["does not end in results of tools"], id="an empty answer"
        ),
        pytest.param(EMPTY % b"tool_calls", "groq", 200, [], id="an empty answer that is none"),
    ],
)
def test_what_was_taken_for_granted_is_told(
    content: bytes, provider: str | None, status: int | None, assumed: list[str]
) -> None:
    found = explain(Recorded.parse(content, provider=provider, status=status), {})

    assert len(found["assumed"]) == len(assumed)
    assert all(part in note for part, note in zip(assumed, found["assumed"], strict=True))


@pytest.mark.parametrize(
    ("body", "because"),
    [
        pytest.param(b"<html>", "no event, but a page of HTML", id="a page"),
        pytest.param(b"", "no event, but an empty body", id="nothing"),
        pytest.param(b"upstream reset", "no event, but plain text", id="text"),
        pytest.param(
            b'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n',
            "the end of the body before the terminal marker, events read: 1", id="half",
        ),
        pytest.param(
            b'data: {"choices":[{"delta":{},"finish_reason":"content_filter"}]}\n\n',
            "the reason for the end, 'content_filter'", id="a filter",
        ),
        pytest.param(b"{}", "no word or status that sidestep knows", id="an empty object"),
    ],
)  # fmt: skip
def test_every_failure_has_a_fact_that_decided(body: bytes, because: str) -> None:
    found = explain(Recorded.parse(body, provider="groq", status=200), {})

    assert found["because"] == because


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        pytest.param(
            503, b"", "retried on the same route after 2 s, 3 times at most, with waits that grow; "
            "then moved to anthropic/x; the route that failed is left alone for 60 s", id="both",
        ),
        pytest.param(
            402, b"", "moved to anthropic/x at once; the route that failed is left alone for 60 s",
            id="at once",
        ),
        pytest.param(
            400, b'{"error":{"code":"tool_use_failed"}}', "retried on the same route after 2 s, "
            "once; then the step fails: the retry on this route is spent, and status 400 is not in "
            "`fallbackOnErrors`", id="a call, once",
        ),
    ],
)  # fmt: skip
def test_what_follows_is_told_in_a_sentence(status: int, body: bytes, why: str) -> None:
    recorded = Recorded.parse(body, provider="groq", status=status)
    environ = {"SIDESTEP_FALLBACK_CONFIG": CONFIG["SIDESTEP_FALLBACK_CONFIG"].replace(
        "openrouter/x", "groq/x")}  # fmt: skip

    assert explain(recorded, environ, route=Route("groq/x"))["why"] == why


RULES = """
[[rules]]
task_class = "here"
boundary = "eu"
candidates = [
    {provider = "zai", model = "x", boundary = "eu"},
    {provider = "openai", model = "x", boundary = "us"},
    {provider = "mistral", model = "x", boundary = "eu"},
]
[[rules]]
task_class = "anywhere"
candidates = [{provider = "groq", model = "x"}, {provider = "zai", model = "x"}]
"""
NUMBERED = {
    f"MODEL_{prefix}{name}": value
    for prefix in ("", "FALLBACK_1_", "FALLBACK_2_")
    for name, value in {
        "BASE_URL": f"http://model.example/{prefix}v1",
        "API_KEY": "k",
        "FAST": "x",
    }.items()
}
HINT = {"SIDESTEP_HINT": "zai:glm-5.2,anthropic:claude-opus-4-8"}


@pytest.mark.parametrize(
    ("environ", "route", "sibling", "assumed"),
    [
        pytest.param(HINT, "zai/glm-5.2", "anthropic/claude-opus-4-8", None, id="a hint"),
        pytest.param(HINT, "anthropic/claude-opus-4-8", None, None, id="the end of a hint"),
        pytest.param(HINT, "openai/x", None, None, id="not in the hint"),
        pytest.param(
            {"SIDESTEP_HINT": "zai,openai"}, "zai/x", "openai/x", None, id="a hint without models"
        ),
        pytest.param(NUMBERED, "primary/x", "fallback-1/x", "fast", id="numbered variables"),
        pytest.param(NUMBERED, "fallback-1/x", "fallback-2/x", "fast", id="from a fallback"),
        pytest.param(NUMBERED, "fallback-2/x", None, None, id="the last fallback"),
        pytest.param(
            {"SIDESTEP_ROUTING_RULES": RULES}, "zai/x", "mistral/x", "here",
            id="rules, past a candidate across the boundary",
        ),
        pytest.param(
            {"SIDESTEP_ROUTING_RULES": RULES}, "groq/x", "zai/x", "anywhere", id="a later rule"
        ),
        pytest.param({"SIDESTEP_ROUTING_RULES": RULES}, "openai/y", None, None, id="in no rule"),
    ],
)  # fmt: skip
def test_a_sibling_is_found_however_it_was_said(
    environ: Mapping[str, str], route: str, sibling: str | None, assumed: str | None
) -> None:
    recorded = Recorded.parse(b"", provider=Route(route).provider, status=503)

    found = explain(recorded, environ, route=Route(route))

    assert found["swap"] is (sibling is not None)
    assert sibling is None or f"then moved to {sibling};" in found["why"]
    asked = [each for each in found["assumed"] if each.startswith("a step that asks for")]
    assert asked == ([] if assumed is None else [f"a step that asks for {assumed!r}"])


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abcdefghijklmnop1234", "sk-ant-api03-AAAAAAAAAAAAAAAAAAAA",
        "gsk_abcdefghijklmnop12",
        "AIzaSyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "the key in the environment",
    ],
)  # fmt: skip
def test_a_key_that_a_provider_repeats_is_not_printed(key: str) -> None:
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {key}."}}).encode()
    environ = {"GROQ_API_KEY": "the key in the environment"}

    found = explain(Recorded.parse(body, provider="groq", status=401), environ)

    assert found["message"] == "Incorrect API key provided: [key]."


@pytest.mark.parametrize("name", ["SPARE", "FIRST", "OTHER"])
def test_no_key_of_any_provider_is_printed(name: str) -> None:
    environ = {"FIRST": "a key of groq", "SPARE": "a key of groq 2\n", "OTHER": "another key"}
    body = json.dumps({"error": {"message": f"Bad key: {environ[name].strip()}."}}).encode()
    providers = {"groq": {"apiKeyEnv": ["FIRST", "SPARE"]}, "zai": {"apiKeyEnv": "OTHER"}}

    found = explain(
        Recorded.parse(body, provider="groq", status=401),
        environ | {"SIDESTEP_PROVIDERS": json.dumps(providers)},
    )

    assert found["message"] == "Bad key: [key]."


@pytest.mark.parametrize(
    "message",
    ["model xai-grok-code-fast-1-preview not found", "key sk-****1234 is invalid", "x is no key"],
)
def test_what_is_no_key_is_printed(message: str) -> None:
    body = json.dumps({"error": {"message": message}}).encode()

    found = explain(Recorded.parse(body, provider="groq", status=400), {"GROQ_API_KEY": "x"})

    assert found["message"] == message
