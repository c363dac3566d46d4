"""A window that an estimate leaves open: the provider counts before anything is sent there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from sidestep import Client, Sidestep
from sidestep.session.serve.server import Serve

from ...virtual import VirtualClock
from .served import CLAUDE, in_front_of
from .test_clients_keys import CHAT
from .test_own_bytes import SSE
from .upstream import Upstream, upstream

pytestmark = pytest.mark.asyncio

OURS, THEIRS = "sk-ours-0123456789", "sk-theirs-0123456789"
LONG, OTHER = "openai/gpt-5.6", "groq/llama"
BODY = {"model": "claude-sonnet-5", "max_tokens": 60, "messages": [
    {"role": "user", "content": "Why does test_parser fail?"}]}  # fmt: skip


@asynccontextmanager
async def counting(
    tokens: int, **options: object
) -> AsyncIterator[tuple[Upstream, Upstream, Upstream, httpx.AsyncClient]]:
    """Serve a provider that is down, one with a window of 100 that counts, and another one."""
    counted = json.dumps({"object": "response.input_tokens", "input_tokens": tokens}).encode()
    async with (
        upstream(b"{}", 503) as primary,
        upstream(counted) as counter,
        upstream(CHAT, headers=SSE) as last,
        in_front_of(
            {
                "anthropic": {"baseUrl": primary.url, "apiKeyEnv": None},
                "openai": {
                    "baseUrl": f"{counter.url}/v1", "apiKeyEnv": "OURS", "contextWindow": 100,
                },
                "groq": {"baseUrl": last.url, "apiKeyEnv": None},
            },
            siblings={CLAUDE: [LONG, OTHER]},
            environ={"OURS": OURS},
            **options,  # type: ignore[arg-type]
        ) as (serve, http, *_),
    ):  # fmt: skip
        if serve.token is not None:
            http.headers["x-api-key"] = serve.token
        yield primary, counter, last, http


@pytest.mark.parametrize(
    ("tokens", "paths"),
    [
        pytest.param(41, ["/v1/responses/input_tokens"], id="too long with its answer"),
        pytest.param(40, ["/v1/responses/input_tokens", "/v1/responses"], id="it fits"),
    ],
)
async def test_a_sibling_that_counts_too_many_tokens_is_passed_over(
    tokens: int, paths: list[str]
) -> None:
    async with counting(tokens) as (_, counter, _last, http):
        await http.post("/anthropic/v1/messages", json=BODY)

        assert [each.target for each in counter.requests] == paths
        assert {each.headers["authorization"] for each in counter.requests} == {f"Bearer {OURS}"}


RULES = """
[[rules]]
task_class = "coding"

[[rules.candidates]]
provider = "openai"
model = "gpt-5.6"
capabilities = { tool_calling = true, context_window_tokens = 100 }
"""


async def test_no_key_of_ours_counts_for_a_client_that_may_not_use_it() -> None:
    """The head of a chain is counted as well, before the client's own bytes go there."""
    async with upstream(b"{}", 503) as counter:
        known = {"openai": {"baseUrl": f"{counter.url}/v1", "apiKeyEnv": "OURS"}}
        environ = {
            "SIDESTEP_ROUTING_RULES": RULES,
            "SIDESTEP_PROVIDERS": json.dumps(known),
            "OURS": OURS,
        }
        middleware = Sidestep.from_env(environ, clock=VirtualClock())
        async with (
            Client(providers=middleware.providers, environ=environ) as client,
            Serve(middleware, client, token=None) as serve,
            httpx.AsyncClient(base_url=serve.url, timeout=60, trust_env=False) as http,
        ):
            body = {"model": "coding", "max_output_tokens": 60, "input": "Why does it fail?"}
            headers = {"authorization": f"Bearer {THEIRS}"}
            await http.post("/v1/responses", json=body, headers=headers)

        assert {each.target for each in counter.requests} == {"/v1/responses"}
        assert {each.headers["authorization"] for each in counter.requests} == {f"Bearer {THEIRS}"}
