"""A server on loopback that plays providers and their outages, without keys or network."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Self, TypedDict
from urllib.parse import quote

import anyio

from ..background_task import BackgroundTask
from ..route import Route
from ..server.call_path import path_of
from ..server.tcp_socket import Socket, accept, bind, url_host
from .connection import Connection, PlannedReply
from .endpoint import KNOWN, SERVED, Endpoint, place_of
from .model_list import ModelQuestion
from .received import ReceivedRequest
from .request_key import key_complaint, keys_in
from .scenario import ANY, Scenario
from .script import Script, complaint_script, error_script, json_script, script_of
from .strict.judge import complaint
from .token_count import count_script

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from ..server.connection import HttpRequest
    from ..wire_name import Wire
    from .strict.complaint import Complaint
    from .wire.base import StubRequest

BACKLOG = 1024


class PlayedProvider(TypedDict):
    """The settings of one provider that the stub plays, as ``SIDESTEP_PROVIDERS`` has them."""

    wire: Wire
    baseUrl: str
    apiKeyEnv: str | list[str] | None


class Stub:
    """A loopback server that plays *scenario*, one answer a request, in every wire.

    Use it as an asynchronous context manager. Leaving it closes every connection at once.

    Args:
        scenario: What to answer. None: every route answers with a short text.
        host: Where to listen.
        port: 0: any free port.
        strict: Refuse what the real APIs refuse, in their own words. A refused request uses up no
            answer of the scenario.
        keys: The values of the keys that the scenario names, by variable; None, or one that is
            missing: ``stub-VARIABLE``.
        timer: Clock to read, in seconds.

    Attributes:
        requests: The requests for an answer, in order of arrival.
        counts: The requests for a token count, in order of arrival.
        asides: The requests for a list of models or for another protocol, in order of arrival.

    Raises:
        ConfigError: On entering: the port is taken.
    """

    def __init__(
        self,
        scenario: Scenario | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        strict: bool = False,
        keys: Mapping[str, str] | None = None,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.scenario = Scenario() if scenario is None else scenario
        self.requests: list[ReceivedRequest] = []
        self.counts: list[ReceivedRequest] = []
        self.asides: list[ReceivedRequest] = []
        self._host = host
        self._address = host
        self._port = port
        self._is_strict = strict
        self._keys = keys or {}
        self._timer = timer
        self._started_at = 0.0
        self._request_counts: Counter[tuple[Route, str | None]] = Counter()
        self._refusing: dict[str, int] = {}
        self._arrival = anyio.Event()
        self._cleanup = ExitStack()
        # It belongs to no task of the caller, because a fixture may end in another task.
        self._listening: BackgroundTask | None = None

    async def __aenter__(self) -> Self:
        try:
            listener = await self._bind(self._port)
            self._address, self._port = listener.getsockname()[:2]
            for provider in self.scenario.refused:
                self._refusing[provider] = (await self._bind(0)).getsockname()[1]
            listener.listen(BACKLOG)
        except BaseException:
            self._cleanup.close()
            raise
        self._started_at = self._timer()
        self._listening = BackgroundTask(partial(self._listen, listener))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        listening, self._listening = self._listening, None
        try:
            if listening is not None:
                await listening.aclose()
        finally:
            self._cleanup.close()
        if error is None and listening is not None and listening.error is not None:
            raise listening.error

    async def stopped(self) -> None:
        """Wait until it stops listening, which only an error in the stub causes."""
        if self._listening is not None:
            await self._listening.end.wait()

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return self._port

    @property
    def url(self) -> str:
        """The URL at which it listens, as ``http://127.0.0.1:8503``."""
        return self._url(self._port)

    def url_of(self, provider: str) -> str:
        """Return where *provider* is played: `url`, or its own port that refuses connections."""
        return self._url(self._refusing.get(provider, self._port))

    @property
    def keys(self) -> dict[str, str]:
        """The keys that the scenario tells apart, by variable: further variables of an agent."""
        named = (name for keys in self.scenario.keyed.values() for name in keys)
        return {name: self._keys.get(name, f"stub-{name}").strip() for name in named}

    def providers(self) -> dict[str, PlayedProvider]:
        """Return a value for ``SIDESTEP_PROVIDERS`` that leads an agent here.

        A provider needs no key, unless the scenario answers by key there; then `keys` has them.
        """
        named = self.scenario.providers
        is_open = not named or ANY in self.scenario.answers
        names = dict.fromkeys((*named, *KNOWN) if is_open else named)
        return {name: self._provider(name) for name in names}

    async def wait_for(self, count: int) -> ReceivedRequest:
        """Wait for request number *count*, counted from 1, and return it."""
        while len(self.requests) < count:
            await self._arrival.wait()
        return self.requests[count - 1]

    def reset(self) -> None:
        """Start every list of answers again, and forget the received requests."""
        self._request_counts.clear()
        self.requests.clear()
        self.counts.clear()
        self.asides.clear()

    async def _bind(self, port: int) -> socket.socket:
        sock = await bind(self._host, port, who="the stub")
        self._cleanup.callback(sock.close)
        return sock

    async def _listen(self, listener: socket.socket) -> None:
        async with anyio.create_task_group() as tasks:
            while True:
                connection = Connection(Socket(await accept(listener)), self._answer)
                tasks.start_soon(connection.serve)

    def _url(self, port: int) -> str:
        return f"http://{url_host(self._address)}:{port}"

    def _provider(self, name: str) -> PlayedProvider:
        base = f"{self.url_of(name)}/{quote(name, safe='')}"
        wire, ending = place_of(name)
        keys = list(self.scenario.key_variables(name))
        variables = keys if len(keys) > 1 else keys[0] if keys else None
        return {"wire": wire, "baseUrl": base + ending, "apiKeyEnv": variables}

    def _answer(self, http: HttpRequest) -> PlannedReply:
        path = path_of(http.target)
        page = self._stub_page(http.method, path)
        if page is not None:
            return PlannedReply(page, lambda _has_left: None)
        received = ReceivedRequest.of(http, path=path, at=self._timer())
        endpoint = Endpoint.at(path)
        aside = self._aside(http, path, endpoint)
        if aside is not None:
            self.asides.append(received)
            received.answered = aside.word
            return PlannedReply(aside, received.end)
        is_count = endpoint is not None and endpoint.is_count
        (self.counts if is_count else self.requests).append(received)
        script = self._script(http, received, endpoint)
        received.answered = script.word
        self._arrival.set()
        self._arrival = anyio.Event()
        return PlannedReply(script, received.end)

    def _stub_page(self, method: str, path: str) -> Script | None:
        match method, path:
            case "GET", "/_stub/requests":
                every = [*self.requests, *self.counts, *self.asides]
                received = sorted(every, key=lambda each: each.at)
                came = [each.as_json(started_at=self._started_at) for each in received]
                return json_script("requests", came)
            case "GET", "/_stub/providers":
                return json_script("providers", self.providers())
            case "POST", "/_stub/reset":
                self.reset()
                return json_script("reset", {"reset": True})
            case _:
                return None

    def _aside(self, http: HttpRequest, path: str, endpoint: Endpoint | None) -> Script | None:
        """Return the response to a request for models or for another protocol; else None.

        Codex asks for a WebSocket first, and falls back at once after a 426.
        """
        if http.method != "GET":
            return None
        if endpoint is not None and "upgrade" in http.headers:
            return _not_served(426, f"{path!r} is served over plain HTTP only")
        question = ModelQuestion.of(path, http.headers)
        if question is None:
            return None
        named = (Route(name) for name in self.scenario.answers if name != ANY)
        models = (each.model for each in named if each.provider == question.provider)
        return question.script(name for name in models if name != ANY)

    def _script(
        self, http: HttpRequest, received: ReceivedRequest, endpoint: Endpoint | None
    ) -> Script:
        if endpoint is None:
            return _not_served(404, f"nothing is served at {received.path!r}")
        if http.method != "POST":
            return _not_served(405, f"{received.path!r} takes POST, got {http.method!r}")
        request_id = f"req_{len(self.requests):024d}"
        if http.body is None:
            return error_script(endpoint.dialect, 413, request_id=request_id)
        try:
            request = endpoint.read(received.body, size=len(http.body))
        except ValueError as error:
            message = str(error)
            return error_script(endpoint.dialect, 400, request_id=request_id, message=message)
        received.route = request.route
        received.api_key_env = self._variable(http)
        refusal = self._refusal(http, request, endpoint, request_id)
        if refusal is not None:
            return refusal
        if endpoint.is_count:
            return self._count(request, endpoint.wire, request_id)
        return self._play(request, received)

    def _variable(self, http: HttpRequest) -> str | None:
        """Return the variable of the request's key; None: the scenario does not name its key."""
        sent = set(keys_in(http.headers, http.target.partition("?")[2]))
        return next((variable for variable, key in self.keys.items() if key in sent), None)

    def _count(self, request: StubRequest, wire: Wire, request_id: str) -> Script:
        tokens = self.scenario.counts.get(request.route, request.prompt_tokens)
        if tokens is None:
            message = f"{request.route} does not count"
            return error_script(request.dialect, 404, request_id=request_id, message=message)
        return count_script(request, wire, tokens, request_id=request_id)

    def _refusal(
        self, http: HttpRequest, request: StubRequest, endpoint: Endpoint, request_id: str
    ) -> Script | None:
        """Return the response to a request that the real API would refuse; None: it would not."""
        if not self._is_strict:
            return None
        found = self._key_complaint(http, request, endpoint.wire)
        if found is None and not endpoint.is_count:
            found = complaint(
                request.body,
                route=request.route,
                vendor=request.vendor,
                wire=endpoint.wire,
                issuer=request.issuer,
            )
        if found is None:
            return None
        return complaint_script(found, request, endpoint.wire, request_id=request_id)

    def _key_complaint(
        self, http: HttpRequest, request: StubRequest, wire: Wire
    ) -> Complaint | None:
        """Return the refusal of a request without a key; None: it has one, or needs none."""
        if not self.scenario.key_variables(request.route.provider):
            return None
        query = http.target.partition("?")[2]
        return key_complaint(http.headers, query, vendor=request.vendor, wire=wire)

    def _play(self, request: StubRequest, received: ReceivedRequest) -> Script:
        """Return the next answer of the route, or of the route and the key of the request.

        No other request runs between counting and reading it.
        """
        route, key = request.route, received.api_key_env
        own_key = key if self.scenario.has_answers_for(route, key) else None
        self._request_counts[route, own_key] += 1
        place = self._request_counts[route, own_key]
        number = sum(count for (each, _), count in self._request_counts.items() if each == route)
        received.answer = answer = self.scenario.answer(route, place, own_key)
        if answer is not None:
            return script_of(answer, replace(request, number=number))
        routes = ", ".join(map(repr, self.scenario.answers))
        message = (
            f"the stub's scenario has no answer for {request.route!r}: it answers for {routes}"
        )
        return error_script(request.dialect, 404, request_id=request.id("req_"), message=message)


def _not_served(status: int, message: str) -> Script:
    message = f"{message}; the stub serves {', '.join(SERVED)}"
    return json_script(str(status), {"error": {"message": message, "code": status}}, status=status)
