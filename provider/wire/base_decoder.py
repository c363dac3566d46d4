"""What the decoders of all wires keep alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..conversation import Usage
from ..json_value import read_json
from . import stream_error as verdict

if TYPE_CHECKING:
    from ..catalog.provider import Provider


class BaseDecoder:
    """The beginning of a `Decoder` of `wire.py`, whose attributes it has."""

    def __init__(self, provider: Provider) -> None:
        self.model: str | None = None
        self.request_id: str | None = None
        self.usage = Usage()
        self.is_done = False
        self.unshown = 0
        self.ends = 0
        self._provider = provider

    def _take(self, usage: Usage) -> None:
        """Keep the last count; but no last word that counts neither input nor output."""
        mine = self.usage
        counts = usage.input is not None or usage.output is not None
        if counts or (mine.input is None and mine.output is None):
            self.usage = usage

    def _reread(self, data: bytes) -> Any:
        """Read what the strict parser refused; the word for the end is an object without a key.

        Raises:
            ProviderError: It cannot be read.
        """
        if data.strip() == b"[DONE]":  # by it some servers end in wires that have no such word
            self._take_done()
            return {}
        try:
            return read_json(data)
        except ValueError:
            raise verdict.unreadable(data) from None

    def _take_done(self) -> None:
        """Take note that nothing more comes, which alone proves nothing."""
        self.is_done = True
