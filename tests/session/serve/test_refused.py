"""What a client is told when no route answered."""

from __future__ import annotations

import pytest

from .served import CLAUDE, SIBLING, serving

pytestmark = pytest.mark.asyncio

MAP = {CLAUDE: SIBLING}
DOWN = {"status": 503}


async def test_the_last_providers_status_our_story_and_when_to_come_back() -> None:
    async with serving({CLAUDE: DOWN, SIBLING: {"status": 529}}, siblings=MAP) as served:
        answer = await served.ask(CLAUDE)
        error = answer.json()["error"]

        assert answer.status_code == 529
        assert answer.json()["type"] == "error"
        assert error["type"] == "overloaded_error"
        assert error["message"].startswith("sidestep: 2 attempts failed (1. anthropic/claude-s")
        assert answer.headers["retry-after"] == "60"


async def test_come_back_when_the_first_of_the_routes_is_due() -> None:
    limited = {"status": 429, "headers": {"retry-after": "20"}}
    settings = {"cooldownSeconds": 40}
    async with serving({CLAUDE: DOWN, SIBLING: limited}, siblings=MAP, settings=settings) as served:
        await served.ask(CLAUDE)
        served.clock.now += 15
        answer = await served.ask(CLAUDE)

        assert answer.status_code == 429
        assert answer.headers["retry-after"] in {"25", "40"}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
async def test_words_that_only_the_client_understands_come_as_they_are(status: int) -> None:
    body = {"type": "error", "error": {"type": "strange_error", "message": "Log in again."}}
    refused = {"status": status, "body": body, "headers": {"x-should-retry": "false"}}
    async with serving({CLAUDE: refused}, siblings={}) as served:
        answer = await served.ask(CLAUDE)

        assert answer.status_code == status
        assert answer.json() == body
        assert answer.headers["x-should-retry"] == "false"
        assert "retry-after" not in answer.headers


async def test_an_overflow_of_the_sibling_is_in_the_words_from_which_clients_compact() -> None:
    too_long = {
        "status": 400,
        "body": {"error": {"message": "This model's maximum context length is 10 tokens.",
                           "code": "context_length_exceeded"}},
    }  # fmt: skip
    answers = {CLAUDE: DOWN, "groq/llama": too_long}
    async with serving(answers, siblings={CLAUDE: "groq/llama"}) as served:
        answer = await served.ask(CLAUDE)

        assert answer.status_code == 400
        assert answer.json()["error"]["type"] == "invalid_request_error"
        assert "prompt is too long" in answer.json()["error"]["message"]


async def test_without_a_wait_that_helps_none_is_named() -> None:
    refused = {"status": 402}
    async with serving({CLAUDE: {"status": 400}, SIBLING: refused}, siblings=MAP) as served:
        answer = await served.ask(CLAUDE)

        assert answer.status_code == 400
        assert "retry-after" not in answer.headers


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        pytest.param(b"{", 400, "not JSON", id="no JSON"),
        pytest.param(b'{"a": "\xff"}', 400, "not JSON", id="no UTF-8"),
        pytest.param(b"[" * 300 + b"]" * 300, 400, "nested too deeply", id="many levels"),
        pytest.param(b"[" * 9999 + b"]" * 9999, 400, "nested too deeply", id="very many levels"),
        pytest.param(b'{"a": %b}' % (b"9" * 5000), 400, "too many digits", id="many digits"),
        pytest.param(b"[]", 400, "not a JSON object", id="no object"),
        pytest.param(b"{}", 400, "model is missing", id="no model"),
        pytest.param(b'{"model": 7}', 400, "model is missing", id="a number"),
        pytest.param(b'{"model": "%b"}' % (b"m" * 1_001), 400, "1000 characters", id="long"),
        pytest.param(b'{"model": "a b"}', 400, "a route is written", id="no model's name"),
    ],
)
async def test_what_is_no_request_is_refused(body: bytes, status: int, words: str) -> None:
    async with serving({CLAUDE: {"text": "Hello."}}) as served:
        answer = await served.http.post("/anthropic/v1/messages", content=body)

        assert answer.status_code == status
        assert words in answer.json()["error"]["message"]
        assert served.stub.requests == []


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", "/anthropic/v1/messages", 405, id="method"),
        pytest.param("POST", "/nobody/v1/messages", 404, id="provider"),
        pytest.param("GET", "/", 404, id="nothing"),
        pytest.param("TRACE", "/anthropic/v1/files", 405, id="TRACE, which would show our key"),
        pytest.param("CONNECT", "/anthropic/v1/files", 405, id="CONNECT"),
        pytest.param("GET", f"/anthropic/v1/files?{'a' * 32_768}", 414, id="a long query"),
        pytest.param("POST", f"/anthropic/{'a' * 32_768}/v1/messages", 414, id="a long path"),
        pytest.param("GET", "/_sidestep/nothing", 404, id="no page of ours"),
    ],
)
async def test_what_is_nowhere_is_refused(method: str, path: str, status: int) -> None:
    async with serving({CLAUDE: {"text": "Hello."}}) as served:
        answer = await served.http.request(method, path)

        assert answer.status_code == status
        assert answer.json()["error"]["message"]
        assert served.stub.requests == served.stub.asides == []


@pytest.mark.parametrize("path", ["/openai/v1/responses", "/v1/responses"])
async def test_a_websocket_is_refused_with_426(path: str) -> None:
    async with serving({CLAUDE: {"text": "Hello."}}) as served:
        headers = {"connection": "upgrade", "upgrade": "websocket"}
        answer = await served.http.get(path, headers=headers)

        assert answer.status_code == 426
        assert served.stub.asides == []


async def test_an_outage_without_a_sibling_is_told_with_when_to_come_back() -> None:
    async with serving({CLAUDE: DOWN}) as served:
        answer = await served.ask(CLAUDE)

        assert answer.status_code == 503
        assert answer.json()["error"]["message"].startswith("sidestep: 1 attempt failed")
        assert answer.headers["retry-after"] == "60"


@pytest.mark.parametrize("token", ["the-token-of-the-test", None], ids=["token", "own key"])
async def test_a_route_without_a_key_is_a_401_and_the_status_says_so(token: str | None) -> None:
    answers = {CLAUDE: {"text": "Never."}, "groq/llama": {"text": "Never."}}
    keys = {"groq": ""}
    async with serving(answers, keys=keys, token=token) as served:
        asked = [{"role": "user", "content": "Hi"}]
        body = {"model": "groq/llama", "max_tokens": 9, "messages": asked}
        headers = {"x-api-key": token or "sk-theirs"}
        answer = await served.http.post("/v1/messages", json=body, headers=headers)

        assert answer.status_code == 401
        assert ("groq/llama: GROQ_KEY is not set" if token else "a key of ours") in answer.text
        assert served.stub.requests == []
        named = [each.route for each in served.middleware.status().routes if "NoKey" in str(each)]
        assert named == ["groq/llama"]


@pytest.mark.parametrize("coding", ["zstd", "br"])
async def test_a_body_in_another_compression_is_a_415(coding: str) -> None:
    async with serving({CLAUDE: {"text": "Hello."}}) as served:
        headers = {"content-encoding": coding}
        path = "/anthropic/v1/messages"
        answer = await served.http.post(path, content=b"\x28\xb5", headers=headers)

        assert answer.status_code == 415
        assert coding in answer.json()["error"]["message"]
