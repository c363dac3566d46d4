"""`LiveResponse`: the events of a step, as they come, as one response of pydantic-ai.

Source: pydantic-ai 2.68, `StreamedResponse` in `models/__init__.py`, read on 2026-11-30.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import (
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.models import ModelRequestParameters, StreamedResponse

from .pydantic_ai_messages import stamped

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from ..step.attempt import Attempt
    from ..step.step import Step

    Open = Callable[[Attempt], AbstractAsyncContextManager[StreamedResponse]]


class LiveResponse(StreamedResponse):
    """The response of the attempt that runs; once an event was shown, no other attempt follows.

    Args:
        parameters: The parameters of the request.
        step: The step that makes the attempts.
        open_stream: Opens the stream of a route.
    """

    _event_iterator: AsyncIterator[ModelResponseStreamEvent] | None

    def __init__(self, parameters: ModelRequestParameters, step: Step, open_stream: Open) -> None:
        super().__init__(parameters)
        self._step = step
        self._open = open_stream
        self._inner: StreamedResponse | None = None
        self._first: list[ModelResponseStreamEvent] = []
        self._rest = self._live_events()

    async def prime(self) -> None:
        """Wait for the first event, because until then the response has no name and no time.

        Raises:
            Exception: The exception that ended the step before the first event.
        """
        async for event in self._rest:
            self._first.append(event)
            break

    async def aclose(self) -> None:
        """End the attempt that runs, if its events were not read to the end."""
        await self._rest.aclose()

    def __aiter__(self) -> AsyncIterator[ModelResponseStreamEvent]:
        if self._event_iterator is None:
            self._event_iterator = self._get_event_iterator()
        return self._event_iterator

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        while self._first:
            yield self._first.pop(0)
        async for event in self._rest:
            yield event

    async def _live_events(self) -> Any:
        async with aclosing(self._step) as attempts:
            async for attempt in attempts:
                async with attempt, self._open(attempt) as self._inner:
                    text = ""
                    async for event in _until_cancelled(self._inner):
                        text += _text_of(event)
                        attempt.emitted(text, can_retract=False)
                        self.final_result_event = self._inner.final_result_event
                        yield event

    @property
    def _opened(self) -> StreamedResponse:
        if self._inner is None:
            raise RuntimeError("the stream of no route was opened: enter `request_stream` first")
        return self._inner

    def get(self) -> ModelResponse:
        """Return the parts that have arrived so far."""
        response = self._opened.get()
        return stamped(response, self._step) if response.state == "complete" else response

    async def close_stream(self) -> None:
        """Close the stream that is read, without an error where it is read."""
        await self._opened.cancel()

    @property
    def usage(self) -> Any:
        """The tokens that the answer took so far."""
        return self._opened.usage

    @property
    def model_name(self) -> str:
        """The model that answers."""
        return str(self._opened.model_name)

    @property
    def provider_name(self) -> str | None:
        """The provider that answers."""
        name: str | None = self._opened.provider_name
        return name

    @property
    def provider_url(self) -> str | None:
        """The address of this provider."""
        url: str | None = self._opened.provider_url
        return url

    @property
    def timestamp(self) -> datetime:
        """When the answer began."""
        began: datetime = self._opened.timestamp
        return began


async def _until_cancelled(stream: StreamedResponse) -> AsyncIterator[ModelResponseStreamEvent]:
    """Yield the events of *stream*; an exception that follows from its cancellation ends them."""
    try:
        async for event in stream:
            yield event
    except Exception:
        if not stream.cancelled:
            raise


def _text_of(event: ModelResponseStreamEvent) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return str(event.part.content)
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return str(event.delta.content_delta)
    return ""
