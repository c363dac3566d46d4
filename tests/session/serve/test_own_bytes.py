"""What goes to the route that was asked for: the client's own bytes, and the raw answer back."""

from __future__ import annotations

import gzip
import json

import httpx
import pytest

from .served import CLAUDE, SIBLING, in_front_of, serving
from .upstream import upstream

pytestmark = pytest.mark.asyncio

# Spaces, an unknown key, an escape and a lone number: nothing that writes JSON anew keeps them.
BODY = (
    b'{ "model" : "claude-sonnet-5",  "max_tokens":64.0, "strange_key": ["\\u00e9", 1e3],\n'
    b'"stream": true, "messages": [{"role": "user", "content": "Hi"}] }'
)
EVENTS = (
    b'event: message_start\r\ndata: {"type":"message_start","message":{"id":"m","type":"message",'
    b'"role":"assistant","model":"claude-sonnet-5","content":[],"usage":{"input_tokens":1,'
    b'"output_tokens":1}}}\r\n\r\n'
    b'event: content_block_start\r\ndata: {"type":"content_block_start","index":0,'
    b'"content_block":{"type":"text","text":""}}\r\n\r\n'
    b'event: content_block_delta\r\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":"Hello."}}\r\n\r\n: a comment\r\n\r\n'
    b'event: content_block_stop\r\ndata: {"type":"content_block_stop","index":0}\r\n\r\n'
    b'event: message_delta\r\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},'
    b'"usage":{"output_tokens":3}}\r\n\r\n'
    b'event: message_stop\r\ndata: {"type":"message_stop"}\r\n\r\n'
)
SSE = (("content-type", "text/event-stream"),)


async def test_body_headers_and_query_arrive_as_they_were_sent() -> None:
    sent = {
        "content-type": "application/json; charset=utf-8",
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "oauth-2025-04-20,strange-beta",
        "authorization": "Bearer its-own-key",
        "user-agent": "claude-cli/2.1",
        "x-strange": "kept",
    }
    async with (
        upstream(EVENTS, headers=SSE) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url}}, token=None) as (_, http, *_rest),
    ):
        answer = await http.post(
            "/anthropic/v1/messages?beta=true&x=%2F", content=BODY, headers=sent
        )
        (request,) = provider.requests

        assert answer.status_code == 200
        assert request.body == BODY
        assert request.target == "/v1/messages?beta=true&x=%2F"
        assert {name: request.headers[name] for name in sent} == sent
        assert request.headers["host"] == provider.url.removeprefix("http://")
        assert request.headers["accept-encoding"] == "identity"
        assert "x-api-key" not in request.headers


@pytest.mark.parametrize("path", ["/anthropic/v1/messages", "/anthropic/v1/files"])
async def test_the_letters_of_a_header_arrive_as_they_were_sent(path: str) -> None:
    name = "Jos\u00e9 \u2603".encode()
    async with (
        upstream(EVENTS, headers=SSE) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url}}, token=None) as (_, http, *_rest),
    ):
        headers = [(b"x-api-key", b"k"), (b"x-name", name), (b"x-name", b"\xff")]
        answer = await http.post(path, content=BODY, headers=headers)
        (request,) = provider.requests

        assert answer.status_code == 200
        assert [value.encode("latin-1") for key, value in request.lines if key == "x-name"] == [
            name, b"\xff",
        ]  # fmt: skip


async def test_nothing_is_sent_that_the_client_did_not_send() -> None:
    async with (
        upstream(EVENTS, headers=SSE) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url}}, token=None) as (_, http, *_rest),
    ):
        for name in ("user-agent", "accept"):
            del http.headers[name]
        await http.post("/anthropic/v1/messages", content=BODY, headers={"x-api-key": "k"})
        (request,) = provider.requests

        names = {"host", "x-api-key", "content-length", "accept-encoding"}
        assert {name for name, _ in request.lines} == names


FORGED = ("x-sidestep-route", "another/route")


async def test_the_answer_comes_back_byte_for_byte_with_its_headers() -> None:
    named = (*SSE, ("request-id", "req_1"), ("anthropic-ratelimit-requests-limit", "50"))
    async with (
        upstream(EVENTS, headers=(*named, ("set-cookie", "a=b"), FORGED)) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}) as (_, http, *_r),
    ):
        answer = await http.post("/anthropic/v1/messages", content=BODY)

        assert answer.content == EVENTS
        assert answer.headers["request-id"] == "req_1"
        assert answer.headers["anthropic-ratelimit-requests-limit"] == "50"
        assert answer.headers["x-sidestep-route"] == CLAUDE
        assert "set-cookie" not in answer.headers


async def test_a_compressed_answer_is_passed_on_decompressed() -> None:
    headers = (*SSE, ("content-encoding", "gzip"))
    async with (
        upstream(gzip.compress(EVENTS), headers=headers) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}) as (_, http, *_r),
    ):
        answer = await http.post("/anthropic/v1/messages", content=BODY)

        assert answer.content == EVENTS
        assert "content-encoding" not in answer.headers


async def test_a_compressed_request_is_sent_decompressed() -> None:
    async with (
        upstream(EVENTS, headers=SSE) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}) as (_, http, *_r),
    ):
        sent = {"content-encoding": "gzip"}
        await http.post("/anthropic/v1/messages", content=gzip.compress(BODY), headers=sent)
        (request,) = provider.requests

        assert request.body == BODY
        assert "content-encoding" not in request.headers


