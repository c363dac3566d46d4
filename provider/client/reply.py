"""The reply to one request: a stream over httpx."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Self

import anyio

from ..classify.classify import request_id_of
from ..classify.exception import classify_exception
from ..failure import Failure, FailureKind, Stage
from ..handover.tool_name import rename_deltas, rename_parts
from ..native_cancel import run_in_child_task
from .attempt_errors import AttemptErrors, name_connect_limit
from .credential import missing_key
from .error_response import is_event_stream, read_failure
from .http_request import build_request
from .idle_timer import idle_timer
from .response_body import Body
from .stream import Stream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from types import TracebackType

    from ..conversation import Part, Usage
    from ..delta import Delta
    from ..error import ProviderError
    from ..secret import Secret
    from ..wire.protocol import Decoder
    from .idle_timer import IdleTimer
    from .rendering import RenderedRequest
    from .shared_http import SharedHttp


class Reply:
    """One answer while it arrives: enter it with ``async with``, and iterate over its deltas.

    Every error is a `ProviderError`; its failure has the route, the stage and the provider's id of
    the request. The time that the loop's body takes never counts against a deadline. A generator
    around the reply may be left at any point, and its task may be cancelled in any way.

    Args:
        is_sheltered: The reply is entered, read and left in one task, which only scopes of anyio
            cancel, and no code of the agent yields meanwhile. Then that task reads the body, within
            one scope.

    Attributes:
        route: The route that answers.
    """

    def __init__(
        self,
        http: SharedHttp,
        rendering: RenderedRequest,
        *,
        secret: Secret,
        wall_clock: Callable[[], float],
        is_sheltered: bool,
    ) -> None:
        provider = rendering.provider
        self.route = rendering.route
        self._http = http
        self._provider = provider
        self._rendering = rendering
        self._secret = secret
        self._errors = AttemptErrors(self.route, self._secret)
        self._wall_clock = wall_clock
        self._slot: anyio.Semaphore | None = None
        self._body: Body | None = None
        self._deltas: AsyncGenerator[Delta, None] | None = None
        self._is_sheltered = is_sheltered
        # One scope for the whole reply, because a scope for every event costs more than the event.
        self._scope = anyio.CancelScope()
        self._idle_timer: IdleTimer
        self._seconds_left = provider.timeouts.first_event

    @cached_property
    def _stream(self) -> Stream:
        """What reads the answer.

        It is made once something arrives, because its twenty objects would cost the garbage
        collector much while a thousand requests wait.
        """
        stream = Stream(self._provider, self._errors)
        decoder = stream.reading.decoder
        decoder.max_output_tokens = self._rendering.max_output_tokens
        decoder.follows_results = self._rendering.follows_results
        return stream

    @property
    def _decoder(self) -> Decoder:
        return self._stream.reading.decoder

    @property
    def parts(self) -> list[Part]:
        """The parts so far, and after the loop the whole answer.

        Before the end, unfinished reasoning is marked and has no signature, and open calls are left
        out.
        """
        return rename_parts(self._decoder.parts, self._rendering.renamed)

    @property
    def stop(self) -> str | None:
        """Why the model stopped, in the provider's own word; None: it has not stopped yet."""
        return self._decoder.stop

    @property
    def assumed(self) -> Sequence[str]:
        """What the provider did not say and was taken for granted, in half a sentence each."""
        return self._decoder.assumed

    @property
    def usage(self) -> Usage:
        """The tokens that the provider has counted so far."""
        return self._decoder.usage

    @property
    def model(self) -> str | None:
        """The model that the provider reports; None: it has not reported one yet."""
        return self._decoder.model

    @property
    def comments(self) -> int:
        """The number of comment lines; some providers keep a connection alive with them."""
        return self._stream.reading.parser.comments

    @property
    def request_id(self) -> str | None:
        """The provider's id of the request; None: it sent none."""
        request_id = request_id_of(self._errors.headers) or self._decoder.request_id
        return request_id and self._secret.redact(request_id)

    async def __aenter__(self) -> Self:
        unsendable = missing_key(self._provider, self._secret)
        if unsendable is not None:
            raise self._errors.error(unsendable)
        if not self._is_sheltered:
            await self._open_apart()
            return self
        self._scope.__enter__()
        self._idle_timer = idle_timer(self._scope)
        try:
            await self._open()
        except BaseException as error:
            await self.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    async def _open_apart(self) -> None:
        """Open the response in a task of its own, and have its blocks read there as well."""
        try:
            await run_in_child_task(self._open_in_time)
            assert self._body is not None  # noqa: S101
            self._idle_timer = self._body.read_apart(self._late)
        except BaseException:
            await self._close()
            raise

    async def _open_in_time(self) -> None:
        with self._scope:
            self._idle_timer = idle_timer(self._scope)
            try:
                await self._open()
            finally:
                self._idle_timer.stop()
        if self._scope.cancelled_caught:
            raise self._late()

    def _late(self) -> ProviderError:
        return self._errors.error(self._timeout())

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
        if not self._is_sheltered:
            await self._close()
            return
        is_late = self._scope.cancel_called
        try:
            await self._close()
        finally:
            is_suppressed = self._scope.__exit__(kind, error, trace)
        if is_late and (is_suppressed or error is None) and not self._stream.reading.is_whole:
            raise self._late() from None

    async def end(self) -> None:
        """Close the connection, so that another request can take its place; `parts` stay.

        The end of the block does this as well. Call it earlier if nothing more is read, but the
        block goes on.
        """
        self._idle_timer.stop()
        await self._close()

    async def _open(self) -> None:
        """Send the request, and read the response if it is not a stream."""
        self._slot = await self._http.acquire_slot()
        self._idle_timer.expect(self._seconds_left)
        try:
            http = self._http.client()
            request = build_request(http, self._rendering, secret=self._secret)
            response = await http.send(request, stream=True, follow_redirects=False)
        except Exception as error:
            failure = classify_exception(error)
            if failure.kind is FailureKind.UNKNOWN:  # no provider and no network causes this
                if (explained := self._http.explained(error)) is not error:
                    raise explained from error
                raise
            name_connect_limit(failure, self._provider.timeouts)
            raise self._errors.error(failure) from self._errors.printable_error(error)
        self._errors.headers = response.headers
        self._body = Body(response, is_sheltered=self._is_sheltered)
        is_stream = await is_event_stream(response, self._body, self._provider.wire)
        self._seconds_left = self._idle_timer.seconds_left
        self._idle_timer.rest()
        if not is_stream:
            failed = await read_failure(
                response, self._body.blocks, provider=self._provider, now=self._wall_clock()
            )
            raise self._errors.error(failed)

    async def _close(self) -> None:
        """Close the deltas and the connection."""
        try:
            if self._deltas is not None:
                with suppress(RuntimeError):  # another task iterates over them
                    await self._deltas.aclose()
            if self._body is not None and not self._body.is_released:
                await self._body.abandon()
        finally:
            slot, self._slot = self._slot, None
            if slot is not None:
                slot.release()

    def _timeout(self) -> Failure:
        timeouts = self._provider.timeouts
        if self._stream.has_output:
            message = f"no further output within {timeouts.gap:g} s (`gap`)"
        else:
            message = f"no output within {timeouts.first_event:g} s (`firstEvent`)"
        stage = Stage.RESPONSE if self._body is None else Stage.STREAM
        return Failure(kind=FailureKind.TIMEOUT, message=message, stage=stage)
