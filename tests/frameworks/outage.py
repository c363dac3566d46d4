"""The eight outages, played on loopback, for an agent of each framework."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import pytest

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
CLAUDE, GPT = Route("anthropic/claude-sonnet-5"), Route("openai/gpt-5")
OPUS = Route("anthropic/claude-opus-5")
THINKING: Mapping[str, Any] = {"reasoning": "Hm.", "signature": "c2lnbmVk"}
MOVES = [(CLAUDE, B), (B, CLAUDE), (CLAUDE, OPUS), (GPT, B), (B, GPT), (GPT, CLAUDE), (CLAUDE, GPT)]
"""From a route to another, mostly of another wire."""
CALL: Mapping[str, Any] = {"tool_calls": [{"name": "add", "input": {"a": 1, "b": 2}}]}
"""The answer that calls the tool `add` of each agent here."""


def first_call(route: Route) -> Mapping[str, Any]:
    """Return `CALL` after some thinking, as *route* shows it."""
    return {**CALL, **(THINKING if route in (CLAUDE, GPT) else {})}


STAYING: Mapping[str, Any] = {A: [503, "Moved."], B: [CALL, "3.", "Here."]}
"""An outage that is over at once, if no route is ever degraded."""
stays = pytest.mark.parametrize(("policy", "second"), [("turn", A), ("session", B)])
"""Each `returnPolicy`, and where the second run asks after such an outage."""


@dataclass
class Played:
    """The providers of a test, and what an agent needs to ask them.

    Attributes:
        stub: What plays them.
        middleware: Moves from `A` to `B` at once.
        http: The watched client, for the SDKs.
        sync_http: The same for calls without an event loop.
        refused: The route for which nothing listens; None: there is none.
    """

    stub: testing.PlayedStub
    middleware: Sidestep
    http: Any
    sync_http: Any
    refused: Route | None = None

    def base_url(self, route: Route) -> str:
        if route == self.refused:
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
    first, *siblings = map(Route, answers)
    is_refused = answers[first] == REFUSED
    if is_refused:
        answers = {**answers, first: "never asked"}
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
                first if is_refused else None,
            )


def patient(providers: Mapping[str, Provider], seconds: float) -> dict[str, Provider]:
    timeouts = Timeouts(connect=PATIENCE, first_event=seconds, gap=seconds)
    return {name: replace(provider, timeouts=timeouts) for name, provider in providers.items()}


def no_model(route: Route) -> Any:
    return None


def broken(route: Route) -> Any:
    raise KeyError("GROQ_API_KEY")


bad_input = pytest.mark.parametrize(
    ("middleware", "route", "build", "error", "text"),
    [
        pytest.param(None, A, no_model, TypeError, "pass a `Sidestep`", id="no middleware"),
        pytest.param(Sidestep(), A, None, TypeError, "pass a function", id="no function"),
        pytest.param(
            Sidestep(), A, no_model, sidestep.ConfigError, "returned None: return", id="none"
        ),
        pytest.param(
            Sidestep(), A, broken, sidestep.ConfigError, "raised KeyError: 'GROQ", id="raises"
        ),
        pytest.param(Sidestep(), "a", no_model, ValueError, "provider/model", id="no route"),
    ],
)
"""What each framework's class refuses, with the text of its error."""
