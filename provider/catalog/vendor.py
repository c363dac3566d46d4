"""The vendor of a provider: the company that owns the API, whatever the provider is called."""

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
        # Of these only the accounts are known; `classify/facts/accounts.py` has the sources.
        "aliyuncs.com": "dashscope",
        "openai.azure.com": "azure",
        "router.huggingface.co": "huggingface",
        "wandb.ai": "wandb",
        "x.ai": "xai",
        "together.ai": "together",
        "together.xyz": "together",
        "fireworks.ai": "fireworks",
        "githubcopilot.com": "copilot",
        "opencode.ai": "opencode",
        "ai-gateway.vercel.sh": "vercel",
    }
)


def vendor_named(name: str) -> str | None:
    """Return the vendor in a provider's name, such as ``zai`` in ``zai-anthropic``."""
    word = name.partition("-")[0]
    return word if word in VENDORS else None


def vendor_of(provider: Provider) -> str:
    """Return the vendor of *provider*, by its name, or else by its address.

    If neither is known, the provider is its own vendor.
    """
    named = vendor_named(provider.name)
    if named is not None:
        return named
    host = urlsplit(provider.base_url).hostname or ""
    ends = (d for d in _DOMAINS if host == d or host.endswith(f".{d}"))
    return _DOMAINS.get(next(ends, ""), provider.name)
