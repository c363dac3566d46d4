"""`sidestep.testing`, as the tests of an agent use it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import pytest

import sidestep
from sidestep import testing

A, B = "openrouter/anthropic/claude-sonnet-5", "anthropic/claude-sonnet-5"
C = "groq/llama"

pytestmark = pytest.mark.asyncio


async def ask(middleware: sidestep.Sidestep, environ: Mapping[str, str]) -> str:
    """Return the answer of an agent that uses our session."""
    async with sidestep.Client(providers=middleware.providers, environ=environ) as client:
        ended = await sidestep.Session(A, middleware=middleware, client=client).turn("hi")
    return ended.text


@pytest.mark.parametrize(
    ("answers", "text", "routes"),
    [
        pytest.param({A: 503, B: "hello"}, "hello", [A] * 3 + [B], id="a status for ever"),
        pytest.param({A: [503, "back"], B: "no"}, "back", [A, A], id="a status once"),
        pytest.param(
            {A: {"text": "half an answer", "cut": True, "after": 2}, B: ("hello",)}, "hello",
            [A] * 3 + [B], id="a table as in a scenario",
        ),
        pytest.param({A: 402, B: 402, C: "hello"}, "hello", [A, B, C], id="three routes"),
        pytest.param({A: "alone"}, "alone", [A], id="one route"),
    ],
)  # fmt: skip
async def test_an_outage_is_played_in_this_process_without_a_real_wait(
    answers: Mapping[str, testing.Answer | Sequence[testing.Answer]], text: str, routes: list[str]
) -> None:
    clock = testing.VirtualClock()

    async with testing.stub(answers, clock=clock) as stub:
        answer = await ask(stub.middleware, stub.environ)

    assert answer == text
    assert stub.routes == routes
    assert len(clock.slept) == len(routes) - len(set(routes))
    assert clock.now == sum(clock.slept)


async def test_a_client_finds_the_stub_by_its_base_url_and_key() -> None:
    async with testing.stub({C: "hello"}) as stub, httpx.AsyncClient(trust_env=False) as http:
        response = await http.post(
            f"{stub.base_url('groq')}/chat/completions",
            headers={"authorization": f"Bearer {stub.environ['GROQ_API_KEY']}"},
            json={"model": "llama", "messages": [{"role": "user", "content": "hi"}]},
        )

    assert response.json()["choices"][0]["message"]["content"] == "hello"


async def test_each_key_of_a_provider_can_be_answered_by_itself() -> None:
    keys = {"GROQ_API_KEY": 402, "GROQ_API_KEY_2": ["first", {"text": "second"}]}

    async with testing.stub({C: {"keys": keys}, B: "sibling"}, strict=True) as stub:
        client = sidestep.Client(providers=stub.middleware.providers, environ=stub.environ)
        hello = sidestep.Conversation([sidestep.Message("user", [sidestep.Text("Hi")])])
        heard = []
        for variable in ["GROQ_API_KEY", "GROQ_API_KEY_2", "GROQ_API_KEY_2"]:
            rendering = client.render(sidestep.Route(C), hello)
            try:
                async with client.send(rendering, api_key_env=variable) as reply:
                    async for _ in reply:
                        pass
                heard += [part.text for part in reply.parts if isinstance(part, sidestep.Text)]
            except sidestep.ProviderError as error:
                heard.append(str(error.failure.status))
        await client.aclose()

    assert heard == ["402", "first", "second"]
    assert [each.api_key_env for each in stub.requests] == [*keys, "GROQ_API_KEY_2"]
    assert stub.middleware.providers["groq"].key_variables == tuple(keys)
    assert stub.environ["ANTHROPIC_API_KEY"] == "stub"


async def test_the_fixtures_serve_an_agent_that_reads_the_environment_itself(
    sidestep_stub: Any, sidestep_clock: testing.VirtualClock
) -> None:
    async with sidestep_stub({A: 503, B: "hello"}) as stub:
        middleware = sidestep.Sidestep.from_env()
        await ask(middleware, os.environ)

    assert stub.routes == [A] * 3 + [B]
    assert middleware.clock is sidestep_clock
    assert len(sidestep_clock.slept) == 2


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        pytest.param({"nowhere": "x"}, "nowhere", id="no route"),
        pytest.param({A: {"txt": "x"}}, "txt", id="a field that is not known"),
        pytest.param({A: 99}, "99", id="no status"),
        pytest.param({A: True}, "answers", id="a boolean"),
        pytest.param({A: []}, "answers", id="no answer"),
    ],
)
async def test_a_wrong_answer_is_refused_with_what_to_write(answers: Any, message: str) -> None:
    with pytest.raises(sidestep.ConfigError, match=message):
        async with testing.stub(answers):
            pass


async def test_a_provider_that_is_not_played_is_named() -> None:
    async with testing.stub({A: "x"}) as stub:
        with pytest.raises(KeyError, match="groq"):
            stub.base_url("groq")
