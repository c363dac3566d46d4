"""One request, one stream, over httpx."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Self

import anyio
import sniffio

from . import anthropic, openai_chat
from .classify import BODY_LIMIT, classify_response, has_error_object, request_id_of
from .error import ProviderError
from .failure import Failure, FailureKind, Stage
from .foreign import classify_exception
from .sse import SseParser
from .wire import read_json, write_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
    from types import TracebackType

    import httpx

    from .catalog import Provider
    from .delta import Delta
    from .part import Conversation, Part, Usage
    from .route import Route
    from .wire import Adapter, Wire

_ADAPTERS: Mapping[Wire, Adapter] = {"anthropic": anthropic, "openai-chat": openai_chat}

# Seconds. Each bounds something that must not hold up an attempt whose outcome is known.
_LINGER = 5.0  # for what may follow the reason for the end: usage, the marker, late content
_DRAIN = 0.5  # for the last bytes of a whole body, so that its connection can be used again
_CLOSE = 1.0  # to close a connection
_ERROR_BODY = 5.0  # for the body of an error whose status came already


class Reply:
    """One answer while it comes: ``async with`` it, and iterate over its deltas, in one task.

    Whatever goes wrong raises `ProviderError`, whose failure names the route, the stage and
    the provider's id of the request. Time that the body of the loop takes is never counted
    against a deadline.

    Attributes:
        route: Where it comes from.
    """

    def __init__(
        self,
        transport: Callable[[], httpx.AsyncClient],
        provider: Provider,
        route: Route,
        conversation: Conversation,
        *,
        key: str | None,
        wall_clock: Callable[[], float],
    ) -> None:
        self.route = route
        self._transport = transport
        self._provider = provider
        self._conversation = conversation
        self._key = key
        self._wall_clock = wall_clock
        self._adapter = _ADAPTERS[provider.wire]
        self._decoder = self._adapter.Decoder(provider)
        self._parser = SseParser()
        self._response: httpx.Response | None = None
        self._blocks: AsyncGenerator[bytes, None] | None = None
        self._deltas: AsyncGenerator[Delta, None] | None = None
        # One scope for the whole reply, whose deadline moves: a scope for every event costs
        # more than the event.
        self._scope = anyio.CancelScope()
        self._seconds_left = provider.timeouts.first_event
        self._has_output = False
        self._is_whole = False

    @property
    def parts(self) -> list[Part]:
        """What came so far, and after the loop the whole answer.

        Before the end, unfinished reasoning is marked so and has no signature, and calls that
        are not closed are left out.
        """
        return self._decoder.parts

    @property
    def stop(self) -> str | None:
        """Why the model stopped, in the provider's own word; None while it has not."""
        return self._decoder.stop

    @property
    def usage(self) -> Usage:
        """What the provider counted so far."""
        return self._decoder.usage

    @property
    def model(self) -> str | None:
        """The model that the provider says it used; None while it has not said."""
        return self._decoder.model

    @property
    def comments(self) -> int:
        """How many comment lines came, by which a provider says that it is alive."""
        return self._parser.comments

    @property
    def request_id(self) -> str | None:
        """The provider's id of the request; None where it gave none."""
        named = None if self._response is None else request_id_of(self._response.headers)
        return named or self._decoder.request_id

    async def __aenter__(self) -> Self:
        self._check_key()
        self._scope.__enter__()
        try:
            await self._open()
        except BaseException as error:
            await self.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    def __aiter__(self) -> AsyncGenerator[Delta, None]:
        if self._deltas is None:
            self._deltas = self._read()
        return self._deltas

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._scope.deadline = math.inf
        is_late = self._scope.cancel_called
        try:
            await self._close(is_reusable=error is None and self._is_whole)
        finally:
            is_swallowed = self._scope.__exit__(kind, error, trace)
        if is_late and (is_swallowed or error is None) and not self._is_whole:
            raise self._named(self._timeout()) from None

    def _check_key(self) -> None:
        """Send nothing without the key that the provider wants.

        Raises:
            ProviderError: It is not there, or cannot stand in a header.
        """
        variable, key = self._provider.api_key_env, self._key
        if variable is None or (key is not None and key.isascii() and key.isprintable()):
            return
        problem = "is not set" if key is None else "holds characters that no key has"
        message = f"{variable} {problem}: set it to a key of {self._provider.name}"
        raise self._named(
            Failure(kind=FailureKind.AUTH, message=message, status=401, stage=Stage.CONNECT)
        )

    async def _open(self) -> None:
        """Send the request, and look at what kind of answer comes."""
        self._scope.deadline = anyio.current_time() + self._seconds_left
        try:
            response = await self._send()
        except Exception as error:
            failure = classify_exception(error)
            if failure.kind is FailureKind.UNKNOWN:
                raise  # no provider and no network did this
            raise self._named(self._unconnected(failure)) from self._quotable(error)
        self._response = response
        self._seconds_left = self._scope.deadline - anyio.current_time()
        self._scope.deadline = math.inf
        is_plain = response.headers.get("content-encoding", "identity") == "identity"
        # A transport in a test may have read the body itself.
        is_raw = is_plain and not response.is_stream_consumed
        blocks = response.aiter_raw() if is_raw else response.aiter_bytes()
        self._blocks = blocks  # type: ignore[assignment]  # a generator, though typed as less
        if not 200 <= response.status_code < 300:
            raise self._named(self._classified(response, await self._error_body(blocks)))
        if "json" in response.headers.get("content-type", ""):
            raise self._named(self._not_a_stream(response, await self._error_body(blocks)))

    async def _send(self) -> httpx.Response:
        http = self._transport()
        request = http.build_request(
            "POST",
            self._provider.base_url.rstrip("/") + self._adapter.PATH,
            content=write_json(self._adapter.encode(self._conversation, self.route)),
            headers={
                "content-type": "application/json",
                "accept": "text/event-stream",
                "accept-encoding": "identity",
                **self._adapter.headers(self._key),
            },
            timeout=(self._provider.timeouts.connect, None, None, None),
        )
        return await http.send(request, stream=True)

    async def _error_body(self, blocks: AsyncIterator[bytes]) -> bytes:
        """Read the body of an error, or what comes of it: its status counts without it."""
        body = bytearray()
        with anyio.move_on_after(_ERROR_BODY), suppress(Exception):
            async for block in blocks:
                body += block
                if len(body) >= BODY_LIMIT:
                    break
        return bytes(body[:BODY_LIMIT])

    def _classified(self, response: httpx.Response, body: bytes) -> Failure:
        return classify_response(
            response.status_code,
            response.headers,
            body,
            provider=self._provider.name,
            wire=self._provider.wire,
            now=self._wall_clock(),
        )

    def _not_a_stream(self, response: httpx.Response, body: bytes) -> Failure:
        """Read the JSON that came with a 200 in place of events: an error, as a rule."""
        try:
            has_error = has_error_object(read_json(body))
        except ValueError:
            has_error = False
        if has_error:
            return self._classified(response, body)
        return Failure(
            kind=FailureKind.SERVER_ERROR,
            message="answered a request for a stream with JSON that tells of no error",
            stage=Stage.STREAM,
        )

    async def _read(self) -> AsyncGenerator[Delta, None]:
        """Read the events up to the terminal marker, or to where the body ends."""
        assert self._blocks is not None  # noqa: S101
        scope, decoder, feed = self._scope, self._decoder, self._parser.feed
        decode, now, gap = decoder.decode, _clock(), self._provider.timeouts.gap
        unshown = 0
        broken: Failure | None = None
        try:
            scope.deadline = now() + self._seconds_left
            async for block in self._blocks:
                has_output = False
                for name, data in feed(block):
                    deltas = decode(data, name)
                    if deltas and not has_output:
                        has_output = True
                        scope.deadline = math.inf
                    for delta in deltas:
                        yield delta
                    if decoder.is_done:
                        break
                if has_output or decoder.unshown != unshown:
                    unshown = decoder.unshown
                    self._has_output = True
                    scope.deadline = now() + gap
                if decoder.is_done or decoder.stop is not None:
                    break
            scope.deadline = math.inf
            while decoder.stop is not None and not decoder.is_done:
                late = await self._late_deltas()
                if late is None:
                    break
                for delta in late:
                    yield delta
        except ProviderError as error:
            raise self._named(error.failure) from self._quotable(error.__cause__)
        except Exception as error:
            broken = self._lost(error)
            if broken is None:
                raise
        scope.deadline = math.inf
        for delta in self._last_deltas(broken):
            yield delta

    async def _late_deltas(self) -> list[Delta] | None:
        """Wait a little for what may follow the reason for the end; None where nothing does."""
        assert self._blocks is not None  # noqa: S101
        with anyio.move_on_after(_LINGER):
            async for block in self._blocks:
                events = self._parser.feed(block)
                return [delta for name, data in events for delta in self._decode(name, data)]
        return None

    def _last_deltas(self, broken: Failure | None) -> list[Delta]:
        """Read what the body left unfinished, and judge the answer.

        Raises:
            ProviderError: It is not whole, or means failure.
        """
        try:
            deltas = [
                delta
                for name, data in self._parser.flush()
                if _is_json(data)  # what is not was cut
                for delta in self._decode(name, data)
            ]
            deltas += self._decoder.end(is_clean=broken is None)
        except ProviderError as error:
            failure = error.failure
            if broken is not None and failure.kind is FailureKind.TRUNCATED:
                failure = _cut(failure, broken)
            raise self._named(failure) from self._quotable(failure.cause)
        self._is_whole = True
        return deltas

    def _decode(self, name: bytes, data: bytes) -> Sequence[Delta]:
        """Decode an event, unless the answer is whole: then nothing can undo it."""
        return () if self._decoder.is_done else self._decoder.decode(data, name)

    async def _close(self, *, is_reusable: bool) -> None:
        """Let go of the connection, also where we are being cancelled."""
        try:
            if is_reusable:
                with anyio.move_on_after(_DRAIN, shield=True):
                    await self._exhaust()
        finally:
            with anyio.move_on_after(_CLOSE, shield=True):
                for closing in (self._deltas, self._response):
                    if closing is not None:
                        with suppress(Exception):
                            await closing.aclose()
                await self._exhaust()

    async def _exhaust(self) -> None:
        """Run the generators of the transport to their end, which is near once it is closed.

        Closing the outermost would leave those below it to the garbage collector.
        """
        if self._blocks is not None:
            with suppress(Exception):
                async for _ in self._blocks:
                    pass

    def _lost(self, error: Exception) -> Failure | None:
        """Name what broke the stream; None where no provider and no network did."""
        failure = classify_exception(error)
        if failure.kind is FailureKind.UNKNOWN:
            return None
        failure.stage = Stage.STREAM
        return failure

    def _unconnected(self, failure: Failure) -> Failure:
        if failure.kind is FailureKind.TIMEOUT and failure.stage is Stage.CONNECT:
            seconds = self._provider.timeouts.connect
            failure.message = f"no connection within {seconds:g} s (`connect`)"
        return failure

    def _timeout(self) -> Failure:
        timeouts = self._provider.timeouts
        if self._has_output:
            message = f"no further output within {timeouts.gap:g} s (`gap`)"
        else:
            message = f"no output within {timeouts.first_event:g} s (`firstEvent`)"
        stage = Stage.RESPONSE if self._response is None else Stage.STREAM
        return Failure(kind=FailureKind.TIMEOUT, message=message, stage=stage)

    def _named(self, failure: Failure) -> ProviderError:
        """Say where *failure* happened; the key stands in none of its words."""
        failure.route = self.route
        failure.request_id = failure.request_id or self.request_id
        failure.message = self._without_key(failure.message)
        failure.code = failure.code and self._without_key(failure.code)
        failure.cause = self._quotable(failure.cause)
        return ProviderError(failure)

    def _without_key(self, text: str) -> str:
        key = self._key
        if not key:
            return text
        text = text.replace(key, "[key]")
        for size in range(len(key) - 1, 7, -1):  # a message may have been cut inside it
            if text.rstrip("…").endswith(key[:size]):
                return text.rstrip("…")[:-size] + "[key]"
        return text

    def _quotable(self, error: BaseException | None) -> BaseException | None:
        """Return *error* where it, and what caused it, may be printed."""
        link, key = error, self._key or "\0"
        for _ in range(16):
            if link is None:
                return error
            if key in str(link) or key in repr(link):
                return None
            link = link.__cause__ or link.__context__
        return None


def _clock() -> Callable[[], float]:
    """Return the clock of the running loop, which `anyio.current_time` looks for every time."""
    if sniffio.current_async_library() == "asyncio":
        import asyncio  # loaded by now, where at the top it would cost every import of ours 20 ms

        return asyncio.get_running_loop().time
    return anyio.current_time


def _is_json(data: bytes) -> bool:
    try:
        read_json(data)
    except ValueError:
        return False
    return True


def _cut(failure: Failure, broken: Failure) -> Failure:
    """Say what cut the stream; a deadline of the transport stays one."""
    if broken.kind is FailureKind.TIMEOUT:
        return broken
    failure.message = f"{failure.message}: {broken.message}"
    failure.code, failure.cause = broken.code, broken.cause
    return failure
