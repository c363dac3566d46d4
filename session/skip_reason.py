"""Why a route was passed over, in words, and which of them say the same."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..provider.route import Route

Unfit = Callable[[Route], str | None]
"""Returns why a route cannot take a step, as half a sentence; None: it can."""
PassedOver = tuple[tuple[Route, str], ...]
"""Routes that were passed over, in order, each with the reason that decided."""

# Those that stand alone, and not the 5 of a model's name.
_NUMBER = re.compile(r"(?<![\w.-])\d+(?:[.,]\d+)*(?![\w-])")


def without_numbers(reason: str) -> str:
    """Return *reason* so that it equals another that differs from it only in its numbers."""
    return _NUMBER.sub("#", reason)


PASSING = frozenset({"degraded", "probed", "tried"})
"""Reasons that end by themselves; any other reason says why a route cannot take the step at all."""
