"""`watched`: a client of httpx or httpx2, with its answers judged."""

from __future__ import annotations

import sys
import time
from asyncio import _get_running_loop
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio

from ..catalog.catalog import catalog, providers_from_env
from ..classify.redirect import leaves_host, redirect_failure
from ..current_attempt import current_attempt
from ..error import ConfigError, ProviderError
from ..log import logger
from ..wire_name import WIRES
from .body import AsyncBody, SyncBody
from .model_call import CallFinder, ModelCall, Request
from .watched_answer import BodyForm, WatchedAnswer

if TYPE_CHECKING:
    from types import ModuleType

    from ..catalog.provider import Provider
    from ..wire_name import Wire

_LIBRARIES = ("httpx", "httpx2")
_READABLE = "gzip, deflate"
"""The compressions that are read here; an answer in another compression is not judged."""
_NOTE = "sidestep"
"""The extension of a request that holds its `ModelCall`."""


class HookedClient(Protocol):
    """A client of httpx or httpx2, as far as it is used here."""

    @property
    def is_closed(self) -> bool:
        """True once it can send nothing more."""

    @property
    def headers(self) -> Any:
        """The headers that it adds to every request."""

    @property
    def event_hooks(self) -> dict[str, list[Callable[..., Any]]]:
        """The functions that are called with each request and each response."""

    @event_hooks.setter
    def event_hooks(self, hooks: dict[str, list[Callable[..., Any]]]) -> None: ...


ClientT = TypeVar("ClientT", bound=HookedClient)


class Response(Protocol):
    """A response of httpx or httpx2, as far as it is read here."""

    status_code: int
    headers: Any
    stream: Any
    is_stream_consumed: bool

    @property
    def request(self) -> Request:
        """The request that it answers."""

    @property
    def content(self) -> bytes:
        """The body, if it was read."""


def watched(
    client: ClientT,
    *,
    providers: Mapping[str, Provider] | None = None,
    wire: Wire | None = None,
) -> ClientT:
    """Return *client*, and judge the answers to its model calls as `Client` judges its own.

    Where the SDK reads an answer, whole or streamed, `ProviderError` is raised if the answer is not
    whole, means a failure, or is silent for longer than the provider's `timeouts`. The SDK gets
    every byte as it arrives. A request that is no model call, and an answer with a status of
    failure, are not judged; only a redirect of a model call to another host raises, so that neither
    key nor conversation goes there. A second call for the same client changes nothing. If
    ``event_hooks`` is set afterwards, the client is no longer watched.

    Args:
        client: An ``AsyncClient`` or a ``Client`` of httpx or httpx2, for the SDK to send with.
        providers: The known providers; None: the catalog and ``SIDESTEP_PROVIDERS``.
        wire: The wire of calls to an address that sidestep does not know; None: sidestep does not
            judge these calls.

    Raises:
        ConfigError: *client* is closed or of another class, *wire* is not the name of a wire, or
            ``SIDESTEP_PROVIDERS`` has a wrong value.
    """
    current_attempt.is_wanted = True
    library, is_async = _kind_of(client)
    if client.is_closed:
        raise ConfigError("the client is closed: pass one that can still send to `watched`")
    if wire is not None and wire not in WIRES:
        raise ConfigError(f"wire={wire!r} is no wire: take one of {', '.join(WIRES)}")
    known = catalog(providers_from_env()) if providers is None else providers
    codings = client.headers.get("accept-encoding", "")
    watch = _Watch(CallFinder(known, wire), library, is_async=is_async, codings=codings)
    hooks = client.event_hooks
    others = {
        name: [hook for hook in hooks.get(name, ()) if not isinstance(hook, _Hook)]
        for name in ("request", "response")
    }
    kinds = (_AsyncRequest, _AsyncResponse) if is_async else (_SyncRequest, _SyncResponse)
    client.event_hooks = {
        **hooks,
        # The last to see a request, as it is sent; the first to see its answer.
        "request": [*others["request"], kinds[0](watch)],
        "response": [kinds[1](watch), *others["response"]],
    }
    return client


def _kind_of(client: object) -> tuple[ModuleType, bool]:
    """Return the library of *client*, and whether it is asynchronous.

    Raises:
        ConfigError: It is no client of httpx or httpx2.
    """
    for name in _LIBRARIES:
        library = sys.modules.get(name)
        if library is not None and isinstance(client, library.AsyncClient | library.Client):
            return library, isinstance(client, library.AsyncClient)
    what = "the class " if isinstance(client, type) else ""
    kind = client if isinstance(client, type) else type(client)
    raise ConfigError(
        f"`watched` takes an AsyncClient or a Client of httpx or httpx2, got {what}"
        f"{kind.__module__}.{kind.__qualname__}: pass the SDK such a client, as in "
        "`openai.AsyncOpenAI(http_client=sidestep.watched(httpx2.AsyncClient()), max_retries=0)`"
    )


