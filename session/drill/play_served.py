"""Play a drill's outage against a client of the local address."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING

import anyio

from ...provider.error import ConfigError
from ...provider.stub.scenario import ANY
from ...provider.stub.server import Stub
from ..error import ContextOverflow
from ..event import StepEnded, StepStarted
from ..serve.client_setup import ClientSetup
from ..serve.server import Serve
from .play import TIME_SCALE, ScaledClock, stage, until_over
from .played_turn import PlayedTurn
from .served_drill import playable_turns, scenario_of, tool_seconds, why_unplayable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from ...provider.route import Route
    from ...provider.stub.received import ReceivedRequest
    from ..event import Event, Listener
    from .drill import Drill

PROMPT, MODEL = "{prompt}", "{model}"
"""Words of a command that stand for the turn's prompt and for the route that it must ask for."""
PROMPT_VARIABLE, MODEL_VARIABLE = "SIDESTEP_DRILL_PROMPT", "SIDESTEP_DRILL_MODEL"


class CommandFailed(Exception):
    """The client ended with another status than 0."""


async def play_served(
    drill: Drill,
    command: Sequence[str],
    *,
    environ: Mapping[str, str],
    time_scale: float = TIME_SCALE,
    show: Callable[[bytes], None] = lambda _output: None,
) -> list[PlayedTurn]:
    """Run *command* as a client of a local address before the stub, once for each turn of *drill*.

    Turns that no client can play are left out.

    Args:
        command: With `PROMPT` and `MODEL` where the prompt and the route have to stand.
        environ: The variables of the command, beside those that lead it to the address.
        time_scale: Real seconds that a second of the drill takes.
        show: Called with each piece of what the command writes to stdout.

    Raises:
        ConfigError: The drill cannot be played so, or the command cannot be started.
    """
    if (why := why_unplayable(drill)) is not None:
        raise ConfigError(f"the drill {drill.name!r} cannot be played against a client: {why}")
    clock = StepClock(time_scale)
    turns: list[PlayedTurn] = []
    recorder = StepRecorder(drill, clock)
    async with _served(drill, clock, recorder) as (stub, serve):
        recorder.stub = stub
        setup = ClientSetup(serve.url, serve.token)
        for drilled in playable_turns(drill)[0]:
            with clock.running():
                await clock.sleep(drilled.pause)
            turn = PlayedTurn(drilled.prompt, drilled.pause, drilled.expect, clock.time())
            turns.append(turn)
            recorder.turn, recorder.seen = turn, (seen := len(stub.requests))
            await _run(turn, *_filled(command, setup, environ, drill, turn.prompt), show)
            turn.ended_at = clock.time()
            turn.requests = [each for each in stub.requests[seen:] if recorder.is_of_drill(each)]
            await until_over(turn.requests)
            _check_size(drill, turn)
    return turns


def _check_size(drill: Drill, turn: PlayedTurn) -> None:
    """Check that the client has not sent more with the prompt than the drill's routes can hold.

    Raises:
        ConfigError: It has.
    """
    ended = [event.error for _, event in turn.events if isinstance(event, StepEnded)]
    is_too_long = bool(ended) and (ended[-1] or "").startswith(ContextOverflow.__name__)
    is_wanted = turn.expect is not None and turn.expect.error is not None
    if drill.file.counts and is_too_long and not is_wanted:
        raise ConfigError(
            f"the drill {drill.name!r} cannot be played against this client: what the client sends "
            "beside the prompt takes more tokens than the drill's routes hold. Play it without "
            "--serve, or raise `contextWindow` and `counts` in a copy of its file"
        )


