"""What an agent sets as a number or a word: whether it can be that, and how it is told."""

from __future__ import annotations

import sys
from typing import SupportsFloat, get_args

from ..provider.conversation import Effort

_EFFORTS: tuple[str, ...] = get_args(Effort)


def is_limit(value: object, *, is_count: bool) -> bool:
    """Say whether *value* is a finite number above 0, and a whole one where it *is_count*."""
    if isinstance(value, bool) or not isinstance(value, int if is_count else int | float):
        return False
    return 0 < value <= sys.float_info.max


def number(value: object) -> float | None:
    """Return *value* as a float; None for what is no number, or too large for one."""
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        return None
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError):
        return None


def shown(value: object) -> str:
    """Return *value* as a message tells it: an integer that no float holds, by its size alone."""
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return f"a number {'above ' if value > 0 else 'below -'}{sys.float_info.max:.1e}"
    return repr(value)


def check_count(name: str, value: object, *, is_optional: bool = False) -> None:
    """Let a whole number above 0 through, and None where the setting *is_optional*.

    Raises:
        ValueError: *value* is neither; the message begins with *name*.
    """
    if (is_optional and value is None) or is_limit(value, is_count=True):
        return
    rest = ", or None" if is_optional else ""
    raise ValueError(f"`{name}` must be a whole number above 0{rest}, got {shown(value)}")


def check_effort(name: str, value: object) -> None:
    """Let an `Effort` through, and None.

    Raises:
        ValueError: *value* is neither; the message begins with *name*.
    """
    if value is not None and value not in _EFFORTS:
        raise ValueError(
            f"`{name}` must be one of {', '.join(_EFFORTS)}, or None, got {shown(value)}"
        )


def checked_deadline(value: object) -> float | None:
    """Return the number of seconds that *value* is; None where it is None.

    Raises:
        ValueError: It is no number above 0.
    """
    if value is None:
        return None
    seconds = number(value)
    if seconds is None or not seconds > 0:
        raise ValueError(f"`deadline` must be a number of seconds above 0, got {shown(value)}")
    return seconds
