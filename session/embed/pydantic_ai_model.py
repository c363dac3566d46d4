"""`SidestepModel`: each model request of a pydantic-ai agent is a step.

Source: pydantic-ai 2.68, `models/wrapper.py` and `models/fallback.py`, read on 2026-11-30.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, assert_never

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import (
    CompletedStreamedResponse,
    Model,
    ModelRequestParameters,
    StreamedResponse,
)
from pydantic_ai.models.wrapper import WrapperModel

from ..callback import shown
from .built_models import BuiltModels
from .pydantic_ai_messages import history_of, messages_for, stamped
from .pydantic_ai_stream import LiveResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from pydantic_ai import RunContext
    from pydantic_ai.settings import ModelSettings

    from ..step.attempt import Attempt
    from ..step.middleware import Sidestep
    from ..step.step import Step
    from .model_route import ModelRoute

Streaming = Literal["whole", "live"]
_EXAMPLE = (
    "a model of pydantic-ai, such as "
    "`OpenAIChatModel(route.model, provider=OpenAIProvider(openai_client=…))`"
)


class SidestepModel(WrapperModel):
    """Take each model request of an agent as a step, with its retries and swaps.

    Each response names its route in ``metadata["sidestep"]``. The model of the requested route
    gives the profile and everything else that pydantic-ai reads from a model.

    Args:
        middleware: The `Sidestep` of the process.
        route: The requested route, ``provider/model``, or the name of a chain.
        build: Returns the model of a route, with the retries of its SDK off. It is called once for
            each route and key, and at once for the requested route. A sibling is passed over if
            `build` raises for it.
        stream: ``whole``: a streamed answer is held until it is whole. ``live``: its events are
            passed on as they come; a failure after the first event raises `StreamInterrupted`,
            because pydantic-ai cannot take back what it has shown.

    Raises:
        ConfigError: *build* raised for the requested route, or returned no model.
        TypeError: *middleware* is no `Sidestep`, or *build* cannot be called.
        ValueError: *route* is neither a route nor a chain's name, or *stream* is another word.
    """

    def __init__(
        self,
        middleware: Sidestep,
        route: str,
        build: Callable[[ModelRoute], Model],
        *,
        stream: Streaming = "whole",
    ) -> None:
        if stream not in ("whole", "live"):
            raise ValueError(f"`stream` is {shown(stream)}: write 'whole' or 'live'")
        self._models = BuiltModels(middleware, build, Model, _EXAMPLE)
        self._middleware = middleware
        self._route = route
        self._stream = stream
        super().__init__(self._models.of_route(middleware.requested(route)))

    @property
    def settings(self) -> None:
        """None, because each model adds its own."""

    def prepare_request(
        self, model_settings: ModelSettings | None, model_request_parameters: ModelRequestParameters
    ) -> tuple[ModelSettings | None, ModelRequestParameters]:
        """Return both unchanged, because each model prepares its own request."""
        return model_settings, model_request_parameters

    def prepare_messages(
        self,
        messages: list[ModelMessage],
        model_request_parameters: ModelRequestParameters | None = None,
    ) -> list[ModelMessage]:
        """Return *messages*, because each model prepares its own."""
        return messages

    def customize_request_parameters(
        self, model_request_parameters: ModelRequestParameters
    ) -> ModelRequestParameters:
        """Return them unchanged, because each model changes its own."""
        return model_request_parameters

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Return the answer of the first route that answers."""
        step = self._step(messages)

        async def call(attempt: Attempt) -> ModelResponse:
            model, sent = self._prepared(messages, model_request_parameters, attempt, step)
            return await model.request(sent, model_settings, model_request_parameters)

        return stamped(await step.run(call), step)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncIterator[StreamedResponse]:
        """Stream the answer of the first route that answers."""
        step, parameters = self._step(messages), model_request_parameters

        def open_stream(attempt: Attempt) -> AbstractAsyncContextManager[StreamedResponse]:
            model, sent = self._prepared(messages, parameters, attempt, step)
            opened: AbstractAsyncContextManager[StreamedResponse] = model.request_stream(
                sent, model_settings, parameters, run_context
            )
            return opened

        if self._stream == "whole":

            async def call(attempt: Attempt) -> ModelResponse:
                async with open_stream(attempt) as stream:
                    async for _ in stream:
                        pass
                return stream.get()

            yield CompletedStreamedResponse(
                stamped(await step.run(call), step),
                model_request_parameters=parameters,
                replay_events=True,
            )
        elif self._stream == "live":
            response = LiveResponse(parameters, step, open_stream)
            try:
                await response.prime()
                yield response
            finally:
                await response.aclose()
        else:
            assert_never(self._stream)

    def _step(self, messages: list[ModelMessage]) -> Step:
        history = history_of(messages, self._middleware.requested(self._route))
        return self._middleware.step(self._route, serves=self._models.serves, history=history)

    def _prepared(
        self,
        messages: list[ModelMessage],
        parameters: ModelRequestParameters,
        attempt: Attempt,
        step: Step,
    ) -> tuple[Model, list[ModelMessage]]:
        model = self._models.of(attempt)
        sent = messages_for(messages, attempt.route, step.requested)
        return model, model.prepare_messages(sent, parameters)
