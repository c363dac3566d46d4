"""Check the numbers and words that an agent passes as arguments."""

from __future__ import annotations

import sys
from typing import SupportsFloat, get_args

from ..provider.conversation import Effort

_EFFORTS: tuple[str, ...] = get_args(Effort)


def is_positive_number(value: object, *, is_count: bool) -> bool:
    """True if *value* is a finite number above 0; with *is_count* it must be whole too."""
    if isinstance(value, bool) or not isinstance(value, int if is_count else int | float):
        return False
    return 0 < value <= sys.float_info.max


def number(value: object) -> float | None:
    """Return *value* as a float; None: it is no number, or too large for a float."""
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        return None
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError):
        return None


def shown(value: object) -> str:
    """Return *value* as text for a message; an integer too large for a float only as a bound."""
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return f"a number {'above ' if value > 0 else 'below -'}{sys.float_info.max:.1e}"
    return repr(value)


def check_count(name: str, value: object, *, is_optional: bool = False) -> None:
    """Return if *value* is a whole number above 0, or None and *is_optional*.

    Raises:
        ValueError: It is not; the message begins with *name*.
    """
    if (is_optional and value is None) or is_positive_number(value, is_count=True):
        return
    rest = ", or None" if is_optional else ""
    raise ValueError(f"`{name}` must be a whole number above 0{rest}, got {shown(value)}")


def check_effort(name: str, value: object) -> None:
    """Return if *value* is an `Effort` or None.

    Raises:
        ValueError: It is not; the message begins with *name*.
    """
    if value is not None and value not in _EFFORTS:
        raise ValueError(
            f"`{name}` must be one of {', '.join(_EFFORTS)}, or None, got {shown(value)}"
        )


def validated_deadline(value: object) -> float | None:
    """Return *value* as a number of seconds; None if it is None.

    Raises:
        ValueError: *value* is not a number above 0.
    """
    if value is None:
        return None
    seconds = number(value)
    if seconds is None or not seconds > 0:
        raise ValueError(f"`deadline` must be a number of seconds above 0, got {shown(value)}")
    return seconds
