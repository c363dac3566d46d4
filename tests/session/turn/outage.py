"""A stub that plays an outage, and a session before it, over real sockets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx

from sidestep import Client, Event, Route, Session, Sidestep
from sidestep.provider.catalog.catalog import catalog, providers_from_env
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub

from ...virtual import VirtualClock

A, B = Route("openrouter/anthropic/claude-sonnet-5"), Route("anthropic/claude-sonnet-5")


class Outage:
    """A stub, a middleware configured by the coordinator's variable, and a session before it."""

    def __init__(
        self,
        answers: Mapping[Route, Any],
        *,
        route: Route = A,
        session: Mapping[str, Any] = {},
        counts: Mapping[Route, Any] = {},
        timeouts: Mapping[str, Mapping[str, float]] = {},
        windows: Mapping[str, int] = {},
        **settings: Any,
    ) -> None:
        config = {"fallbackModelsByModel": {A: B, B: A}, "maxUpstreamRetryAttempts": 0}
        self.environ = {"SIDESTEP_FALLBACK_CONFIG": json.dumps(config | settings)}
        self.route = route
        self.options = session
        self.timeouts = timeouts
        self.windows = windows
        self.stub = Stub(Scenario.parse({"answers": dict(answers), "counts": counts}))
        self.events: list[Event] = []
        self.clock = VirtualClock()

    async def __aenter__(self) -> Outage:
        await self.stub.__aenter__()
        providers: dict[str, dict[str, Any]] = {
            name: {**settings} for name, settings in self.stub.providers().items()
        }
        for name, seconds in self.timeouts.items():
            providers[name]["timeouts"] = dict(seconds)
        for name, tokens in self.windows.items():
            providers[name]["contextWindow"] = tokens
        self.environ["SIDESTEP_PROVIDERS"] = json.dumps(providers)
        self.http = httpx.AsyncClient(trust_env=False)
        self.client = Client(http=self.http, providers=catalog(providers_from_env(self.environ)))
        self.middleware = Sidestep.from_env(self.environ, clock=self.clock)
        self.session = self.open()
        return self

    def open(self, **options: Any) -> Session:
        """Return a session before this outage, with *options* beside the first session's."""
        return Session(
            self.route,
            middleware=self.middleware,
            client=self.client,
            on_event=self.events.append,
            **{**self.options, **options},
        )

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()
        await self.stub.__aexit__(None, None, None)

    @property
    def asked(self) -> list[Route | None]:
        return [received.route for received in self.stub.requests]