class _Watch:
    """The state that the hooks of one client share."""

    def __init__(
        self, finder: CallFinder, library: ModuleType, *, is_async: bool, codings: str
    ) -> None:
        self._finder = finder
        self._library = library
        self._is_async = is_async
        self._asks_odd_codings = "br" in codings or "zstd" in codings
        self._has_warned = False

    def asks(self, request: Request, now: float) -> None:
        """Remember a model call, and limit the time to its first block; *now* is in seconds."""
        note = request.extensions.pop(_NOTE, None)
        earlier = note if isinstance(note, ModelCall) else None  # that was redirected
        call = self._finder.find(request, earlier)
        if call is None:
            return
        if self._asks_odd_codings:
            request.headers["accept-encoding"] = _READABLE
        request.extensions[_NOTE] = call
        call.sent_at = now
        timeouts = request.extensions.get("timeout")
        if isinstance(timeouts, dict):
            call.read_timeout = earlier.read_timeout if earlier else timeouts.get("read")
            timeouts["read"] = _shorter(call.read_timeout, call.first_output_seconds)
        mark = current_attempt.get()
        if mark is not None and mark.failed and call.key in mark.failed:
            self._warn()

    def answers(self, response: Response, now: float) -> None:
        """Put a body that is judged in the place of the body of *response*, if it is a model's.

        Args:
            now: As in `asks`.

        Raises:
            ProviderError: The body was read already, and the answer failed; or a redirect leads
                to another host.
        """
        request = response.request
        call = request.extensions.get(_NOTE)
        if not isinstance(call, ModelCall):
            return
        timeouts = request.extensions.get("timeout")
        if isinstance(timeouts, dict):
            timeouts["read"] = call.read_timeout
        if not 200 <= response.status_code < 300:
            _note_failure(call)
            _stay_at_host(response)
            return
        if response.is_stream_consumed:  # by a test's transport
            self._judge(response, call)
            return
        answer = WatchedAnswer(call, _form_of(response))
        if answer.is_settled:
            return
        if isinstance(timeouts, dict):
            timeouts["read"] = self._read_timeout(call)
        seconds = max(call.first_output_seconds - (now - call.sent_at), 0.001)
        response.stream = _body_class(self._library, self._is_async)(
            answer, lambda: _note_failure(call), response.stream, seconds
        )

    def _read_timeout(self, call: ModelCall) -> float | None:
        """Return how long the transport may wait for each block.

        Nothing else ends a read of a synchronous client. httpcore has one such time for a whole
        body, so this is the longer of the provider's two.
        """
        own, longest = call.read_timeout, max(call.first_output_seconds, call.provider.timeouts.gap)
        if self._is_async and (own is None or own >= longest):
            return None  # this costs less than a limit that is never reached
        return _shorter(own, longest)

    def _judge(self, response: Response, call: ModelCall) -> None:
        answer = WatchedAnswer(call, replace(_form_of(response), coding=""))
        try:
            answer.take(response.content)
            answer.end()
        except Exception:
            _note_failure(call)
            raise

    def _warn(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "a request that failed was sent again within one attempt: set the retries of the "
                "SDK to 0, such as `max_retries=0`, because sidestep retries"
            )


def _form_of(response: Response) -> BodyForm:
    """Return the form of the body of *response*; reading all headers at once is much faster."""
    found = {b"content-type": "", b"content-encoding": ""}
    for name, value in response.headers.raw:
        if name.lower() in found:
            found[name.lower()] = value.decode("latin-1")
    return BodyForm(
        response.status_code, response.headers, response.request.headers, *found.values()
    )


def _stay_at_host(response: Response) -> None:
    """Refuse a redirect to another host, because the conversation and some keys would go there.

    Raises:
        ProviderError: *response* is such a redirect, whether or not the SDK would follow it.
    """
    if not 300 <= response.status_code < 400:
        return
    failure = redirect_failure(response.status_code, response.headers, now=time.time())
    location = response.headers.get("location", "")
    if failure is not None and location and leaves_host(str(response.request.url), location):
        raise ProviderError(failure)


def _note_failure(call: ModelCall) -> None:
    mark = current_attempt.get()
    if mark is not None:
        mark.failed.add(call.key)


def _shorter(first: float | None, second: float | None) -> float | None:
    """Return the shorter of two times; None: no limit."""
    limits = [seconds for seconds in (first, second) if seconds is not None]
    return min(limits, default=None)


@cache
def _body_class(library: ModuleType, is_async: bool) -> Any:
    """Return the class of a body that *library* takes for one of its own streams."""
    base = library.AsyncByteStream if is_async else library.SyncByteStream
    return type("WatchedBody", (AsyncBody if is_async else SyncBody, base), {})


class _Hook:
    """A hook of `watched`."""

    def __init__(self, watch: _Watch) -> None:
        self._watch = watch


def _now() -> float:
    """Return the time of the running event loop, in seconds."""
    loop = _get_running_loop()
    return anyio.current_time() if loop is None else loop.time()


class _AsyncRequest(_Hook):
    async def __call__(self, request: Request) -> None:
        self._watch.asks(request, _now())


class _AsyncResponse(_Hook):
    async def __call__(self, response: Response) -> None:
        self._watch.answers(response, _now())


class _SyncRequest(_Hook):
    def __call__(self, request: Request) -> None:
        self._watch.asks(request, time.monotonic())


class _SyncResponse(_Hook):
    def __call__(self, response: Response) -> None:
        self._watch.answers(response, time.monotonic())
