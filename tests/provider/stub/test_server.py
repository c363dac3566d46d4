"""What a client of the stub sees of the server, and what the stub records of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
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
        "query": "",
        "api_key_env": None,
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


@pytest.mark.asyncio
async def test_the_stub_lists_the_query_of_a_request_without_its_keys() -> None:
    async with Stub() as stub, client(stub) as http:
        path = "/gemini/v1beta/models/g:streamGenerateContent?alt=sse&key=AIza-secret&x=1"
        await http.post(path, json={"contents": [{"parts": [{"text": "hi"}]}]})
        listed = await http.get("/_stub/requests")

    (came,) = listed.json()
    assert came["path"] == "/gemini/v1beta/models/g:streamGenerateContent"
    assert came["query"] == "alt=sse&key=***&x=1"
    assert "secret" not in listed.text


UPGRADE = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}


@pytest.mark.asyncio
async def test_a_websocket_is_refused_with_426_and_the_same_client_goes_on_over_http() -> None:
    """Source: fault T10. Codex falls back at once after a 426, and after seven tries else."""
    async with playing(text="hi") as stub, client(stub) as http:
        refused = await http.get("/openai/v1/responses", headers=UPGRADE)
        plain = await http.get("/openai/v1/responses")
        answered = await http.send(request(http, RESPONSES))

    assert (refused.status_code, plain.status_code, answered.status_code) == (426, 405, 200)
    assert [each.path for each in stub.asides] == ["/openai/v1/responses"]
    assert stub.requests[-1].answered == "text"


NAMED = {
    "anthropic/claude-x": {"text": "a"},
    "openai/gpt-x": {"text": "b"},
    "openai/*": {"text": "c"},
    "openrouter/z-ai/glm": {"text": "d"},
    "gemini/gemini-x": {"text": "e"},
    "*": {"text": "f"},
}

MODELS = [
    pytest.param("/anthropic/v1/models", {}, "data", "id", ["claude-x"], id="anthropic"),
    pytest.param("/openai/v1/models", {}, "data", "id", ["gpt-x"], id="openai"),
    pytest.param("/openrouter/api/v1/models", {}, "data", "id", ["z-ai/glm"], id="openrouter"),
    pytest.param("/gemini/v1beta/models?pageSize=50", {}, "models", "name", ["models/gemini-x"],
                 id="gemini"),
    pytest.param("/groq/openai/v1/models", {}, "data", "id", [], id="no model is named"),
]  # fmt: skip


@pytest.mark.asyncio
@pytest.mark.parametrize(("path", "headers", "held", "key", "names"), MODELS)
async def test_models_are_listed_in_the_form_of_each_wire(
    path: str, headers: dict[str, str], held: str, key: str, names: list[str]
) -> None:
    async with Stub(Scenario.parse({"answers": NAMED})) as stub, client(stub) as http:
        response = await http.get(path, headers=headers)
        listed = await http.get("/_stub/requests")

    assert response.status_code == 200
    assert [each[key] for each in response.json()[held]] == names
    assert stub.requests == []
    assert [each["answered"] for each in listed.json()] == ["models"]


ONE_MODEL = [
    pytest.param("/anthropic/v1/models/claude-y", {"type": "model", "id": "claude-y"}, id="claude"),
    pytest.param("/openai/v1/models/gpt-y", {"object": "model", "id": "gpt-y"}, id="openai"),
    pytest.param("/openrouter/api/v1/models/z-ai/glm", {"object": "model", "id": "z-ai/glm"},
                 id="a name with a slash"),
    pytest.param("/gemini/v1beta/models/gemini-y", {"name": "models/gemini-y"}, id="gemini"),
]  # fmt: skip


@pytest.mark.asyncio
@pytest.mark.parametrize(("path", "fields"), ONE_MODEL)
async def test_one_model_is_described_in_the_form_of_its_wire(
    path: str, fields: dict[str, str]
) -> None:
    async with Stub() as stub, client(stub) as http:
        response = await http.get(path)

    assert response.json().items() >= fields.items()


@pytest.mark.asyncio
async def test_a_scenario_for_any_route_lists_every_provider_beside_those_that_it_names() -> None:
    answers = {"acme/m": {"text": "a"}, "*": {"text": "b"}}
    async with Stub(Scenario.parse({"answers": answers})) as stub:
        assert {"acme", *catalog()} == stub.providers().keys()


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_a_fixture_may_end_it_in_another_task_than_began_it() -> None:
    """Fixtures of pytest-asyncio begin and end in tasks of their own."""
    stub = Stub(Scenario.parse({"answers": {ANTHROPIC: {"text": "hi"}}}))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stub.__aenter__)
    with anyio.CancelScope() as scope:
        answered = await ask(stub, ANTHROPIC)
        scope.cancel()
        await anyio.lowlevel.checkpoint()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stub.__aexit__, None, None, None)

    assert answered.status_code == 200
    assert scope.cancelled_caught
    with pytest.raises(httpx.ConnectError):
        await ask(stub, ANTHROPIC)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_an_error_of_its_own_ends_it_and_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_: object) -> None:
        raise ZeroDivisionError

    async def serve() -> None:
        async with Stub() as stub:
            await stub.stopped()

    monkeypatch.setattr("sidestep.provider.stub.server.accept", fail)

    with anyio.fail_after(60), pytest.raises(ExceptionGroup) as caught:
        await serve()
    assert isinstance(caught.value.exceptions[0], ZeroDivisionError)
