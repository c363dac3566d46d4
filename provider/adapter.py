"""What spells a request in each wire; read from its file when first asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .wire import Adapter, Wire

FILES: Mapping[Wire, str] = MappingProxyType(
    {
        "anthropic": "anthropic_request",
        "openai-chat": "openai_chat_request",
        "openai-responses": "openai_responses_request",
        "gemini": "gemini_request",
    }
)


@cache
def adapter_of(wire: Wire) -> Adapter:
    """Return what spells a request in *wire*."""
    module: Any = import_module(f".{FILES[wire]}", __package__)
    adapter: Adapter = module
    return adapter
