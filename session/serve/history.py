"""What `movePolicy` and `returnPolicy` need to know of a client's conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...provider.conversation import Text, ToolCall
from ..step.move_policy import MoveHistory

if TYPE_CHECKING:
    from ...provider.conversation import Conversation, Message
    from ..plan.plan import Plan


def depends_on_history(plan: Plan | None) -> bool:
    """True if a step of *plan* has to know what happened before it."""
    if plan is None:
        return False
    config = plan.config
    return config.move_policy != "rebuild" or config.return_policy != "step"


def history_of(conversation: Conversation) -> MoveHistory:
    """Return what happened before the next step of *conversation*.

    The route that answered last is known if it was a sibling; else it is the requested route.
    """
    running = _running(conversation.messages)
    answers = [each for each in conversation.messages if each.role == "assistant"]
    return MoveHistory(
        holds_calls=any(message.has_calls for message in answers),
        tools_run=[
            part.name
            for message in running
            for part in message.parts
            if isinstance(part, ToolCall) and part.output is not None
        ],
        route=answers[-1].route if answers else None,
        turn=bool(running),
    )


def begins_turn(message: Message, answer: Message | None) -> bool:
    """True if *message* is a prompt of the user.

    A text after the results of calls is none. Claude Code sends one with each result: how many
    tokens are left, and the like. The model has not ended its turn there.

    Args:
        answer: The model's last message before it; None: there is none.
    """
    if message.role != "user" or not any(isinstance(part, Text) for part in message.parts):
        return False
    return answer is None or not answer.has_calls


def _running(messages: list[Message]) -> list[Message]:
    """Return the answers since the user's last prompt."""
    found: list[Message] = []
    answer: Message | None = None
    for message in messages:
        if message.role == "assistant":
            found.append(message)
            answer = message
        elif begins_turn(message, answer):
            found.clear()
    return found
