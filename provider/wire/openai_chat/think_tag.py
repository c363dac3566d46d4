"""Thinking inside the text of an answer, in a tag at its start.

Source: platform.minimax.io/docs/api-reference/text-openai-api, read on 2026-11-30. The models'
own chat template (huggingface.co/MiniMaxAI/MiniMax-M2) adds the line breaks beside a tag, so that
they can be dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...delta import ReasoningDelta, TextDelta

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPEN = "<think>"
_CLOSE = "</think>"


def with_tag(thinking: str, text: str) -> str:
    """Return *thinking* in a tag, and then *text*, as the model wrote them."""
    return f"{_OPEN}\n{thinking}\n{_CLOSE}" + (text and f"\n\n{text}")


class ThinkTag:
    """Separates the thinking of one answer from its text, wherever the pieces are cut.

    Attributes:
        is_over: The thinking has ended, or there is none, so that only text follows.
    """

    def __init__(self) -> None:
        self.is_over = False
        self._held = ""
        self._read = self._before

    def read(self, content: str) -> Iterator[TextDelta | ReasoningDelta]:
        """Yield the deltas of the next piece; a possible part of a tag is held back."""
        held, self._held = self._held, ""
        yield from self._read(held + content)

    def end(self) -> Iterator[TextDelta | ReasoningDelta]:
        """Yield what is held back, because nothing follows that could complete a tag."""
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
        certain = (thinking if tag else _without_start_of(_CLOSE, thinking)).rstrip("\n")
        if certain:
            yield ReasoningDelta(certain)
        if tag:
            self._read = self._closed
            yield from self._closed(text)
        else:
            self._held = content[len(certain) :]

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
    """Return *text* without a possible start of *tag* at its end."""
    lengths = range(min(len(tag) - 1, len(text)), 0, -1)
    return text[: -next((n for n in lengths if text.endswith(tag[:n])), 0) or None]
