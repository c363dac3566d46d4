"""Which tables of facts apply to a provider.

A table is imported when it is first used. Every import is a plain statement, so that programs which
bundle Python, such as PyInstaller, find the modules.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..catalog.vendor import vendor_named, vendor_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..catalog.provider import Provider
    from ..fact import FactTable
    from ..wire_name import Wire

_HOSTS_OF_CLAUDE = frozenset({"azure", "google", "google vertex", "amazon bedrock"})
"""Upstreams that also host Claude and pass on Anthropic's errors unchanged."""

_RESELLERS = frozenset({"openrouter", "bedrock"})
"""Vendors that offer models of others, and pass on the errors of these."""

# The names that aggregators use for the providers behind them.
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


def tables_of(provider: Provider | str, wire: Wire) -> tuple[FactTable, ...]:
    """Return the table of *provider*, then the table of its *wire*.

    Args:
        provider: A provider, or its name. An unknown name is looked up by the address of its API.
    """
    if isinstance(provider, str):
        return _tables(vendor_named(provider) or provider, wire)
    return _tables(vendor_of(provider), wire)


def tables_of_upstream(name: str, wire: Wire) -> tuple[FactTable, ...]:
    """Return the tables of the provider that an aggregator calls *name*.

    A key that they call spent or wrong is not the key of the aggregator's customer.
    """
    plain = name.casefold().strip()
    tables = _tables(_UPSTREAM.get(plain, plain), wire)
    tables = (*tables, _anthropic()) if plain in _HOSTS_OF_CLAUDE else tables
    return tuple(table.without_keys() for table in tables)


@cache
def _tables(vendor: str, wire: Wire) -> tuple[FactTable, ...]:
    own, shared = _of_vendor(vendor), _of_wire(wire)
    if own is None:  # a server that nobody knows, or hardly, whatever it imitates
        return (*_hardly_known(vendor), *_of_unknown(wire))
    if own is shared:
        return (shared,)
    return (own, shared.without_keys() if vendor in _RESELLERS else shared)


def _of_unknown(wire: Wire) -> tuple[FactTable, ...]:
    """Return the tables of a server that nobody knows, which may pass on others' errors."""
    shared = _of_wire(wire).without_keys()
    is_chat = wire in {"openai-chat", "openai-responses"}
    return (_generic(), shared) if is_chat else (shared, _generic())


def _hardly_known(vendor: str) -> tuple[FactTable, ...]:
    """Return what is known of the accounts of *vendor*, of which little else is known."""
    from .facts.accounts import ACCOUNTS

    table = ACCOUNTS.get(vendor)
    return () if table is None else (table,)


def _of_vendor(vendor: str) -> FactTable | None:
    """Return the table of *vendor*; None if it has none."""
    table = _TABLES.get(vendor)
    return None if table is None else table()


def _of_wire(wire: Wire) -> FactTable:
    """Return the table that holds for everyone who speaks *wire*."""
    match wire:
        case "anthropic":
            return _anthropic()
        case "openai-chat" | "openai-responses":
            return _chat()
        case "gemini":
            return _gemini()


def _anthropic() -> FactTable:
    from .facts.anthropic import ANTHROPIC

    return ANTHROPIC


def _openai() -> FactTable:
    from .facts.openai import OPENAI

    return OPENAI


def _chat() -> FactTable:
    from .facts.openai import CHAT

    return CHAT


def _openrouter() -> FactTable:
    from .facts.openrouter import OPENROUTER

    return OPENROUTER


def _gemini() -> FactTable:
    from .facts.gemini import GEMINI

    return GEMINI


def _groq() -> FactTable:
    from .facts.chat_vendors import GROQ

    return GROQ


def _cerebras() -> FactTable:
    from .facts.chat_vendors import CEREBRAS

    return CEREBRAS


def _mistral() -> FactTable:
    from .facts.chat_vendors import MISTRAL

    return MISTRAL


def _deepseek() -> FactTable:
    from .facts.chat_vendors import DEEPSEEK

    return DEEPSEEK


def _moonshot() -> FactTable:
    from .facts.chat_vendors import MOONSHOT

    return MOONSHOT


def _zai() -> FactTable:
    from .facts.zai import ZAI

    return ZAI


def _minimax() -> FactTable:
    from .facts.minimax import MINIMAX

    return MINIMAX


def _bedrock() -> FactTable:
    from .facts.bedrock import BEDROCK

    return BEDROCK


def _generic() -> FactTable:
    from .facts.generic import GENERIC

    return GENERIC


_TABLES: Mapping[str, Callable[[], FactTable]] = MappingProxyType(
    {
        "anthropic": _anthropic,
        "openai": _openai,
        "openrouter": _openrouter,
        "gemini": _gemini,
        "groq": _groq,
        "cerebras": _cerebras,
        "mistral": _mistral,
        "deepseek": _deepseek,
        "moonshot": _moonshot,
        "zai": _zai,
        "minimax": _minimax,
        "bedrock": _bedrock,
    }
)
