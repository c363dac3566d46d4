"""What spells a request in each wire; read from its file when first asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..wire_name import Wire
    from .protocol import Adapter

FILES: Mapping[Wire, str] = MappingProxyType(
    {
        "anthropic": "anthropic.encode",
        "openai-chat": "openai_chat.encode",
        "openai-responses": "openai_responses.encode",
        "gemini": "gemini.encode",
    }
)


@cache
def adapter_of(wire: Wire) -> Adapter:
    """Return what spells a request in *wire*."""
    module: Any = import_module(f".{FILES[wire]}", __package__)
    adapter: Adapter = module
    return adapter
