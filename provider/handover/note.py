"""What a target gets otherwise than it is stored, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Action = Literal["dropped", "kept", "changed", "made"]


@dataclass(slots=True)
class Note:
    """One thing that the target gets otherwise than it is stored.

    Args:
        message: Which message of the conversation, from 0; None where it is about the whole.
        part: Which part of that message, from 0; None where it is about the whole message.
        what: The thing, as ``reasoning`` or ``id toolu_1``.
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
