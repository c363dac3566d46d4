"""A scenario that answers by key, so that the outage of a single key can be rehearsed."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.settings import provider_settings
from sidestep.provider.client.client import Client
from sidestep.provider.conversation import Conversation, Message, Text
from sidestep.provider.error import ConfigError, ProviderError
from sidestep.provider.failure import FailureKind
from sidestep.provider.route import Route
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub

from .stub_client import ANTHROPIC, CHAT, GEMINI, OPENROUTER, RESPONSES, client, request

KEYED = (ANTHROPIC, OPENROUTER, CHAT, RESPONSES, GEMINI)
HELLO = Conversation([Message("user", [Text("Hello")])])
TWO = {"keys": {"ONE": {"status": 402}, "TWO": [{"text": "a"}, {"text": "b"}]}}
KEYS = {"ONE": "planted-first-0123456789", "TWO": "planted-second-0123456789"}


def scenario(**answers: object) -> Scenario:
    return Scenario.parse({"answers": answers})


async def answers_of(stub: Stub, route: str, *variables: str | None) -> list[str]:
    """Return what our own client hears with the key in each of *variables*."""
    providers = catalog(provider_settings(stub.providers(), where="the stub"))
    heard = []
    async with httpx.AsyncClient(trust_env=False) as http:
        ours = Client(http=http, providers=providers, environ=stub.keys)
        for variable in variables:
            rendering = ours.render(Route(route), HELLO)
            try:
                async with ours.send(rendering, api_key_env=variable) as reply:
                    async for _ in reply:
                        pass
                    heard.append(
                        "".join(part.text for part in reply.parts if isinstance(part, Text))
                    )
            except ProviderError as error:
                heard.append(str(error.failure.status))
    return heard


@pytest.mark.asyncio
@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
@pytest.mark.parametrize("route", [*KEYED, "openrouter-anthropic/a", "zai-anthropic/glm", "x/y"])
async def test_each_key_gets_its_own_answers_in_order(route: str, *, strict: bool) -> None:
    async with Stub(scenario(**{route: TWO}), strict=strict, keys=KEYS) as stub:
        heard = await answers_of(stub, route, "ONE", "TWO", "ONE", "TWO", "TWO", None)

    assert heard == ["402", "a", "402", "b", "b", "402"]
    names = ["ONE", "TWO", "ONE", "TWO", "TWO", "ONE"]
    assert [each.api_key_env for each in stub.requests] == names


@pytest.mark.asyncio
@pytest.mark.parametrize("route", KEYED)
@pytest.mark.parametrize(
    ("others", "status"),
    [pytest.param({}, 401, id="nothing"), pytest.param({"*": {"text": "hi"}}, 200, id="an answer")],
)
async def test_another_key_gets_what_the_scenario_has_for_it(
    route: str, others: dict[str, object], status: int
) -> None:
    played = scenario(**{route: {"keys": {"ONE": {"text": "a"}} | others}})
    async with Stub(played) as stub, client(stub) as http:
        for headers in ({"authorization": "Bearer sk-other"}, {"x-api-key": "sk-other"}, {}):
            sent = request(http, route)
            sent.headers.update(headers)
            response = await http.send(sent)
            assert response.status_code == status

    assert [each.api_key_env for each in stub.requests] == [None] * 3


@pytest.mark.asyncio
async def test_all_routes_of_a_provider_can_answer_by_key() -> None:
    named = {"groq/a": {"keys": {"THREE": {"text": "hi"}}}}
    async with Stub(scenario(**{"groq/*": TWO}, **named)) as stub:
        heard = await answers_of(stub, "groq/b", "ONE", "TWO")
        heard += await answers_of(stub, "groq/a", "THREE", "TWO")

    assert heard == ["402", "a", "hi", "401"]
    assert stub.providers()["groq"]["apiKeyEnv"] == ["ONE", "TWO", "THREE"]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("answers", "variables", "keys"),
    [
        pytest.param({"groq/a": {"text": "hi"}}, None, {}, id="no keys"),
        pytest.param(
            {"groq/a": {"keys": {"ONE": {"text": "hi"}}}}, "ONE", {"ONE": KEYS["ONE"]}, id="one"
        ),
        pytest.param({"groq/a": TWO}, ["ONE", "TWO"], KEYS, id="two"),
        pytest.param(
            {"groq/a": {"keys": {"NEW": {"text": "hi"}, "*": {"status": 402}}}}, "NEW",
            {"NEW": "stub-NEW"}, id="one that gets no value, and every other",
        ),
        pytest.param(
            {"groq/a": TWO, "*": {"keys": {"TWO": {"text": "b"}, "NEW": {"text": "c"}}}},
            ["ONE", "TWO", "NEW"], KEYS | {"NEW": "stub-NEW"}, id="every provider",
        ),
    ],
)  # fmt: skip
async def test_the_stub_says_which_variables_hold_keys(
    answers: dict[str, object], variables: object, keys: dict[str, str]
) -> None:
    async with Stub(scenario(**answers), keys=KEYS) as stub, client(stub) as http:
        said = (await http.get("/_stub/providers")).json()

    assert said["groq"]["apiKeyEnv"] == variables
    assert stub.keys == keys
    assert not any(key in json.dumps(said) for key in keys.values())


@pytest.mark.asyncio
async def test_a_reset_begins_the_answers_to_each_key_anew() -> None:
    async with Stub(scenario(**{CHAT: TWO})) as stub:
        before = await answers_of(stub, CHAT, "TWO", "TWO")
        stub.reset()
        after = await answers_of(stub, CHAT, "TWO")

    assert (before, after) == (["a", "b"], ["a"])


PLACES = [
    pytest.param(ANTHROPIC, {"x-api-key": "{}"}, 200, id="anthropic"),
    pytest.param(ANTHROPIC, {"authorization": "Bearer {}"}, 401, id="anthropic, a bearer"),
    pytest.param("zai-anthropic/m", {"authorization": "Bearer {}"}, 200, id="a facade, a bearer"),
    pytest.param("zai-anthropic/m", {"x-api-key": "{}"}, 200, id="a facade"),
    pytest.param("openrouter-anthropic/m", {"x-api-key": "{}"}, 401, id="a facade of bearers"),
    pytest.param(OPENROUTER, {"authorization": "Bearer {}"}, 200, id="openrouter"),
    pytest.param(OPENROUTER, {"x-api-key": "{}"}, 401, id="openrouter, anthropic's place"),
    pytest.param(CHAT, {"authorization": "bearer {}"}, 200, id="chat"),
    pytest.param(CHAT, {"authorization": "{}"}, 401, id="chat, no scheme"),
    pytest.param(CHAT, {"authorization": "Bearer"}, 401, id="chat, nothing after it"),
    pytest.param(RESPONSES, {"authorization": "Bearer {}"}, 200, id="responses"),
    pytest.param(RESPONSES, {"api-key": "{}"}, 401, id="responses, Azure's place"),
    pytest.param(GEMINI, {"x-goog-api-key": "{}"}, 200, id="gemini"),
    pytest.param(GEMINI, {"authorization": "Bearer {}"}, 403, id="gemini, a bearer"),
    *(pytest.param(route, {}, 403 if route == GEMINI else 401, id=f"none, {route}")
      for route in KEYED),
]  # fmt: skip


@pytest.mark.asyncio
@pytest.mark.parametrize(("route", "headers", "status"), PLACES)
async def test_the_strict_stub_wants_a_key_in_the_place_of_the_api(
    route: str, headers: dict[str, str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    played = scenario(**{route: {"keys": {"ONE": {"text": "hi"}, "*": {"text": "hi"}}}})
    sent = {name: value.format(KEYS["ONE"]) for name, value in headers.items()}
    async with Stub(played, strict=True, keys=KEYS) as stub:
        response = await answered(stub, route, sent)
        async with client(stub) as http:
            listed = await http.get("/_stub/requests")

    assert response.status_code == status, response.text
    printed = "".join(capsys.readouterr())
    assert not any(KEYS["ONE"] in text for text in (listed.text, response.text, printed))
    assert KEYS["ONE"] not in repr(stub.requests)


async def answered(stub: Stub, route: str, headers: dict[str, str]) -> httpx.Response:
    """Send what our own client would send, with *headers* in place of its key."""
    providers = catalog(provider_settings(stub.providers(), where="the stub"))
    rendering = Client(providers=providers, environ={}).render(Route(route), HELLO)
    url = rendering.provider.base_url + rendering.path
    async with httpx.AsyncClient(trust_env=False, headers=headers) as http:
        return await http.post(url, content=rendering.content)


@pytest.mark.asyncio
async def test_a_strict_stub_without_keys_wants_none() -> None:
    async with Stub(scenario(**{CHAT: {"text": "hi"}}), strict=True) as stub:
        response = await answered(stub, CHAT, {})

    assert response.status_code == 200


@pytest.mark.asyncio
@pytest.mark.parametrize("route", KEYED)
async def test_what_the_strict_stub_says_without_a_key_is_known_as_a_failure_of_the_key(
    route: str,
) -> None:
    async with Stub(scenario(**{route: {"keys": {"ONE": {"text": "hi"}}}}), strict=True) as stub:
        settings: dict[str, Any] = {
            name: {**each, "apiKeyEnv": None} for name, each in stub.providers().items()
        }
        providers = catalog(provider_settings(settings, where="the stub"))
        async with httpx.AsyncClient(trust_env=False) as http:
            ours = Client(http=http, providers=providers, environ={})
            with pytest.raises(ProviderError) as caught:
                async with ours.stream(Route(route), HELLO):
                    pass

    assert caught.value.failure.kind is FailureKind.AUTH


@pytest.mark.asyncio
async def test_a_key_of_gemini_is_masked_in_the_list_of_requests() -> None:
    async with Stub() as stub, client(stub) as http:
        sent = request(http, GEMINI)
        sent.headers["X-Goog-Api-Key"] = KEYS["ONE"]
        await http.send(sent)
        listed = await http.get("/_stub/requests")

    assert listed.json()[0]["headers"]["x-goog-api-key"] == "***"
    assert KEYS["ONE"] not in listed.text


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param({}, "answers['groq/a'].keys is empty: write", id="none"),
        pytest.param([], "answers['groq/a'].keys must be an object", id="a list"),
        pytest.param({"ONE": []}, "keys['ONE'] must be an answer or a list", id="no answer"),
        pytest.param({"ONE": {"txt": "a"}}, "keys['ONE'] has an unknown key 'txt'", id="wrong"),
        pytest.param({"ONE": [{"text": "a"}, {}]}, "['ONE'][1] answers nothing", id="the second"),
        pytest.param({"sk-1": {"text": "a"}}, "keys['sk-1'] is no variable", id="a key"),
        pytest.param({"": {"text": "a"}}, "keys[''] is no variable", id="nothing"),
        pytest.param(
            {"ONE": {"refuse": True}}, "keys['ONE'] refuses the connection, but", id="refused"
        ),
        pytest.param({"*": {"refuse": True}}, "keys['*'] refuses", id="every other is refused"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_answers_by_key_is_named(keys: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        scenario(**{"groq/a": {"keys": keys}})

    assert message in str(caught.value)


@pytest.mark.parametrize("more", [{"text": "a"}, {"times": 2}, {"status": 402}])
def test_nothing_stands_beside_answers_by_key(more: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="unknown key"):
        scenario(**{"groq/a": TWO | more})
