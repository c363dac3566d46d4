"""Which route answered a conversation last, as the messages of a framework say."""

from __future__ import annotations

from collections.abc import Iterable

from ...provider.route import Route
from ..step.move_policy import MoveHistory

STAMP = "sidestep"
"""The key under which an answer says which route was asked for, and which one answered."""
FROM_THE_USER = object()
"""In place of a stamp: the message is the user's, and begins a turn."""


def answer_history(stamps: Iterable[object], requested: Route) -> MoveHistory | None:
    """Return the history of a step that asks for *requested*; None: no route has answered.

    An answer to a step that asked for another route does not count.

    Args:
        stamps: The stamp of each message, the newest first, or `FROM_THE_USER`.
    """
    turn = True
    for stamp in stamps:
        if stamp is FROM_THE_USER:
            turn = False
        elif isinstance(stamp, dict) and stamp.get("requested") == requested:
            try:
                return MoveHistory(route=Route(stamp["route"]), turn=turn)
            except (KeyError, TypeError, ValueError):
                continue  # somebody else wrote it
    return None
