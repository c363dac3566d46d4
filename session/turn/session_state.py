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
from ..step.middleware import Sidestep
from ..tool.tool import Tool
from .size import ConversationSize
from .step_requests import Cures
from .transcript import Transcript


@dataclass(slots=True, kw_only=True)
class SessionState:
    """The parts and the settings of a session; see `Session`.

    Args:
        asked: What its steps ask for: a route, or the name of a chain.
        route: The route that *asked* stands for.
        compact: Makes the conversation shorter; True if it did. None: nothing does.
        steering: What the user said meanwhile, for the next step.
        cures: What was cured on each route, for the rest of the session.
    """

    middleware: Sidestep
    client: Client
    transcript: Transcript
    ledger: Ledger
    size: ConversationSize
    tools: dict[str, Tool]
    settings: Settings
    asked: str
    route: Route
    system: str | None
    max_steps: int
    eager: bool
    compact: Callable[[], Awaitable[bool]] | None
    on_event: Listener | None
    steering: list[str] = field(default_factory=list)
    cures: Cures = field(default_factory=dict)
    _opening: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def conversation(self) -> Conversation:
        """What a request goes on with: the messages so far, the tools and the settings."""
        specs = [tool.spec for tool in self.tools.values()]
        return Conversation(self.transcript.messages, specs, self.settings)

    def ask_for(self, asked: str) -> None:
        """Ask for *asked* from the next step on.

        Raises:
            ValueError: It is neither a route nor the name of a chain.
        """
        self.route = self.middleware.requested(asked)
        self.asked = asked

    def serves(self, route: Route) -> bool | str:
        """True if *route* can be asked, and has a price if money is limited; else why not."""
        why = self.client.why_unserved(route)
        if why is None and self.ledger.limits_money and not self.ledger.is_priced(route):
            why = "nobody knows its price, and money is limited"
        return True if why is None else why

    async def open(self) -> None:
        """Read what the store has, and what it cost, once.

        Raises:
            StoreError: The store cannot be read.
        """
        async with self._opening:
            await self.transcript.load()
            self.ledger.resume(self.transcript.messages)

    def emit(self, event: Event, *, journal: Listener | None, listener: Listener | None) -> None:
        """Hand *event* to the journal, to the session's listener, and to *listener*.

        Args:
            journal: The part of the journal it belongs to; None: the middleware's journal.
        """
        journal = journal or self.middleware.journal
        for each in (journal, self.on_event, listener):
            if each is not None:
                notify(each, event)
