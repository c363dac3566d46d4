"""Which tables of facts hold for whom; each is read from its file when first asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..catalog.vendor import vendor_named, vendor_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..catalog.catalog import Provider
    from ..fact import Facts
    from ..wire_name import Wire

# Where each table stands: its file after ``fact_``, and its name there.
_OF_PROVIDER: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "anthropic": ("anthropic", "ANTHROPIC"),
        "openai": ("openai", "OPENAI"),
        "openrouter": ("openrouter", "OPENROUTER"),
        "gemini": ("gemini", "GEMINI"),
        "groq": ("chat_vendors", "GROQ"),
        "cerebras": ("chat_vendors", "CEREBRAS"),
        "mistral": ("chat_vendors", "MISTRAL"),
        "deepseek": ("chat_vendors", "DEEPSEEK"),
        "moonshot": ("chat_vendors", "MOONSHOT"),
        "zai": ("zai", "ZAI"),
        "minimax": ("minimax", "MINIMAX"),
        "bedrock": ("bedrock", "BEDROCK"),
    }
)
_OF_WIRE: Mapping[Wire, tuple[str, str]] = MappingProxyType(
    {
        "anthropic": ("anthropic", "ANTHROPIC"),
        "openai-chat": ("openai", "CHAT"),
        "openai-responses": ("openai", "CHAT"),
        "gemini": ("gemini", "GEMINI"),
    }
)
# Those of them that serve Claude as well, and pass on its errors as they are.
_HOSTS = frozenset({"azure", "google", "google vertex", "amazon bedrock"})
_OF_THE_UNKNOWN = ("generic", "GENERIC")

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
    return (*tables, _table(*_OF_WIRE["anthropic"])) if plain in _HOSTS else tables


@cache
def _tables(name: str, wire: Wire) -> tuple[Facts, ...]:
    places = [_OF_PROVIDER[name]] if name in _OF_PROVIDER else []
    if not places and wire in {"openai-chat", "openai-responses"}:
        places.append(_OF_THE_UNKNOWN)
    places += [place for place in [_OF_WIRE[wire]] if place not in places]
    return tuple(_table(*place) for place in places)


def _table(file: str, name: str) -> Facts:
    module: Any = import_module(f".facts.{file}", __package__)
    table: Facts = getattr(module, name)
    return table
