"""What reads an answer: for each wire its parser and its decoder."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from .anthropic import decode as anthropic
from .gemini import decode as gemini
from .gemini.json_events import RawJsonParser
from .openai_chat import decode as openai_chat
from .openai_responses import decode as openai_responses
from .sse import SseParser

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..catalog.catalog import Provider
    from ..wire_name import Wire
    from .protocol import Decoder

DECODERS: Mapping[Wire, Callable[[Provider], Decoder]] = MappingProxyType(
    {
        "anthropic": anthropic.Decoder,
        "openai-chat": openai_chat.Decoder,
        "openai-responses": openai_responses.Decoder,
        "gemini": gemini.Decoder,
    }
)
"""What reads the events of one attempt, for each wire."""


def parser_of(wire: Wire) -> SseParser | RawJsonParser:
    """Return what cuts one body of *wire* into its events."""
    return RawJsonParser() if wire == "gemini" else SseParser()
