"""How large a request is, asked of a provider over a real socket before it is sent."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import anyio
import httpx
import pytest

from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.catalog.settings import provider_settings
from sidestep.provider.client import token_count
from sidestep.provider.client.client import Client
from sidestep.provider.conversation import (
    Conversation,
    Message,
    Reasoning,
    Settings,
    Text,
    ToolCall,
    ToolSpec,
)
from sidestep.provider.route import Route
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub

pytestmark = pytest.mark.asyncio

COUNTING = [
    pytest.param(Route("anthropic/claude-sonnet-5"), "/v1/messages/count_tokens", id="anthropic"),
    pytest.param(Route("openai/gpt-5.1"), "/v1/responses/input_tokens", id="responses"),
    pytest.param(
        Route("gemini/gemini-3-pro"), "/v1beta/models/gemini-3-pro:countTokens", id="gemini"
    ),
]
NOT_COUNTING = [
    pytest.param(Route("openai-chat/gpt-5.1"), id="chat completions"),
    pytest.param(Route("openrouter/anthropic/claude-sonnet-5"), id="openrouter"),
    pytest.param(Route("zai-anthropic/glm-4.6"), id="a facade of anthropic's wire"),
]
READ = ToolSpec("read_file", "Read a file.", {"type": "object", "properties": {}})
SAID = Conversation(
    [
        Message("system", [Text("You are a coding agent.")]),
        Message("user", [Text("Read a.py")]),
        Message(
            "assistant",
            [Reasoning("Hm."), ToolCall("toolu_1", "read_file", {}, "completed", "print(1)")],
        ),
        Message("user", [Text("And now?")]),
    ],
    [READ],
    Settings(max_output_tokens=1_000, reasoning="high", temperature=0.5, tool_choice="auto"),
)


async def count(
    stub: Stub, route: Route, conversation: Conversation = SAID, **changed: Any
) -> int | None:
    settings: Mapping[str, Any] = stub.providers() | {
        route.provider: stub._provider(route.provider)
    }
    settings = {**settings, route.provider: settings[route.provider] | changed}
    providers = catalog(provider_settings(settings, where="providers"))
    async with httpx.AsyncClient(trust_env=False) as http:
        client = Client(http=http, providers=providers, environ={})
        return await client.count(client.render(route, conversation))


def scenario(route: Route, tokens: object) -> Scenario:
    return Scenario.parse({"answers": {route: {"text": "Hi."}}, "counts": {route: tokens}})


@pytest.mark.parametrize(("route", "path"), COUNTING)
async def test_a_provider_counts_what_it_would_be_sent_and_no_more(route: Route, path: str) -> None:
    async with Stub(scenario(route, 123_456)) as stub:
        tokens = await count(stub, route)

    assert tokens == 123_456
    assert [received.path for received in stub.counts] == [f"/{route.provider}{path}"]
    assert [received.answered for received in stub.counts] == ["count"]
    assert stub.requests == []


@pytest.mark.parametrize(("route", "path"), COUNTING)
async def test_a_count_grows_with_the_conversation(route: Route, path: str) -> None:
    longer = Conversation([Message("user", [Text("a" * 4_000)])])
    async with Stub() as stub:
        short = await count(stub, route, Conversation([Message("user", [Text("a")])]))
        long = await count(stub, route, longer)

    assert short is not None
    assert long is not None
    assert long - short == pytest.approx(1_000, abs=2)


@pytest.mark.parametrize("route", NOT_COUNTING)
async def test_who_does_not_count_is_not_asked(route: Route) -> None:
    async with Stub() as stub:
        assert await count(stub, route) is None

    assert stub.requests == stub.counts == []


@pytest.mark.parametrize(("route", "path"), COUNTING)
async def test_a_provider_that_has_no_such_path_leaves_it_to_the_estimate(
    route: Route, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "sidestep")
    async with Stub(scenario(route, False)) as stub:
        assert await count(stub, route) is None

    assert caplog.messages == [f"{route} did not count its tokens: status 404"]


async def test_without_a_key_nobody_is_asked() -> None:
    route = Route("anthropic/claude-sonnet-5")
    async with Stub() as stub:
        assert await count(stub, route, apiKeyEnv="NOT_SET") is None

    assert stub.counts == []


async def test_a_connection_that_is_refused_leaves_it_to_the_estimate() -> None:
    route = Route("anthropic/claude-sonnet-5")
    refusing = Scenario.parse({"answers": {route: {"refuse": True}}})
    async with Stub(refusing) as stub:
        assert await count(stub, route) is None


ANSWERS = [
    pytest.param(200, b'{"input_tokens": 0}', 0, id="nothing"),
    pytest.param(200, b'{"input_tokens": 12, "more": []}', 12, id="more than asked for"),
    pytest.param(200, b"<html>", None, id="a page"),
    pytest.param(200, b'{"input_tokens": 12', None, id="half an answer"),
    pytest.param(200, b"", None, id="no word"),
    pytest.param(200, b"[12]", None, id="a list"),
    pytest.param(200, b"{}", None, id="no count"),
    pytest.param(200, b'{"input_tokens": "12"}', None, id="a text"),
    pytest.param(200, b'{"input_tokens": true}', None, id="true"),
    pytest.param(200, b'{"input_tokens": -1}', None, id="fewer than none"),
    pytest.param(200, b'{"input_tokens": 1.5}', None, id="half a token"),
    pytest.param(429, b'{"input_tokens": 12}', None, id="a rate limit"),
    pytest.param(529, b'{"type": "error"}', None, id="an overload"),
    pytest.param(302, b'{"input_tokens": 12}', None, id="elsewhere"),
]


@pytest.mark.parametrize(("status", "body", "tokens"), ANSWERS)
async def test_only_a_number_of_tokens_is_a_count(
    status: int, body: bytes, tokens: int | None
) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(status, content=body)

    assert await asked(answer) == tokens


async def test_what_a_server_says_is_not_logged_for_it_may_quote_a_key(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "sidestep")

    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError(f"sent {request.headers['x-api-key']}", request=request)

    assert await asked(answer) is None
    assert "network" in caplog.text
    assert "secret" not in caplog.text


async def test_a_count_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_count, "_SECONDS", 0.0)

    async def answer(_: httpx.Request) -> httpx.Response:
        await anyio.sleep_forever()
        raise AssertionError

    assert await asked(answer) is None


async def asked(answer: Any) -> int | None:
    route = Route("anthropic/claude-sonnet-5")
    provider = Provider("anthropic", "anthropic", "https://a.test", "KEY")
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        client = Client(http=http, providers={"anthropic": provider}, environ={"KEY": "secret"})
        return await client.count(client.render(route, SAID))
