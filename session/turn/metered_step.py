"""One step over our own client: its requests, its attempts and their cost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from ...provider.client.reply import Reply
from ...provider.conversation import AttemptRecord, Conversation, Text
from ...provider.failure import Failure
from ...provider.route import Route
from ..cost.meter import StepMeter
from ..event import Event, Listener
from ..observation import AnswerRead, RequestSent
from ..step.attempt import Attempt
from ..step.move_policy import MoveHistory
from .conversation_caches import StepCaches
from .session_state import SessionState
from .step_requests import StepRequests

T = TypeVar("T")


async def read_text(reply: Reply, _: Attempt) -> str:
    """Read *reply* to its end, and return its text.

    Raises:
        ProviderError: The answer is not complete.
    """
    async for _delta in reply:
        pass
    return "".join(part.text for part in reply.parts if isinstance(part, Text))


class MeteredStep(Generic[T]):
    """A `Step` of the session's engine that sends the requests of one conversation.

    Args:
        conversation: What every attempt sends; it does not change during the step.
        read: Reads the reply of one attempt.
        asked: The route, or the name of a chain.
        is_own: The conversation begins with the messages of the session.
        emit: Called with `AttemptCost` after every attempt.

    Attributes:
        step: The attempts, to iterate over.
    """

    def __init__(
        self,
        state: SessionState,
        conversation: Conversation,
        read: Callable[[Reply, Attempt], Awaitable[T]],
        *,
        asked: str,
        emit: Callable[[Event], None],
        journal: Listener | None,
        is_own: bool = True,
        deadline: float | None = None,
        history: MoveHistory | None = None,
        check_move: Callable[[], Awaitable[str | None]] | None = None,
        on_event: Listener | None = None,
    ) -> None:
        limit = conversation.settings.max_output_tokens
        self._state, self._conversation, self._read = state, conversation, read
        self._requests = StepRequests(
            state.client,
            conversation,
            state.cures,
            has_tasks=state.eager,
            last_key=None if history is None else history.api_key_env,
        )
        self._meter = StepMeter(state.ledger, max_output_tokens=limit, emit=emit)
        self.step = state.middleware.step(
            asked,
            needs=state.size.needs(conversation, is_own=is_own),
            deadline=deadline,
            serves=state.serves,
            repair=self._requests.repair,
            before_attempt=self._check_budget if state.ledger.is_limited else None,
            count=self._requests.count,
            history=history,
            check_move=check_move,
            on_event=on_event,
            journal=journal,
        )
        self.step.caches = StepCaches(
            state.caches,
            conversation,
            before=None if history is None else state.caches.last_route,
            is_own=is_own,
            meter=self._meter,
        )

    def run(self) -> Awaitable[T]:
        """Return what *read* returns for the attempt that succeeds."""
        return self.step.run(self._attempt)

    async def _attempt(self, attempt: Attempt) -> T:
        """Send the request of *attempt* and read the reply; charge its cost even if it fails."""
        request = self._requests.render(attempt.route)
        reply = self._requests.send(request, attempt.key.api_key_env)
        observers = self._state.middleware.observers
        if observers is not None:
            sent = RequestSent(
                self.step.number, attempt.number, attempt.route,
                self._conversation, request.provider.base_url,
            )  # fmt: skip
            observers(sent)
        reserved = self._meter.reserve(attempt)
        try:
            async with reply:
                found = await self._read(reply, attempt)
            if observers is not None:
                answer = AnswerRead(
                    self.step.number, attempt.number, attempt.route,
                    reply.parts, reply.stop, reply.model,
                )  # fmt: skip
                observers(answer)
        except BaseException as error:
            self._meter.charge(self.step, attempt, request, reply, reserved, error)
            raise
        self._meter.charge(self.step, attempt, request, reply, reserved)
        return found

    def repair(self, failure: Failure) -> str | None:
        """Change the next request as *failure*, which ended the step, asks; see `StepRequests`."""
        return self._requests.repair(failure)

    def send_plain_text(self, failure: Failure) -> str | None:
        """Send plain text from the next request on; see `StepRequests`."""
        return self._requests.send_plain_text(failure)

    def leave_out(self, failure: Failure, names: Sequence[str]) -> str | None:
        """Leave messages out from the next request on; see `StepRequests`."""
        return self._requests.leave_out(failure, names)

    def close(self) -> tuple[AttemptRecord, ...]:
        """Return the outcome and cost of every attempt; the budgets list them as well."""
        attempts, self.step.attempts = self.step.attempts, []  # each refers to the step
        return self._meter.close(attempts)

    def _check_budget(self, route: Route) -> None:
        try:
            size = len(self._requests.render(route).content)
        except Exception:  # noqa: BLE001 - the attempt raises it again, and classifies it
            size = 0
        self._meter.check_budget(self.step, route, size)
