"""Play a drill: the stub is the providers, a real turn runs through it over real sockets."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import anyio
import httpx

from ...provider.client.client import Client
from ...provider.stub.server import Stub
from ..plan.source import VARIABLE
from ..step.middleware import Sidestep
from ..tool.tool import Tool, ToolResult
from ..turn.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...provider.stub.received import Received
    from ..event import Event
    from .drill import Drill
    from .drill_file import DrilledTool, DrilledTurn, Expectation

TIME_SCALE = 0.02
"""Real seconds that a second of the drill takes, unless told otherwise."""

_PLACE = re.compile(r"\$\{STUB\}(?=(?:/(?P<provider>[^/\s\"']+))?)")
"""Where a variable names the stub, and which of its providers."""


@dataclass(frozen=True, slots=True)
class ScaledClock:
    """The drill's time, of which one second takes *scale* real ones."""

    scale: float

    def time(self) -> float:
        return anyio.current_time() / self.scale

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds * self.scale)


class _Rehearsed(Tool):
    """A tool that says what the drill's file says, whatever it is asked for."""

    def __init__(self, name: str, told: DrilledTool, clock: ScaledClock) -> None:
        super().__init__(self._say, name=name, description=f"The tool {name}.")
        self._told = told
        self._clock = clock

    async def _say(self) -> str:
        await self._clock.sleep(self._told.seconds)
        return self._told.output

    async def run(self, input: Mapping[str, Any]) -> ToolResult:  # noqa: A002 - as ToolCall has it
        return await super().run({})


@dataclass(slots=True)
class PlayedTurn:
    """What a turn came to; instants are in the drill's own seconds."""

    prompt: str
    pause: float
    expect: Expectation | None
    started_at: float
    ended_at: float = 0.0
    events: list[tuple[float, Event]] = field(default_factory=list)
    requests: list[Received] = field(default_factory=list)
    error: Exception | None = None


async def play(drill: Drill, *, time_scale: float = TIME_SCALE) -> list[PlayedTurn]:
    """Play *drill* against a stub of its own, and return what happened in each turn.

    Args:
        time_scale: Real seconds that a second of the drill takes; 1 is the real pace.
    """
    clock = ScaledClock(time_scale)
    async with Stub(drill.scenario, strict=drill.file.strict, timer=clock.time) as stub:
        environ = _environ(drill, stub, time_scale)
        # Seeded, so that the same drill waits as long every time.
        rng = random.Random(0)  # noqa: S311 - jitter keeps no secret
        middleware = Sidestep.from_env(environ, clock=clock, rng=rng)
        # Made here, since it takes as long as several of the drill's seconds, and without the
        # proxies of the environment, which cannot reach the stub.
        async with httpx.AsyncClient(timeout=None, trust_env=False) as http:  # noqa: S113
            client = Client(http=http, providers=middleware.providers, environ=environ)
            session = Session(
                drill.file.route,
                middleware=middleware,
                client=client,
                tools=[_Rehearsed(name, told, clock) for name, told in drill.file.tools.items()],
                reasoning=drill.file.reasoning,
                eager=drill.file.eager,
            )
            return [await _play(turn, session, stub, clock) for turn in drill.file.turns]


async def _play(turn: DrilledTurn, session: Session, stub: Stub, clock: ScaledClock) -> PlayedTurn:
    await clock.sleep(turn.pause)
    played = PlayedTurn(turn.prompt, turn.pause, turn.expect, clock.time())
    seen = len(stub.requests)
    session.on_event = lambda event: played.events.append((clock.time(), event))
    try:
        await session.turn(turn.prompt)
    except Exception as error:  # noqa: BLE001 - whatever ends a turn is judged
        played.error = error
    played.ended_at = clock.time()
    played.requests = stub.requests[seen:]
    with anyio.move_on_after(1):
        # A closed connection reaches the stub a moment after it was closed.
        for received in played.requests:
            await received.over.wait()
    return played


def _environ(drill: Drill, stub: Stub, time_scale: float) -> dict[str, str]:
    """Set the variables as a coordinator would."""
    deadlines = drill.file.timeouts.model_dump(by_alias=True, exclude_none=True)
    timeouts = {name: seconds * time_scale for name, seconds in deadlines.items()}
    providers = {
        name: settings | {"timeouts": timeouts} for name, settings in stub.providers().items()
    }
    environ = {"SIDESTEP_PROVIDERS": json.dumps(providers)}
    if drill.file.config is not None:
        environ[VARIABLE] = json.dumps(drill.file.config)
    return environ | {
        name: _PLACE.sub(lambda found: stub.url_of(unquote(found["provider"] or "")), text)
        for name, text in drill.file.environ.items()
    }
