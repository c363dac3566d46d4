"""A conversation made on any routes, as another may read it: in parts that its target takes.

Stored history is never changed: what must differ is copied, and the rest is shared.

Source: the providers' references named in `model.py` and `target.py`; what each refuses is
written there and in `strict.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..conversation import Message, Text, ToolCall, ToolSpec
from .message_translator import MessageTranslator
from .note import Action, Note
from .tool_name import ToolNames

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..conversation import Conversation, Settings
    from .target import Target

__all__ = ["FILLER_USER_TEXT", "Action", "Handover", "Note", "hand_over"]

FILLER_USER_TEXT = "Go on."
"""What the user says where an API wants a message of the user's, and there is none."""

_NO_TOOL = "no tool is called so"


@dataclass(slots=True)
class Handover:
    """A conversation in parts that the target takes, ready to be spelled in its wire.

    Every call has an id and a name in the target's form and a result; what is signed is the
    target's own; nothing is empty, and the last word is not the model's.

    Args:
        system: The instructions that stand before everything.
        messages: Those of ``system`` among them stand where the target takes them.
        renamed: Names of tools that the target knows otherwise: its name to the agent's own.
        notes: What was dropped, kept, changed and made up, in the order of the conversation.
    """

    target: Target
    settings: Settings
    system: list[str] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    tools: list[ToolSpec] = field(default_factory=list)
    renamed: Mapping[str, str] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def note(self, action: Action, what: str, why: str) -> None:
        """Note once what was said otherwise, however often this is spelled."""
        note = Note(action, what, why)
        if note not in self.notes:
            self.notes.append(note)


def hand_over(conversation: Conversation, target: Target) -> Handover:
    """Shape *conversation* for *target*."""
    names = ToolNames(target.names, (tool.name for tool in conversation.tools))
    crossing = MessageTranslator(target, names)
    for index, message in enumerate(conversation.messages):
        crossing.take(index, message)
    _drop_last_answer(crossing)
    made = Handover(target, conversation.settings, crossing.system, crossing.messages)
    made.notes = [*crossing.notes, *_give_the_user_a_word(made)]
    made.tools = _declared(conversation, names, made.notes)
    if target.declares_called_tools and not made.tools:
        # One more beside others would not be the prompt that its reasoning and its cache go with.
        made.tools += _called(made)
    if made.tools and not conversation.tools:
        # What is declared only because it was called is not there to be called again.
        made.settings = replace(made.settings, tool_choice="none")
    elif not _can_be_called(made.settings.tool_choice, conversation.tools):
        made.note("changed", f"tool_choice {made.settings.tool_choice!r} to 'auto'", _NO_TOOL)
        made.settings = replace(made.settings, tool_choice="auto")
    made.renamed = names.renamed
    return made


def _drop_last_answer(crossing: MessageTranslator) -> None:
    """See that the model does not have the last word; calls do not count, for results follow."""
    while crossing.messages and _is_last_word(crossing.messages[-1]):
        crossing.messages.pop()
        why = "the model cannot go on with it"
        crossing.notes.append(Note("dropped", "the last answer", why, crossing.origins.pop()))


def _is_last_word(message: Message) -> bool:
    return message.role == "assistant" and not message.has_calls


def _give_the_user_a_word(made: Handover) -> Iterator[Note]:
    """See that the user says anything at all, and begins where it must be so."""
    first = next((message for message in made.messages if message.role != "system"), None)
    if first is None:
        made.messages.append(Message("user", [Text(FILLER_USER_TEXT)]))
        yield Note("made", "a message of the user's", "there is none")
    elif made.target.begins_with_user and first.role == "assistant":
        made.messages.insert(0, Message("user", [Text(FILLER_USER_TEXT)]))
        yield Note("made", "a message of the user's", "it must be the first")


def _declared(conversation: Conversation, names: ToolNames, notes: list[Note]) -> list[ToolSpec]:
    """Return the tools as the target knows them; of those with one name the last."""
    once = {tool.name: tool for tool in conversation.tools}
    if len(once) < len(conversation.tools):
        notes.append(Note("dropped", "a tool", "another of the same name comes after it"))
    return [
        tool if (name := names.give(tool.name)) == tool.name else replace(tool, name=name)
        for tool in once.values()
    ]


def _can_be_called(choice: str | None, tools: Sequence[ToolSpec]) -> bool:
    """Say whether *choice* is a word for a choice, or names one of *tools*."""
    is_word = choice in {None, "auto", "none", "required"}
    return is_word or not tools or any(tool.name == choice for tool in tools)


def _called(made: Handover) -> Iterable[ToolSpec]:
    """Return the tools that were called."""
    calls = (part for message in made.messages for part in message.parts)
    for name in dict.fromkeys(call.name for call in calls if isinstance(call, ToolCall)):
        why = "tools were called, and some must be declared"
        made.notes.append(Note("made", f"tool {name!r}", why))
        yield ToolSpec(name)
