"""Whose API it is that a provider serves, whatever name its routes give it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .provider import Provider

VENDORS = frozenset(
    {
        *("anthropic", "openai", "openrouter", "gemini", "groq", "cerebras", "mistral"),
        *("deepseek", "moonshot", "zai", "minimax", "bedrock"),
    }
)

# The domains under which each vendor serves its API.
_DOMAINS: Mapping[str, str] = MappingProxyType(
    {
        "anthropic.com": "anthropic",
        "openai.com": "openai",
        "openrouter.ai": "openrouter",
        "generativelanguage.googleapis.com": "gemini",
        "aiplatform.googleapis.com": "gemini",
        "groq.com": "groq",
        "cerebras.ai": "cerebras",
        "mistral.ai": "mistral",
        "deepseek.com": "deepseek",
        "moonshot.ai": "moonshot",
        "moonshot.cn": "moonshot",
        "kimi.com": "moonshot",
        "z.ai": "zai",
        "bigmodel.cn": "zai",
        "minimax.io": "minimax",
        "minimaxi.com": "minimax",
        "amazonaws.com": "bedrock",
    }
)


def vendor_named(name: str) -> str | None:
    """Return the vendor that a provider is called after, as ``zai-anthropic`` after ``zai``."""
    word = name.partition("-")[0]
    return word if word in VENDORS else None


def vendor_of(provider: Provider) -> str:
    """Return whose API *provider* serves: by its name, else by its address.

    One that neither tells is its own vendor.
    """
    named = vendor_named(provider.name)
    if named is not None:
        return named
    host = urlsplit(provider.base_url).hostname or ""
    ends = (d for d in _DOMAINS if host == d or host.endswith(f".{d}"))
    return _DOMAINS.get(next(ends, ""), provider.name)