class StepClock(ScaledClock):
    """The drill's time, which stands still while no step runs.

    So a client may take its own time, above all to start, without the end of a cooldown.
    """

    def __init__(self, scale: float) -> None:
        super().__init__(scale)
        self._runs = 0
        self._past = 0.0
        self._since = 0.0

    def time(self) -> float:
        return self._past + (super().time() - self._since if self._runs else 0.0)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let the time run."""
        self.start()
        try:
            yield
        finally:
            self.stop()

    def start(self) -> None:
        """Let the time run until as many calls of `stop`."""
        if not self._runs:
            self._since = super().time()
        self._runs += 1

    def skip(self, seconds: float) -> None:
        """Let *seconds* pass at once."""
        self._past += seconds

    def stop(self) -> None:
        """End what one `start` has begun."""
        self._past = self.time()
        self._since = super().time()
        self._runs -= 1


class StepRecorder:
    """A listener that keeps the events of the steps that the drill is about.

    A client may ask for other models beside, such as for a title. The time of *clock* runs while a
    step does. The drill's own tools take their time as well, although no client has them.

    Attributes:
        turn: Where the events are kept; None: no turn has begun.
        stub: Who has answered the steps; None: nobody yet.
        seen: How many requests the stub had received before the turn.
    """

    def __init__(self, drill: Drill, clock: StepClock) -> None:
        self.turn: PlayedTurn | None = None
        self.stub: Stub | None = None
        self.seen = 0
        self._drill = drill
        self._clock = clock
        self._running: set[int] = set()
        self._steps: set[int] = set()
        self._names = {drill.file.route, *drill.scenario.answers}

    def __call__(self, event: Event) -> None:
        if isinstance(event, StepStarted):
            self._started(event)
        if self.turn is not None and getattr(event, "step", None) in self._steps:
            self.turn.events.append((self._clock.time(), event))
        if isinstance(event, StepEnded) and event.step in self._running:
            self._running.remove(event.step)
            self._clock.stop()
            if event.step in self._steps:
                self._step_ended(event)

    def _started(self, event: StepStarted) -> None:
        if event.step not in self._running:  # a step begins again after a wait for a route
            self._running.add(event.step)
            self._clock.start()
        if self._names_route(event.requested):
            self._steps.add(event.step)

    def _step_ended(self, event: StepEnded) -> None:
        received = [] if self.stub is None else self.stub.requests[self.seen :]
        requests = list(filter(self.is_of_drill, received))
        if self.turn is not None and self.turn.first_step is None:
            self.turn.first_step = len(self.turn.events), len(requests)
        if event.error is None:
            self._clock.skip(tool_seconds(self._drill, requests[-1] if requests else None))

    def is_of_drill(self, received: ReceivedRequest) -> bool:
        """True if the request asks for a route of the drill."""
        return received.route is not None and self._names_route(received.route)

    def _names_route(self, route: Route) -> bool:
        return not self._names.isdisjoint({route, f"{route.provider}/{ANY}", ANY})


@asynccontextmanager
async def _served(
    drill: Drill, clock: StepClock, listener: Listener
) -> AsyncIterator[tuple[Stub, Serve]]:
    """Serve the providers that the stub plays."""
    async with (
        stage(drill, scenario_of(drill), clock, listener) as (stub, middleware, client),
        Serve(middleware, client) as serve,
    ):
        yield stub, serve


def _filled(
    command: Sequence[str],
    setup: ClientSetup,
    environ: Mapping[str, str],
    drill: Drill,
    prompt: str,
) -> tuple[list[str], dict[str, str]]:
    """Return *command* and its variables for one turn.

    The addresses name no provider, because then a model may be any route.
    """
    route = drill.file.route
    named, bare_url = f"{setup.url}/openai/v1", f"{setup.url}/v1"
    full = [word.replace(named, bare_url) for word in setup.command(command)]
    words = [word.replace(PROMPT, prompt).replace(MODEL, route) for word in full]
    bare = {
        "ANTHROPIC_BASE_URL": setup.url,
        "OPENAI_BASE_URL": bare_url,
        "OPENAI_API_BASE": bare_url,
        "OPENROUTER_API_BASE": f"{setup.url}/v1",
        "GOOGLE_GEMINI_BASE_URL": setup.url,
        PROMPT_VARIABLE: prompt,
        MODEL_VARIABLE: route,
    }
    return words, {**environ, **setup.variables(environ), **bare}


async def _run(
    turn: PlayedTurn,
    command: Sequence[str],
    environ: Mapping[str, str],
    show: Callable[[bytes], None],
) -> None:
    """Run *command*, and keep what it writes to stdout and how it ends."""
    output = bytearray()
    try:
        process = await anyio.open_process(
            command, stdin=DEVNULL, stdout=PIPE, stderr=None, env=environ
        )
    except OSError as error:
        why = f"{command[0]!r} cannot be started ({error.strerror}): write one that is installed"
        raise ConfigError(why) from None
    async with process:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        async for piece in process.stdout:
            output += piece
            show(piece)
        status = await process.wait()
    turn.output = output.decode(errors="replace")
    if status != 0:
        turn.error = CommandFailed(f"the command ended with exit status {status}")
