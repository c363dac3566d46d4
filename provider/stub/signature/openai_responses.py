"""Ids of the stub's items in OpenAI Responses; each records whether reasoning came with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .issuer import Issuer

NONCE = 24  # characters that the ids of one answer share
_HELD = NONCE + 2
_MARK = 8
REASONING = "rs"
AFTER_REASONING = "after reasoning "


def item_id(
    issuer: Issuer, route: str, prefix: str, nonce: str, index: int, *, is_after: bool = False
) -> str:
    """Return the id of item *index* of an answer, counted from 0.

    Args:
        nonce: At least `NONCE` characters that no other answer has.
        is_after: The answer's first item is reasoning, and this item is a later one.
    """
    held = f"{nonce[:NONCE]}{index:02x}"
    mark = issuer.mark(route, AFTER_REASONING + held if is_after else held)
    return f"{prefix}_{held}{mark}"


def needed_reasoning(issuer: Issuer, route: str, text: str) -> str | None:
    """Return the id of the reasoning that came with the item of id *text*.

    None: the id was not issued on *route*, or not together with reasoning.
    """
    held, mark = _parts(text)
    if not held or issuer.mark(route, AFTER_REASONING + held) != mark:
        return None
    return item_id(issuer, route, REASONING, held, 0)


def is_own_reasoning(issuer: Issuer, route: str, text: str) -> bool:
    """True if *text* is the id of reasoning that was issued on *route*."""
    held, mark = _parts(text)
    return bool(held) and mark == issuer.mark(route, held)


def _parts(text: str) -> tuple[str, str]:
    """Return the marked part of an id and the mark; both are empty for a foreign id."""
    rest = text.partition("_")[2]
    return (rest[:_HELD], rest[_HELD:]) if len(rest) == _HELD + _MARK else ("", "")
