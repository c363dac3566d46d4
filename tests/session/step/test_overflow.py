"""A step that no route can hold because of its length, in an agent's own loop."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from sidestep import (
    ContextOverflow,
    FallbackExhausted,
    Needs,
    ProviderError,
    RetryPolicy,
    Route,
    Sidestep,
)
from sidestep.provider.cure import Change, Cure
from sidestep.provider.failure import Failure, FailureKind

from ...virtual import VirtualClock
from .test_step import Answer

A, B = Route("openrouter/x"), Route("anthropic/x")
TOO_LONG = "This model's maximum context length is 8192 tokens, you requested 9000 tokens"

pytestmark = pytest.mark.asyncio


class TooLong(Exception):
    """What an SDK raises for a prompt that is too long."""

    status_code = 400
    body = {"error": {"code": "context_length_exceeded", "message": TOO_LONG}}  # noqa: RUF012


def said_by_sidestep() -> ProviderError:
    return ProviderError(Failure(kind=FailureKind.CONTEXT_OVERFLOW, message=TOO_LONG, status=400))


SIBLINGS = {"fallbackModelsByModel": {A: B, B: A}, "maxUpstreamRetryAttempts": 0}


def windows(**tokens: int) -> str:
    return json.dumps({name: {"contextWindow": count} for name, count in tokens.items()})


def mapped(**windows_of: int) -> dict[str, str]:
    providers = {name: {"contextWindow": count} for name, count in windows_of.items()}
    return {"SIDESTEP_FALLBACK_CONFIG": json.dumps(SIBLINGS | {"providers": providers})}


def hinted(**windows_of: int) -> dict[str, str]:
    return {
        "SIDESTEP_HINT": "openrouter:x,anthropic:x",
        "SIDESTEP_PROVIDERS": windows(**windows_of),
        "OPENROUTER_API_KEY": "k",
        "ANTHROPIC_API_KEY": "k",
    }


@dataclass
class Case:
    """What the routes of a step say, and the window that the error carries."""

    id: str
    environ: Mapping[str, str]
    window: int | None
    replies: Mapping[Route, Callable[[], Exception]] = field(default_factory=dict)
    needs: Needs | None = None
    attempts: int = 1
    count: int | None = None


LONG = Needs(tokens=50_000)
CASES = [
    Case("on the first route", mapped(), None, {A: TooLong}),
    Case("on the first route, told by our client", mapped(), None, {A: said_by_sidestep}),
    Case("without a configuration", {}, None, {A: TooLong}),
    Case("on a route of a known window", mapped(openrouter=8_192), 8_192, {A: TooLong}),
    Case("on a sibling", mapped(anthropic=9_000), 9_000,
         {A: lambda: Answer(503), B: said_by_sidestep}, attempts=2),
    Case(
        "the sibling is passed over for its window", mapped(anthropic=9_000), 9_000,
        {A: lambda: Answer(503)}, LONG,
    ),
    Case("every route of a chain is too small", hinted(openrouter=8_000, anthropic=9_000), 9_000,
         needs=LONG, attempts=0),
    Case("counted, and too small", hinted(openrouter=40_000, anthropic=30_000), 40_000,
         needs=LONG, attempts=0, count=45_000),
    Case("one is too small, and the other fails", hinted(openrouter=8_000), 8_000,
         {B: lambda: Answer(503)}, LONG, attempts=6),
    Case("a hint moves on, and the other fails", hinted(openrouter=8_000), 8_000,
         {A: TooLong, B: lambda: Answer(503)}, attempts=7),
    Case("a hint moves on, and the other is too small as well",
         hinted(openrouter=8_000, anthropic=9_000), 9_000,
         {A: TooLong, B: said_by_sidestep}, attempts=2),
    Case("a hint moves on, and the other is passed over",
         hinted(openrouter=60_000, anthropic=9_000), 60_000, {A: TooLong}, LONG),
    Case("a hint moves on, and would wait for the other",
         hinted() | {"SIDESTEP_LIMITS": '{"patienceSeconds": 3600}'}, None,
         {A: TooLong, B: lambda: Answer(503)}, attempts=7),
]  # fmt: skip


def agent_of(replies: Mapping[Route, Callable[[], Exception]]) -> Callable[..., Awaitable[str]]:
    async def call(attempt: Any) -> str:
        if attempt.route in replies:
            raise replies[attempt.route]()
        return "hello"

    return call


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_a_step_that_is_too_long_is_told_as_such_wherever_that_is_found(case: Case) -> None:
    middleware = Sidestep.from_env(case.environ, clock=VirtualClock())

    async def count(route: Route) -> int | None:
        return case.count

    step = middleware.step(A, needs=case.needs, count=count)
    with pytest.raises(ContextOverflow, match="compact it") as caught:
        await step.run(agent_of(case.replies))

    assert caught.value.window == case.window
    assert len(caught.value.attempts) == case.attempts
    assert caught.value.requested == A
    last = list(case.replies.values())[-1]() if case.replies else None
    assert type(caught.value.__cause__) is type(last)


@pytest.mark.parametrize(
    ("replies", "needs", "error"),
    [
        pytest.param({A: lambda: Answer(503), B: lambda: Answer(503)}, None, FallbackExhausted,
                     id="no route refused because of length"),
        pytest.param({A: lambda: KeyError("bug")}, LONG, KeyError, id="a bug of the agent's own"),
        pytest.param(
            {A: lambda: ProviderError(Failure(kind=FailureKind.CONTENT_FILTER, message=""))},
            LONG, ProviderError, id="what no other route would do better",
        ),
    ],
)  # fmt: skip
async def test_what_is_no_matter_of_length_stays_what_it_is(
    replies: Mapping[Route, Callable[[], Exception]],
    needs: Needs | None,
    error: type[Exception],
) -> None:
    environ = mapped(anthropic=9_000)
    middleware = Sidestep.from_env(environ, clock=VirtualClock(), policy=RetryPolicy(retries=0))

    with pytest.raises(error):
        await middleware.step(A, needs=needs).run(agent_of(replies))


async def test_an_overflow_that_a_shorter_answer_cured_is_not_told_of_a_later_outage() -> None:
    cure = Cure(Change.FIT_ANSWER, "4096")
    overflow = Failure(kind=FailureKind.CONTEXT_OVERFLOW, message=TOO_LONG, status=400, cure=cure)
    replies = [ProviderError(overflow), Answer(503), Answer(503)]

    async def call(attempt: Any) -> str:
        raise replies.pop(0)

    middleware = Sidestep.from_env(mapped(), clock=VirtualClock())
    with pytest.raises(FallbackExhausted):
        await middleware.step(A, repair=lambda failure: "a shorter answer").run(call)

    assert replies == []


async def test_a_conversation_compacted_to_the_window_is_answered() -> None:
    middleware = Sidestep.from_env(mapped(anthropic=9_000), clock=VirtualClock())
    call = agent_of({A: lambda: Answer(503)})
    with pytest.raises(ContextOverflow) as caught:
        await middleware.step(A, needs=LONG).run(call)

    step = middleware.step(A, needs=Needs(tokens=caught.value.window))

    assert await step.run(call) == "hello"
    assert step.route == B
