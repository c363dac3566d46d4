"""Who may use the address, and where each key goes: every rule is attacked."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from urllib.parse import unquote

import anyio
import httpx
import pytest

from sidestep import ConfigError
from sidestep.provider.server.connection import HttpRequest
from sidestep.session.serve.access import Access
from sidestep.session.serve.server import Serve

from .served import CLAUDE, Served, in_front_of, serving
from .upstream import upstream

pytestmark = pytest.mark.asyncio

OURS, THEIRS = "sk-ours-0123456789abcdef", "sk-theirs-0123456789abcdef"
OTHER = "groq/llama"
HELLO = {CLAUDE: {"text": "Hello."}}
FAILS_OVER: Mapping[str, object] = {CLAUDE: {"status": 503}, OTHER: {"text": "The sibling."}}


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


async def ask(served: Served, headers: Mapping[str, str]) -> httpx.Response:
    return await served.ask(CLAUDE, headers=headers)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 200, id="as a client sends it"),
        pytest.param({"host": "localhost:{port}"}, 200, id="by the other name"),
        pytest.param({"host": "LOCALHOST:{port}"}, 200, id="in capitals"),
        pytest.param({"host": "[::1]:{port}"}, 200, id="by IPv6"),
        pytest.param({"host": "evil.example"}, 403, id="a name that leads here"),
        pytest.param({"host": "evil.example:{port}"}, 403, id="the same with the port"),
        pytest.param({"host": "127.0.0.1"}, 403, id="another port"),
        pytest.param({"host": "127.0.0.1:{port}.evil.example"}, 403, id="a longer name"),
        pytest.param({"host": ""}, 403, id="no name"),
        pytest.param({"origin": "https://evil.example"}, 403, id="a page"),
        pytest.param({"origin": "null"}, 403, id="a page without an origin"),
        pytest.param({"origin": "http://127.0.0.1:{port}"}, 403, id="a page of this address"),
        pytest.param({"sec-fetch-site": "cross-site"}, 403, id="a picture on a page"),
        pytest.param({"sec-fetch-site": "same-site"}, 403, id="a picture on a page of a neighbour"),
        pytest.param({"sec-fetch-site": "Cross-Site"}, 403, id="in capitals, as no browser does"),
        pytest.param({"sec-fetch-site": "none, cross-site"}, 403, id="twice, as no browser does"),
        pytest.param({"sec-fetch-site": "same-origin"}, 200, id="our own page"),
        pytest.param({"sec-fetch-site": "none"}, 200, id="typed by a person"),
    ],
)
@pytest.mark.parametrize("token", [None, "t" * 20], ids=["without a token", "with the token"])
async def test_no_page_in_a_browser_reaches_a_provider(
    headers: Mapping[str, str], status: int, token: str | None
) -> None:
    async with serving(HELLO, token=token) as served:
        sent = {name: value.format(port=served.serve.port) for name, value in headers.items()}
        answer = await ask(served, sent | bearer(token or "k"))

        assert answer.status_code == status
        assert len(served.stub.requests) == (status == 200)
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("port", "host", "is_refused"),
    [
        (80, "127.0.0.1", False),
        (80, "localhost", False),
        (80, "[::1]:80", False),
        (80, "evil.example", True),
        (8504, "127.0.0.1", True),
        (8504, "127.0.0.1:8504", False),
    ],
)
async def test_the_port_of_http_stands_in_no_host(port: int, host: str, is_refused: bool) -> None:
    access = Access(None, may_use_our_keys=False, is_token_needed=lambda: True)
    access.listen_at(port)

    refused = access.why_refused(HttpRequest("GET", "/v1/models", {"host": host}, None))

    assert (refused is not None) == is_refused


async def test_a_preflight_is_refused() -> None:
    async with serving(HELLO) as served:
        sent = {"origin": "https://evil.example", "access-control-request-method": "POST"}
        answer = await served.http.request("OPTIONS", "/anthropic/v1/messages", headers=sent)

        assert answer.status_code == 403
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(b"http://evil.example/anthropic/v1/messages", id="as to a proxy"),
        pytest.param(b"//evil.example/v1/messages", id="without a scheme"),
        pytest.param(b"/anthropic/../../etc", id="up"),
        pytest.param(b"/anthropic/%2e%2e/x", id="up, escaped"),
        pytest.param(b"/anthropic/v1/.%2e/x", id="up, half escaped"),
        pytest.param(b"/anthropic/a\\b", id="a backslash"),
        pytest.param(b"/anthropic/../openai/v1/messages", id="up, to a call"),
        pytest.param(b"/anthropic/%2e%2e/x/v1/messages", id="up, escaped, to a call"),
        pytest.param(b"/anthropic/..%2fx/v1/messages", id="up, with an escaped slash"),
        pytest.param(b"/anthropic//evil.example/v1/messages", id="two slashes"),
        pytest.param(b"/anthropic/a\\../v1/messages", id="a backslash before a call"),
        pytest.param(b"/gemini/v1beta/models/..%2f..%2fx:generateContent", id="up, as a model"),
        pytest.param(b"/v1beta/models/x/../../y:generateContent", id="up, at a bare path"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_no_target_leads_to_another_place(target: bytes, method: str) -> None:
    async with serving({**HELLO, "*": {"text": "Never."}}) as served:
        body = {"model": "claude-sonnet-5", "max_tokens": 9, "messages": [], "contents": []}
        request = served.http.build_request(method, "/", json=body, extensions={"target": target})
        answer = await served.http.send(request)

        assert answer.status_code in {400, 404}
        assert served.stub.requests == served.stub.asides == []


@pytest.mark.parametrize(
    ("headers", "query", "status"),
    [
        pytest.param(bearer("the-token"), "", 200, id="a bearer"),
        pytest.param({"authorization": "bearer the-token"}, "", 200, id="in small letters"),
        pytest.param({"x-api-key": "the-token"}, "", 200, id="Anthropic's header"),
        pytest.param({"x-goog-api-key": "the-token"}, "", 200, id="Google's header"),
        pytest.param({}, "?key=the-token", 200, id="Google's query"),
        pytest.param({}, "", 401, id="nothing"),
        pytest.param(bearer("the-toke"), "", 401, id="a shorter one"),
        pytest.param(bearer("the-token2"), "", 401, id="a longer one"),
        pytest.param({"authorization": "Bearer"}, "", 401, id="an empty one"),
        pytest.param({"x-token": "the-token"}, "", 401, id="another header"),
        pytest.param({}, "?token=the-token", 401, id="another query"),
    ],
)
async def test_our_keys_want_the_token(headers: Mapping[str, str], query: str, status: int) -> None:
    async with (
        upstream(b'{"error": {"message": "stop"}}', 400) as provider,
        in_front_of(
            {"anthropic": {"baseUrl": provider.url, "apiKeyEnv": "ANTHROPIC_KEY"}},
            keys={"anthropic": OURS},
            token="the-token",
        ) as (_, http, *_rest),
    ):
        path, body = f"/anthropic/v1/messages{query}", {"model": "m", "messages": []}
        answer = await http.post(path, json=body, headers=dict(headers))

        assert answer.status_code == (400 if status == 200 else status)
        assert len(provider.requests) == (status == 200)
        for request in provider.requests:
            assert request.headers["x-api-key"] == OURS
            assert "the-token" not in f"{request.headers} {request.target}"


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        pytest.param([("x-goog-api-key", "{}")], "", id="in two headers of a key"),
        pytest.param(
            [("x-api-key", "{}"), ("x-api-key", "{}")], "", id="in a header that is twice"
        ),
        pytest.param([("x-mine", "{}")], "", id="in a header of the client's own"),
        pytest.param([("referer", "http://127.0.0.1/#{}")], "", id="in a longer value"),
        pytest.param([("x-api-key", "a {}")], "", id="beside something else"),
        pytest.param([], "&key={}&api_key={}&x=y{}", id="in the query"),
    ],
)
@pytest.mark.parametrize("path", ["/anthropic/v1/messages", "/anthropic/v1/files"])
async def test_the_token_is_sent_on_from_nowhere(
    path: str, headers: list[tuple[str, str]], query: str
) -> None:
    async with (
        upstream(b'{"error": {"message": "stop"}}', 400) as provider,
        in_front_of(
            {"anthropic": {"baseUrl": provider.url, "apiKeyEnv": "ANTHROPIC_KEY"}},
            keys={"anthropic": OURS},
            token="the-token",
        ) as (_, http, *_rest),
    ):
        sent = [("authorization", "Bearer the-token"), ("x-kept", "yes")]
        sent += [(name, value.format("the-token")) for name, value in headers]
        asked = f"{path}?beta=true{query.replace('{}', 'the%2Dtoken')}"
        await http.post(asked, json={"model": "m", "messages": []}, headers=sent)
        (request,) = provider.requests

        assert "the-token" not in unquote(f"{request.lines} {request.target}")
        assert request.headers["x-api-key"] == OURS
        assert (request.headers["x-kept"], "beta=true" in request.target) == ("yes", True)


async def test_a_new_token_is_asked_for_only_if_there_is_a_key_to_protect() -> None:
    async with serving(HELLO) as served:
        assert (await ask(served, {})).status_code == 200
    async with serving(HELLO, keys={"anthropic": OURS}) as served:
        assert (await ask(served, {})).status_code == 401
        assert served.serve.token is not None
        assert (await ask(served, bearer(served.serve.token))).status_code == 200
        assert len(served.serve.token) > 32


async def test_two_addresses_have_two_tokens() -> None:
    async with serving(HELLO) as first, serving(HELLO) as second:
        assert first.serve.token != second.serve.token


@pytest.mark.parametrize("use_own_keys", [False, True])
@pytest.mark.parametrize("header", ["x-api-key", "authorization"])
async def test_the_clients_key_goes_only_to_the_provider_that_it_asks_for(
    header: str, use_own_keys: bool
) -> None:
    key = f"Bearer {THEIRS}" if header == "authorization" else THEIRS
    async with (
        upstream(b"{}", 503) as asked,
        upstream(b"{}", 503) as other,
        in_front_of(
            {
                "anthropic": {"baseUrl": asked.url, "apiKeyEnv": "ANTHROPIC_KEY"},
                "groq": {"baseUrl": other.url, "apiKeyEnv": "GROQ_KEY"},
            },
            siblings={CLAUDE: OTHER},
            keys={"anthropic": OURS, "groq": OURS},
            token=None,
            use_own_keys=use_own_keys,
        ) as (_, http, *_rest),
    ):
        body = {"model": "claude-sonnet-5", "max_tokens": 9, "messages": [
            {"role": "user", "content": "Hi"}]}  # fmt: skip
        await http.post("/anthropic/v1/messages", json=body, headers={header: key})

        assert [each.headers.get(header) for each in asked.requests] == [key]
        assert OURS not in str(asked.requests)
        assert len(other.requests) == use_own_keys
        assert THEIRS not in str(other.requests)


@pytest.mark.parametrize(
    ("path", "model"),
    [
        pytest.param("/v1/messages", OTHER, id="another wire, by name"),
        pytest.param("/v1/chat/completions", CLAUDE, id="the other way round"),
    ],
)
async def test_a_route_of_another_wire_is_not_asked_with_our_key_for_whoever_asks(
    path: str, model: str
) -> None:
    keys = {"anthropic": OURS, "groq": OURS}
    answers = {CLAUDE: {"text": "Never."}, OTHER: {"text": "Never."}}
    async with serving(answers, keys=keys, token=None) as served:
        body = {"model": model, "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
        answer = await served.http.post(path, json=body, headers=bearer(THEIRS))

        assert answer.status_code == 401
        assert "needs a key of ours" in answer.json()["error"]["message"]
        assert served.stub.requests == []


async def test_a_sibling_without_a_key_needs_no_key_of_ours() -> None:
    async with serving(FAILS_OVER, siblings={CLAUDE: OTHER}, token=None) as served:
        answer = await ask(served, bearer(THEIRS))

        assert "The sibling." in answer.text
        assert THEIRS not in str(served.stub.requests)


@pytest.mark.parametrize("path", ["/anthropic/v1/messages", "/anthropic/v1/files"])
async def test_the_cookie_of_one_client_is_sent_for_no_other(path: str) -> None:
    async with (
        upstream(b'{"error": {}}', 400, headers=(("set-cookie", "session=a"),)) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url}}, token=None) as (_, http, *_rest),
    ):
        for key in ("sk-one", "sk-another"):
            answer = await http.post(path, json={"model": "m"}, headers={"x-api-key": key})
            assert "set-cookie" not in answer.headers

        assert [request.headers["x-api-key"] for request in provider.requests] == [
            "sk-one", "sk-another",
        ]  # fmt: skip
        assert not any("cookie" in request.headers for request in provider.requests)


async def test_why_a_sibling_was_not_asked_is_told() -> None:
    async with serving(
        FAILS_OVER, siblings={CLAUDE: OTHER}, keys={"groq": OURS}, token=None
    ) as served:
        answer = await ask(served, bearer(THEIRS))

        assert answer.status_code == 503
        assert "needs a key of ours" in answer.json()["error"]["message"]
        assert len(served.stub.requests) == 1


@pytest.mark.parametrize("status", [401, 500])
async def test_our_key_never_comes_back(status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="sidestep")
    body = b'{"type": "error", "error": {"type": "x", "message": "bad key %s"}}' % OURS.encode()
    async with (
        upstream(body, status, headers=(("x-echo", OURS),)) as provider,
        in_front_of(
            {"anthropic": {"baseUrl": provider.url, "apiKeyEnv": "ANTHROPIC_KEY"}},
            keys={"anthropic": OURS},
        ) as (serve, http, *_rest),
    ):
        sent = {"x-api-key": serve.token or ""}
        for path in ("/anthropic/v1/messages", "/anthropic/v1/files"):
            answer = await http.post(path, json={"model": "m", "messages": []}, headers=sent)

            assert answer.status_code == status
            assert OURS not in f"{answer.headers} {answer.text} {caplog.text}"
        assert [each.headers["x-api-key"] for each in provider.requests] == [OURS, OURS]


async def test_a_body_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidestep.session.serve.connection.MAX_BODY", 1000)
    async with serving(HELLO) as served:
        answer = await served.ask(CLAUDE, padding="x" * 2000)

        assert answer.status_code == 413
        assert served.stub.requests == []


async def test_the_body_of_a_request_that_is_refused_is_not_read() -> None:
    head = b"POST /anthropic/v1/messages HTTP/1.1\r\nhost: evil\r\ncontent-length: 99999999\r\n\r\n"
    async with serving(HELLO) as served:
        with anyio.fail_after(60):
            stream = await anyio.connect_tcp("127.0.0.1", served.serve.port)
            async with stream:
                await stream.send(head)
                came = await stream.receive()

        assert came.startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize(
    ("headers", "length", "status", "says_close"),
    [
        pytest.param({}, 20, 200, False, id="answered"),
        pytest.param({}, 2_000, 413, True, id="too large"),
        pytest.param({"host": "evil"}, 20, 403, True, id="refused"),
    ],
)
async def test_a_client_is_told_if_no_other_request_can_follow(
    headers: dict[str, str],
    length: int,
    status: int,
    says_close: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client that is not told sends its next request to a connection that is being closed."""
    monkeypatch.setattr("sidestep.session.serve.connection.MAX_BODY", 1000)
    async with serving(HELLO) as served:
        request = served.request(CLAUDE, headers=headers, padding="x" * length)
        answer = await served.http.send(request)

        assert answer.status_code == status
        assert (answer.headers.get("connection") == "close") is says_close


async def test_a_bomb_is_not_decompressed() -> None:
    import gzip

    async with serving(HELLO) as served:
        bomb = gzip.compress(b" " * 80_000_000)
        headers = {"content-encoding": "gzip"}
        answer = await served.http.post("/anthropic/v1/messages", content=bomb, headers=headers)

        assert answer.status_code == 413


async def test_it_listens_on_this_machine_only() -> None:
    async with serving(HELLO) as served:
        assert served.serve.url == f"http://127.0.0.1:{served.serve.port}"


async def test_a_port_that_is_taken_is_an_error_of_the_configuration() -> None:
    async with serving(HELLO) as served:
        second = Serve(served.middleware, served.serve._client, port=served.serve.port)
        with pytest.raises(ConfigError, match="sidestep serve"):
            async with second:
                pass