@pytest.mark.parametrize(
    ("path", "wire", "base", "arrives_at"),
    [
        pytest.param(
            "/zai/v1/chat/completions", "openai-chat", "/api/paas/v4",
            "/api/paas/v4/chat/completions", id="another version",
        ),
        pytest.param(
            "/openrouter/api/v1/chat/completions", "openai-chat", "/api/v1",
            "/api/v1/chat/completions", id="the provider's own beginning",
        ),
        pytest.param(
            "/groq/chat/completions", "openai-chat", "/openai/v1",
            "/openai/v1/chat/completions", id="without a version",
        ),
        pytest.param(
            "/v1/chat/completions", "openai-chat", "/openai/v1",
            "/openai/v1/chat/completions", id="without a provider",
        ),
        pytest.param(
            "/deepseek/v1/chat/completions", "openai-chat", "",
            "/chat/completions", id="no beginning at all",
        ),
        pytest.param(
            "/openai/v1/responses", "openai-responses", "/v1", "/v1/responses", id="Responses",
        ),
        pytest.param(
            "/gemini/v1beta/models/gemini-x:streamGenerateContent?alt=sse", "gemini", "/v1beta",
            "/v1beta/models/gemini-x:streamGenerateContent?alt=sse", id="Gemini",
        ),
        pytest.param(
            "/openrouter-anthropic/v1/messages", "anthropic", "/api",
            "/api/v1/messages", id="a facade",
        ),
    ],
)  # fmt: skip
async def test_the_address_is_that_of_the_provider(
    path: str, wire: str, base: str, arrives_at: str
) -> None:
    name = path.split("/")[1]
    name = "openai-chat" if name == "v1" else name
    async with upstream(b"{}", 400) as provider:
        known = {name: {"wire": wire, "baseUrl": provider.url + base, "apiKeyEnv": None}}
        async with in_front_of(known) as (_, http, *_rest):
            await http.post(path, json={"model": "m"})

            assert [each.target for each in provider.requests] == [arrives_at]


async def test_a_route_as_the_model_is_changed_to_the_model_and_nothing_else() -> None:
    body = BODY.replace(b'"claude-sonnet-5"', b'"anthropic/claude-sonnet-5"')
    async with (
        upstream(EVENTS, headers=SSE) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}) as (_, http, *_r),
    ):
        answer = await http.post("/v1/messages", content=body)

        assert answer.content == EVENTS
        assert [each.body for each in provider.requests] == [BODY]


async def test_a_model_that_stands_twice_in_the_body_is_changed_at_the_top_only() -> None:
    tool = {"name": "t", "input_schema": {"enum": [{"model": CLAUDE}]}}
    body = {"tools": [tool], "model": CLAUDE, "messages": []}
    async with (
        upstream(EVENTS, headers=SSE) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}) as (_, http, *_r),
    ):
        await http.post("/v1/messages", json=body)
        (request,) = provider.requests

        assert json.loads(request.body or b"") == {**body, "model": "claude-sonnet-5"}


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("route", [CLAUDE, "openrouter/m", "groq/m", "openai/m", "gemini/m"])
async def test_every_wire_is_answered_as_the_provider_answers(route: str, stream: bool) -> None:
    answer = {"text": "Hello.", "reasoning": "Hm."}
    async with serving({route: answer}) as served:
        through = await served.ask(route, stream=stream)
        served.stub.reset()
        request = served.request(route, stream=stream)
        request.url = httpx.URL(served.stub.url + request.url.raw_path.decode())
        direct = await served.http.send(request)

        assert through.status_code == 200
        assert through.content == direct.content
        assert through.headers["content-type"] == direct.headers["content-type"]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        pytest.param({"text": "Half an", "after": 1, "cut": True}, "truncated", id="cut"),
        pytest.param({"text": "Half an", "after": 1, "error": 529}, "overloaded", id="error"),
        pytest.param({"text": "Half an", "after": 1, "reset": True}, "truncated", id="reset"),
        pytest.param({"text": ""}, "empty_response", id="empty"),
        pytest.param({"status": 200, "body": "<html>"}, "server_error", id="page"),
        pytest.param({"status": 503}, "server_error", id="503"),
    ],
)
async def test_a_raw_answer_is_judged_as_our_own_client_judges_it(
    answer: dict[str, object], kind: str
) -> None:
    answers = {CLAUDE: answer, SIBLING: {"text": "The sibling."}}
    async with serving(answers, siblings={CLAUDE: SIBLING}) as served:
        came = await served.ask(CLAUDE)

        assert came.status_code == 200
        assert "The sibling." in came.text
        assert "Half" not in came.text
        assert came.headers["x-sidestep-route"] == SIBLING
        assert len(served.stub.requests) == 2, kind


@pytest.mark.parametrize(
    ("model", "named"),
    [
        pytest.param("模型", "%E6%A8%A1%E5%9E%8B", id="Chinese letters"),
        pytest.param("é", "%C3%A9", id="an accent"),
        pytest.param("a\0b", "a%00b", id="a control character"),
        pytest.param("m" * 1_000, "m" * 1_000, id="the longest"),
        pytest.param("m:free@x[1m]", "m:free@x[1m]", id="what a header can hold"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
async def test_a_model_may_have_any_letters(model: str, named: str, stream: bool) -> None:
    async with serving({"*": {"text": "Hello."}}) as served:
        answer = await served.ask(f"openrouter/{model}", stream=stream)

        assert (answer.status_code, "Hello." in answer.text) == (200, True)
        assert answer.headers["x-sidestep-route"] == f"openrouter/{named}"
