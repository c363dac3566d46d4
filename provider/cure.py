"""The changes of a request that a refusal can ask for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Change(StrEnum):
    """A kind of change, in words."""

    DROP_REASONING = "drop all reasoning, and the ids of its items"
    THINKING_OFF = "switch thinking off"
    THINK_ADAPTIVELY = "let the model decide how much it thinks"
    THINK_BY_BUDGET = "give thinking a budget"
    SIGN_CALLS = "put a placeholder for the signature that a call lacks"
    ADD_REASONING = "put a placeholder for the reasoning that a message lacks"
    DROP_REASONING_TEXT = "leave out the text of reasoning"
    REWRITE_IDS = "rewrite the ids of tool calls"
    CLOSE_CALLS = "give every tool call one result, right after it"
    DECLARE_TOOLS = "declare every tool that was called"
    DROP_EMPTY = "leave out what is empty"
    END_WITH_USER = "end with a message of the user's"
    BRIDGE_RESULTS = "put an answer between a tool's result and the user"
    UNMARK = "leave out the cache markers"
    DROP_IMAGES = "leave out the images"
    PLAIN_CONTENT = "send content as text alone"
    DO_NOT_FORCE = "do not force a tool to be called"
    LEAVE_OUT_IMAGES = "leave out the images that were refused"
    LEAVE_OUT_FILTERED = "leave out what a content filter refused"
    SHORTEN = "shorten what is too long"
    PLAIN_TEXT = "send the conversation so far as plain text"
    LIMIT_EFFORT = "ask for an effort that the model takes"
    LIMIT_TOKENS = "ask for a shorter answer at most"
    FIT_ANSWER = "ask for an answer that fits beside the prompt"
    RENAME_LIMIT = "give the longest answer under another name"
    OMIT = "leave out a parameter"


@dataclass(frozen=True, slots=True)
class Cure:
    """One change that a refusal asks for.

    Args:
        detail: What the kind of change needs: the parameter to leave out, the other name, the
            largest number of tokens or bytes, the efforts that the model takes, the place of the
            refused image, the refused messages, or the number of messages that become plain text.
            Otherwise empty.
    """

    change: Change
    detail: str = ""

    @property
    def is_of_history(self) -> bool:
        """True if it changes a part of the conversation, not a parameter of the request."""
        return self.change not in _OF_PARAMETERS

    @property
    def is_for_one_step(self) -> bool:
        """True if the next step may not need the change."""
        return self.change is Change.FIT_ANSWER

    def __str__(self) -> str:
        return f"{self.change}: {self.detail}" if self.detail else str(self.change)


_OF_PARAMETERS = frozenset(
    {
        *(Change.THINKING_OFF, Change.THINK_ADAPTIVELY, Change.THINK_BY_BUDGET),
        *(Change.DECLARE_TOOLS, Change.DO_NOT_FORCE, Change.LIMIT_EFFORT, Change.LIMIT_TOKENS),
        *(Change.FIT_ANSWER, Change.RENAME_LIMIT, Change.OMIT),
    }
)
