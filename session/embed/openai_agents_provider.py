"""`SidestepModelProvider`: each model call of openai-agents is a step.

Source: openai-agents 0.24, `models/interface.py` and `run_internal/run_loop.py`, read on
2026-11-30.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal

from agents import Model, ModelProvider, ModelResponse, ModelSettings
from openai import BaseModel

from ..event import Event, PartsRetracted
from .built_models import BuiltModels
from .model_route import ModelRoute
from .openai_agents_items import history_of, input_for, settings_for, stamp, without_defaults

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from agents.items import TResponseStreamEvent

    from ...provider.route import Route
    from ..step.attempt import Attempt
    from ..step.middleware import Sidestep
    from ..step.step import Step

_EXAMPLE = (
    "a model of openai-agents, such as "
    "`OpenAIChatCompletionsModel(route.model, openai_client=AsyncOpenAI(…, max_retries=0))`"
)
_BEFORE_OUTPUT = frozenset({"response.created", "response.queued", "response.in_progress"})
_STATE = ("previous_response_id", "conversation_id", "prompt")
"""The arguments of a call that refer to data of one provider."""


class Retracted(BaseModel):
    """All raw events since the answer began are void. The answer begins again.

    It is the ``data`` of a raw response event.

    Args:
        route: The route that failed.
    """

    type: Literal["sidestep.retracted"] = "sidestep.retracted"
    route: str


class SidestepModelProvider(ModelProvider):
    """Take each model call of an agent as a step, with its retries and swaps.

    Pass it as ``RunConfig(model_provider=...)``. If the model of an `Agent` is a string, it is the
    requested route of this agent. Text that was streamed live and is void is reported by a raw
    response event with a `Retracted`.

    Args:
        middleware: The `Sidestep` of the process.
        route: The requested route if an `Agent` names no model, ``provider/model``, or the name of
            a chain.
        build: Returns the model of a route, with the retries of its client off. It is called once
            for each route and key, and before the first call for a requested route. A sibling is
            passed over if `build` raises for it.

    Raises:
        ConfigError: *build* raised for the requested route, or returned no model.
        TypeError: *middleware* is no `Sidestep`, or *build* cannot be called.
        ValueError: *route* is neither a route nor a chain's name.
    """

    def __init__(
        self, middleware: Sidestep, route: str, build: Callable[[ModelRoute], Model]
    ) -> None:
        self._models = BuiltModels(middleware, build, Model, _EXAMPLE)
        self._middleware = middleware
        self._route = route
        self.get_model(None)

    def get_model(self, model_name: str | None) -> Model:
        """Return a model that makes each call a step, with the requested route *model_name*.

        Raises:
            ConfigError: `build` raised for the requested route, or returned no model.
            ValueError: *model_name* is neither a route nor a chain's name.
        """
        asked = self._route if model_name is None else model_name
        self._models.of_route(self._middleware.requested(asked))
        return _SteppedModel(self._middleware, asked, self._models, is_named=model_name is not None)

    async def aclose(self) -> None:
        """Close the models that were built."""
        for model in self._models.built:
            await model.close()


class _SteppedModel(Model):
    """Take each call as a step with the requested route *route*."""

    def __init__(
        self, middleware: Sidestep, route: str, models: BuiltModels[Model], *, is_named: bool
    ) -> None:
        self._middleware = middleware
        self._route = route
        self._models = models
        self._is_named = is_named

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],  # noqa: A002 - the framework's name
        model_settings: ModelSettings,
        *args: Any,
        **kwargs: Any,
    ) -> ModelResponse:
        """Return the answer of the first route that answers."""
        step = self._step(input, kwargs)

        async def call(attempt: Attempt) -> ModelResponse:
            route, requested = attempt.route, step.requested
            return await self._models.of(attempt).get_response(
                system_instructions,
                input_for(input, route, requested),
                self._settings(model_settings, route, requested),
                *args,
                **kwargs,
            )

        response = await step.run(call)
        stamp(response.output, step.route, step.requested)
        return response

    async def stream_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],  # noqa: A002 - the framework's name
        model_settings: ModelSettings,
        *args: Any,
        **kwargs: Any,
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Stream the answer of the first route that answers."""
        void: list[Retracted] = []

        def note(event: Event) -> None:
            if isinstance(event, PartsRetracted):
                void.append(Retracted(route=str(event.route)))

        def open_stream(attempt: Attempt, requested: Route) -> AsyncIterator[TResponseStreamEvent]:
            route = attempt.route
            opened: AsyncIterator[TResponseStreamEvent] = self._models.of(attempt).stream_response(
                system_instructions,
                input_for(input, route, requested),
                self._settings(model_settings, route, requested),
                *args,
                **kwargs,
            )
            return opened

        async with aclosing(self._step(input, kwargs, on_event=note)) as step:
            async for attempt in step:
                while void:
                    yield void.pop()
                async with attempt:
                    async for event in open_stream(attempt, step.requested):
                        _show(event, attempt, step)
                        yield event

    def _settings(self, given: ModelSettings, route: Route, requested: Route) -> ModelSettings:
        settings = settings_for(given, route, requested)
        return settings if self._is_named else without_defaults(settings, route)

    def _step(
        self,
        given: str | list[Any],
        options: dict[str, Any],
        *,
        on_event: Callable[[Event], None] | None = None,
    ) -> Step:
        kept = [name for name in _STATE if options.get(name) is not None]
        requested = self._middleware.requested(self._route)
        home = requested.provider

        def serves(route: Route) -> bool | str:
            if kept and route.provider != home:
                return f"`{kept[0]}` refers to what only {home} has: pass the whole history instead"
            return self._models.serves(route)

        history = history_of(given, requested)
        return self._middleware.step(self._route, serves=serves, history=history, on_event=on_event)


def _show(event: TResponseStreamEvent, attempt: Attempt, step: Step) -> None:
    """Report *event* as shown, and record on its items which route wrote them."""
    if event.type not in _BEFORE_OUTPUT:
        text = attempt.output if isinstance(attempt.output, str) else ""
        is_text = event.type == "response.output_text.delta"
        attempt.emitted(text + event.delta if is_text else text)
    if event.type == "response.output_item.done":
        stamp([event.item], attempt.route, step.requested)
    elif event.type == "response.completed":
        stamp(event.response.output, attempt.route, step.requested)
