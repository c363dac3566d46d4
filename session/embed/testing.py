"""A stub and a clock for the tests of an agent: no subprocess, no network, no real wait."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from types import TracebackType

import anyio.lowlevel
from anyio.from_thread import start_blocking_portal

from ...provider.catalog.catalog import VARIABLE as PROVIDERS_VARIABLE
from ...provider.catalog.catalog import catalog
from ...provider.route import Route
from ...provider.stub.received import ReceivedRequest
from ...provider.stub.scenario import ANY, Scenario
from ...provider.stub.server import Stub
from ..clock import Clock
from ..plan.source import VARIABLE
from ..step.middleware import Sidestep

Answer = str | int | Mapping[str, object]
"""A text, a status, or a table as in a scenario: ``{"text": "...", "cut": True}``.

``{"keys": {"ONE_KEY": 402, "OTHER_KEY": "..."}}`` answers each key of the provider by itself.
"""

KEY = "stub"
"""The value of every key, unless the answers tell keys apart; the stub does not check it."""
_TIMEOUTS = {"connect": 2, "firstEvent": 2, "gap": 2}
"""The seconds of every timeout. A provider in the same process answers at once, or never."""


@dataclass
class VirtualClock:
    """A clock that moves only when something sleeps, so that no wait takes real time.

    Attributes:
        now: The present time, in seconds.
        slept: Seconds of each sleep, in order.
    """

    now: float = 0.0
    slept: list[float] = field(default_factory=list)
    _moving: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def time(self) -> float:
        """Return `now`."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Move the time on by *seconds*."""
        self.wait(seconds)
        await anyio.lowlevel.checkpoint()

    def wait(self, seconds: float) -> None:
        """Move the time on by *seconds*, also for other threads."""
        with self._moving:
            self.slept.append(seconds)
            self.now += seconds


class PlayedStub:
    """The providers of a test, which `stub` plays.

    Attributes:
        environ: The variables that a coordinator would set: the siblings, the addresses of the
            providers, and their keys.
    """

    def __init__(self, stub: Stub, routes: Sequence[Route], clock: Clock) -> None:
        self._stub = stub
        self._clock = clock
        self._providers = stub.providers()
        self.environ = stub.keys | _environ(self._providers, routes)

    @cached_property
    def middleware(self) -> Sidestep:
        """A `Sidestep` that follows `environ`. Its waits take no real time."""
        return Sidestep.from_env(self.environ, clock=self._clock)

    @property
    def requests(self) -> list[ReceivedRequest]:
        """The requests for an answer that the stub received, in order."""
        return self._stub.requests

    @property
    def routes(self) -> list[str]:
        """The route of each of these requests, in order."""
        return [str(request.route) for request in self.requests]

    def base_url(self, provider: str) -> str:
        """Return the base URL of *provider*, as its SDK takes it.

        Raises:
            KeyError: The stub plays no such provider.
        """
        return str(self._providers[provider]["baseUrl"])


class StubBlock:
    """The block of `stub`: ``async with`` in an event loop, or ``with`` without one.

    In the second form the stub runs in a thread of its own, until the block ends.

    Args:
        begin: Called when the stub has begun, before the block.
    """

    def __init__(
        self,
        answers: Mapping[str, Answer | Sequence[Answer]],
        clock: Clock,
        *,
        strict: bool,
        begin: Callable[[PlayedStub], None] | None = None,
    ) -> None:
        self._answers = answers
        self._clock = clock
        self._strict = strict
        self._begin = begin
        self._left = ExitStack()
        self._left_in_loop = AsyncExitStack()

    async def __aenter__(self) -> PlayedStub:
        answers = self._answers
        scenario = Scenario.parse(
            {"answers": {route: _played(given) for route, given in answers.items()}}
        )
        routes = [Route(route) for route in answers if ANY not in route]
        async with AsyncExitStack() as stack:
            begun = await stack.enter_async_context(Stub(scenario, strict=self._strict))
            played = PlayedStub(begun, routes, self._clock)
            if self._begin is not None:
                self._begin(played)
            self._left_in_loop = stack.pop_all()
        return played

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._left_in_loop.__aexit__(exc_type, exc, traceback)

    def __enter__(self) -> PlayedStub:
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            played = portal.call(self.__aenter__)
            stack.callback(portal.call, self.__aexit__, None, None, None)
            self._left = stack.pop_all()
        return played

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._left.close()


def stub(
    answers: Mapping[str, Answer | Sequence[Answer]],
    *,
    clock: Clock | None = None,
    strict: bool = False,
) -> StubBlock:
    """Play *answers* on loopback, in this process, while the block runs.

    Args:
        answers: The answers of each route, in order, or a single answer; the last answer is
            repeated for ever. The first route is the requested route, and the others are its
            siblings.
        clock: The clock of `PlayedStub.middleware`; None: a `VirtualClock`.
        strict: Refuse what the real APIs refuse, in their own words.

    Raises:
        ConfigError: An answer is wrong; the message says where and what to write. The block
            raises it when it begins.
    """
    return StubBlock(answers, VirtualClock() if clock is None else clock, strict=strict)


def _tables(given: Answer | Sequence[Answer]) -> list[object]:
    every = [given] if isinstance(given, str | int | Mapping) else given
    return [_table(each) for each in every]


def _played(given: Answer | Sequence[Answer]) -> object:
    """Return the answers of a route, in order or by key, as a scenario has them."""
    if isinstance(given, Mapping) and isinstance(keys := given.get("keys"), Mapping):
        return {**given, "keys": {key: _tables(each) for key, each in keys.items()}}
    return _tables(given)


def _table(answer: Answer) -> object:
    if isinstance(answer, str):
        return {"text": answer}
    if isinstance(answer, int) and not isinstance(answer, bool):
        return {"status": answer}
    return answer


def _environ(
    providers: Mapping[str, Mapping[str, object]], routes: Sequence[Route]
) -> dict[str, str]:
    known = catalog()
    environ, settings = dict[str, str](), dict[str, object]()
    for name, setting in providers.items():
        if name in known and setting["apiKeyEnv"] is None:
            setting = {**setting, "apiKeyEnv": known[name].api_key_env}
            environ |= dict.fromkeys(known[name].key_variables, KEY)
        settings[name] = {**setting, "timeouts": _TIMEOUTS}
    environ[PROVIDERS_VARIABLE] = json.dumps(settings)
    siblings = {route: [other for other in routes if other != route] for route in routes}
    if len(routes) > 1:
        environ[VARIABLE] = json.dumps({"fallbackModelsByModel": siblings})
    return environ
