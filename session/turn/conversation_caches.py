"""The prompt caches of a session's conversation: which route has read how much of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..plan.needs import Counted, Needs
from ..step.cold_cache import ColdCache

if TYPE_CHECKING:
    from ...provider.conversation import Conversation
    from ...provider.route import Route
    from ..clock import Clock
    from ..cost.meter import StepMeter
    from .size import ConversationSize
    from .transcript import Transcript

LASTS = 300.0
"""Seconds for which a provider keeps a cache that nobody reads.

Source: Anthropic's prompt caching (5 minutes) and OpenAI's (5 to 10 minutes), read on 2026-11-30.
"""
_NOTHING = Counted(0, 0)


@dataclass(frozen=True, slots=True)
class _Read:
    """What a route has read: the first *messages* of the conversation, *at* that time."""

    at: float
    messages: int
    replacements: int


class ConversationCaches:
    """Remember which routes of a session have a cache of its conversation.

    Args:
        price: Returns the price of so many input tokens on a route; None: not known.
    """

    def __init__(
        self,
        clock: Clock,
        transcript: Transcript,
        size: ConversationSize,
        price: Callable[[Route, int], float | None],
    ) -> None:
        self._clock = clock
        self._transcript = transcript
        self._size = size
        self._price = price
        self._read: dict[Route, _Read] = {}

    @property
    def last_route(self) -> Route | None:
        """The route of the last answer, whichever route was asked for; None: there is none."""
        return self._transcript.last_route

    def answered(self, route: Route) -> None:
        """Record that *route* has written the last message, and so has read those before it."""
        transcript = self._transcript
        before = len(transcript.messages) - 1
        self._read[route] = _Read(self._clock.time(), before, transcript.replacements)

    def cold(self, conversation: Conversation, route: Route, *, is_own: bool) -> ColdCache:
        """Return what a request with *conversation* finds no cache of on *route*.

        Args:
            is_own: The conversation begins with the messages of this session.
        """
        known = (self._warm(route) or self._counted(route)) if is_own else _NOTHING
        settings = replace(conversation.settings, max_output_tokens=None)
        request = replace(conversation, settings=settings)
        needs = Needs.of(request, counted={route: known} if known.messages else {})
        tokens = needs.counted.get(route, needs.tokens or 0)
        return ColdCache(tokens, self._price(route, tokens))

    def _warm(self, route: Route) -> Counted | None:
        """Return the messages that *route* has in its cache, as 0 tokens; None: none."""
        read = self._read.get(route)
        if read is None or read.replacements != self._transcript.replacements:
            return None
        is_kept = self._clock.time() - read.at <= LASTS
        return Counted(0, read.messages) if is_kept else None

    def _counted(self, route: Route) -> Counted:
        """Return the last count of the provider of *route*, else the newest one of another."""
        counts = self._size.counts
        newest = max(counts.values(), key=lambda each: each.messages, default=_NOTHING)
        return counts.get(route, newest)


@dataclass(frozen=True, slots=True)
class StepCaches:
    """The caches before one step; see `PromptCaches`.

    Args:
        is_own: The conversation begins with the messages of the session.
        meter: Adds to the record of an attempt what it finds no cache of.
    """

    caches: ConversationCaches
    conversation: Conversation
    before: Route | None
    is_own: bool
    meter: StepMeter

    def move_to(self, route: Route) -> ColdCache:
        """Return what a move to *route*, which happens now, finds no cache of."""
        cold = self.caches.cold(self.conversation, route, is_own=self.is_own)
        self.meter.note_move(route, cold)
        return cold
