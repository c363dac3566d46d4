"""A message as plain text, or without its content: tried last, after a route refused it."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from ..conversation import Image, Message, Text, ToolCall
from ..json_value import write_json
from .shortened import shortened_text
from .tool_result import MISSING_RESULT, REFUSED_IMAGE, has_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..conversation import Part

_INPUT = 2_000
_OUTPUT = 20_000
"""Bytes that stay of arguments and of an output."""


FILTERED = "[Something stood here; the provider's content filter refused it.]"


def message_digest(message: Message) -> str:
    """Return a short name of *message*, made from what it holds."""
    return sha256(write_json([message.role, message.parts])).hexdigest()[:16]


def without_content(message: Message) -> Message:
    """Return *message* with a note in place of the user's words, or of the results of tools."""
    if message.role == "user":
        return replace(message, parts=[Text(FILTERED)])
    parts = [
        replace(part, output=FILTERED) if isinstance(part, ToolCall) else part
        for part in message.parts
    ]
    return replace(message, parts=parts)


def in_plain_text(message: Message) -> Iterator[Message]:
    """Return *message* without calls, images and reasoning.

    The text of the user reports each call and its result, because a model imitates the form of its
    own messages.
    """
    texts: list[Part] = [Text(text) for part in message.parts for text in _text_of(part)]
    if texts:
        yield Message(message.role, texts, route=message.route)
    calls = [part for part in message.parts if isinstance(part, ToolCall)]
    if calls:
        yield Message("user", [Text(_report(call)) for call in calls])


def _text_of(part: Part) -> Iterator[str]:
    if isinstance(part, Text) and has_words(part.text):
        yield part.text
    elif isinstance(part, Image):
        yield REFUSED_IMAGE


def _report(call: ToolCall) -> str:
    arguments = shortened_text(write_json(call.input).decode(), _INPUT)
    output = MISSING_RESULT[call.state] if call.output is None else call.output
    if not isinstance(output, str):
        output = "\n".join(text for part in output for text in _text_of(part))
    failed = " and failed" if call.is_error or call.state == "error" else ""
    head = f"[The tool {call.name} was called with {arguments}{failed}:]"
    return f"{head}\n{shortened_text(output, _OUTPUT)}"
