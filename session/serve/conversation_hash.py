"""A hash of what was said in a conversation, by which an answer to it is found again."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

from ...provider.conversation import Text, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...provider.conversation import Message, Part


class ConversationHash:
    """A hash of a conversation that grows.

    No message is read twice, because a conversation may have thousands of messages and as many
    remembered answers. Nothing is read before it is asked for.

    Attributes:
        messages: The conversation so far; it must only grow.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.messages = [*messages]
        self._sum = sha256()
        self._summed = 0  # the messages that are in the sum
        self._question = ""
        self._asked = 0  # the messages in which the question was looked for

    def digest(self) -> str:
        """Return a hash of all that was said and called, and of what came of it."""
        for message in self.messages[self._summed :]:
            self._sum.update(_said(message))
        self._summed = len(self.messages)
        return self._sum.hexdigest()

    def question(self) -> str:
        """Return a hash of the last text of the user; empty: there is none."""
        for message in reversed(self.messages[self._asked :]):
            if message.role == "user" and (text := text_of(message.parts)):
                self._question = hash_of(text)
                break
        self._asked = len(self.messages)
        return self._question


def hash_of(text: str) -> str:
    """Return a hash of *text*."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def plain_json(value: object) -> str:
    """Return *value* as JSON, the same after a client has read and written it."""
    text = json.dumps(value, sort_keys=True)
    return json.dumps(json.loads(text, parse_float=_number), sort_keys=True)


def text_of(parts: Sequence[Part]) -> str:
    """Return the text in *parts*."""
    return "".join(part.text for part in parts if isinstance(part, Text)).strip()


def calls_of(parts: Sequence[Part]) -> list[ToolCall]:
    """Return the calls in *parts*."""
    return [part for part in parts if isinstance(part, ToolCall)]


def _said(message: Message) -> bytes:
    calls = [
        (call.name, plain_json(call.input), _output_text(call)) for call in calls_of(message.parts)
    ]
    return (json.dumps([message.role, text_of(message.parts), calls]) + "\n").encode()


def _output_text(call: ToolCall) -> str:
    return text_of(call.output) if isinstance(call.output, list) else call.output or ""


def _number(text: str) -> float:
    """Return the number in *text*; JavaScript writes ``1.0`` as ``1``."""
    number = float(text)
    return int(number) if number.is_integer() else number
