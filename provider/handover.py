"""A conversation made on any routes, as another may read it: what crosses, and in what form.

Stored history is never changed: what must differ is copied, and the rest is shared.

Source: the providers' references named in `model.py` and `target.py`; what each refuses is
written there and in `strict.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from .part import Image, Message, Reasoning, Text, ToolCall, ToolSpec
from .tool_id import ToolIds
from .tool_name import ToolNames

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .part import Conversation, Output, Part, Settings
    from .target import Target

Action = Literal["dropped", "kept", "changed", "made"]

GO_ON = "Go on."
"""What the user says where an API wants a message of the user's, and there is none."""
NO_IMAGE = "[An image stood here; this model takes none.]"
IMAGE_FOLLOWS = "[The image follows below.]"
IMAGES_OF = "[Images from the result of {name}:]"
UNFINISHED = {
    "pending": "This call was not run: the step was interrupted before it began.",
    "running": "This call was interrupted; it may have run, in part or in full.",
    "interrupted": "This call was interrupted; it may have run, in part or in full.",
}
"""What closes a call that has no result: every API wants one for each call."""


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


def hand_over(conversation: Conversation, target: Target) -> Handover:
    """Shape *conversation* for *target*."""
    return _Crossing(conversation, target).cross()


class _Crossing:
    """One conversation on its way to one target."""

    def __init__(self, conversation: Conversation, target: Target) -> None:
        self._conversation = conversation
        self._target = target
        self._made = Handover(target, conversation.settings)
        self._ids = ToolIds(target.ids)
        self._names = ToolNames(target.names, (tool.name for tool in conversation.tools))
        self._signs_parts = target.wire == "gemini" and target.proof == "signature"
        self._chain_is_broken = False
        self._message = 0

    def cross(self) -> Handover:
        """Take over all messages in order, and then the tools."""
        made = self._made
        for index, message in enumerate(self._conversation.messages):
            self._message = index
            if message.role == "assistant":
                self._assistant(message)
            else:
                self._add(message.role, self._said(message))
        self._mend_ends()
        made.tools = self._tools()
        made.renamed = self._names.renamed
        return made

    def _note(self, action: Action, what: str, why: str, part: int | None = None) -> None:
        self._made.notes.append(Note(action, what, why, self._message, part))

    def _add(self, role: Literal["system", "user", "assistant"], parts: list[Part]) -> None:
        """Add a message; instructions that come later are the user's where it must be so."""
        if not parts:
            self._note("dropped", "the message", "nothing is in it that can be sent")
            return
        if role == "system":
            texts = [part.text for part in parts if isinstance(part, Text)]
            if not self._made.messages:
                self._made.system += texts
                return
            if not self._target.takes_system_later:
                self._note("changed", "instructions", "here they can stand only as the user's")
                role = "user"
        self._made.messages.append(Message(role, parts))

    def _said(self, message: Message) -> list[Part]:
        """Return what the user or the agent said, of which nothing is signed."""
        parts: list[Part] = []
        for index, part in enumerate(message.parts):
            match part:
                case Text():
                    if part.text.strip():
                        parts.append(Text(part.text))
                    else:
                        self._note("dropped", "text", "it is empty", index)
                case Image():
                    parts.append(self._image(part, index))
                case _:
                    self._note("dropped", _name(part), f"a {message.role} has none", index)
        return parts

    def _image(self, image: Image, index: int) -> Image | Text:
        if self._target.takes_images:
            return image
        self._note("changed", "image", "this model takes none", index)
        return Text(NO_IMAGE)

    def _assistant(self, message: Message) -> None:
        target = self._target
        is_own = message.route == target.route
        parts: list[Part] = []
        shown: list[Message] = []
        for index, part in enumerate(message.parts):
            match part:
                case Text():
                    parts += self._text(part, index, is_own=is_own)
                case Reasoning():
                    parts += self._reasoning(part, index, is_own=is_own)
                case ToolCall():
                    parts.append(self._call(part, index, shown, is_own=is_own))
                case Image():
                    self._note("dropped", "image", "an answer cannot hold one", index)
        parts = self._complete(parts)
        if target.proof == "encrypted":
            parts = self._paired(parts)
        self._add("assistant", parts)
        self._made.messages += shown

    def _text(self, part: Text, index: int, *, is_own: bool) -> Iterator[Text]:
        signature = part.signature if is_own and self._signs_parts else None
        if signature is None and part.signature is not None:
            self._note("dropped", "signature of text", _foreign(is_own), index)
        if signature or part.text.strip():
            item_id = part.item_id if is_own else None
            yield Text(part.text, signature=signature, item_id=item_id)
        else:
            self._note("dropped", "text", "it is empty", index)

    def _reasoning(self, part: Reasoning, index: int, *, is_own: bool) -> Iterator[Reasoning]:
        why = self._why_dropped(part, is_own=is_own)
        if why is None:
            self._note("kept", "reasoning", "this route issued it", index)
            yield part
            return
        self._note("dropped", "reasoning", why, index)
        self._chain_is_broken = self._chain_is_broken or self._target.is_chained

    def _why_dropped(self, part: Reasoning, *, is_own: bool) -> str | None:
        """Say why *part* cannot cross; None: it can."""
        if not is_own:
            return _foreign(is_own)
        if not part.complete:
            return "it is not finished"
        if self._chain_is_broken:
            return "reasoning before it was dropped, after which it proves nothing"
        match self._target.proof:
            case "signature" if not (part.signature or part.redacted):
                return "it has no signature"
            case "unsigned" if not (part.text or part.signature or part.redacted):
                return "it is empty"
            case "encrypted" if not (part.encrypted and part.item_id):
                return "it has no encrypted form"
            case "details" if not part.details:
                return "it has no details"
            case "text" if not part.text:
                return "it is empty"
            case "none":
                return "this API takes none back"
            case _:
                return None

    def _call(self, call: ToolCall, index: int, shown: list[Message], *, is_own: bool) -> ToolCall:
        """Return *call* with the target's id and name, and with a result."""
        id_ = self._ids.give(call.id)
        if id_ != call.id:
            self._note("changed", f"id {call.id!r} to {id_!r}", "ids have another form here", index)
        name = self._names.give(call.name)
        if name != call.name:
            self._note("changed", f"name {call.name!r} to {name!r}", "so it may stand here", index)
        if call.output is None:
            self._note("made", "result", f"the call is {call.state}, and must have one", index)
        signature = call.signature if is_own and self._signs_parts else None
        if signature is None and call.signature is not None:
            self._note("dropped", "signature of a call", _foreign(is_own), index)
        return replace(
            call,
            id=id_,
            name=name,
            output=self._output(call, index, shown),
            is_error=call.is_error or call.output is None or call.state == "error",
            signature=signature,
            item_id=call.item_id if is_own else None,
        )

    def _output(self, call: ToolCall, index: int, shown: list[Message]) -> Output:
        """Return a result as it may stand here; pictures that may not go to *shown*."""
        if call.output is None:
            return UNFINISHED.get(call.state, UNFINISHED["interrupted"])
        if isinstance(call.output, str):
            return call.output
        target = self._target
        failed = call.is_error or call.state == "error"
        stays = target.images_in_errors if failed else target.images_in_results
        said: list[Text | Image] = []
        moved: list[Part] = []
        for part in call.output:
            if isinstance(part, Text):
                if part.text.strip():
                    said.append(Text(part.text))
            elif not target.takes_images or stays:
                said.append(self._image(part, index))
            else:
                moved.append(part)
                said.append(Text(IMAGE_FOLLOWS))
        if moved:
            self._note("changed", "image", "here it follows in a message of the user's", index)
            shown.append(Message("user", [Text(IMAGES_OF.format(name=call.name)), *moved]))
        if any(isinstance(part, Image) for part in said):
            return said
        return "\n".join(part.text for part in said if isinstance(part, Text))

    def _complete(self, parts: list[Part]) -> list[Part]:
        """Make up what the target demands in place of what was dropped."""
        target = self._target
        first = next((i for i, part in enumerate(parts) if isinstance(part, ToolCall)), None)
        if target.missing_signature is not None and first is not None:
            call = parts[first]
            if isinstance(call, ToolCall) and call.signature is None:
                parts[first] = replace(call, signature=target.missing_signature)
                self._note("made", "signature", "the first call of a step must have one")
        if target.missing_reasoning is None or not parts:
            return parts
        is_due = first is not None or not target.reasons_before_calls
        if is_due and not any(isinstance(part, Reasoning) for part in parts):
            self._note("made", "reasoning", "it must not be missing here")
            parts.insert(0, Reasoning(target.missing_reasoning))
        return parts

    def _paired(self, parts: list[Part]) -> list[Part]:
        """Keep the reasoning of items with what follows it, and ids of items only beside it."""
        if parts and isinstance(parts[-1], Reasoning):
            self._note("dropped", "reasoning", "nothing follows it, without which it is refused")
            parts = parts[:-1]
            return self._paired(parts)
        if any(isinstance(part, Reasoning) for part in parts):
            return parts
        return [
            part if isinstance(part, Reasoning | Image) else replace(part, item_id=None)
            for part in parts
        ]

    def _mend_ends(self) -> None:
        """See that the user begins where it must be so, and has the last word."""
        made, target = self._made, self._target
        while made.messages and _is_last_word(made.messages[-1]):
            made.messages.pop()
            made.notes.append(Note("dropped", "the last answer", "the model cannot go on with it"))
        if not any(message.role != "system" for message in made.messages):
            made.messages.append(Message("user", [Text(GO_ON)]))
            made.notes.append(Note("made", "a message of the user's", "there is none"))
        first = next(message for message in made.messages if message.role != "system")
        if target.begins_with_user and first.role == "assistant":
            made.messages.insert(0, Message("user", [Text(GO_ON)]))
            made.notes.append(Note("made", "a message of the user's", "it must be the first"))

    def _tools(self) -> list[ToolSpec]:
        """Return the tools that are declared, and where it must be so those that were called."""
        tools = [
            tool if (name := self._names.give(tool.name)) == tool.name else replace(tool, name=name)
            for tool in {tool.name: tool for tool in self._conversation.tools}.values()
        ]
        if not self._target.declares_called_tools:
            return tools
        known = {tool.name for tool in tools}
        for message in self._made.messages:
            for part in message.parts:
                if isinstance(part, ToolCall) and part.name not in known:
                    known.add(part.name)
                    tools.append(ToolSpec(part.name))
                    note = Note(
                        "made", f"tool {part.name!r}", "it was called, and must be declared"
                    )
                    self._made.notes.append(note)
        return tools


def _is_last_word(message: Message) -> bool:
    return message.role == "assistant" and not any(isinstance(p, ToolCall) for p in message.parts)


def _foreign(is_own: bool) -> str:
    return "this API has no place for it" if is_own else "another route issued it"


def _name(part: Part) -> str:
    return {Text: "text", Image: "image", Reasoning: "reasoning", ToolCall: "call"}[type(part)]
