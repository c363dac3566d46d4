"""A local address in front of the stub, with everything that a test looks at."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from sidestep import Client, FallbackConfig, Sidestep
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.settings import provider_settings
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub
from sidestep.session.serve.server import Serve

from ...virtual import VirtualClock

CLAUDE, SIBLING = "anthropic/claude-sonnet-5", "anthropic/claude-opus-5-5"
PATHS = {
    "anthropic": "/anthropic/v1/messages",
    "openrouter": "/openrouter/api/v1/chat/completions",
    "groq": "/groq/v1/chat/completions",
    "openai": "/openai/v1/responses",
}
BODIES: Mapping[str, dict[str, Any]] = {
    "anthropic": {"max_tokens": 64, "messages": [{"role": "user", "content": "Hi"}]},
    "openrouter": {"messages": [{"role": "user", "content": "Hi"}]},
    "groq": {"messages": [{"role": "user", "content": "Hi"}]},
    "openai": {"input": "Hi"},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
}


@dataclass(frozen=True)
class Served:
    """What a test has: the stub behind, the address in front, and a client of it."""

    stub: Stub
    serve: Serve
    http: httpx.AsyncClient
    middleware: Sidestep
    clock: VirtualClock

    async def ask(self, route: str, *, stream: bool = True, **changes: Any) -> httpx.Response:
        """Ask for *route* in the wire of its provider."""
        return await self.http.send(self.request(route, stream=stream, **changes))

    def request(
        self,
        route: str,
        *,
        stream: bool = True,
        headers: Mapping[str, str] = {},
        **changes: Any,
    ) -> httpx.Request:
        provider, _, model = route.partition("/")
        body = {**BODIES[provider], **changes}
        if provider == "gemini":
            method = "streamGenerateContent?alt=sse" if stream else "generateContent"
            path = f"/gemini/v1beta/models/{model}:{method}"
        else:
            path = PATHS[provider]
            body = {"model": model, "stream": stream, **body}
        return self.http.build_request("POST", path, json=body, headers=dict(headers))


@asynccontextmanager
async def serving(
    answers: Mapping[str, object],
    *,
    siblings: Mapping[str, str | list[str]] | None = None,
    keys: Mapping[str, str] | None = None,
    strict: bool = False,
    timeouts: Mapping[str, float] = {},
    settings: Mapping[str, object] = {},
    **options: Any,
) -> AsyncIterator[Served]:
    """Serve *answers* of the stub.

    Args:
        keys: A key of ours for each of these providers; the others need none.
        timeouts: The deadlines of every provider.
        settings: Keys of the configuration beside the map.
        options: Those of `Serve`.
    """
    keys = keys or {}
    async with Stub(Scenario.parse({"answers": answers}), strict=strict) as stub:
        known = {
            name: {
                **each,
                "timeouts": dict(timeouts),
                "apiKeyEnv": key_variable(name) if name in keys else None,
            }
            for name, each in stub.providers().items()
        }
        at = in_front_of(known, siblings=siblings, keys=keys, settings=settings, **options)
        async with at as (serve, http, middleware, clock):
            yield Served(stub, serve, http, middleware, clock)


def key_variable(provider: str) -> str:
    return f"{provider.upper()}_KEY"


@asynccontextmanager
async def in_front_of(
    known: Mapping[str, object],
    *,
    siblings: Mapping[str, str | list[str]] | None = None,
    keys: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    settings: Mapping[str, object] = {},
    **options: Any,
) -> AsyncIterator[tuple[Serve, httpx.AsyncClient, Sidestep, VirtualClock]]:
    """Serve the providers *known*, and no other."""
    variables = environ or {key_variable(name): key for name, key in (keys or {}).items()}
    config = FallbackConfig.model_validate(
        {
            "fallbackModelsByModel": siblings or {},
            "maxUpstreamRetryAttempts": 0,
            "providers": {name: each for name, each in known.items() if environ},
            **settings,
        }
    )
    clock = VirtualClock()
    middleware = Sidestep(config, clock=clock)
    found = catalog(provider_settings(json.loads(json.dumps(known)), where="the test"))
    providers = {name: each for name, each in found.items() if name in known}
    async with (
        Client(providers=providers, environ=variables) as client,
        Serve(middleware, client, **options) as serve,
        httpx.AsyncClient(base_url=serve.url, timeout=60, trust_env=False) as http,
    ):
        yield serve, http, middleware, clock
