"""A rehearsed outage: the stub plays it, a real turn runs through it over real sockets."""

from __future__ import annotations

import json
import random
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self
from urllib.parse import unquote

import anyio
import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from ...provider.client.client import Client
from ...provider.conversation import Effort
from ...provider.error import ConfigError
from ...provider.package_data import package_data
from ...provider.route import Route
from ...provider.settings import config_error
from ...provider.stub.scenario import Scenario
from ...provider.stub.server import Stub
from ..plan.config import parse_config
from ..plan.source import VARIABLE
from ..step.middleware import Sidestep
from ..tool.tool import Tool, ToolResult
from ..turn.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

    from ...provider.stub.received import Received
    from ..event import Event
    from ..plan.config_warning import ConfigWarning

DEFAULT = "primary-503"
TIME_SCALE = 0.02
"""Real seconds that a second of the drill takes, unless told otherwise."""

_PLACE = re.compile(r"\$\{STUB\}(?=(?:/(?P<provider>[^/\s\"']+))?)")
"""Where a variable names the stub, and which of its providers."""

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Table(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, populate_by_name=True
    )


class Expectation(_Table):
    """What a turn must come to, as the stub received it and as a listener saw it.

    Args:
        answered: The route whose answer it was; None after an error.
        error: The class of what the turn raised; None after an answer.
        text: What a listener is left with; None does not matter.
        requests: ``[route, how many]`` in the order in which the stub received them; None does
            not matter.
        waits: Seconds that must lie at the least between two requests to one route, in order.
        attempts: How many a listener was told of; None: as many as requests were received.
        retracted: Attempts whose parts a listener was told to take back.
        left: Requests whose connection was closed before their answer had ended.
        tools: How often each tool ran; None does not matter.
        steps: The route that answered each step, in order; None does not matter.
        repaired: How many requests were changed because they were refused.
    """

    answered: str | None = None
    error: str | None = None
    text: str | None = None
    requests: tuple[tuple[str, int], ...] | None = None
    waits: tuple[Seconds, ...] = ()
    attempts: int | None = None
    retracted: int = 0
    left: int = 0
    tools: dict[str, int] | None = None
    steps: tuple[str, ...] | None = None
    repaired: int = 0


class DrilledTurn(_Table):
    """One turn of a drill.

    Args:
        pause: Seconds that pass before it.
        expect: None: it must be answered, by whichever route.
    """

    prompt: str
    pause: Seconds = 0.0
    expect: Expectation | None = None


class Deadlines(_Table):
    """The providers' deadlines, in the drill's own seconds; None leaves the real ones."""

    first_event: Seconds | None = None
    gap: Seconds | None = None


class DrilledTool(_Table):
    """A tool that the drill's agent has.

    Args:
        output: What it says, whatever it is asked for.
        seconds: How long it takes.
    """

    output: str = "done"
    seconds: Seconds = 0.0


class DrillFile(_Table):
    """What a drill's file holds.

    Args:
        title: What happens, in a sentence.
        route: What the agent asks for: a route, or the name of a chain.
        config: What a coordinator would set; None where *environ* says it.
        environ: Variables to set beside that; ``${STUB}/PROVIDER`` in one is where the stub plays
            that provider, or refuses it.
        answers: What the stub answers on each route, as in a scenario.
        counts: How many tokens a route counts in any request, as in a scenario.
        never_sent: Texts that no request may hold.
        strict: The stub refuses what the real APIs refuse.
        tools: What the agent's tools say, by their names.
        eager: The agent begins a tool as soon as its call is closed.
        reasoning: How much the models are to think; None leaves it to them.
    """

    title: str
    route: str
    config: dict[str, Any] | None = None
    environ: dict[str, str] = Field(default_factory=dict)
    answers: dict[str, Any]
    counts: dict[str, Any] = Field(default_factory=dict)
    turns: tuple[DrilledTurn, ...] = Field(min_length=1)
    timeouts: Deadlines = Deadlines()
    never_sent: tuple[str, ...] = ()
    strict: bool = False
    tools: dict[str, DrilledTool] = Field(default_factory=dict)
    eager: bool = False
    reasoning: Effort | None = None


@dataclass(frozen=True, slots=True)
class Drill:
    """An outage to play.

    Raises:
        ConfigError: Of `find`: there is no such drill, or its file is wrong.
    """

    name: str
    file: DrillFile
    scenario: Scenario
    warnings: tuple[ConfigWarning, ...] = ()

    @classmethod
    def find(cls, name: str) -> Self:
        """Return the shipped drill of that name, or the one in the file of that name."""
        shipped = _shipped()
        if name in shipped:
            return cls._read(name, shipped[name])
        path = Path(name)
        if not path.is_file():
            raise ConfigError(
                f"there is no drill {name!r}, nor a file of that name: "
                f"take one of {', '.join(shipped)}"
            )
        return cls._read(path.stem, path)

    @classmethod
    def _read(cls, name: str, source: Traversable | Path) -> Self:
        try:
            content = source.read_text(encoding="utf-8")
            is_json = source.name.endswith(".json")
            data = json.loads(content) if is_json else tomllib.loads(content)
        except OSError as error:
            raise ConfigError(f"{source}: cannot be read ({error.strerror})") from None
        except ValueError as error:
            raise ConfigError(f"{source}: neither TOML nor, as *.json, JSON: {error}") from None
        try:
            file = DrillFile.model_validate(data)
            if file.config is not None:
                Route(file.route)
        except ValidationError as error:
            raise config_error(error, where=name, model=DrillFile) from None
        except ValueError as error:
            raise ConfigError(f"{name}.route: {error}") from None
        try:
            told = file.config is not None
            warnings = parse_config(json.dumps(file.config)).warnings if told else ()
            played = {"answers": file.answers, "counts": file.counts}
            return cls(name, file, Scenario.parse(played), warnings)
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from None


def find_scenario(name: str) -> Scenario:
    """Return the scenario of the shipped drill of that name, or that in the file of that name.

    Raises:
        ConfigError: There is neither, or the file is wrong.
    """
    shipped = _shipped()
    if name in shipped:
        return Drill.find(name).scenario
    if not Path(name).exists():
        raise ConfigError(
            f"there is no file {name!r}, nor a drill of that name: take one of {', '.join(shipped)}"
        )
    return Scenario.load(name)


def list_drills() -> list[Drill]:
    """Return the shipped drills, the default one first."""
    names = sorted(_shipped(), key=lambda name: (name != DEFAULT, name))
    return [Drill.find(name) for name in names]


def _shipped() -> dict[str, Traversable]:
    return package_data("drills", ".toml")


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
