"""What spells a request in each wire; read from its file when first asked for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, assert_never

if TYPE_CHECKING:
    from ..wire_name import Wire
    from .protocol import Adapter


@cache
def adapter_of(wire: Wire) -> Adapter:
    """Return what spells a request in *wire*.

    Each import is a statement because tools that freeze an application read those.
    """
    match wire:
        case "anthropic":
            from .anthropic import encode as anthropic

            return anthropic
        case "openai-chat":
            from .openai_chat import encode as openai_chat

            return openai_chat
        case "openai-responses":
            from .openai_responses import encode as openai_responses

            return openai_responses
        case "gemini":
            from .gemini import encode as gemini

            return gemini
    assert_never(wire)
