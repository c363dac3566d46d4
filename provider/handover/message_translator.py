"""The translation of messages for one target: what it gets of each message, and in what form."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from ..conversation import Image, Message, Reasoning, Text, ToolCall
from .note import Action, Note
from .plain_text import in_plain_text, message_digest, without_content
from .shortened import shortened_input
from .tool_id import ToolIds
from .tool_result import (
    IMAGES_OF,
    NO_IMAGE,
    has_words,
    result_of,
    shortened,
    without_signature,
    word_for,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..conversation import Part
    from ..route import Route
    from .target import Target
    from .tool_name import ToolNames

NONE_TAKEN = "this model takes none"
REFUSED = "the API refused it"
TOO_LONG = "this API takes none as long"


class MessageTranslator:
    """Translates messages for one target.

    The result for a message depends only on it and on those before it, so that a longer
    conversation begins like the shorter one, and caches stay valid.

    Attributes:
        system: The instructions at the start of the conversation.
        messages: The translated messages; empty ones are left out.
        origins: The index in the conversation of each translated message.
        notes: The differences from the stored conversation.
    """

    def __init__(self, target: Target, names: ToolNames) -> None:
        self._target = target
        self._names = names
        self._ids = ToolIds(target.ids)
        self._signs_parts = target.wire == "gemini" and target.reasoning_form == "signature"
        self._chain_is_broken = False
        self._message = 0
        self.system: list[str] = []
        self.messages: list[Message] = []
        self.origins: list[int] = []
        self.notes: list[Note] = []

    def add(self, index: int, message: Message) -> None:
        """Translate the next message, the one at *index* of the conversation."""
        self._message = index
        filtered = self._target.filtered_messages
        if filtered and message_digest(message) in filtered:
            self._note("changed", "the message", "a content filter refused what it held")
            message = without_content(message)
        if index < self._target.plain_messages:
            self._note("changed", "the message", "it goes as plain text, because it was refused")
            for made in in_plain_text(message):
                self._add_translated(made)
        else:
            self._add_translated(message)

    def _add_translated(self, message: Message) -> None:
        if message.role == "assistant":
            self._add_answer(message)
        else:
            self._add(message.role, self._user_parts(message))

    def _note(self, action: Action, what: str, why: str, part: int | None = None) -> None:
        self.notes.append(Note(action, what, why, self._message, part))

    def _add(
        self,
        role: Literal["system", "user", "assistant"],
        parts: list[Part],
        route: Route | None = None,
    ) -> None:
        """Add a message; later instructions become the user's if the target requires it."""
        if not parts:
            self._note("dropped", "the message", "nothing is in it that can be sent")
            return
        if role == "system":
            texts = [part.text for part in parts if isinstance(part, Text)]
            if not self.messages:
                self.system += texts
                return
            if not self._target.takes_system_later:
                self._note("changed", "instructions", "here they can stand only as the user's")
                role = "user"
        if self._joins(role):
            self.messages[-1] = replace(self.messages[-1], parts=self.messages[-1].parts + parts)
            return
        self.messages.append(Message(role, parts, route=route))
        self.origins.append(self._message)

    def _joins(self, role: str) -> bool:
        """True if the next message becomes a part of the last one.

        Servers that refused everything else may take only messages of user and model in turn.
        """
        is_plain = self._target.plain_messages > 0 and role == "user"
        return is_plain and bool(self.messages) and self.messages[-1].role == role

    def _user_parts(self, message: Message) -> list[Part]:
        """Return the parts of a message of the user or the agent, without signatures."""
        parts: list[Part] = []
        for index, part in enumerate(message.parts):
            match part:
                case Text():
                    if has_words(part.text):
                        parts.append(self._bounded(without_signature(part), index))
                    else:
                        self._note("dropped", "text", "it is empty", index)
                case Image() if message.role == "user":
                    parts.append(self._image(part, index))
                case _:
                    why = f"a message of the {message.role} holds none"
                    self._note("dropped", _name(part), why, index)
        return parts

    def _image(self, image: Image, index: int) -> Image | Text:
        word = word_for(image, self._target)
        if word is None:
            return image
        self._note("changed", "image", NONE_TAKEN if word == NO_IMAGE else REFUSED, index)
        return Text(word)

    def _bounded(self, part: Text, index: int) -> Text:
        """Return *part*, shortened if the target takes no text as long."""
        made = shortened(part, self._target)
        if made is not part:
            self._note("changed", "text", TOO_LONG, index)
        return made

    def _add_answer(self, message: Message) -> None:
        is_own = message.route == self._target.route
        parts: list[Part] = []
        image_messages: list[Message] = []
        for index, part in enumerate(message.parts):
            match part:
                case Text():
                    if text := self._text(part, index, is_own=is_own):
                        parts.append(self._bounded(text, index))
                case Reasoning():
                    if self._accepts(part, index, message.route):
                        parts.append(part)
                case ToolCall():
                    parts.append(self._call(part, index, image_messages, is_own=is_own))
                case Image():
                    self._note("dropped", "image", "an answer cannot hold one", index)
        parts = self._drop_trailing_reasoning(parts)
        why = self._why_no_item_ids(parts, message.parts) if is_own else _why_not_kept(is_own)
        if why is not None:
            parts = self._without_item_ids(parts, why)
        self._add("assistant", self._add_placeholders(parts), message.route)
        self.messages += image_messages
        self.origins += [self._message] * len(image_messages)

    def _text(self, part: Text, index: int, *, is_own: bool) -> Text | None:
        """Return what the target takes of *part*; None: nothing."""
        if part.signature is None and part.phase is None and has_words(part.text):
            return part  # nearly every text
        signature = (is_own and self._signs_parts and part.signature) or None
        if part.signature and signature is None:
            self._note("dropped", "signature of text", _why_not_kept(is_own), index)
        phase = part.phase if is_own and self._target.wire == "openai-responses" else None
        if part.phase and phase is None:
            self._note("dropped", "phase of text", _why_not_kept(is_own), index)
        if signature or has_words(part.text):
            is_same = (signature, phase) == (part.signature, part.phase)
            return part if is_same else Text(part.text, signature, part.item_id, phase)
        self._note("dropped", "text", "it is empty", index)
        return None

    def _accepts(self, part: Reasoning, index: int, issuer: Route | None) -> bool:
        """True if the target takes *part*, which *issuer* made; None: nobody knows who did.

        What the target never issued, its later reasoning cannot depend on.
        """
        is_own = issuer == self._target.route
        why = self._why_dropped(part, is_own=is_own)
        if why is None:
            self._note("kept", "reasoning", "this route issued it", index)
            return True
        self._note("dropped", "reasoning", why, index)
        if is_own or issuer is None:
            self._chain_is_broken = self._chain_is_broken or self._target.is_chained
        return False

    def _why_dropped(self, part: Reasoning, *, is_own: bool) -> str | None:
        """Return why *part* must be dropped; None: the target accepts it."""
        if not is_own:
            return _why_not_kept(is_own)
        why = self._target.why_not_accepted(part)
        if why is None and self._chain_is_broken:
            return "reasoning before it was dropped, after which it proves nothing"
        return why

    def _call(
        self, call: ToolCall, index: int, image_messages: list[Message], *, is_own: bool
    ) -> ToolCall:
        """Return *call* with an id and a name in the target's form, and with a result."""
        id_ = self._ids.next_id(call.id, is_own=is_own)
        if id_ != call.id:
            self._note("changed", f"id {call.id!r} to {id_!r}", "ids have another form here", index)
        name = self._names.name_of(call.name)
        if name != call.name:
            self._note("changed", f"name {call.name!r} to {name!r}", "so it may stand here", index)
        if call.output is None:
            self._note("made", "result", f"the call is {call.state}, and must have one", index)
        signature = (is_own and self._target.signs_calls and call.signature) or None
        if call.signature and signature is None:
            self._note("dropped", "signature of a call", _why_not_kept(is_own), index)
        result = result_of(call, self._target)
        if result.hides_images:
            why = REFUSED if self._target.takes_images else NONE_TAKEN
            self._note("changed", "image", why, index)
        if result.moved:
            self._note("changed", "image", "here it follows in a message of the user's", index)
            image_messages.append(
                Message("user", [Text(IMAGES_OF.format(name=name)), *result.moved])
            )
        made = ToolCall(id_, name, self._input(call, index), call.state, result.output)
        made.is_error, made.signature, made.item_id = result.is_error, signature, call.item_id
        return made

    def _input(self, call: ToolCall, index: int) -> dict[str, Any]:
        """Return the arguments of *call*, shortened if the target takes none as long."""
        longest = self._target.longest_arguments or self._target.longest_text
        if longest is None:
            return call.input
        made = shortened_input(call.input, longest)
        if made != call.input:
            self._note("changed", "arguments", TOO_LONG, index)
        return made

    def _add_placeholders(self, parts: list[Part]) -> list[Part]:
        """Add the placeholders that the target requires for what is missing."""
        target = self._target
        if target.missing_signature is None and target.missing_reasoning is None:
            return parts
        first = next((i for i, part in enumerate(parts) if isinstance(part, ToolCall)), None)
        if target.missing_signature is not None and first is not None:
            call = parts[first]
            if isinstance(call, ToolCall) and not call.signature:
                parts[first] = replace(call, signature=target.missing_signature)
                self._note("made", "signature", "the first call of a step must have one")
        if target.missing_reasoning is None or not parts:
            return parts
        is_due = first is not None or not target.reasons_before_calls
        if is_due and not any(isinstance(part, Reasoning) for part in parts):
            self._note("made", "reasoning", "it must not be missing here")
            field_name = "content" if target.wire == "openai-responses" else None
            parts.insert(0, Reasoning(target.missing_reasoning, field_name=field_name))
        return parts

    def _drop_trailing_reasoning(self, parts: list[Part]) -> list[Part]:
        """Drop reasoning at the end of a message.

        Anthropic and Responses refuse it, and reasoning alone is not an answer.
        """
        if not (parts and isinstance(parts[-1], Reasoning)):
            return parts
        is_answer = len(parts) > _count_reasoning(parts)
        if is_answer and self._target.wire not in {"anthropic", "openai-responses"}:
            return parts
        while parts and isinstance(parts[-1], Reasoning):
            self._note("dropped", "reasoning", "nothing follows it, without which it is refused")
            self._chain_is_broken = self._chain_is_broken or self._target.is_chained
            parts.pop()
        return parts

    def _why_no_item_ids(self, parts: list[Part], stored: list[Part]) -> str | None:
        """Return why the route's own items cannot keep their ids; None: they keep them.

        OpenAI refuses the id of an item that came with reasoning, if that reasoning is missing.
        """
        target = self._target
        if target.wire != "openai-responses":
            return _why_not_kept(True)
        if _count_reasoning(parts) < (thoughts := _count_reasoning(stored)):
            return "not all the reasoning beside it is kept"
        # The agent may have removed reasoning, and an id is not needed.
        is_sure = thoughts or target.thinking == "none" or target.reasoning_form != "encrypted"
        return None if is_sure else "nothing is stored under them"

    def _without_item_ids(self, parts: list[Part], why: str) -> list[Part]:
        """Return *parts* without the ids of items; kept reasoning needs its own."""
        if not [p for p in parts if not isinstance(p, Reasoning | Image) and p.item_id is not None]:
            return parts
        self._note("dropped", "ids of items", why)
        return [
            replace(part, item_id=None) if isinstance(part, Text | ToolCall) else part
            for part in parts
        ]


def _count_reasoning(parts: Iterable[Part]) -> int:
    return sum(isinstance(part, Reasoning) for part in parts)


def _why_not_kept(is_own: bool) -> str:
    return "this API has no place for it" if is_own else "another route issued it"


def _name(part: Part) -> str:
    return {Text: "text", Image: "image", Reasoning: "reasoning", ToolCall: "call"}[type(part)]
