"""One request of a client as a step: its own bytes to the route it asked for, or a conversation."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from ...provider.failure import FailureKind
from ...provider.handover.target_facts import target_of
from ...provider.relay.own_reply import OwnReply
from ...provider.secret import Secret
from ...provider.wire.answer import Answer
from ...provider.wire.read_request import ReadRequest, RequestError
from ...provider.wire.registry import reader_of, writer_of
from ..plan.needs import Needs
from ..turn.step_requests import StepRequests
from .clients_key import blaming_client, use_clients_key
from .delivery import Delivery, freeing_frames
from .history import depends_on_history, history_of
from .memory import AnswerMemory
from .metering import metered
from .model_request import JSON
from .outlet import ClientLeft
from .refused import NoKeyToSend, RouteNotAsked, failure_to_send
from .shown_answer import ShownAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...provider.client.client import Client
    from ...provider.client.reply import Reply
    from ...provider.conversation import Conversation
    from ...provider.failure import Failure
    from ...provider.handover.target import Target
    from ...provider.relay.own_request import OwnRequest
    from ...provider.route import Route
    from ...provider.wire.protocol import Writer
    from ..step.attempt import Attempt
    from ..step.middleware import Sidestep
    from ..step.move_policy import MoveHistory
    from ..step.step import Step
    from .access import Caller
    from .model_request import ModelRequest
    from .outlet import Outlet

Hold = Literal["whole", "first"]
"""Until when an answer is held back: until it is whole, or until its first output."""

ROUTE_HEADER = "x-sidestep-route"
"""The header of a response that names the route that answered."""
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
"""What a header can hold; a client may name a model in any letters."""
_CLIENTS_OWN = frozenset(
    {FailureKind.BAD_REQUEST, FailureKind.AUTH, FailureKind.NOT_FOUND, FailureKind.REFUSAL}
    | {FailureKind.CONTEXT_OVERFLOW, FailureKind.CONTENT_FILTER, FailureKind.HISTORY_REJECTED}
    | {FailureKind.REQUEST_TOO_LARGE}
)
"""Failures whose words only the client understands, so that it gets them as they came."""


@dataclass(frozen=True, slots=True)
class Held:
    """A whole answer that has not been sent yet."""

    headers: tuple[tuple[str, str], ...]
    body: bytes


class ServedStep:
    """Answers one request of a client, and never raises because of a provider."""

    def __init__(
        self,
        request: ModelRequest,
        caller: Caller,
        outlet: Outlet,
        *,
        middleware: Sidestep,
        client: Client,
        memory: AnswerMemory,
        hold: Hold,
    ) -> None:
        self._request = request
        self._caller = caller
        self._outlet = outlet
        self._middleware = middleware
        self._client = client
        self._memory = memory
        self._is_live = hold == "first" and request.is_stream
        self._wire = request.call.wire
        self._own: OwnRequest | None = None
        self._read: ReadRequest | None = None
        self._why_unread: str | None = None
        self._rendered: StepRequests | None = None
        self._writer: Writer | None = None
        self._held: Held | None = None
        self._running: list[Route] = []
        self._failed_reply: OwnReply | None = None

    async def run(self) -> None:
        """Take the step, and send its answer or its failure, unless the client leaves."""
        try:
            with suppress(ClientLeft):
                await self._run()
        finally:
            vars(self).clear()  # its step and errors refer to it, and to each other

    async def _run(self) -> None:
        step = None
        try:
            self._own = self._own_request()
            step = self._middleware.step(
                self._request.name,
                needs=self._needs(),
                serves=self._serves,
                repair=self._repair,
                count=self._count,
                history=self._history(),
            )
            use_clients_key(step, self._own, self._caller)
            async for attempt in step:
                async with attempt:
                    with freeing_frames():
                        await self._attempt(step, attempt)
        except Exception as error:  # noqa: BLE001 - the client is told
            await self._refuse(error, step)
            return
        if self._held is not None:
            await self._outlet.whole(200, self._held.headers, self._held.body)
        else:
            await self._outlet.end()

    def _own_request(self) -> OwnRequest | None:
        """Return the client's own bytes for the route that it asked for, with the key to send.

        None: that route speaks another wire, or another route has answered in the turn that still
        runs. Then the history needs what only `render` makes of it: no reasoning of another, and
        what the route demands in its place.
        """
        provider = self._client.providers.get(self._request.requested.provider)
        if provider is None:
            return None
        is_ours = self._caller.may_use_our_keys and not self._caller.has_key
        secret = self._client.secret(provider) if is_ours else Secret(None)
        if not self._memory.is_empty and (is_ours or not provider.key_variables):
            self._conversation()
            if any(route != self._request.requested for route in self._running):
                return None
        return self._request.own_request(provider, self._caller, secret)

    def _needs(self) -> Needs | None:
        """Return what the step needs of a route, if the configuration depends on it."""
        plan = self._middleware.plan
        if plan is None or not plan.depends_on_needs:
            return None
        conversation = self._conversation()
        return None if conversation is None else Needs.of(conversation)

    def _history(self) -> MoveHistory | None:
        """Return what happened before, if the configuration depends on it."""
        if not depends_on_history(self._middleware.plan):
            return None
        conversation = self._conversation()
        return None if conversation is None else history_of(conversation)

    def _serves(self, route: Route) -> bool | str:
        if route == self._request.requested and self._own is not None:
            return self._why_keyless(route) or True
        if self._conversation() is None:
            return f"cannot be asked for this: {self._why_unread}"
        return self._why_keyless(route) or True

    def _why_keyless(self, route: Route) -> str | None:
        """Return why *route* cannot be called with the keys that may be used; None: it can."""
        provider = self._client.providers.get(route.provider)
        is_own = self._own is not None and route == self._request.requested
        if provider is None or not provider.key_variables or (is_own and self._caller.has_key):
            return None if provider is not None else self._client.why_unserved(route)
        if self._caller.may_use_our_keys:
            return self._client.why_unserved(route)
        return None if is_own else "needs a key of ours, which this client may not use"

    def _conversation(self) -> Conversation | None:
        """Return the conversation that the body holds; None: only its own provider can read it."""
        if self._read is None and self._why_unread is None:
            try:
                self._read = reader_of(self._wire).read(
                    self._request.body, path=self._request.path.rest
                )
            except RequestError as error:
                self._why_unread = str(error)
                return None
            if not self._read.can_move:
                self._why_unread = ", ".join(self._read.unreadable)
            else:
                self._running = self._memory.restore(self._read.conversation)
        read = self._read
        return None if self._why_unread is not None or read is None else read.conversation

    def _repair(self, failure: Failure) -> str | None:
        return None if self._rendered is None else self._rendered.repair(failure)

    async def _count(self, route: Route) -> int | None:
        """Return the tokens of the step as the provider of *route* counts; None: unknown.

        A provider that needs a key counts only for a client that may use ours.
        """
        provider = self._client.providers.get(route.provider)
        needs_key = provider is None or bool(provider.key_variables)
        if self._conversation() is None or (needs_key and not self._caller.may_use_our_keys):
            return None
        return await self._step_requests().count(route)

    async def _attempt(self, step: Step, attempt: Attempt) -> None:
        """Send the request of *attempt*, unless its route may not be asked.

        The engine asks the requested route also if `_serves` says no and nothing else is left.
        """
        route = attempt.route
        if (why := self._why_keyless(route)) is not None:
            raise NoKeyToSend(f"{route}: {why}")
        if self._own is not None and route == self._request.requested:
            await self._send_own(step, attempt, self._own)
            return
        if self._conversation() is None:
            raise RouteNotAsked(f"{route} cannot be asked for this: {self._why_unread}")
        await self._send_rendered(step, attempt)

    async def _send_own(self, step: Step, attempt: Attempt, own: OwnRequest) -> None:
        """Send the client's own bytes, and hold back or pass on the raw answer."""
        variable = attempt.api_key_env
        if own.secret.key is not None and variable in own.provider.key_variables:
            secret = self._client.secret(own.provider, api_key_env=variable)
            own = replace(own, secret=secret)
        self._failed_reply = reply = OwnReply(self._client.shared_http, own)
        with blaming_client(attempt), metered(step, attempt, reply, own.provider.wire):
            async with reply:
                headers = self._named(reply.headers, attempt.route)
                delivery = self._delivery(
                    attempt, headers, lambda: reply.has_output and not reply.has_failed
                )
                await delivery.fill(_copy(reply, delivery))
        self._failed_reply = None
        if self._is_live:
            await delivery.send()
        else:
            self._held = Held(headers, delivery.take())

    async def _send_rendered(self, step: Step, attempt: Attempt) -> None:
        """Send the conversation, and write the answer in the client's wire."""
        requests = self._step_requests()
        rendering = requests.render(attempt.route)
        writer = self._new_writer()
        headers = self._named(self._request.stream_headers, attempt.route)
        reply, wire = requests.send(rendering, attempt.api_key_env), rendering.provider.wire
        shown = ShownAnswer(self._target(), requests.conversation)
        delivery = self._delivery(attempt, headers, lambda: True)
        delivery.ends_event = True
        with metered(step, attempt, reply, wire):
            async with reply:
                begun = await delivery.fill(self._show(reply, writer, shown, delivery))
        parts = shown.parts(reply.parts)
        answer = Answer(parts=parts, wire=wire, stop=reply.stop, usage=reply.usage)
        self._memory.keep(attempt.route, requests.conversation, reply.parts, parts)
        if self._is_live:
            delivery.add(begun + writer.end(answer))
            await delivery.send()
        elif self._request.is_stream:
            self._held = Held(headers, writer.start() + writer.end(answer))
        else:
            self._held = Held(self._named(JSON, attempt.route), writer.whole(answer))

    async def _show(
        self, reply: Reply, writer: Writer, shown: ShownAnswer, delivery: Delivery
    ) -> bytes:
        """Add what the client is shown of *reply*; return the start if nothing is shown."""
        begun = writer.start() if self._is_live else b""
        async for delta in reply:
            if self._is_live and (visible := shown.delta(delta)) is not None:
                delivery.add(begun + writer.feed([visible]))
                begun = b""
                if delivery.is_full:
                    await delivery.send()
        return begun

    def _delivery(
        self, attempt: Attempt, headers: tuple[tuple[str, str], ...], may_send: Callable[[], bool]
    ) -> Delivery:
        return Delivery(self._outlet, attempt, headers, may_send if self._is_live else None)

    def _target(self) -> Target | None:
        """Return what the requested route accepts as own bytes; None: it never gets any."""
        requested = self._request.requested
        provider = self._client.providers.get(requested.provider)
        if provider is not None and self._request.path.provider is not None:
            provider = replace(provider, wire=self._wire)  # the client says that it speaks it
        if provider is None or provider.wire != self._wire:
            return None
        return target_of(provider, requested)

    def _step_requests(self) -> StepRequests:
        if self._rendered is None:
            conversation = self._conversation()
            assert conversation is not None  # noqa: S101 - `serves` refuses the route otherwise
            self._rendered = StepRequests(self._client, conversation, {}, has_tasks=False)
        return self._rendered

    def _new_writer(self) -> Writer:
        wants_usage = self._read is None or self._read.wants_usage
        self._writer = writer_of(self._wire)(
            model=self._request.model,
            created=int(time.time()),
            wants_usage=wants_usage,
            is_array=self._request.is_array,
        )
        return self._writer

    def _named(
        self, headers: Iterable[tuple[str, str]], route: Route
    ) -> tuple[tuple[str, str], ...]:
        return (*headers, (ROUTE_HEADER, quote(str(route), safe=_PRINTABLE)))

    async def _refuse(self, error: Exception, step: Step | None) -> None:
        """Send the failure of the step: as a response, or as the end of a stream that has begun."""
        own = self._failed_reply
        request = self._request
        is_keyless = self._why_keyless(request.requested) is not None
        failure = failure_to_send(error, step, request, self._middleware, is_keyless=is_keyless)
        is_alone = step is not None and len(step.attempts) == 1
        is_clients = is_alone and failure.kind in _CLIENTS_OWN and not self._outlet.has_begun
        if is_clients and own is not None and own.error_body is not None:
            await self._outlet.whole(own.status, own.headers, own.error_body)
            return
        if self._outlet.has_begun:
            writer = self._writer or self._new_writer()
            await self._outlet.send(self._request.stream_headers, writer.error(failure))
            await self._outlet.end()
            return
        refusal = writer_of(self._wire).refusal(failure, is_streamed=self._request.is_stream)
        await self._outlet.whole(refusal.status, tuple(refusal.headers.items()), refusal.body)


async def _copy(reply: OwnReply, delivery: Delivery) -> None:
    while (block := await reply.read()) is not None:
        delivery.add(block)
        if delivery.is_full:
            await delivery.send()
