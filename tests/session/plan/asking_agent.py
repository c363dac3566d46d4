"""An agent that plays an outage over some steps, to compare where two configurations ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace

from sidestep import FallbackConfig, FallbackExhausted, RetryPolicy, Route, Sidestep
from sidestep.session.plan.plan import Plan

from ...virtual import VirtualClock


class Answer(Exception):
    """What a provider's SDK might raise."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"{status} no")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.response = SimpleNamespace(status_code=status, headers=named)


Outage = Callable[[], Mapping[Route, Iterable[Exception | str]]]
"""What each route answers, the last for ever; made anew for each agent that meets it."""


async def requests_in(
    outage: Outage, config: FallbackConfig | Plan | None, asked: str, *, steps: int = 3
) -> tuple[list[Route], list[float], list[str]]:
    """Return the routes asked for in some steps, the waits, and how each step ended."""
    clock = VirtualClock()
    engine = Sidestep(config, clock=clock, policy=RetryPolicy(jitter=0.0, retries=1))
    replies = {route: list(given) for route, given in outage().items()}
    routes: list[Route] = []
    ends: list[str] = []

    async def call(route: Route) -> str:
        routes.append(route)
        given = replies[route]
        reply = given.pop(0) if len(given) > 1 else given[0]
        if isinstance(reply, Exception):
            raise reply
        return reply

    for _ in range(steps):
        try:
            ends.append(await engine.step(asked).run(lambda attempt: call(attempt.route)))
        except (Answer, FallbackExhausted, ConnectionError) as error:
            ends.append(type(error).__name__)
        clock.now += 25.0
    return routes, clock.slept, ends
