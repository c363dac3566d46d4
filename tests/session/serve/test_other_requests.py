"""Requests that ask for no answer: lists of models, counts, the status, and whatever else."""

from __future__ import annotations

import json
import logging

import httpx
import pytest

from .served import CLAUDE, SIBLING, in_front_of, serving
from .upstream import upstream

pytestmark = pytest.mark.asyncio

MAP = {CLAUDE: [SIBLING, "groq/llama"]}
ROUTES = (CLAUDE, SIBLING, "groq/llama", "gemini/gemini-x")
HELLO = {route: {"text": "Hello."} for route in ROUTES}
VERSION = {"anthropic-version": "2023-06-01"}
GOOGLE = {"x-goog-api-key": "k"}


@pytest.mark.parametrize(
    "path", ["/anthropic/v1/models", "/groq/v1/models", "/gemini/v1beta/models"]
)
async def test_the_models_of_a_provider_are_its_own_list(path: str) -> None:
    async with serving(HELLO, siblings=MAP) as served:
        through = await served.http.get(path, headers=VERSION)
        direct = await served.http.get(f"{served.stub.url}{path}", headers=VERSION)

        assert through.status_code == 200
        assert through.content == direct.content


@pytest.mark.parametrize(
    ("path", "headers", "keys"),
    [
        pytest.param("/v1/models", {}, ("data", "id"), id="OpenAI"),
        pytest.param("/v1/models", VERSION, ("data", "id"), id="Anthropic"),
        pytest.param("/v1beta/models", {}, ("models", "displayName"), id="Gemini"),
        pytest.param("/v1alpha/models", {}, ("models", "displayName"), id="Gemini, alpha"),
        pytest.param("/v1/models", GOOGLE, ("models", "displayName"), id="google-genai"),
        pytest.param("/v1beta/models", GOOGLE, ("models", "displayName"), id="with its key"),
    ],
)
async def test_without_a_provider_the_configured_routes_are_listed(
    path: str, headers: dict[str, str], keys: tuple[str, str]
) -> None:
    async with serving(HELLO, siblings=MAP) as served:
        answer = await served.http.get(path, headers=headers)

        listed, name = keys
        assert [each[name] for each in answer.json()[listed]] == [CLAUDE, SIBLING, "groq/llama"]


async def test_whatever_else_a_provider_offers_is_passed_on_and_back() -> None:
    named = (("content-type", "text/plain"), ("request-id", "r"))
    async with (
        upstream(b"the file", 201, headers=named) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}) as (_, http, *_r),
    ):
        answer = await http.put(
            "/anthropic/v1/files/a%2Fb?x=1&y", content=b"\x00\xff", headers={"x-a": "b"}
        )
        (request,) = provider.requests

        assert (answer.status_code, answer.content) == (201, b"the file")
        assert answer.headers["request-id"] == "r"
        assert (request.method, request.target) == ("PUT", "/v1/files/a%2Fb?x=1&y")
        assert request.body == b"\x00\xff"
        assert request.headers["x-a"] == "b"


async def test_a_body_that_is_passed_on_stays_compressed() -> None:
    async with (
        upstream(b"{}") as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}) as (_, http, *_r),
    ):
        sent = {"content-encoding": "gzip"}
        await http.post("/anthropic/v1/files", content=b"\x1f\x8b...", headers=sent)
        (request,) = provider.requests

        assert request.body == b"\x1f\x8b..."
        assert request.headers["content-encoding"] == "gzip"


@pytest.mark.parametrize("path", ["/", "/anthropic", "/v1/models", "/_sidestep/status"])
async def test_a_head_has_no_body(path: str) -> None:
    async with serving(HELLO, siblings=MAP) as served:
        for _ in range(2):  # on one connection, which a body would spoil
            answer = await served.http.head(path)

            assert answer.status_code in {200, 404}
            assert answer.content == b""


@pytest.mark.parametrize(
    ("headers", "length"),
    [
        pytest.param((), "8", id="as it is"),
        pytest.param((("content-encoding", "gzip"),), "0", id="not as it would come"),
    ],
)
async def test_a_head_that_is_passed_on_says_how_long_the_body_is(
    headers: tuple[tuple[str, str], ...], length: str
) -> None:
    async with (
        upstream(b"the file", headers=headers) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}) as (_, http, *_r),
    ):
        for _ in range(2):
            answer = await http.head("/anthropic/v1/files/a")

            assert (answer.headers["content-length"], answer.content) == (length, b"")


@pytest.mark.parametrize("path", ["/v1beta/models/m:embedContent", "/v1/embeddings"])
async def test_what_is_no_call_needs_a_provider_in_its_path(path: str) -> None:
    async with serving(HELLO) as served:
        answer = await served.http.post(path, json={})

        assert answer.status_code == 404


async def test_what_is_passed_on_degrades_nothing() -> None:
    async with (
        upstream(b"no", 503) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}) as (
            _, http, middleware, _clock,
        ),
    ):  # fmt: skip
        answer = await http.get("/anthropic/v1/files")

        assert (answer.status_code, answer.content) == (503, b"no")
        assert middleware.degraded.snapshot() == {}


async def test_a_provider_that_is_not_there_is_a_502_in_words() -> None:
    async with in_front_of({"anthropic": {"baseUrl": "http://127.0.0.1:9", "apiKeyEnv": None}}) as (
        _, http, *_rest,
    ):  # fmt: skip
        answer = await http.get("/anthropic/v1/files", headers=VERSION)

        assert answer.status_code == 502
        assert answer.json()["error"]["message"].startswith("anthropic cannot be reached: ")


COUNTED = {"model": "claude-sonnet-5", "messages": [{"role": "user", "content": "Hi " * 400}]}


