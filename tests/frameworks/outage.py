"""The eight outages, played on loopback, for an agent of each framework."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx2

import sidestep
from sidestep import Route, Sidestep, testing
from sidestep.provider.catalog.provider import Provider, Timeouts
from sidestep.session.plan.config import FallbackConfig

A, B = Route("openrouter/a"), Route("groq/b")
PATIENCE, SILENCE = 30.0, 0.4
"""Seconds: until a provider counts as silent, and in the row where one is."""

HALF = {"text": "Half an answer", "chunk": 4, "after": 2}
REFUSED = "refused"
OUTAGES: Mapping[str, Any] = {
    "503": 503,
    "429 with a hint": {"status": 429, "headers": {"retry-after": "90"}},
    "error in the stream": {**HALF, "error": 500},
    "cut": {**HALF, "cut": True},
    "stall": {**HALF, "stall": True},
    "empty": {"status": 200, "headers": {"content-type": "text/event-stream"}, "body": ""},
    "page": {
        "status": 200,
        "headers": {"content-type": "text/html"},
        "body": "<!doctype html><html><body>Sign in to the network</body></html>",
    },
    "refused": REFUSED,
}
CALL: Mapping[str, Any] = {"tool_calls": [{"name": "add", "input": {"a": 1, "b": 2}}]}
"""The answer that calls the tool `add` of each agent here."""


@dataclass
class Played:
    """The providers of a test, and what an agent needs to ask them.

    Attributes:
        stub: What plays them.
        middleware: Moves from `A` to `B` at once.
        http: The watched client, for the SDKs.
        sync_http: The same for calls without an event loop.
        is_refused: True if nothing listens for `A`.
    """

    stub: testing.PlayedStub
    middleware: Sidestep
    http: Any
    sync_http: Any
    is_refused: bool = False

    def base_url(self, route: Route) -> str:
        if self.is_refused and route == A:
            return "http://127.0.0.1:1/v1"
        return self.stub.base_url(route.provider)

    @property
    def last_messages(self) -> list[Any]:
        """The messages of the last request."""
        body: Any = self.stub.requests[-1].body
        return list(body["messages"])


@asynccontextmanager
async def played(
    answers: Mapping[str, Any], *, strict: bool = False, **config: Any
) -> AsyncIterator[Played]:
    """Play *answers*; the answer ``refused`` of a route stands for a closed port."""
    is_refused = answers.get(A) == REFUSED
    if is_refused:
        answers = {**answers, A: "never asked"}
    first, *siblings = map(Route, answers)
    plan = FallbackConfig(
        fallback_models_by_model={first: tuple(siblings)}, max_upstream_retry_attempts=0, **config
    )
    async with (
        testing.stub(answers, strict=strict) as stub,
        httpx2.AsyncClient(timeout=60.0, trust_env=False) as client,
    ):
        with httpx2.Client(timeout=60.0, trust_env=False) as sync_client:
            seconds = SILENCE if "stall" in str(answers) else PATIENCE
            known = patient(stub.middleware.providers, seconds)
            yield Played(
                stub,
                Sidestep(plan, clock=testing.VirtualClock()),
                sidestep.watched(client, providers=known),
                sidestep.watched(sync_client, providers=known),
                is_refused,
            )


def patient(providers: Mapping[str, Provider], seconds: float) -> dict[str, Provider]:
    timeouts = Timeouts(connect=PATIENCE, first_event=seconds, gap=seconds)
    return {name: replace(provider, timeouts=timeouts) for name, provider in providers.items()}
