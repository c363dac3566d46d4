"""What the client makes of requests and answers, whichever package it sends with."""

from __future__ import annotations

import json
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from sidestep import Client, ConfigError, FailureKind, ProviderError, Route
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.settings import provider_settings
from sidestep.provider.failure import Stage
from sidestep.provider.wire_name import WIRES

from .answers import (
    CHAT,
    CLAUDE,
    ENVIRON,
    HELLO,
    JSON,
    KEY,
    PROVIDERS,
    STREAM,
    answering,
    failed,
    mocked,
    read,
)

if TYPE_CHECKING:
    from types import ModuleType

    import httpx

    from sidestep.provider.wire_name import Wire

pytestmark = pytest.mark.asyncio


class TestRequest:
    async def test_a_chat_request(self, library: ModuleType) -> None:
        requests: list[httpx.Request] = []

        await read(answering(library, requests=requests))

        (request,) = requests
        assert (request.method, str(request.url)) == ("POST", "http://h/chat/completions")
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert request.headers["accept-encoding"] == "identity"
        assert json.loads(request.content)["messages"] == [{"role": "user", "content": "Hello"}]

    async def test_an_anthropic_request(self, library: ModuleType) -> None:
        requests: list[httpx.Request] = []

        await failed(answering(library, b"", status=529, requests=requests), CLAUDE)

        (request,) = requests
        assert str(request.url) == "http://h/v1/messages"
        assert request.headers["x-api-key"] == KEY
        assert request.headers["anthropic-version"] == "2023-06-01"
        assert "authorization" not in request.headers

    @pytest.mark.parametrize(
        "key", ["", "  ", "sk-\u2026", "sk-\n-1"], ids=["none", "blank", "no ASCII", "two lines"]
    )
    async def test_without_a_key_nothing_is_sent(self, library: ModuleType, key: str) -> None:
        requests: list[httpx.Request] = []

        failure = await failed(answering(library, environ={"KEY": key}, requests=requests))

        assert requests == []
        assert (failure.kind, failure.status) == (FailureKind.AUTH, 401)
        assert failure.stage is Stage.CONNECT
        assert failure.message.startswith("KEY ")

    async def test_a_provider_without_a_key_variable_needs_none(self, library: ModuleType) -> None:
        requests: list[httpx.Request] = []

        await read(answering(library, environ={}, requests=requests), Route("open/m"))

        assert "authorization" not in requests[0].headers

    async def test_white_space_round_a_key_is_not_sent(self, library: ModuleType) -> None:
        requests: list[httpx.Request] = []

        await read(answering(library, environ={"KEY": f"{KEY}\n"}, requests=requests))

        assert requests[0].headers["authorization"] == f"Bearer {KEY}"

    @pytest.mark.parametrize("wire", WIRES)
    async def test_a_provider_whose_failures_are_explained_is_asked_as_any_other(
        self, library: ModuleType, wire: Wire
    ) -> None:
        requests: list[httpx.Request] = []

        def refuse(request: httpx.Request) -> httpx.Response:
            requests.append(request)
            response: httpx.Response = library.Response(400, json={"error": {"message": "Odd"}})
            return response

        odd = {"kind": "overloaded", "status": 400, "text": "Odd"}
        house = {"wire": wire, "baseUrl": "http://h", "failures": [odd]}
        providers = catalog(provider_settings({"house": house}, where="providers"))
        client = mocked(library, refuse, providers=providers)

        failure = await failed(client, Route("house/m"))

        assert len(requests) == 1
        assert failure.kind is FailureKind.OVERLOADED

    async def test_an_unknown_provider_is_a_matter_of_configuration(
        self, library: ModuleType
    ) -> None:
        client = answering(library)

        assert client.serves(CHAT)
        assert not client.serves(Route("other/m"))
        with pytest.raises(ConfigError, match="'other/m'"):
            client.stream(Route("other/m"), HELLO)


class TestKey:
    @pytest.mark.parametrize("key", [KEY, "odd one out"], ids=["known by its look", "known"])
    @pytest.mark.parametrize(
        ("status", "headers", "said"),
        [
            pytest.param(401, JSON | {"x-request-id": "req {}"}, {"error": "no"}, id="a header"),
            pytest.param(401, JSON, {"error": "no", "request_id": "req {}"}, id="a body"),
            pytest.param(200, STREAM, {"id": "req {}", "choices": []}, id="a stream"),
        ],
    )
    async def test_it_stands_in_no_request_id(
        self,
        library: ModuleType,
        status: int,
        headers: dict[str, str],
        said: dict[str, Any],
        key: str,
    ) -> None:
        body = ("data: " * (status == 200) + json.dumps(said)).replace("{}", key) + "\n\n"
        sent = {name: value.replace("{}", key) for name, value in headers.items()}

        failure = await failed(
            answering(library, body.encode(), status=status, headers=sent, environ={"KEY": key})
        )

        assert failure.request_id == "req [key]"

    async def test_it_stands_in_no_request_id_of_a_reply(self, library: ModuleType) -> None:
        named = answering(library, headers=STREAM | {"x-request-id": f"req {KEY}"})

        reply, _ = await read(named)

        assert reply.request_id == "req [key]"

    @pytest.mark.parametrize(
        "message",
        [f"bad key {KEY}", f"{'x' * 480} {KEY}", KEY],
        ids=["inside", "cut", "nothing else"],
    )
    @pytest.mark.parametrize("status", [401, 200], ids=["answer", "stream"])
    async def test_it_stands_in_no_message(
        self, library: ModuleType, message: str, status: int
    ) -> None:
        body = json.dumps({"error": {"message": message, "code": KEY}})
        text = body if status == 401 else f"data: {body}\n\n"

        failure = await failed(answering(library, text.encode(), status=status))

        assert "[key]" in failure.message
        assert KEY[:10] not in repr(failure)

    async def test_a_cause_that_quotes_it_is_not_chained(self, library: ModuleType) -> None:
        def handler(_: httpx.Request) -> httpx.Response:
            raise library.RemoteProtocolError(f"illegal header Bearer {KEY}")

        with pytest.raises(ProviderError) as caught:
            await read(mocked(library, handler))

        assert KEY not in "".join(traceback.format_exception(caught.value))
        assert caught.value.failure.cause is None

    async def test_any_other_cause_is(self, library: ModuleType) -> None:
        def handler(_: httpx.Request) -> httpx.Response:
            raise library.RemoteProtocolError("server disconnected")

        with pytest.raises(ProviderError) as caught:
            await read(mocked(library, handler))

        assert isinstance(caught.value.__cause__, library.RemoteProtocolError)
        assert caught.value.failure.code == "reset"


async def test_a_client_that_was_passed_in_is_left_open(library: ModuleType) -> None:
    http = library.AsyncClient(transport=library.MockTransport(lambda _: library.Response(500)))
    async with Client(http=http, providers=PROVIDERS, environ=ENVIRON) as client:
        await failed(client)

    assert not http.is_closed
    await http.aclose()
