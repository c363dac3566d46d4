"""A chain is asked for by its name, in any wire, and a memory in a file outlives the process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from sidestep import Client, Sidestep
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub
from sidestep.session.serve.server import Serve

from ..plan.routing_rules import rule
from .served import CLAUDE, serving

pytestmark = pytest.mark.asyncio

SIBLING = "groq/llama"
RULES = rule(CLAUDE, SIBLING) + "[limits]\nmaxUpstreamRetryAttempts = 0\n"
HI = [{"role": "user", "content": "Hi"}]


@asynccontextmanager
async def following_rules(
    answers: dict[str, object],
) -> AsyncIterator[tuple[Stub, httpx.AsyncClient]]:
    async with Stub(Scenario.parse({"answers": answers})) as stub:
        environ = {
            "SIDESTEP_ROUTING_RULES": RULES,
            "SIDESTEP_PROVIDERS": json.dumps(stub.providers()),
        }
        middleware = Sidestep.from_env(environ)
        async with (
            Client(providers=middleware.providers, environ=environ) as client,
            Serve(middleware, client) as serve,
            httpx.AsyncClient(base_url=serve.url, timeout=60, trust_env=False) as http,
        ):
            yield stub, http


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param("/v1/messages", {"max_tokens": 9, "messages": HI}, id="anthropic"),
        pytest.param("/v1/chat/completions", {"messages": HI}, id="openai-chat"),
        pytest.param("/v1/responses", {"input": HI}, id="openai-responses"),
        pytest.param(
            "/v1beta/models/coding:generateContent",
            {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
            id="gemini",
        ),
    ],
)
async def test_a_chain_is_asked_for_by_its_name_in_any_wire(
    path: str, body: dict[str, Any]
) -> None:
    first_then_out = [{"text": "First."}, {"status": 503}]
    answers: dict[str, object] = {CLAUDE: first_then_out, SIBLING: {"text": "Second."}}
    async with following_rules(answers) as (stub, http):
        named = body if "gemini" in path else {"model": "coding", **body}
        first = await http.post(path, json=named)
        second = await http.post(path, json=named)

        assert (first.status_code, second.status_code) == (200, 200)
        assert "First." in first.text
        assert "Second." in second.text
        assert [str(each.route) for each in stub.requests] == [CLAUDE, CLAUDE, SIBLING]


async def test_the_chains_are_the_models_at_the_bare_path() -> None:
    async with following_rules({CLAUDE: {"text": "Hello."}}) as (_, http):
        listed = (await http.get("/v1/models")).json()["data"]

        assert [each["id"] for each in listed] == ["coding"]


async def test_a_name_that_is_neither_a_chain_nor_a_route_goes_to_the_wires_own_provider() -> None:
    async with following_rules({CLAUDE: {"text": "Hello."}}) as (stub, http):
        body = {"model": "claude-sonnet-5", "max_tokens": 9, "messages": HI}
        answer = await http.post("/v1/messages", json=body)

        assert answer.status_code == 200
        assert [str(each.route) for each in stub.requests] == [CLAUDE]


async def test_what_a_sibling_thought_goes_back_to_it_after_a_restart(tmp_path: Path) -> None:
    sibling = "anthropic/claude-opus-5-5"
    call = {"id": "call_1", "name": "read_file", "input": {"path": "a.py"}}
    thinks = {"reasoning": "I should read it.", "tool_calls": [call]}
    options: dict[str, Any] = {"siblings": {CLAUDE: sibling}, "store": tmp_path / "store"}
    tools = [{"name": "read_file", "input_schema": {"type": "object"}}]
    asked = [{"role": "user", "content": "Read a.py"}]
    async with serving({CLAUDE: {"status": 503}, sibling: thinks}, **options) as served:
        answer = await served.ask(CLAUDE, stream=False, messages=asked, tools=tools)
        said = {"role": "assistant", "content": answer.json()["content"]}
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": "print(1)"}
    async with serving({CLAUDE: {"status": 503}, sibling: {"text": "Done."}}, **options) as served:
        after = [*asked, said, {"role": "user", "content": [result]}]
        await served.ask(CLAUDE, messages=after, tools=tools)

        assert "I should read it." not in json.dumps(said)
        assert "I should read it." in json.dumps(served.stub.requests[-1].body)
