"""One request, one stream, over httpx."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Self

import anyio

from ..classify.classify import request_id_of
from ..classify.exception import classify_exception
from ..failure import Failure, FailureKind, Stage
from ..handover.tool_name import rename_deltas, rename_parts
from ..secret import Secret
from .attempt_errors import AttemptErrors
from .error_response import read_refusal
from .http_request import build_request, missing_key
from .idle_timer import idle_timer
from .response_body import Body
from .stream import Stream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from types import TracebackType

    from ..conversation import Part, Usage
    from ..delta import Delta
    from .idle_timer import IdleTimer
    from .rendering import Rendering
    from .shared_http import SharedHttp


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
        http: SharedHttp,
        rendering: Rendering,
        *,
        key: str | None,
        wall_clock: Callable[[], float],
    ) -> None:
        provider = rendering.provider
        self.route = rendering.route
        self._http = http
        self._provider = provider
        self._rendering = rendering
        self._secret = Secret(key)
        self._blame = AttemptErrors(self.route, self._secret)
        self._wall_clock = wall_clock
        self._stream = Stream(provider, self._blame)
        self._decoder = self._stream.decoder
        self._body: Body | None = None
        self._deltas: AsyncGenerator[Delta, None] | None = None
        # One scope for the whole reply: one for every event costs more than the event.
        self._scope = anyio.CancelScope()
        self._idle_timer: IdleTimer
        self._seconds_left = provider.timeouts.first_event

    @property
    def parts(self) -> list[Part]:
        """What came so far, and after the loop the whole answer.

        Before the end, unfinished reasoning is marked so and has no signature, and calls that
        are not closed are left out.
        """
        return rename_parts(self._decoder.parts, self._rendering.renamed)

    @property
    def stop(self) -> str | None:
        """Why the model stopped, in the provider's own word; None while nobody has said."""
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
        return self._stream.parser.comments

    @property
    def request_id(self) -> str | None:
        """The provider's id of the request; None where it gave none."""
        named = request_id_of(self._blame.headers) or self._decoder.request_id
        return named and self._secret.hidden_in(named)

    async def __aenter__(self) -> Self:
        unsendable = missing_key(self._provider, self._secret)
        if unsendable is not None:
            raise self._blame.error(unsendable)
        self._scope.__enter__()
        self._idle_timer = idle_timer(self._scope)
        try:
            await self._open()
        except BaseException as error:
            await self.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    def __aiter__(self) -> AsyncGenerator[Delta, None]:
        if self._deltas is None:
            assert self._body is not None  # noqa: S101
            deltas = self._stream.deltas(self._body, self._idle_timer, first=self._seconds_left)
            renamed = self._rendering.renamed
            self._deltas = rename_deltas(deltas, renamed) if renamed else deltas
        return self._deltas

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._idle_timer.stop()
        is_late = self._scope.cancel_called
        try:
            await self._close()
        finally:
            is_swallowed = self._scope.__exit__(kind, error, trace)
        if is_late and (is_swallowed or error is None) and not self._stream.is_whole:
            raise self._blame.error(self._timeout()) from None

    async def _open(self) -> None:
        """Send the request, and look at what kind of answer comes."""
        self._idle_timer.expect(self._seconds_left)
        try:
            http = self._http.client()
            request = build_request(http, self._rendering, secret=self._secret)
            response = await http.send(request, stream=True)
        except Exception as error:
            failure = classify_exception(error)
            if failure.kind is FailureKind.UNKNOWN:  # no provider and no network did this
                if (explained := self._http.explained(error)) is not error:
                    raise explained from error
                raise
            raise self._blame.error(self._unconnected(failure)) from self._blame.quotable(error)
        self._seconds_left = self._idle_timer.seconds_left
        self._idle_timer.rest()
        self._blame.headers = response.headers
        self._body = Body(response)
        refusal = await read_refusal(
            response, self._body.blocks, provider=self._provider, now=self._wall_clock()
        )
        if refusal is not None:
            raise self._blame.error(refusal)

    async def _close(self) -> None:
        """Let go of the connection."""
        if self._deltas is not None:
            with suppress(RuntimeError):  # another task iterates over them
                await self._deltas.aclose()
        if self._body is not None and not self._body.is_released:
            await self._body.abandon()

    def _unconnected(self, failure: Failure) -> Failure:
        if failure.kind is FailureKind.TIMEOUT and failure.stage is Stage.CONNECT:
            seconds = self._provider.timeouts.connect
            failure.message = f"no connection within {seconds:g} s (`connect`)"
        return failure

    def _timeout(self) -> Failure:
        timeouts = self._provider.timeouts
        if self._stream.has_output:
            message = f"no further output within {timeouts.gap:g} s (`gap`)"
        else:
            message = f"no output within {timeouts.first_event:g} s (`firstEvent`)"
        stage = Stage.RESPONSE if self._body is None else Stage.STREAM
        return Failure(kind=FailureKind.TIMEOUT, message=message, stage=stage)