async def test_a_count_is_the_providers_own() -> None:
    named = (("content-type", "application/json"),)
    async with (
        upstream(b'{"input_tokens": 42}', headers=named) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}) as (_, http, *_r),
    ):
        answer = await http.post("/anthropic/v1/messages/count_tokens?beta=true", json=COUNTED)
        (request,) = provider.requests

        assert answer.json() == {"input_tokens": 42}
        assert request.target == "/v1/messages/count_tokens?beta=true"
        assert json.loads(request.body or b"") == COUNTED


@pytest.mark.parametrize("status", [302, 307, 404, 429, 503])
async def test_a_count_is_estimated_where_the_provider_does_not_count(status: int) -> None:
    async with (
        upstream(b"{}", status) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}) as (
            _, http, middleware, _clock,
        ),
    ):  # fmt: skip
        answer = await http.post("/anthropic/v1/messages/count_tokens", json=COUNTED)

        assert answer.status_code == 200
        assert 250 < answer.json()["input_tokens"] < 350
        assert middleware.degraded.snapshot() == {}


@pytest.mark.parametrize("text", ["Hi", "", "H"])
async def test_no_estimate_is_zero(text: str) -> None:
    body = {"model": "claude-sonnet-5", "messages": [{"role": "user", "content": text}]}
    async with (
        upstream(b"{}", 404) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}) as (_, http, *_r),
    ):
        answer = await http.post("/anthropic/v1/messages/count_tokens", json=body)

        assert answer.json() == {"input_tokens": 1}


async def test_a_key_that_is_refused_is_told_also_for_a_count() -> None:
    body = b'{"type": "error", "error": {"type": "authentication_error", "message": "no"}}'
    async with (
        upstream(body, 401) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}) as (_, http, *_r),
    ):
        answer = await http.post("/anthropic/v1/messages/count_tokens", json=COUNTED)

        assert (answer.status_code, answer.content) == (401, body)


async def test_the_status_names_every_route_and_how_it_is() -> None:
    answers = {CLAUDE: {"status": 503}, SIBLING: {"text": "Hello."}}
    async with serving(answers, siblings={CLAUDE: SIBLING}) as served:
        await served.ask(CLAUDE)
        status = (await served.http.get("/_sidestep/status")).json()
        states = {each["route"]: (each["state"], each["successes"]) for each in status["routes"]}

        assert states == {CLAUDE: ("degraded", 0), SIBLING: ("healthy", 1)}


async def test_the_status_wants_the_token_as_everything_does() -> None:
    async with serving(HELLO, token="the-token-of-the-test") as served:
        assert (await served.http.get("/_sidestep/status")).status_code == 401
        named = await served.http.get("/_sidestep/status?key=the-token-of-the-test")
        assert named.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param((("content-encoding", "gzip"),), id="not what its header says"),
        pytest.param((("content-encoding", "zstd"),), id="in what nobody asked for"),
    ],
)
async def test_an_answer_that_breaks_off_ends_the_connection_and_is_told_in_one_line(
    headers: tuple[tuple[str, str], ...], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="sidestep")
    async with (
        upstream(b"no such thing" * 9, headers=headers) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}) as (_, http, *_r),
    ):
        with pytest.raises(httpx.RemoteProtocolError):
            await http.get("/anthropic/v1/files")
        counted = await http.post(
            "/anthropic/v1/messages/count_tokens",
            json={"model": "m", "messages": [{"role": "user", "content": "Hello " * 50}]},
        )

    told = [each for each in caplog.records if "passed on failed" in each.getMessage()]
    assert len(told) == 2
    assert [each for each in caplog.records if each.exc_info] == []
    assert counted.json()["input_tokens"] > 0


TOKEN = {"x-api-key": "sidestep-token"}
ELSEWHERE = (("location", "https://elsewhere.example/v1/files/a?sig=1"),)


@pytest.mark.parametrize(
    ("status", "headers", "shown"),
    [
        pytest.param(307, ELSEWHERE, 502, id="to another host"),
        pytest.param(302, ELSEWHERE, 502, id="as a GET"),
        pytest.param(308, (("location", "/v1/files/b"),), 502, id="to another path"),
        pytest.param(301, (), 502, id="to nowhere"),
        pytest.param(304, (), 304, id="not changed"),
        pytest.param(201, ELSEWHERE, 201, id="what was made, and where"),
    ],
)
async def test_a_client_with_our_token_is_not_redirected(
    status: int, headers: tuple[tuple[str, str], ...], shown: int
) -> None:
    """It would send the token along, because SDKs take only `authorization` away."""
    async with (
        upstream(b"", status, headers=headers) as provider,
        in_front_of(
            {"anthropic": {"baseUrl": provider.url, "apiKeyEnv": "A_KEY"}},
            environ={"A_KEY": "sk-of-ours-1234567890"},
            token=TOKEN["x-api-key"],
        ) as (_, http, *_rest),
    ):
        answer = await http.get("/anthropic/v1/files/a", headers=TOKEN)

        assert answer.status_code == shown
        if shown == 502:
            assert "location" not in answer.headers
            assert "with a redirect" in answer.text
            assert "sig=1" not in answer.text


async def test_a_client_with_its_own_key_is_redirected_as_by_the_provider() -> None:
    async with (
        upstream(b"", 307, headers=ELSEWHERE) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}, token=None) as (
            _,
            http,
            *_rest,
        ),
    ):
        answer = await http.get("/anthropic/v1/files/a", headers={"x-api-key": "its own"})

        assert (answer.status_code, answer.headers["location"]) == (307, ELSEWHERE[0][1])
