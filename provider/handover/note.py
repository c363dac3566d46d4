"""Notes: differences between a stored conversation and its request, with reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Action = Literal["dropped", "kept", "changed", "made"]


@dataclass(slots=True)
class Note:
    """One difference between the stored conversation and the request.

    Args:
        message: Index of the message, from 0; None: the whole conversation is meant.
        part: Index of the part in the message, from 0; None: the whole message is meant.
        what: The thing, such as ``reasoning`` or ``id toolu_1``.
        why: The reason, as half a sentence.
    """

    action: Action
    what: str
    why: str
    message: int | None = None
    part: int | None = None

    def __str__(self) -> str:
        where = "" if self.message is None else f"messages[{self.message}]"
        where += "" if self.part is None else f".parts[{self.part}]"
        return f"{self.action} {self.what}{where and f' of {where}'}: {self.why}"
