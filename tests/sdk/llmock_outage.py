"""llmock, another project's stub, on loopback, and a session of ours before it.

llmock serves all four wires. What its server sleeps passes at once, in the event loop of the test
as well, and both of its clocks are the session's, so that llmock judges the waits of the session.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, Self

import httpx
import pytest
from llmock import middleware as llmock_middleware
from llmock import ratelimit as llmock_ratelimit
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Match, Reply, SlowFirstToken, StreamFault
from llmock.testing import LLMockServer

from sidestep import Client, Event, Route, Session, Sidestep
from sidestep.provider.catalog.catalog import catalog, providers_from_env
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub

from ..virtual import VirtualClock

PRIMARY = "All four tests pass now."
SIBLING = "The parser drops the last token."
REAL_LIMIT = 30.0  # seconds that llmock may take to end its requests
PATIENCE = 60.0
"""The shortest time limit of our client for output, in seconds."""

ENDED_BY_LEAVING = (StreamFault, SlowFirstToken)
MOST_ROUNDS = {True: 3000, False: 20}
"""How often a wait that is too long is begun, by whether llmock ends it when the client leaves.

The client may not have begun to wait when llmock does.
"""

TURN_ROUND = 10  # of an event loop, after which a time limit that is over has had its effect


@dataclass(frozen=True)
class Place:
    """Where llmock plays a provider.

    Args:
        route: What is asked there.
        base: The path of the provider's base URL.
        path: The paths of the wire.
    """

    route: Route
    base: str
    path: str


PLACES = {
    "anthropic": Place(Route("anthropic/claude-sonnet-5"), "/anthropic", "/anthropic/*"),
    "openai-responses": Place(Route("openai/gpt-5.1"), "/v1", "/v1/responses"),
    "openai-chat": Place(Route("openai-chat/gpt-5.1"), "/v1", "/v1/chat/*"),
    "gemini": Place(Route("gemini/gemini-3-pro"), "/gemini/v1beta", "/gemini/*"),
}
WIRES = [*PLACES]
AT_OUR_STUB = Route("zai/glm-5")


@dataclass
class ServerClock(VirtualClock):
    """Virtual time that passes only while the server has no request left."""

    journal: Any = field(kw_only=True)

    async def sleep(self, seconds: float) -> None:
        await asyncio.to_thread(self.journal.records, wait=REAL_LIMIT)
        await super().sleep(seconds)


class LlmockOutage:
    """llmock with faults on one wire, and a session whose sibling is on the next wire.

    Args:
        server: llmock, which runs.
        wire: The wire of the requested route.
        faults: llmock's behaviours; they meet the requested route only.
        is_at_stub: The sibling is at our own stub, where no fault is.
        base: Another base path of the requested route.
        session: Arguments of the session.
        settings: What the coordinator's configuration has besides the map.
    """

    def __init__(
        self,
        server: LLMockServer,
        wire: str,
        *faults: Any,
        is_at_stub: bool = False,
        base: str | None = None,
        session: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self.state = server.state
        self.llmock = LLMock(server)
        self.route = PLACES[wire].route
        next_wire = PLACES[WIRES[(WIRES.index(wire) + 1) % len(WIRES)]]
        self.sibling = AT_OUR_STUB if is_at_stub else next_wire.route
        config = {
            "fallbackModelsByModel": {self.route: self.sibling},
            "maxUpstreamRetryAttempts": 2,
            "cooldownSeconds": 5,
        }
        self.environ = {"SIDESTEP_FALLBACK_CONFIG": json.dumps(config | settings)}
        self.options = session or {}
        self.events: list[Event] = []
        self.clock = ServerClock(journal=server.state.journal)
        self._behaviours = [
            *(replace(each, match=replace(each.match, path=PLACES[wire].path)) for each in faults),
            Reply(text=PRIMARY, times=None, match=Match(path=PLACES[wire].path)),
            Reply(text=SIBLING, times=None, match=Match(path=next_wire.path)),
        ]
        self._base = base
        self._passed = 0.0
        self._is_stream_fault = any(isinstance(each, ENDED_BY_LEAVING) for each in faults)
        self._stack = AsyncExitStack()
        self._patch = pytest.MonkeyPatch()

    async def __aenter__(self) -> Self:
        self.llmock.reset().add(*self._behaviours)
        self._share_time()
        providers: dict[str, Any] = {
            place.route.provider: {"baseUrl": self.llmock.url + place.base, "apiKeyEnv": None}
            for place in PLACES.values()
        }
        if self._base is not None:
            providers[self.route.provider]["baseUrl"] = self.llmock.url + self._base
        answers = {"answers": {AT_OUR_STUB: {"text": SIBLING}}}
        stub = await self._stack.enter_async_context(Stub(Scenario.parse(answers)))
        self.environ["SIDESTEP_PROVIDERS"] = json.dumps(providers | stub.providers())
        http = await self._stack.enter_async_context(httpx.AsyncClient(trust_env=False))
        self.session = Session(
            self.route,
            middleware=Sidestep.from_env(self.environ, clock=self.clock),
            client=Client(http=http, providers=catalog(providers_from_env(self.environ))),
            on_event=self.events.append,
            **self.options,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        self._patch.undo()

    def _share_time(self) -> None:
        """Let llmock read and pass the time of the session."""
        ours, sleep_really = asyncio.get_running_loop(), asyncio.sleep
        really = ours.time
        # Before our client looks, because its idle timers keep the function that they found.
        self._patch.setattr(ours, "time", lambda: really() + self._passed)

        async def pass_ours(seconds: float) -> None:
            self.clock.now += seconds
            self._passed += seconds
            for _ in range(TURN_ROUND):
                await sleep_really(0)

        async def sleep(seconds: float) -> None:
            """Pass *seconds*, and if they are too long, until the client has left because of it."""
            for _ in range(1 if seconds < PATIENCE else MOST_ROUNDS[self._is_stream_fault]):
                passed = asyncio.run_coroutine_threadsafe(pass_ours(seconds), ours)
                await asyncio.wrap_future(passed)
                await sleep_really(0.01)

        timer = SimpleNamespace(monotonic=self.clock.time)
        self._patch.setattr(llmock_middleware, "time", timer)
        self._patch.setattr(llmock_ratelimit, "time", timer)
        self._patch.setattr(llmock_middleware, "asyncio", SimpleNamespace(sleep=sleep))

    @property
    def routes(self) -> dict[str, Route]:
        """The routes, by the text that each answers."""
        return {PRIMARY: self.route, SIBLING: self.sibling}

    async def found(self) -> set[str]:
        """Return the codes of what llmock finds wrong with our client."""
        await self.clock.sleep(0)
        return {each.code for each in self.llmock.verdict().findings}
