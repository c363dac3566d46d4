"""The conversation of one session, kept the same in memory and in its store."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import fields, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import anyio

from ...provider.conversation import ToolCall
from ...provider.native_cancel import without_stray_cancellations
from ..error import StoreError
from ..step.move_policy import MoveHistory
from ..step.step_error import describe
from .store_use import StoreUse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from ...provider.conversation import Cooldown, Message
    from ...provider.route import Route
    from ..store.store import Store

T = TypeVar("T")

UNSTARTED = "This call was not run: the turn ended before it began."
_OPEN = ("pending", "running")


class _Answerer(NamedTuple):
    """The route that answered, and the variable of the key with which it did."""

    route: Route | None = None
    api_key_env: str | None = None

    @classmethod
    def of(cls, message: Message) -> _Answerer:
        """Return who gave the answer *message*."""
        api_key_env = message.attempts[-1].api_key_env if message.attempts else None
        return cls(message.route, api_key_env)


class Transcript:
    """The messages of a session, which change here once the store has the change.

    If a write fails, the messages here are still those of the store. The result of a tool that
    could not be stored is stored with the next change, so that it is not lost either.

    Args:
        cooldowns: Returns the cooldowns that run, which are stored with each message.

    Attributes:
        messages: All messages, in order.
        replacements: How often the messages were replaced, here or by another session.
        use: Keeps the turns of other sessions with the store apart.
    """

    def __init__(self, store: Store, cooldowns: Callable[[], Sequence[Cooldown]] = tuple) -> None:
        self.store = store
        self._cooldowns = cooldowns
        self.messages: list[Message] = []
        self.replacements = 0
        self.use = StoreUse(store)
        self._keys: list[int] = []
        self._is_loaded = False
        self._holds_calls = False
        self._replaced_tools: tuple[str, ...] = ()  # names of tools, since the prompt
        self._replaced_answers: dict[Route | None, _Answerer] = {}  # by the requested route
        self._replaced_route: Route | None = None
        self._turn_from = 0  # the first message after the prompt of the turn
        self._answered_in_turn: set[Route | None] = set()  # by messages that were replaced
        self._unstored: dict[int, dict[int, ToolCall]] = {}  # results by message and part
        self._writing = anyio.Lock(fast_acquire=True)

    async def load(self) -> None:
        """Read the store, once, and close the calls that were running.

        Such a call may have run in part or in full, so it never runs again. Later calls of `load`
        close what the store refused to close when a turn ended, and read the store again if a
        write was cut off, or if another session has used the store.

        Raises:
            RuntimeError: A turn of another session uses the store.
            StoreError: The store cannot be read or written.
        """
        self.use.take()
        if self.use.may_differ:
            self.use.may_differ = self._is_loaded = False
            self.replacements += 1
        if not self._is_loaded:
            with _explained():
                stored = await self.store.load()
            self.messages, self._keys = list(stored.values()), list(stored)
            self._holds_calls = any(message.has_calls for message in self.messages)
            spoken = [at for at, each in enumerate(self.messages, 1) if each.role == "user"]
            self._turn_from = spoken[-1] if spoken else 0
            self._is_loaded = True
        await self.close_last(is_new_turn=True)

    def begin_turn(self) -> None:
        """Count only the answers from now on as answers of the running turn."""
        self._turn_from = len(self.messages)
        self._answered_in_turn.clear()

    async def check(self) -> None:
        """Check that the store can be read.

        Raises:
            StoreError: The store cannot be read.
        """
        with _explained():
            await self.store.check()

    async def append(self, message: Message) -> None:
        """Store *message* as the last one.

        Raises:
            StoreError: The store cannot be written; *message* is not added here either.
        """

        def add(key: int) -> None:
            self.messages.append(message)
            self._keys.append(key)
            self._holds_calls = self._holds_calls or message.has_calls
            if message.role == "user":
                self._replaced_tools = ()

        message.cooldowns = self._cooldowns()
        await self._write(lambda: self.store.append(message), add)

    async def set_call(self, message: Message, index: int, call: ToolCall) -> None:
        """Store *call* as part number *index* of *message*.

        Raises:
            StoreError: The store cannot be written. The part stays as it was, also here. A result
                is stored with the next change of the message.
        """
        key = self._key(message)

        def put(_: None) -> None:
            message.parts[index] = call
            results = self._unstored.pop(key, {})
            results.pop(index, None)
            if results:
                self._unstored[key] = results

        try:
            await self._write(lambda: self.store.save_part(key, index, call), put)
        except BaseException:
            if call.state not in _OPEN:
                self._unstored.setdefault(key, {}).setdefault(index, call)
            raise

    async def change(self, message: Message, edit: Callable[[Message], Message]) -> None:
        """Store what *edit* makes of *message*, in place of *message*.

        Args:
            edit: Called with a copy of *message* that has the results of all its calls.

        Raises:
            StoreError: The store cannot be written; *message* stays as it was, also here.
        """
        key = self._key(message)
        changed = message

        async def write() -> None:
            nonlocal changed
            changed = edit(self._with_results(message))
            changed.cooldowns = self._cooldowns()
            await self.store.rewrite(key, changed)

        def take(_: None) -> None:
            for field in fields(message):
                setattr(message, field.name, getattr(changed, field.name))
            self._unstored.pop(key, None)
            self._holds_calls = self._holds_calls or message.has_calls

        await self._write(write, take)

    async def replace(self, messages: Sequence[Message]) -> None:
        """Store *messages* in place of all messages.

        Raises:
            StoreError: The store cannot be written; the messages stay as they were, also here.
        """

        def take(keys: list[int]) -> None:
            self._replaced_tools = self._tools_run()
            self._replaced_answers |= {
                message.requested: _Answerer.of(message) for message in self.messages
                if is_answer(message)
            }  # fmt: skip
            self._replaced_route = self.last_route
            answers = filter(is_answer, self.messages[self._turn_from :])
            self._answered_in_turn.update(message.requested for message in answers)
            self._keys, self.messages = keys, list(messages)
            for last in self.messages[-1:]:
                last.cooldowns = cooldowns
            self._turn_from = len(messages)
            self._unstored.clear()
            self.replacements += 1
            self._holds_calls = any(message.has_calls for message in messages)

        cooldowns = self._cooldowns()
        stored = [*messages[:-1], *(replace(last, cooldowns=cooldowns) for last in messages[-1:])]
        await self._write(lambda: self.store.replace(stored), take)

    async def _write(self, write: Callable[[], Awaitable[T]], take: Callable[[T], None]) -> None:
        """Write to the store; then change the messages here, with *take* and what *write* returned.

        Every change of the conversation goes through this, so that memory changes only after the
        store has. A cancellation does not stop it, because what the store has must be here too.
        """
        with anyio.CancelScope(shield=True):
            async with self._writing:  # so that no write undoes another
                try:
                    with _explained():
                        written = await write()
                except StoreError:
                    raise
                except BaseException:
                    # Nobody knows whether it was written: the next `load` reads the store again.
                    self._is_loaded = False
                    raise
                take(written)

    async def close_last(self, *, output: str | None = None, is_new_turn: bool = False) -> None:
        """Close every call of the last message without a result, because it will not run again.

        Earlier messages were sent with every call closed. A result that could not be stored before
        is stored now.

        Args:
            output: The output of calls that had not started; None: unknown.
            is_new_turn: A result that cannot be stored now either is given up, if the store takes
                the call without it: it may be too long for the store, and must not block the
                session.

        Raises:
            StoreError: The store cannot be written; the next `load` closes what is left.
        """
        if not self.messages:
            return
        message = self.messages[-1]
        open_calls = {
            index: part
            for index, part in enumerate(message.parts)
            if isinstance(part, ToolCall) and part.state in _OPEN
        }
        if not open_calls:
            return
        results = self._unstored.setdefault(self._key(message), {})
        for index, call in open_calls.items():
            results.setdefault(index, _closed(call, output))
        for index, call in open_calls.items():
            try:
                await self.set_call(message, index, results[index])
            except StoreError:
                if not is_new_turn or results[index].state == "interrupted":
                    raise
                await self.set_call(message, index, _closed(call, None))

    def _with_results(self, message: Message) -> Message:
        """Return a copy of *message* with the results that could not be stored."""
        results = self._unstored.get(self._key(message), {})
        parts = [results.get(index, part) for index, part in enumerate(message.parts)]
        return replace(message, parts=parts)

    def history(self, requested: Route) -> MoveHistory:
        """Return what a step that asks for *requested* needs to know of the conversation.

        Its route is the last that answered a step for *requested*, because asking for another
        route is not a move. Its key is the one with which that route answered.
        """
        places = range(len(self.messages) - 1, -1, -1)
        answers = (place for place in places if self._answers(place, requested))
        place = next(answers, None)
        if place is None:
            last = self._replaced_answers.get(requested, _Answerer())
        else:
            last = _Answerer.of(self.messages[place])
        return MoveHistory(
            holds_calls=self._holds_calls,
            tools_run=self._tools_run(),
            route=last.route,
            api_key_env=last.api_key_env,
            turn=requested in self._answered_in_turn
            or (place is not None and place >= self._turn_from),
        )

    @property
    def last_route(self) -> Route | None:
        """The route of the last answer, whichever route was asked for; None: there is none."""
        answers = (message.route for message in reversed(self.messages) if is_answer(message))
        return next(answers, self._replaced_route)

    def _answers(self, place: int, requested: Route) -> bool:
        message = self.messages[place]
        return message.requested == requested and is_answer(message)

    def _tools_run(self) -> tuple[str, ...]:
        """Return the names of the tools that ran since the last user message, each once."""
        names = dict.fromkeys(_names_since_the_user(self.messages))
        return tuple(names | dict.fromkeys(self._replaced_tools))

    def _key(self, message: Message) -> int:
        """Return the key of *message*, which is nearly always the last one."""
        for place in range(len(self.messages) - 1, -1, -1):
            if self.messages[place] is message:
                return self._keys[place]
        raise LookupError("the message is not in this conversation")


@contextmanager
def _explained() -> Iterator[None]:
    """Turn any exception of an agent's own store into a `StoreError`."""
    try:
        with without_stray_cancellations("the store"):
            yield
    except StoreError:
        raise
    except Exception as error:
        raise StoreError(f"the store raised {describe(error)}") from error


def _closed(call: ToolCall, output: str | None) -> ToolCall:
    """Return *call* as one that will not run again; *output*: its output if it had not started."""
    result = output if call.state == "pending" else None
    return replace(call, state="interrupted", output=result, is_error=True)


def is_answer(message: Message) -> bool:
    """True if *message* is the answer of a route, even an empty one; False: its step failed.

    An answer that broke off after a tool had run counts, because it put its calls there.
    """
    has_answered = bool(message.attempts) and message.attempts[-1].kind is None
    return message.role == "assistant" and (bool(message.parts) or has_answered)


def _names_since_the_user(messages: Sequence[Message]) -> list[str]:
    """Return the names of the tools that ran since the last user message in *messages*."""
    names: list[str] = []
    for message in reversed(messages):
        if message.role == "user":
            break
        calls = (part for part in message.parts if isinstance(part, ToolCall))
        names += [call.name for call in calls if call.state != "pending"]
    return names
