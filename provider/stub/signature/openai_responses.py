"""Ids of the stub's items in OpenAI Responses, which say what they came with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .issuer import Issuer

NONCE = 24  # characters that all items of one answer have in common
_HELD = NONCE + 2
_MARK = 8
REASONING = "rs"
AFTER_REASONING = "after reasoning "


def item_id(
    issuer: Issuer, route: str, prefix: str, nonce: str, index: int, *, is_after: bool = False
) -> str:
    """Make the id of item *index* of an answer, counted from 0.

    Args:
        nonce: At least `NONCE` characters that no other answer has.
        is_after: The answer's first item is reasoning, and this is another.
    """
    held = f"{nonce[:NONCE]}{index:02x}"
    mark = issuer.mark(route, AFTER_REASONING + held if is_after else held)
    return f"{prefix}_{held}{mark}"


def needed_reasoning(issuer: Issuer, route: str, text: str) -> str | None:
    """Return the id of the reasoning that the item with id *text* came with.

    None: it was not issued here on *route*, or not together with reasoning.
    """
    held, mark = _parts(text)
    if not held or issuer.mark(route, AFTER_REASONING + held) != mark:
        return None
    return item_id(issuer, route, REASONING, held, 0)


def is_own_reasoning(issuer: Issuer, route: str, text: str) -> bool:
    """Say whether *text* is the id of reasoning that was issued here on *route*."""
    held, mark = _parts(text)
    return bool(held) and mark == issuer.mark(route, held)


def _parts(text: str) -> tuple[str, str]:
    """Split an id into what its mark is on, and the mark; both are empty for another's."""
    rest = text.partition("_")[2]
    return (rest[:_HELD], rest[_HELD:]) if len(rest) == _HELD + _MARK else ("", "")
