"""End a turn in which the model writes only calls that cannot be run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...provider.conversation import ToolCall
from ..error import BudgetExceeded

if TYPE_CHECKING:
    from ...provider.conversation import Message
    from ...provider.route import Route


class WrongAnswers:
    """Count the answers in a row that hold only calls that could not be run.

    Such a call names no tool, or its arguments do not fit or are too long. The model sees the
    reason, so its next answer may be right.

    Args:
        most: After how many such answers the turn ends.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0

    def check(self, message: Message, *, has_run: bool, requested: Route) -> None:
        """Count *message*, after its calls.

        Args:
            has_run: At least one of its calls was run.

        Raises:
            BudgetExceeded: Too many answers in a row were wrong, *message* the last of them.
        """
        self._count = self._count + 1 if message.has_calls and not has_run else 0
        if self._count < self._most:
            return
        names = {part.name: None for part in message.parts if isinstance(part, ToolCall)}
        raise BudgetExceeded(
            f"{self._count} answers in a row held nothing but calls that cannot be run (the last "
            f"called {', '.join(map(repr, names))}), and their results say why: ask another "
            "model, make the tool's arguments simpler, or raise `max_wrong_answers`",
            requested=requested,
            attempts=(),
        )
