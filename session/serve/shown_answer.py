"""What a client is shown of a sibling's answer, so that the route it asks for takes it back.

A client sends back what it gets. The route that it asks for refuses reasoning that it did not
issue, an answer without reasoning where it wants some, and ids of calls in another form.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...provider.conversation import Reasoning, Text, ToolCall
from ...provider.delta import ReasoningDelta, ToolCallEnded, ToolCallStarted
from ...provider.handover.target import PLACEHOLDER
from ...provider.handover.tool_id import ToolIds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...provider.conversation import Conversation, Part
    from ...provider.delta import Delta
    from ...provider.handover.target import Target


class ShownAnswer:
    """Shows one answer.

    Args:
        target: What the route that the client asks for accepts; None: that route speaks another
            wire, and so gets nothing but what is rendered for it.
        asked: The conversation that is answered.
    """

    def __init__(self, target: Target | None, asked: Conversation) -> None:
        self._target = target
        self._asked = asked
        self._ids: ToolIds | None = None
        self._shown: dict[str, str] = {}

    def delta(self, delta: Delta) -> Delta | None:
        """Return *delta* as it is shown; None: it is not."""
        if isinstance(delta, ReasoningDelta):
            return None
        if isinstance(delta, ToolCallStarted | ToolCallEnded):
            return replace(delta, id=self._id(delta.id))
        return delta

    def parts(self, parts: Sequence[Part]) -> list[Part]:
        """Return the whole answer, without any proof.

        Reasoning is shown only as plain text, where the route that the client asks for takes any.
        """
        target = self._target
        takes_reasoning = target is not None and _takes_plain_reasoning(target)
        shown: list[Part] = []
        for part in parts:
            if isinstance(part, Reasoning):
                if takes_reasoning and part.text:
                    shown.append(Reasoning(part.text))
            elif isinstance(part, ToolCall):
                shown.append(replace(part, id=self._id(part.id), signature=None, item_id=None))
            elif isinstance(part, Text):
                shown.append(replace(part, signature=None, item_id=None))
            else:
                shown.append(part)
        if target is not None and takes_reasoning and _lacks_reasoning(target, shown):
            shown.insert(0, Reasoning(PLACEHOLDER))
        return shown

    def _id(self, id_: str) -> str:
        """Return the id of a call in the form of the route that the client asks for."""
        if self._target is None:
            return id_
        if id_ not in self._shown:
            self._shown[id_] = self._new_ids().next_id(id_)
        return self._shown[id_]

    def _new_ids(self) -> ToolIds:
        """Return the source of ids that none of the conversation's calls has."""
        if self._ids is None:
            assert self._target is not None  # noqa: S101 - looked at before
            self._ids = ToolIds(self._target.ids)
            for message in self._asked.messages:
                for part in message.parts:
                    if isinstance(part, ToolCall):
                        self._ids.next_id(part.id)
        return self._ids


def _takes_plain_reasoning(target: Target) -> bool:
    return (
        target.wire == "openai-chat"
        and target.reasoning_form in {"text", "as issued"}
        and target.reasoning_field == "reasoning_content"
        and target.reasoning_in_content is None
    )


def _lacks_reasoning(target: Target, parts: Sequence[Part]) -> bool:
    """True if the route refuses an answer of *parts* in a history, because it has no reasoning."""
    if target.missing_reasoning is None or any(isinstance(part, Reasoning) for part in parts):
        return False
    return not target.reasons_before_calls or any(isinstance(part, ToolCall) for part in parts)
