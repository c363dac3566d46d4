"""Which tables of facts hold for whom; each is read from its file when first asked for."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, assert_never

from ..catalog.vendor import vendor_named, vendor_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..catalog.catalog import Provider
    from ..fact import Facts
    from ..wire_name import Wire

# Those that serve Claude as well, and pass on its errors as they are.
_HOSTS = frozenset({"azure", "google", "google vertex", "amazon bedrock"})

# The names by which aggregators call the provider behind them.
_UPSTREAM: Mapping[str, str] = MappingProxyType(
    {
        "azure": "openai",
        "google": "gemini",
        "google ai studio": "gemini",
        "google vertex": "gemini",
        "amazon bedrock": "bedrock",
        "moonshot ai": "moonshot",
        "z.ai": "zai",
    }
)


def tables_of(provider: Provider | str, wire: Wire) -> tuple[Facts, ...]:
    """Return what is known of *provider*, and then of its *wire*.

    Args:
        provider: One whose name is not known is looked up by the address of its API. Its name
            alone will do.
    """
    if isinstance(provider, str):
        return _tables(vendor_named(provider) or provider, wire)
    return _tables(vendor_of(provider), wire)


def tables_of_upstream(name: str, wire: Wire) -> tuple[Facts, ...]:
    """Return what is known of the provider that an aggregator calls *name*."""
    plain = name.casefold().strip()
    tables = _tables(_UPSTREAM.get(plain, plain), wire)
    return (*tables, _of_wire("anthropic")) if plain in _HOSTS else tables


@cache
def _tables(name: str, wire: Wire) -> tuple[Facts, ...]:
    own = _of_provider(name)
    if own is None and wire in {"openai-chat", "openai-responses"}:
        from .facts.generic import GENERIC

        own = GENERIC
    shared = _of_wire(wire)
    return (shared,) if own is None or own is shared else (own, shared)


# Each import below is a statement because tools that freeze an application read those.


def _of_wire(wire: Wire) -> Facts:
    """Return what holds for whoever speaks *wire*."""
    match wire:
        case "anthropic":
            from .facts.anthropic import ANTHROPIC as TABLE
        case "openai-chat" | "openai-responses":
            from .facts.openai import CHAT as TABLE
        case "gemini":
            from .facts.gemini import GEMINI as TABLE
        case _:
            assert_never(wire)
    return TABLE


def _of_provider(name: str) -> Facts | None:
    """Return what is known of the provider called *name*; None if it has no table."""
    match name:
        case "anthropic":
            from .facts.anthropic import ANTHROPIC as TABLE
        case "openai":
            from .facts.openai import OPENAI as TABLE
        case "openrouter":
            from .facts.openrouter import OPENROUTER as TABLE
        case "gemini":
            from .facts.gemini import GEMINI as TABLE
        case "groq":
            from .facts.chat_vendors import GROQ as TABLE
        case "cerebras":
            from .facts.chat_vendors import CEREBRAS as TABLE
        case "mistral":
            from .facts.chat_vendors import MISTRAL as TABLE
        case "deepseek":
            from .facts.chat_vendors import DEEPSEEK as TABLE
        case "moonshot":
            from .facts.chat_vendors import MOONSHOT as TABLE
        case "zai":
            from .facts.zai import ZAI as TABLE
        case "minimax":
            from .facts.minimax import MINIMAX as TABLE
        case "bedrock":
            from .facts.bedrock import BEDROCK as TABLE
        case _:
            return None
    return TABLE
