"""Thinking that comes inside the text of an answer, in a tag at its very beginning.

Source: platform.minimax.io/docs/api-reference/text-openai-api, read on 2026-11-30. The models'
own chat template (huggingface.co/MiniMaxAI/MiniMax-M2) takes the line breaks beside a tag as its
own, so that nothing is lost with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...delta import ReasoningDelta, TextDelta

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPEN = "<think>"
_CLOSE = "</think>"


def with_tag(thinking: str, text: str) -> str:
    """Return *text* after *thinking*, as the model wrote them."""
    return f"{_OPEN}\n{thinking}\n{_CLOSE}" + (text and f"\n\n{text}")


class ThinkTag:
    """Tell the thinking of one answer from its text, wherever the pieces are cut.

    Attributes:
        is_over: The thinking has ended, or there is none; whatever follows is text.
    """

    def __init__(self) -> None:
        self.is_over = False
        self._held = ""
        self._read = self._before

    def read(self, content: str) -> Iterator[TextDelta | ReasoningDelta]:
        """Take the next piece of the answer; what cannot be told yet is held back."""
        held, self._held = self._held, ""
        yield from self._read(held + content)

    def end(self) -> Iterator[TextDelta | ReasoningDelta]:
        """Give what is held back: nothing follows that could make a tag of it."""
        held, self._held = self._held, ""
        if held:
            yield ReasoningDelta(held) if self._read == self._inside else TextDelta(held)

    def _before(self, content: str) -> Iterator[TextDelta | ReasoningDelta]:
        start = content.lstrip()
        if start.startswith(_OPEN):
            self._read = self._opened
            yield from self._opened(start[len(_OPEN) :])
        elif _OPEN.startswith(start):
            self._held = content
        else:
            yield from self._end_with(content)

    def _opened(self, content: str) -> Iterator[TextDelta | ReasoningDelta]:
        thinking = content.lstrip("\n")
        if thinking:
            self._read = self._inside
            yield from self._inside(thinking)

    def _inside(self, content: str) -> Iterator[TextDelta | ReasoningDelta]:
        thinking, tag, text = content.partition(_CLOSE)
        known = (thinking if tag else _without_start_of(_CLOSE, thinking)).rstrip("\n")
        if known:
            yield ReasoningDelta(known)
        if tag:
            self._read = self._closed
            yield from self._closed(text)
        else:
            self._held = content[len(known) :]

    def _closed(self, content: str) -> Iterator[TextDelta | ReasoningDelta]:
        text = content.lstrip("\n")
        if text:
            yield from self._end_with(text)

    def _end_with(self, text: str) -> Iterator[TextDelta]:
        self.is_over = True
        self._read = self._after
        yield from self._after(text)

    def _after(self, content: str) -> Iterator[TextDelta]:
        if content:
            yield TextDelta(content)


def _without_start_of(tag: str, text: str) -> str:
    """Return *text* without what may be the beginning of *tag* at its end."""
    lengths = range(min(len(tag) - 1, len(text)), 0, -1)
    return text[: -next((n for n in lengths if text.endswith(tag[:n])), 0) or None]
