"""The SDKs' own calls for a count, to the stub, which is asked as the real APIs are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from sidestep import Route
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub

from .call import package

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.filterwarnings("ignore"),  # what an SDK warns of is its own; raised, it would fail
]

CLAUDE, GPT, GEMINI = map(
    Route, ("anthropic/claude-sonnet-5", "openai/gpt-5.1", "gemini/gemini-3-pro")
)
COUNTS: dict[Route, Any] = {CLAUDE: 101, GPT: 102, GEMINI: 103}


async def by_anthropic(url: str) -> Any:
    async with package("anthropic").AsyncAnthropic(
        base_url=f"{url}/anthropic", api_key="k"
    ) as client:
        told = await client.messages.count_tokens(
            model=CLAUDE.model, messages=[{"role": "user", "content": "Hello."}]
        )
    return told.input_tokens


async def by_openai(url: str) -> Any:
    async with package("openai").AsyncOpenAI(base_url=f"{url}/openai/v1", api_key="k") as client:
        told = await client.responses.input_tokens.count(model=GPT.model, input="Hello.")
    return told.input_tokens


async def by_google(url: str) -> Any:
    client = package("google.genai").Client(api_key="k", http_options={"base_url": f"{url}/gemini"})
    try:
        told = await client.aio.models.count_tokens(model=GEMINI.model, contents="Hello.")
    finally:
        await client.aio.aclose()
    return told.total_tokens


@pytest.mark.parametrize(
    ("count", "route"),
    [
        pytest.param(by_anthropic, CLAUDE, id="anthropic"),
        pytest.param(by_openai, GPT, id="openai"),
        pytest.param(by_google, GEMINI, id="google-genai"),
    ],
)
async def test_an_sdk_reads_what_the_stub_counts(
    count: Callable[[str], Awaitable[Any]], route: Route
) -> None:
    scenario = Scenario.parse({"answers": {route: {"text": "Hi."}}, "counts": COUNTS})
    async with Stub(scenario) as stub:
        assert await count(stub.url) == COUNTS[route]

    assert [(received.route, received.answered) for received in stub.counts] == [(route, "count")]
