"""Routing rules for tests, and an agent with steps that follow them."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import anyio

from sidestep import CandidateSkipped, FallbackConfig, RetryPolicy, Route, Sidestep, Step
from sidestep.provider.catalog.provider import Provider
from sidestep.session.event import Event
from sidestep.session.plan.plan import Plan
from sidestep.session.plan.rules import rules_plan

from ...virtual import VirtualClock

A, B, C = Route("anthropic/a"), Route("openrouter/vendor/b"), Route("gemini/c")

ANTHROPIC = Provider("anthropic", "anthropic", "https://a.test", None)
OPENROUTER = Provider("openrouter", "openai-chat", "https://b.test", None)
GEMINI = Provider("gemini", "gemini", "https://c.test", None, boundary="us", context_window=9_000)
PROVIDERS = {each.name: each for each in (ANTHROPIC, OPENROUTER, GEMINI)}


def rule(*candidates: str, of: str = "coding", more: str = "") -> str:
    """Return one rule; a candidate is its route, and after a space more of its lines."""
    text = f'[[rules]]\ntask_class = "{of}"\n{more}\n'
    for candidate in candidates:
        route, _, lines = candidate.partition(" ")
        provider, _, model = route.partition("/")
        text += f'[[rules.candidates]]\nprovider = "{provider}"\nmodel = "{model}"\n{lines}\n'
    return text


def read(text: str | bytes) -> Plan:
    return rules_plan(text, providers=PROVIDERS)


class Answer(Exception):
    """What a provider's SDK might raise."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"{status} no")
        self.response = SimpleNamespace(status_code=status, headers=headers)


class Agent:
    """An agent that plays what each route answers; what is not named answers well."""

    def __init__(self, failures: Mapping[Route, Exception | list[Exception | None]]) -> None:
        self.failures = {
            route: list(given) if isinstance(given, list) else [given]
            for route, given in failures.items()
        }
        self.asked: list[Route] = []

    async def call(self, route: Route) -> Route:
        self.asked.append(route)
        given = self.failures.get(route, [None])
        failure = given.pop(0) if len(given) > 1 else given[0]
        if failure is not None:
            raise failure
        return route


class Run:
    """A middleware with a plan, before an agent."""

    def __init__(
        self,
        given: str | Plan | FallbackConfig,
        failures: Mapping[Route, Exception | list[Exception | None]] = {},
    ) -> None:
        if isinstance(given, str):
            given = read(given + "[limits]\nmax_upstream_retry_attempts = 0\n")
        self.clock = VirtualClock()
        self.events: list[Event] = []
        self.agent = Agent(failures)
        self.engine = Sidestep(
            given, clock=self.clock, policy=RetryPolicy(jitter=0.0), on_event=self.events.append
        )

    @classmethod
    def following(cls, environ: Mapping[str, str]) -> Run:
        """Return an agent with a middleware that follows *environ*."""
        run = cls(FallbackConfig(fallback_models_by_model={}))
        run.engine = Sidestep.from_env(environ, clock=run.clock, on_event=run.events.append)
        return run

    def take(self, asked: str = "coding", **options: Any) -> Step:
        """Return a step that was taken to its end."""
        step = self.engine.step(asked, **options)
        anyio.run(step.run, lambda attempt: self.agent.call(attempt.route))
        return step

    @property
    def skipped(self) -> list[tuple[Route, str]]:
        skipped = [each for each in self.events if isinstance(each, CandidateSkipped)]
        return [(each.route, each.reason) for each in skipped]
