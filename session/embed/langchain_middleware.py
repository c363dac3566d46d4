"""`SidestepMiddleware`: each model call of a LangChain agent is a step.

Source: langchain 1.5.2, `agents/middleware/types.py` and `agents/factory.py`, read on 2026-11-30.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage

from ..event import Event, PartsRetracted
from .answer_history import STAMP
from .built_models import BuiltModels
from .langchain_messages import history_of, request_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from ..step.attempt import Attempt
    from ..step.base_attempt import BaseAttempt
    from ..step.base_step import BaseStep
    from ..step.middleware import Sidestep
    from ..step.move_policy import MoveHistory
    from ..step.sync_attempt import SyncAttempt
    from .model_route import ModelRoute

    Build = Callable[[ModelRoute], BaseChatModel]
    Handler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    SyncHandler = Callable[[ModelRequest[Any]], ModelResponse[Any]]

RETRACTED = "sidestep.retracted"
_EXAMPLE = "a chat model of LangChain, such as `ChatOpenAI(model=route.model, max_retries=0)`"


class SidestepMiddleware(AgentMiddleware[Any, Any, Any]):
    """Take each model call of an agent as a step, with its retries and swaps.

    Text that was streamed live and is void is reported as a custom event,
    ``{"type": "sidestep.retracted", "route": ..., "message_id": ...}``, which comes with
    ``stream_mode="custom"``. Each answer names its route in ``response_metadata["sidestep"]``.

    Args:
        middleware: The `Sidestep` of the process.
        route: The requested route, ``provider/model``, or the name of a chain. The model of the
            agent itself is not used.
        build: Returns the chat model of a route, with its own retries off (``max_retries=0``). It
            is called once for each route and key, and at once for the requested route. A sibling is
            passed over if `build` raises for it.

    Raises:
        ConfigError: *build* raised for the requested route, or returned no chat model.
        TypeError: *middleware* is no `Sidestep`, or *build* cannot be called.
        ValueError: *route* is neither a route nor a chain's name.
    """

    def __init__(self, middleware: Sidestep, route: str, build: Build) -> None:
        super().__init__()
        self._models = BuiltModels(
            middleware, build, BaseChatModel, _EXAMPLE, adapt=self._reporting
        )
        self._middleware = middleware
        self._route = route
        self._shown = _ShownText()
        self._models.of_route(middleware.requested(route))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Handler
    ) -> ModelResponse[Any]:
        """Return the answer of the first route that answers."""
        shown = _Shown(request)
        step = self._middleware.step(
            self._route,
            serves=self._models.serves,
            history=self._history(request),
            on_event=shown.take_back,
        )

        async def call(attempt: Attempt) -> ModelResponse[Any]:
            return await handler(self._request(request, step, attempt, shown))

        return _stamped(await step.run(call), step)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: SyncHandler
    ) -> ModelResponse[Any]:
        """Return the answer of the first route that answers, without an event loop."""
        shown = _Shown(request)
        step = self._middleware.step_sync(
            self._route,
            serves=self._models.serves,
            history=self._history(request),
            on_event=shown.take_back,
        )

        def call(attempt: SyncAttempt) -> ModelResponse[Any]:
            return handler(self._request(request, step, attempt, shown))

        return _stamped(step.run(call), step)

    def _history(self, request: ModelRequest[Any]) -> MoveHistory | None:
        return history_of(request.messages, self._middleware.requested(self._route))

    def _request(
        self,
        request: ModelRequest[Any],
        step: BaseStep,
        attempt: BaseAttempt,
        shown: _Shown,
    ) -> ModelRequest[Any]:
        shown.begin(attempt)
        self._shown.current.set(shown)
        made = request_for(request, attempt.route, step.requested)
        return made.override(model=self._models.of(attempt))

    def _reporting(self, model: BaseChatModel) -> BaseChatModel:
        """Return *model* so that it reports the text that it streams."""
        callbacks = model.callbacks
        own = callbacks if isinstance(callbacks, list) else getattr(callbacks, "handlers", ())
        return model.model_copy(update={"callbacks": [*own, self._shown]})


class _Shown:
    """The output of the model call of *request* that was shown."""

    def __init__(self, request: ModelRequest[Any]) -> None:
        self._request = request
        self._message_id: str | None = None
        self._attempt: BaseAttempt | None = None
        self._text = ""
        self._reporter: str | None = None

    def begin(self, attempt: BaseAttempt) -> None:
        """Count the text that is shown from now on as output of *attempt*."""
        self._attempt, self._text, self._message_id = attempt, "", None
        self._reporter = None

    def more(self, text: str, message_id: str, reporter: str) -> None:
        """Report to the attempt that *text* was shown.

        Args:
            reporter: The callback that got the text. Some models call two of them with the same
                text, and only the first one counts.
        """
        self._reporter = self._reporter or reporter
        if self._attempt is not None and self._reporter == reporter:
            self._text += text
            self._message_id = message_id
            self._attempt.emitted(self._text)

    def take_back(self, event: Event) -> None:
        """Write the custom event that the text is void, if *event* says so."""
        if isinstance(event, PartsRetracted):
            self._request.runtime.stream_writer(
                {"type": RETRACTED, "route": str(event.route), "message_id": self._message_id}
            )


class _ShownText(BaseCallbackHandler):
    """Report the text that a model streams to the model call that runs in the same context."""

    run_inline = True  # in the context of the call, not in a thread

    def __init__(self) -> None:
        self.current: ContextVar[_Shown | None] = ContextVar("sidestep_shown", default=None)

    def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],
        *,
        chunk: Any = None,
        run_id: UUID,
        **_: Any,
    ) -> None:
        """Report a part of a message."""
        message = getattr(chunk, "message", None)
        if token or getattr(message, "tool_call_chunks", None):  # the first and the last have none
            text = token if isinstance(token, str) else getattr(message, "text", "")
            self._more(text, getattr(message, "id", None) or _name_of(run_id), "token")

    def on_stream_event(self, event: Any, *, run_id: UUID, **_: Any) -> None:
        """Report an event of ``stream_events(version="v3")``."""
        delta = event.get("delta") if isinstance(event, dict) else None
        if isinstance(delta, dict):
            text = delta.get("text")
            self._more(text if isinstance(text, str) else "", _name_of(run_id), "event")

    def _more(self, text: str, message_id: str, reporter: str) -> None:
        shown = self.current.get()
        if shown is not None:
            shown.more(text, message_id, reporter)


def _name_of(run_id: UUID) -> str:
    return f"lc_run--{run_id}"  # as langchain_core names a message


def _stamped(response: ModelResponse[Any], step: BaseStep) -> ModelResponse[Any]:
    for message in response.result:
        if isinstance(message, AIMessage):
            message.response_metadata[STAMP] = {
                "route": str(step.route),
                "requested": str(step.requested),
            }
    return response
