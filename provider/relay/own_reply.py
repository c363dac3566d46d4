"""The answer to a client's own request: raw bytes, judged as our own client judges an answer."""

from __future__ import annotations

from traceback import clear_frames
from typing import TYPE_CHECKING, Self

import anyio

from ..classify.classify import BODY_LIMIT
from ..classify.exception import classify_exception
from ..client.attempt_errors import AttemptErrors, name_connect_limit
from ..client.error_response import failure_of_response, read_body
from ..client.response_body import Body
from ..conversation import Usage
from ..failure import Failure, FailureKind
from ..watch.body import AsyncBody
from ..watch.model_call import ModelCall
from ..watch.watched_answer import BodyForm, WatchedAnswer
from ..wire.reading import MAX_ANSWER
from ..wire.stream_error import too_large
from .own_request import Lines, answered_headers
from .raw_response import send

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import TracebackType

    import httpx

    from ..client.shared_http import SharedHttp
    from .own_request import OwnRequest

_DRAINING = 0.5
"""Seconds for all that follows a whole answer, so that the connection can be used again."""
MAX_TRAILING = 1_048_576
"""The most bytes of what follows a whole answer."""


class OwnReply:
    """One answer while it arrives: enter it with ``async with``, and call `read` until it ends.

    Every failure is a `ProviderError`, which `read` raises before it returns the block with the
    failure in it.

    Attributes:
        status: The status of the response; 0: there is none yet.
        headers: Those of its headers that go to the client.
        error_body: The body of a response that is an error, without our key; None: it is too long,
            or the response is no error.
    """

    def __init__(self, http: SharedHttp, request: OwnRequest) -> None:
        self.status = 0
        self.headers: Lines = ()
        self.error_body: bytes | None = None
        self._http = http
        self._request = request
        self._errors = AttemptErrors(None, request.secret)
        self._slot: anyio.Semaphore | None = None
        self._body: Body | None = None
        self._watched: AsyncBody | None = None
        self._blocks: AsyncIterator[bytes] | None = None
        self._answer: WatchedAnswer | None = None
        self._bytes_left = MAX_ANSWER
        self._drained_at: float | None = None
        self._usage = Usage()
        self._call = ModelCall(
            provider=request.provider,
            content=request.content,
            is_certain=True,
            asks_stream=request.asks_stream,
            url=request.url,
        )

    async def __aenter__(self) -> Self:
        self._slot = await self._http.acquire_slot()
        try:
            await self._open(*await self._send())
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        try:
            if self._body is not None and not self._body.is_released:
                await self._body.abandon()
        finally:
            self._forget()
            clear_frames(trace)
            slot, self._slot = self._slot, None
            if slot is not None:
                slot.release()

    def _forget(self) -> None:
        """Let go of what was read.

        An error is kept and refers to this reply. The collector may come so late that the memory
        would fill with answers that failed.
        """
        self._usage = self.usage
        self._answer = self._watched = self._blocks = None

    @property
    def has_output(self) -> bool:
        """True once any output has arrived."""
        return self._answer is not None and self._answer.has_output

    @property
    def has_failed(self) -> bool:
        """True once something in the answer was a failure, also while it is still being closed."""
        return self._watched is not None and self._watched.has_failed

    @property
    def usage(self) -> Usage:
        """The tokens that the provider has reported so far."""
        return self._usage if self._answer is None else self._answer.usage

    async def read(self) -> bytes | None:
        """Return the next block; None: the answer has ended, and is whole.

        Raises:
            ProviderError: The answer failed.
        """
        assert self._body is not None  # noqa: S101
        if self._answer is not None and self._answer.is_whole:
            return await self._read_trailing()
        block = await self._next()
        if self._bytes_left < 0:
            raise self._errors.error(too_large("an answer", MAX_ANSWER).failure)
        return block

    async def _read_trailing(self) -> bytes | None:
        """Return a block after the end of the answer, if one comes soon."""
        if self._drained_at is None:
            self._drained_at = anyio.current_time() + _DRAINING
            self._bytes_left = MAX_TRAILING
        with anyio.CancelScope(deadline=self._drained_at):
            block = await self._next()
            return block if self._bytes_left >= 0 else None
        return None

    async def _next(self) -> bytes | None:
        """Return the next block; None: there is none, and the connection is free."""
        assert self._body is not None  # noqa: S101
        assert self._blocks is not None  # noqa: S101
        block = await anext(self._blocks, None)
        if block is None:
            await self._body.release()
        else:
            self._bytes_left -= len(block)
        return block

    async def _send(self) -> tuple[httpx.Response, float]:
        """Return the response, and the seconds that are left for its first output."""
        longest = self._call.first_output_seconds
        begun_at = anyio.current_time()
        with anyio.move_on_after(longest):
            try:
                response = await send(self._http.client(), self._request)
            except Exception as error:
                failure = self._explained(error)
                if failure is None:
                    raise
                printable = self._errors.printable_error(error)
                raise self._errors.error(failure) from printable
            return response, max(longest - (anyio.current_time() - begun_at), 0.001)
        message = f"no answer within {longest:g} s (`firstEvent`)"
        raise self._errors.error(Failure(kind=FailureKind.TIMEOUT, message=message))

    def _explained(self, error: Exception) -> Failure | None:
        """Return what *error*, of sending, means; None: no provider and no network caused it."""
        failure = classify_exception(error)
        name_connect_limit(failure, self._request.provider.timeouts)
        return None if failure.kind is FailureKind.UNKNOWN else failure

    async def _open(self, response: httpx.Response, seconds_left: float) -> None:
        secret = self._request.secret
        self.status = response.status_code
        self.headers = answered_headers(response.headers.multi_items(), secret)
        self._errors.headers = response.headers
        body = self._body = Body(response)
        if not 200 <= response.status_code < 300:
            await self._refuse(response, body)
        form = BodyForm(
            response.status_code,
            response.headers,
            dict(self._request.lines),
            response.headers.get("content-type", ""),
        )
        answer = self._answer = WatchedAnswer(self._call, form)
        self._watched = AsyncBody(answer, lambda: None, _Blocks(body), seconds_left)
        self._blocks = self._watched.__aiter__()

    async def _refuse(self, response: httpx.Response, body: Body) -> None:
        """Raise the failure that *response* reports."""
        text = await read_body(body.blocks)
        if len(text) < BODY_LIMIT:
            self.error_body = self._request.secret.redact_body(text)
        failure = failure_of_response(
            response.status_code, response.headers, text, provider=self._request.provider
        )
        raise self._errors.error(failure)


class _Blocks:
    """The blocks of a body, decompressed, as a watched body takes them."""

    def __init__(self, body: Body) -> None:
        self._body = body

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._body.blocks.__aiter__()

    async def aclose(self) -> None:
        await self._body.abandon()
