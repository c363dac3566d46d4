"""What all turns and side calls of one session share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

from ...provider.client.client import Client
from ...provider.conversation import Conversation, Settings
from ...provider.route import Route
from ..cost.ledger import Ledger
from ..event import Event, Listener, notify
from ..plan.needs import Needs
from ..step.middleware import Sidestep
from ..tool.tool import Tool
from .conversation_caches import ConversationCaches
from .size import ConversationSize
from .step_requests import Cures
from .stored_cooldowns import StoredCooldowns
from .transcript import Transcript


@dataclass(slots=True, kw_only=True)
class SessionState:
    """The parts and the settings of a session; see `Session`.

    Args:
        asked: The route, or the name of a chain, that the steps ask for.
        route: The requested route of *asked*.
        room: While `compact` runs, how many tokens the conversation may have; None: unknown.
        compact: Shortens the conversation; True if it did. None: it is never shortened.
        prompts: The prompts of turns that failed before these were stored.
        steering: What the user said since the last step, for the next step.
        caches: Which routes have a prompt cache of the conversation.
        cures: The cures of requests per route, for the rest of the session.
    """

    middleware: Sidestep
    client: Client
    transcript: Transcript
    ledger: Ledger
    size: ConversationSize
    caches: ConversationCaches
    cooldowns: StoredCooldowns
    tools: dict[str, Tool]
    settings: Settings
    asked: str
    route: Route
    system: str | None
    max_steps: int
    max_wrong_answers: int
    eager: bool
    compact: Callable[[], Awaitable[bool]] | None
    on_event: Listener | None
    room: int | None = None
    prompts: list[str] = field(default_factory=list)
    steering: list[str] = field(default_factory=list)
    cures: Cures = field(default_factory=dict)
    _opening: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def conversation(self) -> Conversation:
        """What a request sends: the messages so far, the tools and the settings."""
        specs = [tool.spec for tool in self.tools.values()]
        return Conversation(self.transcript.messages, specs, self.settings)

    @property
    def tokens(self) -> int:
        """The tokens of a request and its longest answer, as estimated."""
        return Needs.of(self.conversation).tokens or 0

    def ask_for(self, asked: str) -> None:
        """Ask for *asked* from the next step on.

        Raises:
            ValueError: *asked* is neither a route nor the name of a chain.
        """
        self.route = self.middleware.requested(asked)
        self.asked = asked

    def serves(self, route: Route) -> bool | str:
        """True if *route* can be asked, and has a price if money is limited; else why not."""
        why = self.client.why_unserved(route)
        if why is None and self.ledger.limits_money and not self.ledger.is_priced(route):
            why = "its price is not known, and a budget limits money"
        return True if why is None else why

    async def open(self) -> None:
        """Read the store, the cooldowns that ran, and what the attempts cost, once.

        Raises:
            StoreError: The store cannot be read.
        """
        async with self._opening:
            await self.transcript.load()
            self.cooldowns.restore(self.transcript.messages, self.route)
            self.ledger.resume(self.transcript.messages)

    def emit(self, event: Event, *, journal: Listener | None, listener: Listener | None) -> None:
        """Hand *event* to the journal, to the session's listener, and to *listener*.

        Args:
            journal: The part of the journal for *event*; None: the middleware's journal.
        """
        journal = journal or self.middleware.journal
        for each in (self.middleware.observers, journal, self.on_event, listener):
            if each is not None:
                notify(each, event)
