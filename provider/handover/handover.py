"""Handover: a conversation from any routes, shaped for one target.

The stored history is never changed: parts that must differ are copied, and the rest is shared.

Source: the providers' references named in `catalog/model.py` and `target_facts.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..conversation import Message, Text, ToolCall, ToolSpec
from .message_translator import MessageTranslator
from .note import Action, Note
from .shortened import shortened_text, size_of
from .tool_name import ToolNames

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..conversation import Conversation, Settings
    from .target import Target

__all__ = ["FILLER_USER_TEXT", "Action", "Handover", "Note", "hand_over"]

FILLER_USER_TEXT = "Go on."
"""The text of a user message that is made up because the API requires one."""

_NO_TOOL = "no tool is called so"


@dataclass(slots=True)
class Handover:
    """A conversation in parts that the target accepts, ready for the encoder of its wire.

    Every call has an id and a name in the target's form, and a result. Signatures are the target's
    own. Nothing is empty, and the last message is not the model's.

    Args:
        system: The instructions at the start of the conversation.
        messages: All others; later messages of ``system`` only if the target takes them.
        renamed: Names of tools that differ at the target: its name to the agent's own.
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
        """Add a note, unless the same note is there already."""
        note = Note(action, what, why)
        if note not in self.notes:
            self.notes.append(note)


def hand_over(conversation: Conversation, target: Target) -> Handover:
    """Return *conversation* shaped for *target*."""
    names = ToolNames(target.names, (tool.name for tool in conversation.tools))
    translator = MessageTranslator(target, names)
    for index, message in enumerate(conversation.messages):
        translator.add(index, message)
    _drop_last_answer(translator)
    made = Handover(target, conversation.settings, translator.system, translator.messages)
    made.notes = [*translator.notes, *_add_user_message(made)]
    made.tools = _declared_tools(conversation, names, target.longest_description, made.notes)
    if target.declares_called_tools and not made.tools:
        # Only if no tool is declared: one more would change the prompt, which reasoning and the
        # cache depend on.
        made.tools += _called_tools(made)
    if made.tools and not conversation.tools:
        # A tool that is declared only because it was called must not be called again.
        made.settings = replace(made.settings, tool_choice="none")
    elif not _can_be_called(made.settings.tool_choice, conversation.tools):
        made.note("changed", f"tool_choice {made.settings.tool_choice!r} to 'auto'", _NO_TOOL)
        made.settings = replace(made.settings, tool_choice="auto")
    made.renamed = names.renamed
    return made


def _drop_last_answer(translator: MessageTranslator) -> None:
    """Drop answers at the end, except those with calls, because results follow them."""
    while translator.messages and _is_final_answer(translator.messages[-1]):
        translator.messages.pop()
        why = "the model cannot go on with it"
        translator.notes.append(Note("dropped", "the last answer", why, translator.origins.pop()))


def _is_final_answer(message: Message) -> bool:
    return message.role == "assistant" and not message.has_calls


def _add_user_message(made: Handover) -> Iterator[Note]:
    """Add a user message if there is no message, or if the first one must be the user's."""
    first = next((message for message in made.messages if message.role != "system"), None)
    if first is None:
        made.messages.append(Message("user", [Text(FILLER_USER_TEXT)]))
        yield Note("made", "a message of the user's", "there is none")
    elif made.target.begins_with_user and first.role == "assistant":
        made.messages.insert(0, Message("user", [Text(FILLER_USER_TEXT)]))
        yield Note("made", "a message of the user's", "it must be the first")


def _described(tool: ToolSpec, longest: int | None) -> ToolSpec:
    """Return *tool* with a description of at most *longest* bytes."""
    if longest is None or size_of(tool.description) <= longest:
        return tool
    return replace(tool, description=shortened_text(tool.description, longest))


def _declared_tools(
    conversation: Conversation, names: ToolNames, longest: int | None, notes: list[Note]
) -> list[ToolSpec]:
    """Return the tools under the target's names; of several with one name only the last."""
    once = {tool.name: _described(tool, longest) for tool in conversation.tools}
    if len(once) < len(conversation.tools):
        notes.append(Note("dropped", "a tool", "another of the same name comes after it"))
    return [
        tool if (name := names.name_of(tool.name)) == tool.name else replace(tool, name=name)
        for tool in once.values()
    ]


def _can_be_called(choice: str | None, tools: Sequence[ToolSpec]) -> bool:
    """True if *choice* is a word of the settings or names one of *tools*, or there are no tools."""
    is_word = choice in {None, "auto", "none", "required"}
    return is_word or not tools or any(tool.name == choice for tool in tools)


def _called_tools(made: Handover) -> Iterable[ToolSpec]:
    """Return a declaration of each tool that was called."""
    calls = (part for message in made.messages for part in message.parts)
    for name in dict.fromkeys(call.name for call in calls if isinstance(call, ToolCall)):
        why = "tools were called, and some must be declared"
        made.notes.append(Note("made", f"tool {name!r}", why))
        yield ToolSpec(name)
