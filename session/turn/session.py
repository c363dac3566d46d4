"""A conversation over our own client: the loop of steps, and the tools between them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial

import anyio

from ...provider.client.client import Client
from ...provider.conversation import Conversation, Effort, Message, Settings, Text
from ...provider.route import Route
from ...provider.secret import masked
from ..argument import check_count, check_effort, checked_deadline
from ..child_task import joined
from ..cost.budget import Budget
from ..cost.cost import Cost
from ..cost.ledger import Ledger
from ..cost.meter import Bill
from ..cost.price import Price
from ..error import BudgetExceeded, ContextOverflow, FallbackUnsafe, StoreError
from ..event import Compacted, Event, Listener, TurnEnded, notify
from ..journal.journal import Page
from ..step.attempt import Attempt
from ..step.middleware import Sidestep
from ..store.store import MemoryStore, Store
from ..tool.tool import Tool
from .broken_answers import Breaks
from .event_stream import stream_turn
from .reply_reader import ReplyReader
from .size import Sizing
from .step_requests import Cures, Requests, text_of
from .tool_run import ToolRun
from .transcript import UNSTARTED, Transcript

Compact = Callable[["Session"], Awaitable[bool]]


MAX_STEPS = 1_000
"""Steps of one turn, unless told otherwise: an agent that calls tools for ever has to end."""
_AT_ONCE = 1e-9
"""Seconds to a deadline that has passed already."""


class Session:
    """One conversation, and the loop that goes on with it: steps, until none calls a tool.

    An answer's parts reach the conversation only once its stream has ended well, so that nothing
    of a failed attempt is ever kept or sent. Every part is in the store before anything depends
    on it, and a tool that was begun is never run again.

    Args:
        route: The route to ask for, ``provider/model``, or the name of a chain where the
            configuration has any.
        middleware: What retries and swaps; share one between all sessions.
        client: What sends the requests; share one as well.
        system: Instructions that stand before the conversation; those in the store go before.
        tools: What the model may call, `Tool`s or bare functions.
        store: Where the conversation is kept; None keeps it in memory. It is left open.
        max_output_tokens: Longest answer of one step, in tokens; None leaves it to the provider.
        reasoning: How much the model is to think; None leaves it to the model.
        max_steps: Steps that one turn may take.
        eager: Start a tool as soon as its call is closed, while the answer still comes. Where the
            stream then fails, the step is not tried again: what has run stays, and a new step
            goes on from it.
        compact: Called when the conversation is too long for the model, to make it shorter; says
            whether it did. None ends the turn with `ContextOverflow`. See `Summary`.
        budget: What each turn may spend; None: what it takes.
        session_budget: What all turns and side calls may, those of earlier runs as well as far as
            the store lists their attempts; None: what they take.
        price: What tokens cost, a `Price` such as `Prices()`; None takes that one where a budget
            limits money, and else looks no price up.
        boundary: Where what is said may go, in the word of `boundary` in the settings of
            providers; where no route is there, a step fails. None: anywhere.
        on_event: Called with every event of every turn. What it raises is logged.

    Raises:
        ValueError: *route* is neither a route nor the name of a chain, two tools have one name, or
            a number or *reasoning* is none that can be.
        ConfigError: A budget limits money, and nothing knows prices.
    """

    def __init__(
        self,
        route: str,
        *,
        middleware: Sidestep,
        client: Client,
        system: str | None = None,
        tools: Iterable[Tool | Callable[..., object]] = (),
        store: Store | None = None,
        max_output_tokens: int | None = None,
        reasoning: Effort | None = None,
        max_steps: int = MAX_STEPS,
        eager: bool = False,
        compact: Compact | None = None,
        budget: Budget | None = None,
        session_budget: Budget | None = None,
        price: Price | None = None,
        boundary: str | None = None,
        on_event: Listener | None = None,
    ) -> None:
        check_count("max_output_tokens", max_output_tokens, is_optional=True)
        check_effort("reasoning", reasoning)
        check_count("max_steps", max_steps)
        self.on_event = on_event
        self.transcript = Transcript(MemoryStore() if store is None else store)
        self._middleware = middleware
        self._asked = route
        self._route = middleware.requested(route)
        self._client = client
        self._system = system
        self._tools = _named(tools)
        self._settings = Settings(
            max_output_tokens=max_output_tokens,
            reasoning=reasoning,
            cache_key=os.urandom(8).hex(),
        )
        self._max_steps = max_steps
        self._eager = eager
        self._compact = compact
        self._run = ToolRun(self._tools, self.transcript, self._tell)
        self._steering: list[str] = []
        self._cures: Cures = {}
        self._sizing = Sizing(middleware, self.transcript, boundary)
        self._opening = anyio.Lock()
        self._ledger = Ledger(
            middleware.clock, budget=budget, session_budget=session_budget, price=price
        )
        self._is_busy = False
        self._page: Page | None = None
        self._reader: Listener | None = None

    @property
    def route(self) -> Route:
        """The route that is asked for; the first one of a chain. Set it to ask for another."""
        return self._route

    @route.setter
    def route(self, asked: str) -> None:
        self._route = self._middleware.requested(asked)
        self._asked = asked

    @property
    def conversation(self) -> Conversation:
        """What a request goes on with: what was said so far, the tools and the settings."""
        specs = [tool.spec for tool in self._tools.values()]
        return Conversation(self.transcript.messages, specs, self._settings)

    @property
    def turn_cost(self) -> Cost:
        """What the steps of the present turn took that have ended, or those of the last turn."""
        return self._ledger.turn_cost

    @property
    def cost(self) -> Cost:
        """What all steps took, and side calls; once a turn has begun, those in the store too."""
        return self._ledger.cost

    async def turn(self, prompt: str | None, *, deadline: float | None = None) -> TurnEnded:
        """Answer *prompt*, and say which route did.

        Where this raises, the conversation keeps the prompt, what tools did, and for a step that
        failed an empty answer that names the requested route and every attempt.

        Args:
            prompt: What the user says; None goes on from what was said, as after a turn that
                failed.
            deadline: Seconds from now after which the turn raises `TimeoutError`.

        Raises:
            ValueError: *deadline* is not above 0; or there is no prompt, nor was there one before.
            RuntimeError: Another turn of this session is running.
            ConfigError: The client does not know the provider.
            ProviderError: The route failed, and there was no sibling to try.
            StepFailed: The siblings failed as well, the conversation is too long, or the turn
                has taken all its steps.
            BudgetExceeded: A budget leaves no further attempt; it is a `StepFailed`.
            StoreError: The store cannot be read or written.
            TimeoutError: The deadline has passed.
        """
        return await joined(partial(self._turn, prompt, checked_deadline(deadline)))

    async def _turn(
        self, prompt: str | None, deadline: float | None, reader: Listener | None = None
    ) -> TurnEnded:
        if self._is_busy:
            raise RuntimeError("a turn of this session is running: wait for it, or open another")
        self.route = self._asked  # may be another by now, where a configuration has changed
        self._is_busy = True
        journal = self._middleware.journal
        self._page = None if journal is None else journal.page(of_turn=True)
        self._reader = reader
        progress = _Progress(self.route, Breaks(self._middleware))
        self._ledger.begin_turn()
        try:
            deadline_at = self._deadline_at(deadline)
            await self._begin(prompt)
            await self._steps_in_time(progress, deadline_at)
        except BaseException as exc:
            error = {"class": type(exc).__name__, "message": masked(str(exc))}
            # What was answered is shown, also where it could not be kept.
            text = progress.text if isinstance(exc, StoreError) else ""
            self._end_turn(TurnEnded(text, progress.route, self.route, error))
            raise
        finally:
            self._ledger.end_turn()
            self._is_busy = False
        ended = TurnEnded(progress.text, progress.route, self.route)
        self._end_turn(ended)
        return ended

    def stream(
        self, prompt: str | None, *, deadline: float | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
        """Answer *prompt*, and give the events of the turn to iterate over as they come.

        The last one is `TurnEnded`; what ended the turn otherwise is raised where the block ends.
        Leaving the block early cancels the turn.

        Raises:
            ValueError: *deadline* is not above 0.
            Exception: As `turn`, when the block ends.
        """
        seconds = checked_deadline(deadline)
        return stream_turn(lambda reader: joined(partial(self._turn, prompt, seconds, reader)))

    def steer(self, text: str) -> None:
        """Say *text* to the model after its present step; at rest it opens the next turn."""
        self._steering.append(text)

    async def side_call(
        self,
        prompt: str,
        *,
        messages: Sequence[Message] | None = None,
        route: str | None = None,
        max_output_tokens: int | None = None,
    ) -> str:
        """Return the answer to *prompt* about the conversation, of which nothing is kept.

        It takes a step of its own in the same engine, and does not move this session's.

        Args:
            messages: What stands before the prompt; None: the conversation.
            route: The route to ask for; None: the session's.

        Raises:
            ValueError: *max_output_tokens* is no whole number above 0.
            ConfigError: The client does not know the provider.
            ProviderError: The route failed, and there was no sibling to try.
            StepFailed: The siblings failed as well, it is too long, or a budget is spent.
            StoreError: The store cannot be read.
        """
        check_count("max_output_tokens", max_output_tokens, is_optional=True)
        if not self._is_busy:
            await self._open()
        before = self.transcript.messages if messages is None else messages
        conversation = Conversation(
            [*before, Message("user", [Text(prompt)])],
            [tool.spec for tool in self._tools.values()] if messages is None else (),
            replace(self._settings, max_output_tokens=max_output_tokens, tool_choice="none"),
        )
        requests = Requests(self._client, conversation, self._cures)
        page = self._page.aside() if self._page else None
        bill = self._bill(requests, max_output_tokens, page)
        step = self._middleware.step(
            self._asked if route is None else route,
            needs=self._sizing.needs(conversation, is_own=messages is None),
            serves=self._serves,
            repair=requests.repair,
            before_attempt=bill.before_attempt,
            count=partial(self._sizing.count, requests),
            journal=page,
        )
        bill.step = step

        async def call(attempt: Attempt) -> str:
            async with bill.reply(attempt) as reply:
                return await text_of(reply)

        try:
            return await step.run(call)
        finally:
            bill.close()

    def _bill(self, requests: Requests, max_output_tokens: int | None, page: Page | None) -> Bill:
        tell = partial(self._tell_on, page)
        return Bill(self._ledger, requests, max_output_tokens=max_output_tokens, tell=tell)

    def _serves(self, route: Route) -> bool | str:
        """Say whether *route* can be asked, and where money is limited, paid for; or why not."""
        why = self._client.why_unserved(route)
        if why is None and self._ledger.limits_money and not self._ledger.is_priced(route):
            why = "nobody knows its price, and money is limited"
        return True if why is None else why

    def _deadline_at(self, deadline: float | None) -> float | None:
        return None if deadline is None else self._middleware.clock.time() + deadline

    async def _open(self) -> None:
        """Read what the store has, and what it cost, once."""
        async with self._opening:
            await self.transcript.load()
            self._ledger.resume(self.transcript.messages)

    async def _begin(self, prompt: str | None) -> None:
        """Keep the prompt, and before the first one the instructions."""
        await self._open()
        if prompt is None and not any(each.role == "user" for each in self.transcript.messages):
            raise ValueError("nothing was said so far: give a prompt")
        if self._system and not self.transcript.messages:
            await self.transcript.append(Message("system", [Text(self._system)]))
        await self._say_steering()
        if prompt is not None:
            await self.transcript.append(Message("user", [Text(prompt)]))

    async def _say_steering(self) -> bool:
        said = bool(self._steering)
        while self._steering:
            await self.transcript.append(Message("user", [Text(self._steering[0])]))
            del self._steering[0]
        return said

    async def _steps_in_time(self, progress: _Progress, deadline_at: float | None) -> None:
        """Take the steps of a turn; the time of its budget ends them as a deadline would."""
        ends_at = self._ledger.ends_at
        is_first = ends_at is not None and (deadline_at is None or ends_at < deadline_at)
        try:
            await self._steps(progress, ends_at if is_first else deadline_at)
        except TimeoutError as error:
            why = self._ledger.overrun() if is_first else None
            if why is None:
                raise
            message = f"{why}: raise it, or ask for less"
            raise BudgetExceeded(
                message, requested=self.route, attempts=progress.attempts
            ) from error

    async def _steps(self, progress: _Progress, deadline_at: float | None) -> None:
        """Take steps until one calls no tool and nobody has said anything since."""
        for _ in range(self._max_steps):
            message = await self._step_that_fits(progress, deadline_at)
            had_calls = message.has_calls
            await self._run_calls(message, deadline_at)
            await self._pause(progress, deadline_at)
            if not await self._say_steering() and not had_calls:
                return
        raise BudgetExceeded(
            f"the turn has taken {self._max_steps} steps and still calls tools: raise `max_steps`, "
            "or say what is missing",
            requested=self.route,
            attempts=(),
        )

    async def _pause(self, progress: _Progress, deadline_at: float | None) -> None:
        """Wait where an answer broke off after a tool had run, lest the next one does at once.

        Raises:
            FallbackUnsafe: It was the last one that may.
        """
        broken, progress.broken = progress.broken, None
        if broken is None:
            progress.breaks.forget()
            return
        seconds = progress.breaks.wait_after(broken, self._asked)
        if seconds is None:
            raise broken
        clock = self._middleware.clock
        left = seconds if deadline_at is None else min(seconds, deadline_at - clock.time())
        if left > 0:
            await clock.sleep(left)

    async def _run_calls(self, message: Message, deadline_at: float | None) -> None:
        left = None if deadline_at is None else deadline_at - self._middleware.clock.time()
        try:
            with anyio.move_on_after(left) as scope:
                await self._run.run_all(message)
        finally:
            with anyio.CancelScope(shield=True):
                await self.transcript.close_calls(message, output=UNSTARTED)
        if scope.cancelled_caught:
            raise TimeoutError("the turn's deadline has passed while its tools ran")

    async def _step_that_fits(self, progress: _Progress, deadline_at: float | None) -> Message:
        """Take a step; where the conversation is too long, make it shorter first, twice at most."""
        for _ in range(2):
            try:
                return await self._step(progress, deadline_at)
            except ContextOverflow:
                if self._compact is None:
                    raise
                before = len(self.transcript.messages)
                if not await self._compact(self):
                    raise
                self._tell(Compacted(before, len(self.transcript.messages)))
        return await self._step(progress, deadline_at)

    async def _step(self, progress: _Progress, deadline_at: float | None) -> Message:
        """Return the answer to the conversation, which has it by then."""
        self.route = self._asked
        message = Message("assistant", [], route=self.route, requested=self.route)
        said = replace(self.conversation, messages=list(self.transcript.messages))
        requests = Requests(self._client, said, self._cures)
        bill = self._bill(requests, said.settings.max_output_tokens, self._page)
        clock = self._middleware.clock
        step = self._middleware.step(
            self._asked,
            needs=self._sizing.needs(said),
            deadline=None if deadline_at is None else max(deadline_at - clock.time(), _AT_ONCE),
            serves=self._serves,
            repair=requests.repair,
            before_attempt=bill.before_attempt,
            count=partial(self._sizing.count, requests),
            history=self.transcript.past(self.route),
            check_move=self._check_store,
            on_event=self.on_event if self._reader is None else self._hear,
            journal=self._page,
        )
        bill.step = step
        reader = ReplyReader(message, self.transcript, self._run if self._eager else None)
        try:
            async for attempt in step:
                async with attempt, bill.reply(attempt) as reply:
                    await reader.read(reply, attempt, self._tell)
        except BaseException as exc:
            message.attempts = bill.close()
            with anyio.CancelScope(shield=True), suppress(StoreError):
                await reader.keep_failed()
            if isinstance(exc, FallbackUnsafe) and reader.has_run:
                progress.route, progress.broken = message.route or self.route, exc
                return message  # a new step sees what the tools said
            progress.route, progress.attempts = self.route, step.attempts
            raise
        message.route = progress.route = step.route
        progress.attempts = ()
        message.attempts = bill.close()
        progress.text = "".join(part.text for part in message.parts if isinstance(part, Text))
        await reader.keep()
        self._sizing.answered(message)
        return message

    async def _check_store(self) -> str | None:
        """Say why the conversation cannot be moved: what was said could not be read again."""
        try:
            await self.transcript.store.check()
        except StoreError as error:
            return f"the session's store cannot be read ({error})"
        return None

    def _end_turn(self, event: TurnEnded) -> None:
        self._tell(event)
        self._page = self._reader = None

    def _tell(self, event: Event) -> None:
        self._tell_on(self._page, event)

    def _tell_on(self, page: Page | None, event: Event) -> None:
        journal = page or self._middleware.journal
        if journal is not None:
            notify(journal, event)
        self._hear(event)

    def _hear(self, event: Event) -> None:
        if self.on_event is not None:
            notify(self.on_event, event)
        if self._reader is not None:
            notify(self._reader, event)


@dataclass(slots=True)
class _Progress:
    """How far a turn has come: what its last step said, and where.

    Args:
        attempts: Those of the step that failed, if one has.
        broken: Why the last step broke off, after a tool had run; None: it did not.
    """

    route: Route
    breaks: Breaks
    text: str = ""
    attempts: Sequence[Attempt] = ()
    broken: FallbackUnsafe | None = None


def _named(tools: Iterable[Tool | Callable[..., object]]) -> dict[str, Tool]:
    given = list(tools)
    if not given:
        return {}
    from ..tool.tool import tools_by_name

    return dict(tools_by_name(given))
