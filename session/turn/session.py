"""`Session`, a conversation over our own client."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial

from ...provider.client.client import Client
from ...provider.conversation import Conversation, Effort, Message, Settings, Text
from ...provider.native_cancel import run_in_child_task
from ...provider.route import Route
from ..argument import check_count, check_effort, validated_deadline
from ..cost.budget import Budget
from ..cost.cost import Cost
from ..cost.ledger import Ledger
from ..cost.price import Price
from ..deadline import Deadline
from ..event import Event, Listener, TurnEnded
from ..step.middleware import Sidestep
from ..store.memory import MemoryStore
from ..store.store import Store
from ..tool.tool import Tool
from .conversation_caches import ConversationCaches
from .event_stream import EventStream
from .metered_step import MeteredStep, read_text
from .session_state import SessionState
from .size import ConversationSize
from .stored_cooldowns import StoredCooldowns
from .transcript import Transcript
from .turn import Turn

Compact = Callable[["Session"], Awaitable[bool]]

MAX_STEPS = 1_000
"""Default for the steps of one turn, because an agent must not call tools for ever."""
MAX_WRONG_ANSWERS = 5
"""The default for answers in a row that hold only wrong calls; each such answer costs money."""


class Session:
    """One conversation, and its loop of steps until a step calls no tool.

    The parts of an answer join the conversation only once its stream has ended well, so that no
    part of a failed attempt is ever stored or sent. Every part is stored before anything depends
    on it, and a tool that was started never runs again.

    Args:
        route: The route to ask for, ``provider/model``, or the name of a chain if the
            configuration has chains.
        middleware: Retries and swaps; share one between all sessions.
        client: Sends the requests; share one as well.
        system: Instructions before the conversation; ignored if the store has messages.
        tools: What the model may call, as `Tool`s or bare functions.
        store: Stores the conversation, and is not closed; None: the conversation is in memory. Each
            session has its own; another may go on with it while no turn of this one runs.
        max_output_tokens: Longest answer of one step, in tokens; None: the provider decides.
        reasoning: How much the model should think; None: the model decides.
        max_steps: Steps that one turn may take.
        max_wrong_answers: How many answers in a row may hold only calls that cannot be run: of no
            tool, or with arguments that do not fit. Then the turn ends.
        eager: Start a tool as soon as its call is complete, while the answer still streams. If the
            stream then fails, the step is not retried: the results stay, and a new step
            continues from them.
        compact: Called to shorten the conversation if it is too long for the model, or if every
            route refuses its content. Called again until the conversation fits into `room`, or
            until it returns False: it did nothing. None: the turn ends with the error. See
            `Summary`.
        budget: What each turn may spend; None: no limit.
        session_budget: What all turns and side calls may spend, with earlier runs if the
            store lists their attempts; None: no limit.
        price: What tokens cost, a `Price`; None: `Prices()` if a budget limits money, otherwise
            no price is looked up.
        boundary: Where the data of the session may go, as in `boundary` of the provider settings;
            if no route is there, a step fails. None: anywhere.
        on_event: Called with every event of every turn. Its exceptions are logged.

    Raises:
        ValueError: *route* is neither a route nor the name of a chain, two tools have one name, or
            a number or *reasoning* is out of range.
        ConfigError: A budget limits money, and no price is known.
        TypeError: *store* is a path.
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
        max_wrong_answers: int = MAX_WRONG_ANSWERS,
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
        check_count("max_wrong_answers", max_wrong_answers)
        requested = middleware.requested(route)
        cooldowns = StoredCooldowns(middleware)
        if isinstance(store, str | os.PathLike):
            raise TypeError(f"`store` must be a `Store`, got {store!r}: write `SqliteStore(…)`")
        store = MemoryStore() if store is None else store
        self.transcript = transcript = Transcript(store, cooldowns.now)
        self._running: Turn | None = None
        clock = middleware.clock
        ledger = Ledger(clock, budget=budget, session_budget=session_budget, price=price)
        size = ConversationSize(middleware, transcript, boundary)
        self._state = SessionState(
            middleware=middleware,
            client=client,
            transcript=transcript,
            ledger=ledger,
            size=size,
            cooldowns=cooldowns,
            caches=ConversationCaches(clock, transcript, size, ledger.price_of_input),
            tools=_by_name(tools),
            settings=Settings(
                max_output_tokens=max_output_tokens,
                reasoning=reasoning,
                cache_key=os.urandom(8).hex(),
            ),
            asked=route,
            route=requested,
            system=system,
            max_steps=max_steps,
            max_wrong_answers=max_wrong_answers,
            eager=eager,
            compact=None if compact is None else partial(compact, self),
            on_event=on_event,
        )

    @property
    def on_event(self) -> Listener | None:
        """Called with every event of every turn; its exceptions are logged."""
        return self._state.on_event

    @on_event.setter
    def on_event(self, listener: Listener | None) -> None:
        self._state.on_event = listener

    @property
    def route(self) -> Route:
        """The requested route; for a chain, its first one. Set it to ask for another."""
        return self._state.route

    @route.setter
    def route(self, route: str) -> None:
        self._state.ask_for(route)

    @property
    def conversation(self) -> Conversation:
        """What a request sends: the messages so far, the tools and the settings."""
        return self._state.conversation

    @property
    def room(self) -> int | None:
        """While `compact` runs: how many estimated tokens a request and its answer may have.

        None: unknown, or the length is not why the conversation has to be shortened.
        """
        return self._state.room

    @property
    def turn_cost(self) -> Cost:
        """The cost of the ended steps of the running turn, or of the last turn."""
        return self._state.ledger.turn_cost

    @property
    def cost(self) -> Cost:
        """The cost of all steps and side calls; once a turn has started, of stored ones too."""
        return self._state.ledger.cost

    async def turn(self, prompt: str | None, *, deadline: float | None = None) -> TurnEnded:
        """Answer *prompt*, and return the answer and the route that gave it.

        If this raises, the conversation keeps the prompt, the results of tools, and for a failed
        step an empty answer that lists the requested route and every attempt.

        Args:
            prompt: What the user says; None: continue the conversation as it is, as after a turn
                that failed.
            deadline: Seconds from now after which the turn raises `TimeoutError`.

        Raises:
            ValueError: *deadline* is not above 0, or *prompt* is None and the user never spoke.
            RuntimeError: Another turn of this session, or of a session with its store, is running.
            ConfigError: The client has no such provider.
            ProviderError: The route failed, and there was no sibling to try.
            StepFailed: The siblings failed as well, or the conversation is too long.
            BudgetExceeded: A budget leaves no further attempt, or the turn has taken `max_steps`
                steps or `max_wrong_answers` wrong answers in a row; it is a `StepFailed`.
            StoreError: The store cannot be read or written.
            TimeoutError: The deadline has passed.
        """
        return await run_in_child_task(partial(self._take, prompt, validated_deadline(deadline)))

    async def _take(
        self, prompt: str | None, seconds: float | None, listener: Listener | None = None
    ) -> TurnEnded:
        if self._running is not None:
            raise RuntimeError("a turn of this session is running: wait for it, or open another")
        state = self._state
        state.ask_for(state.asked)  # the route may differ, if the configuration changed
        deadline = Deadline.after(state.middleware.clock, seconds)
        use = self.transcript.use
        use.take()
        self._running = Turn(state, deadline=deadline, listener=listener)
        use.is_in_turn = True
        try:
            return await self._running.run(prompt)
        finally:
            self._running, use.is_in_turn = None, False

    def stream(
        self, prompt: str | None, *, deadline: float | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
        """Answer *prompt*; the result is a context manager with the events to iterate over.

        The last event is `TurnEnded`. An error of the turn is raised at the end of the block.
        Leaving the block early cancels the turn.

        Raises:
            ValueError: *deadline* is not above 0.
            Exception: The same as `turn`, at the end of the block.
        """
        seconds = validated_deadline(deadline)
        return EventStream(
            lambda listener: run_in_child_task(partial(self._take, prompt, seconds, listener))
        )

    def steer(self, text: str) -> None:
        """Add *text* as a user message after the running step, or at the next turn if none runs."""
        self._state.steering.append(text)

    async def side_call(
        self,
        prompt: str,
        *,
        messages: Sequence[Message] | None = None,
        route: str | None = None,
        max_output_tokens: int | None = None,
    ) -> str:
        """Return the answer to *prompt* about the conversation; neither is stored.

        This takes a step of its own, which does not affect the route of the session.

        Args:
            messages: The messages before the prompt; None: the conversation.
            route: The route to ask for; None: the route of the session.

        Raises:
            ValueError: *max_output_tokens* is no whole number above 0.
            RuntimeError: A turn of another session with the same store is running.
            ConfigError: The client has no such provider.
            ProviderError: The route failed, and there was no sibling to try.
            StepFailed: The siblings failed as well, the conversation is too long, or a budget is
                spent.
            StoreError: The store cannot be read.
        """
        check_count("max_output_tokens", max_output_tokens, is_optional=True)
        state, turn = self._state, self._running
        if turn is None:
            await state.open()
        before = self.transcript.messages if messages is None else messages
        conversation = replace(
            state.conversation,
            messages=[*before, Message("user", [Text(prompt)])],
            settings=replace(
                state.settings, max_output_tokens=max_output_tokens, tool_choice="none"
            ),
        )
        if messages is not None:
            conversation.tools = ()
        return await self._ask(conversation, route, turn, is_own=messages is None)

    async def _ask(
        self, conversation: Conversation, route: str | None, turn: Turn | None, *, is_own: bool
    ) -> str:
        """Return the answer to *conversation*, in a step beside the steps of *turn*."""
        state = self._state
        journal = None if turn is None or turn.journal is None else turn.journal.aside()
        emit = partial(state.emit, listener=None) if turn is None else turn.emit_aside
        metered = MeteredStep(
            state,
            conversation,
            read_text,
            asked=state.asked if route is None else route,
            emit=partial(emit, journal=journal),
            journal=journal,
            is_own=is_own,
        )
        try:
            return await run_in_child_task(metered.run)
        finally:
            metered.close()


def _by_name(tools: Iterable[Tool | Callable[..., object]]) -> dict[str, Tool]:
    listed = list(tools)
    if not listed:
        return {}
    from ..tool.tool import tools_by_name

    return dict(tools_by_name(listed))
