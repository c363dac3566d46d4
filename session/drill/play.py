"""Play a drill: a real turn against the stub, over real sockets."""

from __future__ import annotations

import json
import random
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import anyio
import httpx

from ...provider.catalog.catalog import VARIABLE as PROVIDERS_VARIABLE
from ...provider.client.client import Client
from ...provider.stub.server import Stub
from ..plan.source import VARIABLE
from ..step.middleware import Sidestep
from ..tool.tool import Tool, ToolResult
from ..turn.session import Session
from .played_turn import PlayedTurn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from ...provider.stub.received import ReceivedRequest
    from ...provider.stub.scenario import Scenario
    from ..event import Event, Listener
    from .drill import Drill
    from .drill_file import DrilledTool

TIME_SCALE = 0.02
"""Real seconds that a second of the drill takes, by default."""

_PLACE = re.compile(r"\$\{STUB\}(?=(?:/(?P<provider>[^/\s\"']+))?)")
"""A place in a variable that stands for the stub's address, of that provider if it names one."""


class ScaledClock:
    """The drill's time; one of its seconds takes *scale* real ones."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def time(self) -> float:
        return anyio.current_time() / self.scale

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds * self.scale)


class RehearsedTool(Tool):
    """A tool that returns what the drill's file says, whatever its arguments are."""

    def __init__(self, name: str, tool: DrilledTool, clock: ScaledClock) -> None:
        super().__init__(self._output, name=name, description=f"The tool {name}.")
        self._tool = tool
        self._clock = clock

    async def _output(self) -> str:
        await self._clock.sleep(self._tool.seconds)
        return self._tool.output

    async def run(self, input: Mapping[str, Any]) -> ToolResult:  # noqa: A002 - as ToolCall has it
        return await super().run({})


async def play(
    drill: Drill,
    *,
    time_scale: float = TIME_SCALE,
    on_change: Callable[[Sequence[PlayedTurn]], None] = lambda _turns: None,
) -> list[PlayedTurn]:
    """Play *drill* against a stub of its own, and return what happened in each turn.

    Args:
        time_scale: Real seconds that a second of the drill takes; 1 is the real pace.
        on_change: Called with the turns so far, whenever something has happened in the last one.
    """
    clock = ScaledClock(time_scale)
    turns: list[PlayedTurn] = []
    async with stage(drill, drill.scenario, clock) as (stub, middleware, client):
        session = _session(drill, middleware, client, clock)
        for turn in drill.file.turns:
            due_at = clock.time() + turn.pause
            turns.append(PlayedTurn(turn.prompt, turn.pause, turn.expect, due_at))
            await _play(turns[-1], session, stub, clock, lambda: on_change(turns))
    return turns


@asynccontextmanager
async def stage(
    drill: Drill, scenario: Scenario, clock: ScaledClock, on_event: Listener | None = None
) -> AsyncIterator[tuple[Stub, Sidestep, Client]]:
    """Play *scenario*, and yield the stub with the middleware and the client of *drill*."""
    async with Stub(scenario, strict=drill.file.strict, timer=clock.time) as stub:
        environ = environ_of(drill, stub, time_scale=clock.scale)
        # Seeded, so that the same drill waits as long every time.
        rng = random.Random(0)  # noqa: S311 - jitter keeps no secret
        middleware = Sidestep.from_env(environ, clock=clock, rng=rng, on_event=on_event)
        # Made here, because it takes as long as several of the drill's seconds, and without the
        # proxies of the environment, which cannot reach the stub.
        async with httpx.AsyncClient(timeout=None, trust_env=False) as http:  # noqa: S113
            client = Client(http=http, providers=middleware.providers, environ=environ)
            yield stub, middleware, client


def _session(drill: Drill, middleware: Sidestep, client: Client, clock: ScaledClock) -> Session:
    return Session(
        drill.file.route,
        middleware=middleware,
        client=client,
        tools=[RehearsedTool(name, tool, clock) for name, tool in drill.file.tools.items()],
        reasoning=drill.file.reasoning,
        eager=drill.file.eager,
    )


async def _play(
    turn: PlayedTurn,
    session: Session,
    stub: Stub,
    clock: ScaledClock,
    on_change: Callable[[], None],
) -> None:
    seen = len(stub.requests)

    def note(event: Event) -> None:
        turn.events.append((clock.time(), event))
        turn.requests = stub.requests[seen:]
        on_change()

    session.on_event = note
    on_change()
    await clock.sleep(turn.pause)
    turn.started_at = clock.time()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_note_ends, stub, seen, turn.answered_at, clock)
        try:
            await session.turn(turn.prompt)
        except Exception as error:  # noqa: BLE001 - whatever ends a turn is judged
            turn.error = error
        turn.ended_at = clock.time()
        turn.requests = stub.requests[seen:]
        await until_over(turn.requests)
        tasks.cancel_scope.cancel()
    on_change()


async def until_over(requests: Sequence[ReceivedRequest]) -> None:
    """Wait until the stub knows that *requests* are over, a moment after they were closed."""
    with anyio.move_on_after(1):
        for received in requests:
            await received.over.wait()


async def _note_ends(stub: Stub, seen: int, ends: list[float], clock: ScaledClock) -> None:
    """Note when each answer after the first *seen* is over; a turn sends one at a time."""
    while True:
        received = await stub.wait_for(seen + len(ends) + 1)
        await received.over.wait()
        ends.append(clock.time())


def environ_of(drill: Drill, stub: Stub, *, time_scale: float = 1.0) -> dict[str, str]:
    """Return the variables that a coordinator would set for *drill*, played by *stub*."""
    deadlines = drill.file.timeouts.model_dump(by_alias=True, exclude_none=True)
    timeouts = {name: seconds * time_scale for name, seconds in deadlines.items()}
    further = {"timeouts": timeouts} if timeouts else {}
    providers = {name: {**settings, **further} for name, settings in stub.providers().items()}
    environ = {PROVIDERS_VARIABLE: json.dumps(providers), **stub.keys}
    if drill.file.config is not None:
        environ[VARIABLE] = json.dumps(drill.file.config)
    return environ | {
        name: _PLACE.sub(lambda found: stub.url_of(unquote(found["provider"] or "")), text)
        for name, text in drill.file.environ.items()
    }
