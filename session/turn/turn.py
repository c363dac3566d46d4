"""One turn: the loop of steps, and the tools between them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

import anyio

from ...provider.conversation import Message, Text
from ...provider.error import ProviderError
from ...provider.secret import redact_shapes
from ..deadline import Deadline
from ..error import BudgetExceeded, FallbackUnsafe, StepFailed, StoreError
from ..event import Compacted, Event, Listener, TurnEnded, notify
from ..journal.journal import JournalScope
from ..observation import TurnStarted
from ..step.base_attempt import BaseAttempt
from .broken_answers import BrokenAnswers
from .metered_step import MeteredStep
from .refused import Remedies
from .reply_reader import ReplyReader
from .session_state import SessionState
from .tool_run import ToolRun
from .transcript import UNSTARTED
from .wrong_answers import WrongAnswers

T = TypeVar("T")

_AT_ONCE = 1e-9
"""Seconds for a step if the deadline has passed already, because a step refuses 0."""


class Turn:
    """One turn of a session: takes steps until one calls no tool.

    Args:
        deadline: When the caller wants the turn to end.
        listener: Called with every event of the turn, beside the session's own listener.

    Attributes:
        journal: The part of the journal that the turn's events belong to; None: there is none.
    """

    def __init__(
        self, state: SessionState, *, deadline: Deadline, listener: Listener | None
    ) -> None:
        journal = state.middleware.journal
        self.journal: JournalScope | None = None if journal is None else journal.scope(of_turn=True)
        self._state = state
        self._deadline = deadline
        self._listener = listener
        self._tools = ToolRun(state.tools, state.transcript, self.emit)
        self._broken_answers = BrokenAnswers(state.middleware)
        self._wrong_answers = WrongAnswers(state.max_wrong_answers)
        self._last_break: FallbackUnsafe | None = None
        self._route = state.route
        self._text = self._unstored_text = ""
        self._metered: MeteredStep[None] | None = None  # the last step
        self._attempts: Sequence[BaseAttempt] = ()  # of the step that failed, if one has

    def emit(self, event: Event) -> None:
        """Hand *event* to the journal and to the listeners."""
        self.emit_aside(event, self.journal)

    def emit_aside(self, event: Event, journal: Listener | None) -> None:
        """Hand *event* of a side call to its part of the *journal*, and to the listeners."""
        self._state.emit(event, journal=journal, listener=self._listener)

    async def run(self, prompt: str | None) -> TurnEnded:
        """Answer *prompt*; see `Session.turn`."""
        state = self._state
        if prompt is not None and state.prompts[-1:] != [prompt]:
            state.prompts.append(prompt)
        state.ledger.begin_turn()
        try:
            if state.middleware.observers is not None:
                state.middleware.observers(TurnStarted(state.route, prompt, state.system))
            await self._begin()
            await self._take_steps_in_time()
        except BaseException as exc:
            with anyio.CancelScope(shield=True), suppress(StoreError):  # the next turn tries again
                await state.transcript.close_last(output=UNSTARTED)
            error = {"class": type(exc).__name__, "message": redact_shapes(str(exc))}
            # An answer that could not be stored is shown all the same.
            text = self._unstored_text if isinstance(exc, StoreError) else ""
            self.emit(TurnEnded(text, self._route, state.route, error))
            raise
        finally:
            state.ledger.end_turn()
            del (
                self._tools
            )  # they refer to this turn, and only the garbage collector would free both
        ended = TurnEnded(self._text, self._route, state.route)
        self.emit(ended)
        return ended

    async def _begin(self) -> None:
        """Store the prompt, and before the first prompt the instructions."""
        state, transcript = self._state, self._state.transcript
        await state.open()
        has_spoken = any(each.role == "user" for each in transcript.messages)
        if not (has_spoken or state.prompts):
            raise ValueError("the conversation is empty: give a prompt")
        if state.system and not transcript.messages:
            await transcript.append(Message("system", [Text(state.system)]))
        has_spoken = await self._append_all(state.steering)
        if await self._append_all(state.prompts) or has_spoken:
            transcript.begin_turn()  # otherwise the last turn goes on

    async def _append_all(self, texts: list[str]) -> bool:
        """Append the user's *texts* as one message, and empty the list; False: it was empty."""
        has_texts = bool(texts)
        while texts:
            await self._state.transcript.append(Message("user", [Text(texts[0])]))
            del texts[0]
        return has_texts

    async def _take_steps_in_time(self) -> None:
        """Take the steps of the turn until the deadline or the time of the budget ends it."""
        state, requested = self._state, self._deadline
        self._deadline = requested.or_earlier(state.ledger.ends_at)
        try:
            await self._take_steps()
        except TimeoutError as error:
            why = None if self._deadline is requested else state.ledger.time_exceeded()
            if why is None:
                raise
            raise BudgetExceeded(
                f"{why}: raise it, or ask for less", requested=state.route, attempts=self._attempts
            ) from error

    async def _take_steps(self) -> None:
        """Take steps until one calls no tool and the user has said nothing since."""
        state = self._state
        for _ in range(state.max_steps):
            runs = self._tools.runs
            message = await self._step_that_fits()
            had_calls = message.has_calls or self._last_break is not None
            await self._run_calls(message)
            has_run = self._tools.runs > runs
            self._wrong_answers.check(message, has_run=has_run, requested=state.route)
            await self._pause()
            if not await self._append_all(state.steering) and not had_calls:
                return
        raise BudgetExceeded(
            f"the turn has taken {state.max_steps} steps and still calls tools: raise "
            "`max_steps`, or give a smaller task",
            requested=state.route,
            attempts=(),
        )

    async def _pause(self) -> None:
        """Wait before the next step if an answer broke off after a tool had run.

        Raises:
            FallbackUnsafe: No further answer may break off.
        """
        last_break, self._last_break = self._last_break, None
        if last_break is None:
            self._broken_answers.reset()
            return
        seconds = self._broken_answers.wait_after(last_break, self._state.asked)
        if seconds is None:
            raise last_break
        if (left := self._deadline.cap(seconds)) > 0:
            await self._state.middleware.clock.sleep(left)

    async def _run_calls(self, message: Message) -> None:
        await self._in_time(partial(self._tools.run_all, message), "its tools ran")

    async def _in_time(self, work: Callable[[], Awaitable[T]], what: str) -> T:
        """Return what *work* returns.

        Args:
            what: What happens meanwhile, as half a sentence.

        Raises:
            TimeoutError: The turn's deadline passed meanwhile.
        """
        with self._deadline.scope():
            return await work()
        raise TimeoutError(f"the turn's deadline has passed while {what}")

    async def _step_that_fits(self) -> Message:
        """Take a step; after a refusal, change what is sent and try again."""
        remedies: Remedies | None = None
        while True:
            self._metered = None
            try:
                return await self._step()
            except (StepFailed, ProviderError) as error:
                remedies = remedies or Remedies(self._state)
                apply = partial(remedies.apply, error, self._metered)
                if await self._in_time(apply, "the conversation was shortened") is None:
                    raise
                if (before := remedies.messages_before) is not None:
                    self.emit(Compacted(before, len(self._state.transcript.messages)))

    async def _step(self) -> Message:
        """Return the answer to the conversation, after storing it."""
        state = self._state
        state.ask_for(state.asked)  # the route may differ, if the configuration changed
        eager = self._tools if state.eager else None
        reader = ReplyReader(state.transcript, state.route, eager, emit=self.emit)
        self._metered = metered = self._metered_step(reader)
        try:
            await metered.run()
        except BaseException as exc:
            self._route, self._attempts = state.route, metered.step.attempts
            is_broken = isinstance(exc, FallbackUnsafe) and reader.has_run
            message = await self._keep_failed(reader, metered, is_broken=is_broken)
            if message is None or not isinstance(exc, FallbackUnsafe):
                raise
            self._route, self._last_break = message.route or state.route, exc
            return message  # the next step sees the results of the tools
        self._route, self._attempts = metered.step.route, ()
        self._text = "".join(part.text for part in reader.parts if isinstance(part, Text))
        self._unstored_text = self._text
        message = await reader.keep(self._route, metered.close())
        self._unstored_text = ""
        self._metered = None  # it refers to this turn
        state.size.answered(message)
        state.caches.answered(self._route)
        return message

    async def _keep_failed(
        self, reader: ReplyReader, metered: MeteredStep[None], *, is_broken: bool
    ) -> Message | None:
        """Store what a failed step leaves; return it if its answer broke off after a tool ran.

        Raises:
            StoreError: The answer broke off in this way, and the store cannot be written.
        """
        try:
            with anyio.CancelScope(shield=True):
                message = await reader.keep_failed(metered.close())
        except StoreError:
            if is_broken:
                raise
            return None  # the error of the step says more
        return message if is_broken else None

    def _metered_step(self, reader: ReplyReader) -> MeteredStep[None]:
        state = self._state
        messages = list(state.transcript.messages)
        left = self._deadline.left()
        return MeteredStep(
            state,
            replace(state.conversation, messages=messages),
            reader.read,
            asked=state.asked,
            emit=self.emit,
            journal=self.journal,
            deadline=None if left is None else max(left, _AT_ONCE),
            history=state.transcript.history(state.route),
            check_move=self._check_store,
            on_event=state.on_event if self._listener is None else self._notify_listeners,
        )

    def _notify_listeners(self, event: Event) -> None:
        """Hand an event of a step to the listeners; the journal has it already."""
        for listener in (self._state.on_event, self._listener):
            if listener is not None:
                notify(listener, event)

    async def _check_store(self) -> str | None:
        """Return a reason if the store cannot be read; None if it can."""
        try:
            await self._state.transcript.check()
        except StoreError as error:
            return f"the session's store cannot be read ({error})"
        return None
