"""What a client of the stub sees of the server, and what the stub records of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import httpx
import pytest

from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.error import ConfigError
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub

from .stub_client import (
    ANTHROPIC,
    CHAT,
    OPENROUTER,
    RESPONSES,
    ask,
    client,
    outputs,
    path_to,
    playing,
    read_until_it_breaks,
    request,
)

if TYPE_CHECKING:
    pass


@pytest.mark.asyncio
async def test_concurrent_requests_take_successive_answers() -> None:
    answers = [{"status": 500 + number} for number in range(9)]
    seen = []

    async def once(stub: Stub) -> None:
        seen.append((await ask(stub, ANTHROPIC)).status_code)

    scenario = Scenario.parse({"answers": {ANTHROPIC: answers}})
    async with Stub(scenario) as stub, anyio.create_task_group() as tasks:
        for _ in answers:
            tasks.start_soon(once, stub)

    assert sorted(seen) == [500 + number for number in range(9)]


@pytest.mark.asyncio
async def test_a_route_that_is_not_in_the_scenario_is_not_found() -> None:
    async with Stub(Scenario.parse({"answers": {ANTHROPIC: {"text": "hi"}}})) as stub:
        response = await ask(stub, OPENROUTER)

    assert response.status_code == 404
    assert f"no answer for '{OPENROUTER}'" in response.json()["error"]["message"]


@pytest.mark.asyncio
async def test_without_a_scenario_every_route_answers_with_its_name() -> None:
    async with Stub() as stub:
        response = await ask(stub, "openai/gpt-x")

    assert "openai/gpt-x" in "".join(outputs(response.content))


@pytest.mark.asyncio
async def test_a_provider_refuses_while_another_answers() -> None:
    answers = {ANTHROPIC: {"refuse": True}, CHAT: {"text": "hi"}}
    async with Stub(Scenario.parse({"answers": answers})) as stub:
        where = stub.providers()
        async with httpx.AsyncClient(trust_env=False) as http:
            with pytest.raises(httpx.ConnectError):
                await http.post(f"{where['anthropic']['baseUrl']}/v1/messages")
        at_its_path = await ask(stub, ANTHROPIC)
        response = await ask(stub, CHAT)

    assert "refuses connections to 'anthropic'" in at_its_path.json()["error"]["message"]
    assert response.status_code == 200
    assert where["groq"] == {
        "wire": "openai-chat",
        "baseUrl": f"{stub.url}/groq/v1",
        "apiKeyEnv": None,
    }


@pytest.mark.asyncio
async def test_the_stub_says_where_its_providers_are() -> None:
    async with Stub() as stub, client(stub) as http:
        response = await http.get("/_stub/providers")

    said = response.json()
    assert said == stub.providers()
    assert said["anthropic"]["baseUrl"] == f"{stub.url}/anthropic"
    assert said["openrouter"]["baseUrl"] == f"{stub.url}/openrouter/api/v1"


@pytest.mark.asyncio
async def test_the_stub_lists_every_provider_that_we_know_in_its_own_wire() -> None:
    async with Stub() as stub:
        said = stub.providers()

    assert {name: wire["wire"] for name, wire in said.items()} == {
        name: provider.wire for name, provider in catalog().items()
    }
    assert said["gemini"]["baseUrl"] == f"{stub.url}/gemini/v1beta"
    assert said["openai"]["baseUrl"] == f"{stub.url}/openai/v1"
    assert said["openrouter"]["baseUrl"] == f"{stub.url}/openrouter/api/v1"
    assert said["zai-anthropic"]["baseUrl"] == f"{stub.url}/zai-anthropic"


@pytest.mark.asyncio
async def test_the_stub_lists_what_came_without_its_secrets() -> None:
    times = iter([100.0, 102.5])
    scenario = Scenario.parse({"answers": {ANTHROPIC: [{"status": 503}, {"text": "hi"}]}})
    async with Stub(scenario, timer=lambda: next(times)) as stub, client(stub) as http:
        sent = request(http, ANTHROPIC)
        sent.headers.update({"X-Api-Key": "sk-secret", "Authorization": "Bearer secret"})
        await http.send(sent)
        listed = await http.get("/_stub/requests")

    assert "secret" not in listed.text
    (came,) = listed.json()
    headers = came.pop("headers")
    assert (headers["x-api-key"], headers["authorization"]) == ("***", "***")
    assert came == {
        "route": ANTHROPIC,
        "method": "POST",
        "path": "/anthropic/v1/messages",
        "at": 2.5,
        "answered": "503",
        "closed_by_client": False,
        "body": {"model": "claude", "stream": True, "messages": []},
    }


@pytest.mark.asyncio
async def test_a_reset_starts_the_answers_afresh() -> None:
    scenario = Scenario.parse({"answers": {ANTHROPIC: [{"status": 503}, {"text": "hi"}]}})
    async with Stub(scenario) as stub, client(stub) as http:
        before = [(await ask(stub, ANTHROPIC)).status_code for _ in range(2)]
        await http.post("/_stub/reset")
        after = await ask(stub, ANTHROPIC)

    assert [*before, after.status_code] == [503, 200, 503]
    assert len(stub.requests) == 1


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("method", "path", "status", "says"),
    [
        pytest.param("GET", "/", 404, "the stub serves POST /PROVIDER/v1/messages", id="root"),
        pytest.param("POST", "/v1/messages", 404, "nothing is served", id="no provider"),
        pytest.param("POST", "/responses", 404, "nothing is served", id="no provider either"),
        pytest.param("POST", "/openai/v1/embeddings", 404, "nothing is served", id="other API"),
        pytest.param("POST", "/gemini/v1beta/models/m", 404, "nothing is served", id="no method"),
        pytest.param("GET", "/gemini/v1beta/models/m:generateContent", 405, "POST", id="GET"),
        pytest.param("GET", "/openai/chat/completions", 405, "takes POST", id="wrong method"),
        pytest.param("HEAD", "/", 404, None, id="no body wanted"),
    ],
)
async def test_what_is_not_served_is_said_so(
    method: str, path: str, status: int, says: str | None
) -> None:
    async with Stub() as stub, client(stub) as http:
        response = await http.request(method, path)
        again = await http.get("/_stub/providers")

    assert response.status_code == status
    assert says is None or says in response.json()["error"]["message"]
    assert again.status_code == 200


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param(b"", "not a JSON object", id="empty"),
        pytest.param(b"{", "not a JSON object", id="not JSON"),
        pytest.param(b"\xff\x00", "not a JSON object", id="not text"),
        pytest.param(b"[" * 100_000, "not a JSON object", id="deeper than we read"),
        pytest.param(b"[]", "not a JSON object", id="not an object"),
        pytest.param(b"{}", "model: Field required", id="no model"),
        pytest.param(b'{"model": 1}', "model: Field required", id="a model that is no text"),
        pytest.param(b'{"model": "a b"}', "a route is written", id="a model with a space"),
    ],
)
@pytest.mark.parametrize("route", [ANTHROPIC, OPENROUTER, CHAT, RESPONSES])
async def test_a_bad_request_is_told_so_by_its_provider(route: str, body: bytes, says: str) -> None:
    async with Stub() as stub, client(stub) as http:
        response = await http.post(path_to(route), content=body)

    assert response.status_code == 400
    assert says in response.json()["error"]["message"]
    assert stub.requests[0].route is None


@pytest.mark.asyncio
async def test_closing_the_stub_ends_its_connections_at_once() -> None:
    broke: list[httpx.TransportError | None] = []

    async def read(stub: Stub) -> None:
        broke.append((await read_until_it_breaks(stub, OPENROUTER))[1])

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks, playing(text="a", stall=True) as stub:
            tasks.start_soon(read, stub)
            received = await stub.wait_for(1)

    assert isinstance(broke[0], httpx.TransportError)
    assert received.over.is_set()
    assert not received.closed_by_client


@pytest.mark.asyncio
async def test_what_goes_wrong_beside_the_stub_is_raised_as_it_is() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with Stub():
            raise KeyError("mine")


@pytest.mark.asyncio
async def test_a_port_that_is_taken_is_named() -> None:
    async with Stub() as stub:
        with pytest.raises(ConfigError, match=f"port {stub.port}.*or 0 for any that is free"):
            async with Stub(port=stub.port):
                pass


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_the_stub_runs_on_trio() -> None:
    async with playing(text="one two three", chunk=4, reset=True, after=2) as stub:
        came, broke = await read_until_it_breaks(stub, ANTHROPIC)

    assert outputs(came) == ["one ", "two "]
    assert isinstance(broke, httpx.ReadError)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_the_stub_sees_a_client_leave_on_trio() -> None:
    async with playing(stall=True, text="one") as stub:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read_until_it_breaks, stub, CHAT)
                received = await stub.wait_for(1)
                tasks.cancel_scope.cancel()
            await received.left.wait()

    assert received.closed_by_client
