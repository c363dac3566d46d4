"""The reasons why a step passes a route over."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..provider.route import Route

Unfit = Callable[[Route], str | None]
"""Returns why a route cannot take a step, as half a sentence; None: it can."""
PassedOver = tuple[tuple[Route, str], ...]
"""Routes that were passed over, in order, each with its reason."""

# A number on its own, not the 5 in a model's name.
_NUMBER = re.compile(r"(?<![\w.-])\d+(?:[.,]\d+)*(?![\w-])")


def without_numbers(reason: str) -> str:
    """Return *reason* with ``#`` for each number, so that equal causes compare equal."""
    return _NUMBER.sub("#", reason)


KEY_REASONS = frozenset({"out of quota", "key refused"})
"""Reasons against a key: its credits are used up, or it is refused."""
STAYS_FOR_THE_TURN = "the conversation stays for the turn"
STAYS_UNTIL_FAILURE = "the conversation stays until its route fails"
"""Reasons of `returnPolicy`: the requested route could take the step, but is passed over."""
STAYS = frozenset({STAYS_FOR_THE_TURN, STAYS_UNTIL_FAILURE})

TEMPORARY_REASONS = STAYS | KEY_REASONS | {"degraded", "probed", "tried"}
"""Reasons that pass with time; any other reason says why a route cannot take the step at all."""
