"""A conversation over our own client: the engine's loop round a streamed reply."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..provider.part import Conversation, Message, Settings, Text
from ..provider.route import Route
from .event import TurnEnded, notify

if TYPE_CHECKING:
    from ..provider.client import Client
    from ..provider.cure import Cure
    from ..provider.failure import Failure
    from ..provider.part import Part
    from ..provider.rendering import Rendering
    from .attempt import Attempt
    from .event import Event, Listener
    from .middleware import Sidestep


class Session:
    """One conversation, and the loop that goes on with it.

    An attempt's parts reach the conversation only once its stream has ended well, so that
    nothing of a failed attempt is ever kept or sent.

    Args:
        route: The route to ask for, ``provider/model``.
        middleware: What retries and swaps; share one between all sessions.
        client: What sends the requests; share one as well.
        system: Instructions that stand before the conversation.
        max_output_tokens: Longest answer, in tokens; None leaves it to the provider.
        on_event: Called with every event of every turn. What it raises is logged.

    Raises:
        ValueError: *route* is not written ``provider/model``.
    """

    def __init__(
        self,
        route: str,
        *,
        middleware: Sidestep,
        client: Client,
        system: str | None = None,
        max_output_tokens: int | None = None,
        on_event: Listener | None = None,
    ) -> None:
        self.route = Route(route)
        self.conversation = Conversation(settings=Settings(max_output_tokens=max_output_tokens))
        if system:
            self.conversation.messages.append(Message("system", [Text(system)]))
        self._middleware = middleware
        self._client = client
        self.on_event = on_event
        self._is_busy = False
        self._rendering: Rendering | None = None
        self._cures: dict[Route, tuple[Cure, ...]] = {}

    async def turn(self, prompt: str, *, deadline: float | None = None) -> TurnEnded:
        """Answer *prompt*, and say which route did.

        Where this raises, the conversation keeps the prompt, and an empty answer that names
        the requested route.

        Args:
            deadline: Seconds from now after which the turn raises `TimeoutError`.

        Raises:
            RuntimeError: Another turn of this session is running.
            ProviderError: The route failed, and there was no sibling to try.
            StepFailed: The siblings failed as well, or the conversation is too long.
            TimeoutError: The deadline has passed.
        """
        if self._is_busy:
            raise RuntimeError("a turn of this session is running: wait for it, or open another")
        self._is_busy = True
        try:
            self.conversation.messages.append(Message("user", [Text(prompt)]))
            return await self._step(deadline)
        finally:
            self._is_busy = False
            self._rendering = None

    def _render(self, route: Route) -> Rendering:
        """Return the request for *route*; a retry sends the same bytes again."""
        if self._rendering is None or self._rendering.route != route:
            cures = self._cures.get(route, ())
            self._rendering = self._client.render(route, self._history(), cures)
        return self._rendering

    def _repair(self, failure: Failure) -> str | None:
        """Change the request as *failure* says; None where that changes no byte of it.

        What was cured on a route stays so for this session: it would be refused again.
        """
        route, cure, refused = failure.route, failure.cure, self._rendering
        if route is None or cure is None or refused is None:
            return None
        cures = (*self._cures.get(route, ()), cure)
        changed = self._client.render(route, self._history(), cures)
        if changed.content == refused.content:
            return None
        self._cures[route], self._rendering = cures, changed
        return str(cure)

    async def _step(self, deadline: float | None) -> TurnEnded:
        step = self._middleware.step(
            self.route,
            deadline=deadline,
            serves=self._client.serves,
            repair=self._repair,
            on_event=self.on_event,
        )
        message = Message("assistant", [], route=self.route, requested=self.route)
        self.conversation.messages.append(message)
        try:
            async for attempt in step:
                async with attempt:
                    message.parts = await self._attempt(attempt)
        except BaseException as exc:
            error = {"class": type(exc).__name__, "message": str(exc)}
            self._tell(TurnEnded("", self.route, self.route, error))
            raise
        message.route = step.route
        text = "".join(part.text for part in message.parts if isinstance(part, Text))
        ended = TurnEnded(text, step.route, self.route)
        self._tell(ended)
        return ended

    async def _attempt(self, attempt: Attempt) -> list[Part]:
        """Return the parts of a reply that ended well."""
        async with self._client.send(self._render(attempt.route)) as reply:
            has_emitted = False
            try:
                async for delta in reply:
                    if not has_emitted:
                        has_emitted = True
                        attempt.emitted()
                    self._tell(delta)
            finally:
                if has_emitted:
                    attempt.emitted(reply.parts)
            return reply.parts

    def _history(self) -> Conversation:
        """Return the conversation up to the answer that is being made."""
        messages = self.conversation.messages[:-1]
        return replace(self.conversation, messages=messages)

    def _tell(self, event: Event) -> None:
        if self.on_event is not None:
            notify(self.on_event, event)
