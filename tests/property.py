"""How many examples a property is tried with."""

from __future__ import annotations

from hypothesis import settings

_USUAL = 100


def examples(number: int) -> settings:
    """Return settings with *number* examples in the whole run, fewer in a quick one."""
    share = settings().max_examples / _USUAL
    return settings(max_examples=max(1, round(number * share)))
